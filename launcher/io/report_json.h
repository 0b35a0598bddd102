/* report_json.h - how a job ended, as one JSON object for programs: schema "muster.report/1".
 *
 * Keys are only ever added; every key is always there, null where it says nothing. Decides
 * nothing.
 */
#ifndef MUSTER_LAUNCHER_IO_REPORT_JSON_H
#define MUSTER_LAUNCHER_IO_REPORT_JSON_H

#include "launcher/core/job.h"

struct json_t; /* jansson.h */

/* What the report tells. Everything is borrowed. */
struct report_end {
    const struct options *opt;
    const struct job *job; /* NULL: there was none; err says why */
    const struct err *err;
    int64_t started_unix_ms;
    uint64_t duration_ms;
    int status;
};

/* {"kind": "exit", "code": 7, "signal": null, "core": false}; null without an end. */
struct json_t *report_json_end(const struct worker_end *end);

/* The object "verdict". */
struct json_t *report_json_verdict(const struct verdict *v, const struct options *opt);

/* The whole report. */
struct json_t *report_json(const struct report_end *r);

/* Puts it into opt->report. 0, or -1 with ERR_SYSTEM. */
int report_json_write(const struct report_end *r, struct err *e);

/* Whether path will be writable at the end, by out_file_write. 0, or -1 with ERR_USAGE.
 * option: the name in the message, "--report". */
int report_file_check(const char *option, const char *path, struct err *e);

#endif
