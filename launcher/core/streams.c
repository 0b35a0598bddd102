#include "launcher/core/streams.h"

#include <string.h>

#include "base/str.h"
#include "launcher/core/wrap.h"

static unsigned named(const char *map, uint32_t local_rank)
{
    return map ? stream_map_get(map, local_rank) : 0;
}

/* torchrun's way to say: no files at all. */
static bool is_without_files(const struct options *opt)
{
    return opt->torchrun.is_on && opt->log_dir && strcmp(opt->log_dir, "/dev/null") == 0;
}

unsigned streams_shown(const struct options *opt, uint32_t rank, uint32_t local_rank)
{
    if (opt->only_ranks && !rank_set_has(opt->only_ranks, rank))
        return 0;
    if (is_without_files(opt))
        return STREAM_BOTH;
    if (opt->torchrun.local_ranks && !rank_set_has(opt->torchrun.local_ranks, local_rank))
        return 0;
    unsigned wanted = opt->show ? stream_map_get(opt->show, local_rank) : STREAM_BOTH;
    /* tee wins: it asks for both */
    return wanted & ~(named(opt->redirects, local_rank) & ~named(opt->tee, local_rank));
}

unsigned streams_logged(const struct options *opt, uint32_t local_rank)
{
    if (is_without_files(opt) || (!opt->log_dir && !opt->torchrun.is_on))
        return 0;
    if (!opt->torchrun.is_on && !opt->redirects && !opt->tee)
        return STREAM_BOTH;
    return named(opt->redirects, local_rank) | named(opt->tee, local_rank);
}

static bool is_word(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

unsigned streams_prefixed(const struct options *opt, uint32_t local_rank)
{
    if (!opt->torchrun.is_on)
        return STREAM_BOTH;
    return is_without_files(opt) ? 0 : named(opt->tee, local_rank);
}

/* The rank that reads; false: none does alone. */
static bool reader(const struct options *opt, uint64_t *rank)
{
    *rank = 0;
    return !opt->input || str_parse_u64(str_from(opt->input), 0, UINT32_MAX, rank) == 0;
}

bool streams_reads_input(const struct options *opt, uint32_t rank)
{
    uint64_t wanted;
    return reader(opt, &wanted) && rank == wanted;
}

bool streams_is_input_shared(const struct options *opt)
{
    return is_word(opt->input, "all");
}

bool streams_is_wrapped(const struct options *opt, uint32_t rank)
{
    return opt->wrap && (!opt->wrap_ranks || rank_set_has(opt->wrap_ranks, rank));
}

static int no_rank(const char *option, uint64_t rank, uint32_t world_size, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s: there is no rank %llu; the last one is %u", option,
                   (unsigned long long)rank, world_size - 1);
}

int streams_check(const struct options *opt, uint32_t world_size, struct err *e)
{
    uint64_t wanted, last = opt->wrap_ranks ? rank_set_last(opt->wrap_ranks) : 0;
    if (last >= world_size)
        return no_rank("--wrap-ranks", last, world_size, e);
    if (!reader(opt, &wanted) || wanted < world_size)
        return 0;
    return no_rank("--stdin", wanted, world_size, e);
}

/* ---- the terminal ---- */

static bool is_debugged(const struct options *opt)
{
    static const struct wrap_fields any = {0, 0, "", ""};
    if (!opt->wrap)
        return false;
    char **words = wrap_words(opt->wrap, &any);
    bool is = wrap_is_interactive(words);
    wrap_free(words);
    return is;
}

/* The one rank that a debugger is for. */
static int debugged_rank(const struct options *opt, uint32_t world_size, int64_t *rank,
                         struct err *e)
{
    for (uint32_t i = 0; i < world_size; i++) {
        if (!streams_is_wrapped(opt, i))
            continue;
        if (*rank >= 0)
            return err_set(e, ERR_USAGE,
                           "--wrap: a debugger needs a terminal to itself: choose one rank "
                           "with --wrap-ranks, or add -batch to its words");
        *rank = i;
    }
    return 0;
}

int streams_terminal(const struct options *opt, const struct facts *facts,
                     const struct order *order, int64_t *rank, struct err *e)
{
    uint64_t wanted = 0;
    *rank = -1;
    if (is_word(opt->terminal, "none"))
        return 0;
    if (opt->terminal) {
        str_parse_u64(str_from(opt->terminal), 0, UINT32_MAX, &wanted);
        if (wanted >= order->world_size)
            return no_rank("--terminal", wanted, order->world_size, e);
        *rank = (int64_t)wanted;
    } else if (is_debugged(opt) && debugged_rank(opt, order->world_size, rank, e) < 0) {
        return -1;
    }
    if (*rank < order->first_rank || *rank >= order->first_rank + order->nworkers
        || facts->has_terminal || opt->is_plan)
        return 0;
    return err_set(e, ERR_USAGE,
                   "rank %lld needs the terminal%s, but muster is not in the foreground of one "
                   "with all its three streams",
                   (long long)*rank,
                   opt->terminal ? "" : " for its debugger (-batch: it does not)");
}
