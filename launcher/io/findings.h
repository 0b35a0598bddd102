/* findings.h - why the workers of one generation failed, as far as their node can find out:
 * their error.json, the kernel's counters of out-of-memory kills, the GPU driver's words in the
 * kernel log, where a core went.
 *
 * Collects evidence; whose failure counts is decided elsewhere.
 */
#ifndef MUSTER_LAUNCHER_IO_FINDINGS_H
#define MUSTER_LAUNCHER_IO_FINDINGS_H

#include <stdint.h>

#include "launcher/core/event.h"
#include "launcher/io/job_files.h"

struct findings;

/* For a generation of nworkers, about to start: remembers what the kernel has counted so far.
 * copies_first: keep the first error.json for an outer launcher. has_gpus: the kernel log may
 * have something to say. */
struct findings *findings_new(uint32_t nworkers, bool copies_first, bool has_gpus);
void findings_free(struct findings *f); /* NULL is fine */

/* Looks into the end of a worker that failed. rank: its global rank, which names its files.
 * gpu_pci: PCI addresses of its GPUs, commas between; NULL = none. */
void findings_look(struct findings *f, uint32_t local_rank, uint32_t rank,
                   const struct worker_end *end, const char *gpu_pci,
                   const struct job_files *files);

/* What was found of a worker, with tail as the last lines of its stderr; valid as long as f. */
struct evidence findings_of(const struct findings *f, uint32_t local_rank, const char *tail);

/* Writes the first failure's error.json to path, where the launcher of this launcher looks for
 * it. 0, also if there is none, or -1 with ERR_SYSTEM. */
int findings_hand_on(const struct findings *f, const char *path, struct err *e);

#endif
