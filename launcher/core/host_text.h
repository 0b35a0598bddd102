/* host_text.h - the smallest parts of a host list: bytes, words, numbers.
 *
 * Owns what a blank is and which bytes may stand outside a comment. Does not know hosts or
 * keys. Slices stay inside the line of the source, so that any of them is also a place.
 */
#ifndef MUSTER_LAUNCHER_CORE_HOST_TEXT_H
#define MUSTER_LAUNCHER_CORE_HOST_TEXT_H

#include "launcher/core/host_fault.h"

/* Space or tab. */
bool host_is_blank(char c);

/* 0 if all bytes of s are printable ASCII or blanks; E_CHAR at the first that is not. */
int host_check_bytes(const struct host_source *src, struct str s);

/* s without blanks at both ends; an empty result lies where s began. */
struct str host_trim(struct str s);

/* Skips blanks in *rest and takes the bytes before the next blank; empty at the end. */
struct str host_take_word(struct str *rest);

/* Takes from *rest what stands before the next sep outside brackets, which is swallowed; false
 * when nothing is left, as str_split. An unclosed bracket reaches to the end. */
bool host_split(struct str *rest, char sep, struct str *part);

/* A decimal number in [1, max]: E_NUMBER if s is none (too long for 32 bits included), E_RANGE
 * outside. what: for the text, "slots". */
int host_number(const struct host_source *src, struct str s, uint32_t max, const char *what,
                uint32_t *out);

#endif
