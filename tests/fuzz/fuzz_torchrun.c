/* torchrun: any command line and environment as torchrun's. Beyond not crashing: an error is
 * one line of class USAGE, and what is accepted keeps the promises of torchrun_options.h.
 *
 * Input: as of words.h.
 */
#include <assert.h>

#include "launcher/core/rank_set.h"
#include "launcher/core/rdzv_text.h"
#include "launcher/core/torchrun_options.h"
#include "tests/fuzz/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    struct words w;
    struct options opt;
    struct err e = {ERR_OK, 0, ""};
    words_split(data, size, &w);
    if (torchrun_options_parse(w.args, (const char *const *)w.environment, &opt, &e) < 0)
        expect_one_line(&e);
    else
        check(&opt, w.args);
    words_fini(&w);
    return 0;
}
