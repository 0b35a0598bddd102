/* boot_parse.h - reads a boot record.
 *
 * Owns what is refused: unknown keys, keys twice, another version, anything beyond the limits
 * of boot_record.h. Errors never repeat a value, because one of them is the job's secret.
 */
#ifndef MUSTER_LAUNCHER_CORE_BOOT_PARSE_H
#define MUSTER_LAUNCHER_CORE_BOOT_PARSE_H

#include "base/str.h"
#include "launcher/core/boot_record.h"

/* How long the record at the beginning of got is, its empty line included; 0 while the end has
 * not come. -1 with ERR_PROTOCOL where none can follow any more. */
int boot_parse_end(struct str got, size_t *length, struct err *e);

/* Reads one whole record. ERR_PROTOCOL names the line and the key; then there is nothing to
 * free. */
int boot_parse(struct str text, struct boot_record *out, struct err *e);

#endif
