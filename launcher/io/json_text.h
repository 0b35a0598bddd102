/* json_text.h - text of the outside world as a JSON string.
 *
 * JSON holds UTF-8 alone; paths, names and variables hold any bytes.
 */
#ifndef MUSTER_LAUNCHER_IO_JSON_TEXT_H
#define MUSTER_LAUNCHER_IO_JSON_TEXT_H

#include <jansson.h>

/* null for NULL; a new reference. Environment and file names need not be UTF-8: where they are
 * not, every byte above 127 becomes '?'. */
json_t *json_text(const char *s);

#endif
