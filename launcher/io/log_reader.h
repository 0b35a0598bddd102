/* log_reader.h - reads a worker's log file while it is written: whole lines, also beyond the
 * point where a full file makes place for a new one (--log-size).
 */
#ifndef MUSTER_LAUNCHER_IO_LOG_READER_H
#define MUSTER_LAUNCHER_IO_LOG_READER_H

#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"

struct log_reader {
    char *path, *prefix; /* owned; prefix stands before each line */
    int fd;              /* -1 = it is not there yet */
    FILE *to;
    struct buf part; /* of a line whose end has not come */
};

/* Takes over path and prefix. */
void log_reader_init(struct log_reader *r, char *path, char *prefix, FILE *to);

/* Prints what is there by now. False if there is no such file yet. */
bool log_reader_go_on(struct log_reader *r);

/* Prints the unfinished line, too. */
void log_reader_fini(struct log_reader *r);

#endif
