/* option_face.h - one option as its readers see it, whichever table it stands in: --help, man
 * pages and completions are made of this, so that an option of a table is in all of them.
 */
#ifndef MUSTER_LAUNCHER_CORE_OPTION_FACE_H
#define MUSTER_LAUNCHER_CORE_OPTION_FACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* What a shell offers as its value, besides words. */
enum option_offer { OFFER_NOTHING, OFFER_FILES, OFFER_FOLDERS, OFFER_PROGRAMS };

/* Text is static. */
struct option_face {
    const char *name;    /* without dashes */
    char letter;         /* 0 = none */
    const char *metavar; /* NULL = a flag */
    const char *help;
    const char *words; /* what its value may be, or often is; NULL = see option_face_word */
    enum option_offer offer;
    bool is_repeated; /* each time it is given counts */
    bool has_env;     /* MUSTER_<NAME> sets it too */
    bool has_pet;     /* PET_<NAME>, torchrun's, sets it too */
};

/* What the metavariable says: files for FILE, folders for DIR, programs for PROGRAM. */
enum option_offer option_face_offer(const char *metavar);

/* Takes the next word that the value may be, from face->words, or else from a metavariable such
 * as "N|gpu|cpu"; what is in capitals is no word. *rest begins as option_face_words(), which is
 * empty if there is none. */
struct str option_face_words(const struct option_face *face);
bool option_face_word(struct str *rest, struct str *word);

/* The beginning of its help, up to what is put in brackets or behind a colon: one short line.
 */
struct str option_face_brief(const struct option_face *face);

/* The i-th option of a command, from 0; false past the last. */
typedef bool option_faces(size_t i, struct option_face *out);

#endif
