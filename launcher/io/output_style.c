#include "launcher/io/output_style.h"

#include <string.h>

/* What a prefix template means: "auto" names the rank where a person reads lines of several
 * workers. */
static const char *prefix_of(const struct options *opt, const struct facts *facts)
{
    if (opt->torchrun.is_on) /* of the lines that --tee names */
        return opt->tee ? opt->torchrun.prefix : NULL;
    if (strcmp(opt->prefix, "none") == 0)
        return NULL;
    if (strcmp(opt->prefix, "auto") != 0)
        return opt->prefix;
    bool is_alone = opt->nproc == 1 && opt->nnodes_max == 1 && !options_has_hosts(opt);
    return facts->is_stdout_tty && !is_alone ? "{rank}: " : NULL;
}

struct output_style output_style_of(const struct options *opt, const struct facts *facts)
{
    return (struct output_style){.prefix = prefix_of(opt, facts),
                                 .host = facts->host,
                                 .has_colour = facts_allow_colour(facts),
                                 .is_deduped = opt->is_deduped};
}
