/* log_paths.h - where each file of a job goes: the one place that knows the names.
 *
 * Two layouts. By rank, muster's own:  JOB/<attempt>/rank-<R>.{out,err,error.json}. torchrun's:
 * <id>_<random>/attempt_<N>/<local rank>/{stdout.log,stderr.log,error.json}, filtered_*.log
 * beside the ranks' folders. Makes nothing. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_LOG_PATHS_H
#define MUSTER_LAUNCHER_CORE_LOG_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum log_layout { LOG_LAYOUT_RANK, LOG_LAYOUT_TORCHRUN };

enum log_kind {
    LOG_KIND_OUT,
    LOG_KIND_ERR,
    LOG_KIND_ERROR_JSON,
    LOG_KIND_FILTERED_OUT, /* of all ranks together; torchrun's layout alone has it */
    LOG_KIND_FILTERED_ERR
};

/* Appends the path of a file. dir: folder of the attempt. */
void log_path_format(enum log_layout layout, const char *dir, enum log_kind kind, uint32_t rank,
                     uint32_t local_rank, struct buf *out);

/* Appends the path of a folder that has to be there for a worker's files; false if that is dir
 * itself. */
bool log_worker_dir_format(enum log_layout layout, const char *dir, uint32_t local_rank,
                           struct buf *out);

/* Appends the name of an attempt's folder. again: how many of that number are there already (a
 * generation that did not cost a restart); the second attempt_0 is attempt_0.1. */
void log_attempt_format(enum log_layout layout, uint32_t attempt, uint32_t again,
                        struct buf *out);

/* Appends the job's id as the name of one folder: it may not lead out of the log folder. */
void log_job_name_format(const char *job_id, struct buf *out);

#endif
