/* torchrun: any command line and environment as torchrun's. Beyond not crashing: an error is
 * one line of class USAGE, and what is accepted keeps the promises of torchrun_options.h.
 *
 * Input: as of fuzz_options.c.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/rank_set.h"
#include "launcher/core/rdzv_text.h"
#include "launcher/core/torchrun_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 64 };

static bool is_among(char *const *words, char *const *at)
{
    for (; *words; words++)
        if (words == at)
            return true;
    return false;
}

static void check(const struct options *opt, char *const *args)
{
    struct rdzv_endpoint end;
    struct err e;
    assert(opt->torchrun.is_on);
    if (opt->is_help || opt->torchrun.shell)
        return;
    assert(opt->program && is_among(args, opt->program));
    assert(opt->nproc <= 4096 && opt->nnodes_min > 0 && opt->nnodes_min <= opt->nnodes_max);
    assert(*opt->role && *opt->torchrun.prefix && (!opt->job_id || *opt->job_id));
    assert(!opt->tee || stream_map_is_valid(opt->tee));
    assert(!opt->torchrun.local_ranks || rank_set_is_valid(opt->torchrun.local_ranks));
    assert(!opt->rdzv_endpoint || rdzv_endpoint_parse("", opt->rdzv_endpoint, &end, &e) == 0);
    assert(!opt->is_module || opt->interpreter == INTERPRETER_PYTHON);
    assert(opt->join_timeout_ms && opt->beat_ms && opt->beats_missed);
}

static void expect_one_line(const struct err *e)
{
    assert(e->code == ERR_USAGE && e->text[0]);
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
    if (torchrun_options_parse(args, (const char *const *)environment, &opt, &e) < 0)
        expect_one_line(&e);
    else
        check(&opt, args);
    for (size_t i = 0; i < nenvironment; i++)
        free(environment[i]);
    for (size_t i = 0; i < nargs; i++)
        free(args[i]);
    return 0;
}
