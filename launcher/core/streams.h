/* streams.h - where each worker's three streams go, as the options say: shown or not, to a file
 * or not, who reads standard input, and which rank owns the terminal instead. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_STREAMS_H
#define MUSTER_LAUNCHER_CORE_STREAMS_H

#include "launcher/core/facts.h"
#include "launcher/core/event.h"
#include "launcher/core/options.h"
#include "launcher/core/rank_set.h"

/* STREAM_ bits of what muster passes on: not of other ranks than --only-ranks, not what
 * --redirects sends to files alone. */
unsigned streams_shown(const struct options *opt, uint32_t rank, uint32_t local_rank);

/* STREAM_ bits of what is written to files: with --log-dir all, or what --tee and --redirects
 * name if one of them is given. On torchrun's command line what those name, with or without
 * --log-dir; nothing if that is /dev/null, which also undoes --redirects. */
unsigned streams_logged(const struct options *opt, uint32_t local_rank);

/* STREAM_ bits of the lines that get the prefix: all; on torchrun's command line those of
 * --tee.
 */
unsigned streams_prefixed(const struct options *opt, uint32_t local_rank);

/* Whether a rank has muster's standard input as its own; false with --stdin all. */
bool streams_reads_input(const struct options *opt, uint32_t rank);

/* Whether each rank gets a copy of standard input: --stdin all. */
bool streams_is_input_shared(const struct options *opt);

/* Whether --wrap is for this rank. */
bool streams_is_wrapped(const struct options *opt, uint32_t rank);

/* *rank: the one of the whole job that owns the terminal, -1 = none: as --terminal says, or the
 * one rank that an interactive debugger of --wrap is for. Only the node that runs it needs the
 * terminal. 0, or -1 with ERR_USAGE: there is no such rank or no terminal, or a debugger is put
 * before several ranks. */
int streams_terminal(const struct options *opt, const struct facts *facts,
                     const struct order *order, int64_t *rank, struct err *e);

/* ERR_USAGE: --stdin or --wrap-ranks names a rank that is not in the group. */
int streams_check(const struct options *opt, uint32_t world_size, struct err *e);

#endif
