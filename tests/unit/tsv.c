#include "tsv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void tsv_die(const char *what, const char *detail)
{
    fprintf(stderr, "vectors: %s: %s\n", what, detail);
    exit(99);
}

FILE *tsv_open(const char *folder, const char *name)
{
    char *path = mem_printf("%s/vectors/%s/%s", TESTS_DIR, folder, name);
    FILE *file = fopen(path, "r");
    if (!file)
        tsv_die("cannot open", path);
    free(path);
    return file;
}

bool tsv_next(FILE *file, char **line, size_t *cap)
{
    while (getline(line, cap, file) > 0) {
        (*line)[strcspn(*line, "\n")] = '\0';
        if (**line != '#' && **line)
            return true;
    }
    return false;
}

int tsv_split(char *line, const char *sep, char **parts, int max)
{
    int n = 0;
    for (char *part; (part = strsep(&line, sep));) {
        if (n == max)
            tsv_die("too many parts", part);
        parts[n++] = part;
    }
    return n;
}

struct str tsv_decode(char *field)
{
    static const char names[] = "tns\\", bytes[] = "\t\n \\";
    char *out = field;
    if (strcmp(field, "\\N") == 0)
        return (struct str){NULL, 0};
    if (strcmp(field, "\\e") == 0)
        return (struct str){memset(field, 0, 2), 0};
    for (char *in = field; *in; in++) {
        if (*in != '\\') {
            *out++ = *in;
        } else if (*++in == 'x') {
            char hex[3] = {in[1], in[2], '\0'};
            *out++ = (char)strtoul(hex, NULL, 16);
            in += 2;
        } else {
            const char *at = strchr(names, *in);
            if (!at)
                tsv_die("unknown escape", in);
            *out++ = bytes[at - names];
        }
    }
    *out = '\0';
    return (struct str){field, (size_t)(out - field)};
}
