/* output_style.h - how lines of workers look: prefix, colour, from the command line and where
 * they go.
 *
 * Asks whether muster's streams are terminals; writes nothing.
 */
#ifndef MUSTER_LAUNCHER_IO_OUTPUT_STYLE_H
#define MUSTER_LAUNCHER_IO_OUTPUT_STYLE_H

#include "launcher/core/facts.h"
#include "launcher/core/options.h"
#include "launcher/io/output.h"

/* Borrows from opt and facts. */
struct output_style output_style_of(const struct options *opt, const struct facts *facts);

#endif
