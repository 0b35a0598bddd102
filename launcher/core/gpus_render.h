/* gpus_render.h - `muster gpus` as text: one table, then the words.
 *
 * Columns stand in the order of their worth, identity first; those that do not fit the width go
 * to a second line of each GPU, from the right. Nothing is cut: a UUID can always be copied.
 */
#ifndef MUSTER_LAUNCHER_CORE_GPUS_RENDER_H
#define MUSTER_LAUNCHER_CORE_GPUS_RENDER_H

#include "launcher/core/gpus_view.h"

/* Appends the text for so many columns. */
void gpus_render(const struct gpus_view *v, unsigned width, struct buf *out);

#endif
