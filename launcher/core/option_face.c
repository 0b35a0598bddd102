#include "launcher/core/option_face.h"

#include <string.h>

enum option_offer option_face_offer(const char *metavar)
{
    static const struct {
        const char *metavar;
        enum option_offer offer;
    } rows[] = {
        {"FILE", OFFER_FILES},
        {"PATH", OFFER_FILES},
        {"DIR", OFFER_FOLDERS},
        {"PROGRAM", OFFER_PROGRAMS},
    };
    for (size_t i = 0; metavar && i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(metavar, rows[i].metavar) == 0)
            return rows[i].offer;
    return OFFER_NOTHING;
}

static bool is_word(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] >= 'A' && s.p[i] <= 'Z')
            return false;
    return s.n > 0;
}

bool option_face_word(struct str *rest, struct str *word)
{
    while (rest->n) {
        size_t n = 0;
        while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '|')
            n++;
        *word = (struct str){rest->p, n};
        n += n < rest->n;
        *rest = (struct str){rest->p + n, rest->n - n};
        if (is_word(*word))
            return true;
    }
    return false;
}

struct str option_face_words(const struct option_face *face)
{
    const bool is_choice = face->metavar && strchr(face->metavar, '|');
    const struct str words = str_from(face->words ? face->words
                                      : is_choice ? face->metavar
                                                  : NULL);
    struct str rest = words, word;
    return option_face_word(&rest, &word) ? words : (struct str){NULL, 0};
}

struct str option_face_brief(const struct option_face *face)
{
    size_t n = strcspn(face->help, ":;");
    const char *bracket = strstr(face->help, " (");
    if (bracket && (size_t)(bracket - face->help) < n)
        n = (size_t)(bracket - face->help);
    return (struct str){face->help, n};
}
