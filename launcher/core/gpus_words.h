/* gpus_words.h - the sentences of `muster gpus`: what each variable of the environment does to
 * the GPUs that CUDA shows, and what is missing where there is nothing to show. */
#ifndef MUSTER_LAUNCHER_CORE_GPUS_WORDS_H
#define MUSTER_LAUNCHER_CORE_GPUS_WORDS_H

#include "launcher/core/gpus_view.h"

/* Fills words and nwords of a view that is otherwise complete. */
void gpus_words(struct gpus_view *v);

#endif
