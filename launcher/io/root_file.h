/* root_file.h - small questions to the file system below one root directory, "" for the real
 * one, so that tests bring their own /sys, /proc, /dev and /etc. */
#ifndef MUSTER_LAUNCHER_IO_ROOT_FILE_H
#define MUSTER_LAUNCHER_IO_ROOT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* The first line of a file, without blanks at its ends; to be freed, NULL if it cannot be read.
 */
char *root_line(const char *root, const char *path);

/* Appends a whole file; 0 or -1. */
int root_read(const char *root, const char *path, struct buf *out);

bool root_exists(const char *root, const char *path);

/* errno of opening it for reading and writing; 0 = it can be opened. */
int root_open_errno(const char *root, const char *path);

/* Calls on_entry with each name of a folder but those that begin with a dot, sorted. -1 if the
 * folder cannot be read. */
int root_each(const char *root, const char *path, void (*on_entry)(void *ctx, const char *name),
              void *ctx);

/* Path of a shared library as the loader would find it: LD_LIBRARY_PATH, its cache, the usual
 * folders. To be freed; NULL if there is none. */
char *root_library(const char *root, const char *name);

#endif
