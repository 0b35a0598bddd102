#include "launcher/core/streams.h"

#include <string.h>

#include "base/str.h"

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
    /* tee wins: it asks for both */
    return STREAM_BOTH & ~(named(opt->redirects, local_rank) & ~named(opt->tee, local_rank));
}

unsigned streams_logged(const struct options *opt, uint32_t local_rank)
{
    if (is_without_files(opt) || (!opt->log_dir && !opt->torchrun.is_on))
        return 0;
    if (!opt->torchrun.is_on && !opt->redirects && !opt->tee)
        return STREAM_BOTH;
    return named(opt->redirects, local_rank) | named(opt->tee, local_rank);
}

unsigned streams_prefixed(const struct options *opt, uint32_t local_rank)
{
    if (!opt->torchrun.is_on)
        return STREAM_BOTH;
    return is_without_files(opt) ? 0 : named(opt->tee, local_rank);
}

/* The rank that reads; false: none does. */
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

int streams_check(const struct options *opt, uint32_t world_size, struct err *e)
{
    uint64_t wanted;
    if (!reader(opt, &wanted) || wanted < world_size)
        return 0;
    return err_set(e, ERR_USAGE, "--stdin: there is no rank %llu; the last one is %u",
                   (unsigned long long)wanted, world_size - 1);
}
