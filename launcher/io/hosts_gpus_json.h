/* hosts_gpus_json.h - what hosts answered to `muster gpus`, read as JSON of schema
 * "muster-gpus/1", and all of it as JSON of schema "muster-hosts-gpus/1".
 */
#ifndef MUSTER_LAUNCHER_IO_HOSTS_GPUS_JSON_H
#define MUSTER_LAUNCHER_IO_HOSTS_GPUS_JSON_H

#include "base/err.h"
#include "launcher/core/hosts_gpus.h"

struct json_t;

/* An answer; NULL with ERR_PROTOCOL if it is none of that schema. */
struct json_t *hosts_gpus_parse(const char *text, struct err *e);
void hosts_gpus_release(struct json_t *answer); /* NULL is fine */

/* Its GPUs as rows, without control characters; out->host is the caller's. Freed by
 * hosts_gpus_fini. */
void hosts_gpus_read(const struct json_t *answer, struct hosts_gpus *out);
void hosts_gpus_fini(struct hosts_gpus *h);

/* Appends why run would refuse, where the host's status says that it would, or why there are no
 * GPUs; nothing if neither. */
void hosts_gpus_remark(const struct json_t *answer, int status, struct buf *out);

/* One of the list: its answer, NULL = there is none, and why says the reason. */
struct hosts_gpus_entry {
    const char *host, *why;
    struct json_t *answer; /* borrowed */
};
void hosts_gpus_json(const struct hosts_gpus_entry *list, size_t n, struct buf *out);

#endif
