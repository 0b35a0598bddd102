/* option_row.h - one row of the table of options, as those see it that read, check, format and
 * describe options.
 *
 * Private to options.c, option_value.c and option_help.c. The table itself is OPTION_TABLE in
 * options.h.
 */
#ifndef MUSTER_LAUNCHER_CORE_OPTION_ROW_H
#define MUSTER_LAUNCHER_CORE_OPTION_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/core/options.h"

struct option_row {
    const char *name;      /* long name, without dashes */
    char letter;           /* 0 = none */
    bool has_env;          /* MUSTER_<NAME> sets it too */
    const char *pet;       /* torchrun's variable; NULL = none */
    enum option_type type; /* of its value */
    size_t offset;         /* of its value in struct options */
    const char *metavar;   /* NULL = a flag */
    const char *help;
};

/* The row of an option. */
const struct option_row *options_row(enum option_id id);

#endif
