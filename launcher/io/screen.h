/* screen.h - a terminal that one text fills and that is drawn anew in place: plain ANSI, on the
 * alternate screen, so that what stood there before comes back.
 */
#ifndef MUSTER_LAUNCHER_IO_SCREEN_H
#define MUSTER_LAUNCHER_IO_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#include "base/err.h"

struct screen {
    struct termios before;
    int signals; /* signalfd */
};

enum screen_news { SCREEN_QUIT, SCREEN_RESIZED, SCREEN_DUE };

/* Standard input and output are terminals. Keys come one by one; signals that end are taken,
 * so that the terminal is put back. 0, or -1 with ERR_SYSTEM and nothing changed. */
int screen_begin(struct screen *s, struct err *e);
void screen_end(struct screen *s);

void screen_size(unsigned *width, unsigned *height);

/* Shows these lines in place of those before. The last one must leave the last line free of a
 * newline: it is not written. */
void screen_draw(const char *text, size_t n);

/* Waits: until q or a signal that ends, a new size, or until ms are over. */
enum screen_news screen_wait(struct screen *s, uint64_t ms);

#endif
