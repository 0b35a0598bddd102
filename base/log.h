/* log.h - levelled lines of text to one sink, standard error by default.
 *
 * Used by what does things (io), never by what decides: core emits notes. Each line is one
 * write, so lines of several processes do not mix. The level and the sink are the program's
 * only mutable globals.
 */
#ifndef MUSTER_BASE_LOG_H
#define MUSTER_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Lines above this level are dropped. Default LOG_WARN. */
void log_set_level(enum log_level level);
bool log_is_on(enum log_level level);

/* The word before the colon of each line (not copied). Default "muster". */
void log_set_name(const char *name);

/* Where lines go instead of standard error; NULL restores it. line has its newline. */
void log_set_sink(void (*sink)(void *ctx, enum log_level level, const char *line), void *ctx);

/* "name: text" for errors, "name: warning: text", "name: text" for info, "name: [12.345
 * component] text" for debug. component: a short constant word such as "spawn". */
void log_line(enum log_level level, const char *component, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(component, ...) log_line(LOG_ERROR, component, __VA_ARGS__)
#define log_warn(component, ...) log_line(LOG_WARN, component, __VA_ARGS__)
#define log_info(component, ...) log_line(LOG_INFO, component, __VA_ARGS__)
#define log_debug(component, ...)                                                              \
    do {                                                                                       \
        if (log_is_on(LOG_DEBUG))                                                              \
            log_line(LOG_DEBUG, component, __VA_ARGS__);                                       \
    } while (0)

#endif
