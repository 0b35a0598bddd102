/* options: any command line and environment. Beyond not crashing: an error is one line of class
 * USAGE that says something, and what is accepted keeps the promises of options.h.
 *
 * Input: words ended by NUL. Words before the first empty one are the environment (NAME=VALUE),
 * the others the arguments.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 64 };

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
    char *environment[WORDS_MAX + 1] = {NULL}, *args[WORDS_MAX + 1] = {NULL};
    size_t nenvironment = 0, nargs = 0;
    bool in_environment = true;
    while (size) {
        size_t n = strnlen((const char *)data, size);
        char *word = mem_alloc(n + 1, 1); /* of its own size: ASan sees a read past it */
        memcpy(word, data, n);
        if (in_environment && n == 0) {
            in_environment = false;
            free(word);
        } else if (in_environment && nenvironment < WORDS_MAX)
            environment[nenvironment++] = word;
        else if (!in_environment && nargs < WORDS_MAX)
            args[nargs++] = word;
        else
            free(word);
        n += n < size;
        data += n;
        size -= n;
    }
    struct options opt;
    struct err e = {ERR_OK, 0, ""};
    if (options_parse(args, (const char *const *)environment, &opt, &e) < 0)
        assert(e.code == ERR_USAGE && e.text[0]);
    else
        check(&opt, args);
    for (size_t i = 0; i < nenvironment; i++)
        free(environment[i]);
    for (size_t i = 0; i < nargs; i++)
        free(args[i]);
    return 0;
}
