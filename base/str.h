/* str.h - slices of text that somebody else owns, and strict parsing.
 *
 * Parsing takes the whole slice or fails: no leading blanks, no trailing junk, no silent wrap.
 */
#ifndef MUSTER_BASE_STR_H
#define MUSTER_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
    const char *p;
    size_t n;
};

/* printf("%.*s", STR_ARG(s)) */
#define STR_ARG(s) (int)(s).n, (s).p
#define STR_LIT(lit) ((struct str){lit, sizeof(lit) - 1})

struct str str_from(const char *s); /* NULL gives the empty slice */
bool str_eq(struct str a, const char *b);
bool str_starts(struct str s, const char *prefix);

/* Without blanks (space, tab, CR, LF) at both ends. */
struct str str_trim(struct str s);

/* Takes from *rest the part before the next sep, which is swallowed. False when nothing is left
 * (rest->p is NULL, as after the last part). "a,,b" has three parts, "a," two, "" one empty
 * part. */
bool str_split(struct str *rest, char sep, struct str *part);

/* Decimal digits only, value in [min, max]; 0 or -1. */
int str_parse_u64(struct str s, uint64_t min, uint64_t max, uint64_t *out);

/* A duration: digits with an optional fraction and unit ms, s (default), m, h; result in
 * milliseconds; 0 or -1. */
int str_parse_duration_ms(struct str s, uint64_t *out);

/* 1/0, true/false, yes/no, on/off in lower case; 0 or -1. */
int str_parse_bool(struct str s, bool *out);

/* Length (1 to 4) of the UTF-8 character that begins at p, 0 if none does. */
size_t str_utf8_len(const char *p, size_t n);

/* Damerau-Levenshtein distance (adjacent swaps count one) of two short words, at most 64 bytes
 * each; longer words are as far apart as their length. For "did you mean". */
unsigned str_distance(const char *a, const char *b);

#endif
