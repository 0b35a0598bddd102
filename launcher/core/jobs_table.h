/* jobs_table.h - the jobs of a user in a list, as `muster ps` shows them, and which of them a
 * command line means. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_JOBS_TABLE_H
#define MUSTER_LAUNCHER_CORE_JOBS_TABLE_H

#include "launcher/core/control.h"

/* Texts are owned. */
struct job_row {
    char *path; /* of its control socket */
    char *why;  /* it does not answer, and this is why; then only id and pid are known, from the
                   name of the socket. NULL = it answers */
    struct control_status status;
};

struct job_list {
    struct job_row *rows;
    size_t n, cap;
};

/* Takes over what row owns. */
void job_list_add(struct job_list *list, const struct job_row *row);
/* The oldest first, then by process id; those that do not answer last. */
void job_list_sort(struct job_list *list);
void job_list_fini(struct job_list *list);

/* The job that is meant: by its id, or by the process id of its muster; word NULL = the only
 * one. NULL with ERR_USAGE: there is none, or there are several, which are named. */
const struct job_row *job_list_pick(const struct job_list *list, const char *word,
                                    struct err *e);

/* Appends one line a job below a head; width: columns of the terminal, 0 = any. Without a job
 * one line that says so. */
void jobs_table_format(const struct job_list *list, unsigned width, struct buf *out);

/* Appends the same as JSON, {"schema": "muster.ps/1", "jobs": [...]}, each with its ranks. */
void jobs_json_format(const struct job_list *list, struct buf *out);

/* Appends "41 s", "3 min 20 s", "2 h 5 min", "3 d 4 h". */
void uptime_format(uint64_t ms, struct buf *out);

#endif
