/* rank_set.h - which ranks, as a command line says it: "0,2-5"; and which streams of which
 * ranks, as torchrun says it: "3" or "0:3,12:1".
 *
 * The text is the value: checked once, read again for each rank. Any rank number. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_RANK_SET_H
#define MUSTER_LAUNCHER_CORE_RANK_SET_H

#include <stdbool.h>
#include <stdint.h>

/* Whether text is a list of ranks and ranges, as in "0,2-5". */
bool rank_set_is_valid(const char *text);

/* Of a valid text. */
bool rank_set_has(const char *text, uint32_t rank);

/* The highest rank that a valid text names. */
uint32_t rank_set_last(const char *text);

enum { STREAM_OUT = 1, STREAM_ERR = 2, STREAM_BOTH = 3 };

/* Whether text is a number of STREAM_ bits, or those by local rank, as in "3" or "0:3,12:1". */
bool stream_map_is_valid(const char *text);

/* STREAM_ bits of a rank, 0 for one that a valid text does not name; of one named twice, the
 * last. */
unsigned stream_map_get(const char *text, uint32_t rank);

#endif
