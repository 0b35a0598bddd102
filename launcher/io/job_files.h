/* job_files.h - the files of a job on this node: log folders per attempt, and a private folder
 * for error.json files. */
#ifndef MUSTER_LAUNCHER_IO_JOB_FILES_H
#define MUSTER_LAUNCHER_IO_JOB_FILES_H

#include <stdint.h>

#include "base/err.h"
#include "launcher/core/node_plan.h"
#include "launcher/core/options.h"
#include "launcher/io/log_file.h"

struct job_files {
    char *job_dir;     /* LOG-DIR/JOB, or JOB-2 where that exists; NULL without --log-dir */
    char *dir;         /* of this generation, NULL likewise */
    uint64_t log_size; /* limit of each log file in bytes, 0 = none */
    char *temp_dir;    /* made without --log-dir for error.json files, torchrun's way also for
                        * the rest; NULL = none */
    enum log_layout layout;
    uint32_t first_rank;
    bool keeps_temp;              /* the job failed: what workers wrote to temp_dir stays */
    struct log_file *filtered[2]; /* of stdout and stderr of all workers; NULL = none */
};

/* Makes the folders of the plan's generation, in torchrun's layout also what filters files
 * need. 0, or -1 with ERR_USAGE that names the folder and the reason. Called again for each
 * generation: the folders of earlier ones stay. */
int job_files_prepare(struct job_files *f, const struct options *opt, const struct order *order,
                      struct err *e);

/* Folder for error.json files, NULL if there is none. */
const char *job_files_error_dir(const struct job_files *f);

/* Path of a rank's error.json, whether or not it is there; NULL if there is no folder for it.
 * Free with free(). */
char *job_files_error_path(const struct job_files *f, uint32_t rank);

/* Opens the files of stdout and stderr in this order; NULL for what is not among streams
 * (STREAM_ bits), and for both without --log-dir. 0, or -1 with ERR_SYSTEM. */
int job_files_open(const struct job_files *f, uint32_t rank, unsigned streams,
                   struct log_file *logs[2], struct err *e);

/* Removes the private folder with what workers left in it, unless keeps_temp and there are logs
 * in it: then says where. Log folders stay. */
void job_files_fini(struct job_files *f);

#endif
