/* size_text.h - sizes of messages as people write and read them. Pure. */
#ifndef MUSTER_WORKER_SIZE_TEXT_H
#define MUSTER_WORKER_SIZE_TEXT_H

#include <stdint.h>

/* Digits and an optional K, M, G or T (powers of two), an optional B after it; 0 or -1. */
int size_parse(const char *text, uint64_t *bytes);

/* "8", "64K", "1M": the shortest exact form. */
const char *size_format(uint64_t bytes, char text[24]);

#endif
