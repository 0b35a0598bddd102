/* options: any command line and environment. Beyond not crashing: an error is one line of class
 * USAGE that says something, and what is accepted keeps the promises of options.h.
 *
 * Input: as of words.h.
 */
#include <assert.h>

#include "launcher/core/options.h"
#include "tests/fuzz/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct options *opt, char *const *args)
{
    assert(opt->nproc <= 4096);
    assert(opt->origin[OPTION_NPROC] == ORIGIN_DEFAULT || opt->nproc > 0);
    assert(opt->prefix && *opt->prefix);
    assert(!opt->log_dir || *opt->log_dir);
    assert(!opt->job_id || *opt->job_id);
    assert(opt->program || opt->is_help);
    bool is_within = !opt->program;
    for (; *args; args++)
        is_within = is_within || args == opt->program;
    assert(is_within && (!opt->program || *opt->program));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct words w;
    struct options opt;
    struct err e = {ERR_OK, 0, ""};
    words_split(data, size, &w);
    if (options_parse(w.args, (const char *const *)w.environment, &opt, &e) < 0)
        assert(e.code == ERR_USAGE && e.text[0]);
    else
        check(&opt, w.args);
    words_fini(&w);
    return 0;
}
