/* pmi_kvs.h - the key-value space of a PMI-1 job: what ranks put for each other.
 *
 * Bounded, because what it holds is written by workers. A key is put once; there is no removal.
 */
#ifndef MUSTER_LAUNCHER_CORE_PMI_KVS_H
#define MUSTER_LAUNCHER_CORE_PMI_KVS_H

#include "base/buf.h"
#include "base/str.h"

enum { PMI_KVS_BYTES_MAX = 64 * 1024 * 1024 }; /* keys and values together */

struct pmi_kvs;

struct pmi_kvs *pmi_kvs_new(void);
void pmi_kvs_free(struct pmi_kvs *kvs); /* NULL is fine */

/* Copies both. NULL, or in the protocol's own words why it was not put: "duplicate_key",
 * "no_room". */
const char *pmi_kvs_put(struct pmi_kvs *kvs, struct str key, struct str value);

/* The value, valid as long as kvs; NULL if nobody has put it. */
const char *pmi_kvs_find(const struct pmi_kvs *kvs, struct str key);

/* Appends "KEY=VALUE\n" of every key put since the last call: what other nodes lack. */
void pmi_kvs_news(struct pmi_kvs *kvs, struct buf *out);

/* Puts every such line that is not there yet; lines that are none are passed over. What comes
 * this way is no news. */
void pmi_kvs_merge(struct pmi_kvs *kvs, struct str lines);

#endif
