#include "launcher/core/env_forward.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A trailing "*" stands for anything. */
static const char *const travelling[] = {
    "PATH",   "LD_LIBRARY_PATH", "PYTHON*", "NCCL_*",      "UCX_*",
    "FI_*",   "GLOO_*",          "OMP_*",   "TORCH*",      "HF_*",
    "CUDA_*", "OMPI_MCA_*",      "MPICH_*", "MPIR_CVAR_*", "I_MPI_*"};

/* Of one machine or one process; not even with -x. */
static const char *const staying[] = {"CUDA_VISIBLE_DEVICES",
                                      "CUDA_DEVICE_ORDER",
                                      "CUDA_MPS_*",
                                      "NCCL_HOSTID",
                                      "NVIDIA_VISIBLE_DEVICES",
                                      "MUSTER_*",
                                      "HOSTNAME",
                                      "SSH_*",
                                      "TMPDIR",
                                      "XDG_*",
                                      "TORCHELASTIC_*"};

void env_list_fini(struct env_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i]);
    free(list->items);
    free(list->index);
    *list = (struct env_list){0};
}

/* Where the variable of an entry stands in the index, or the free place where it would. */
static uint32_t *find_place(const struct env_list *list, const char *entry)
{
    size_t n = strcspn(entry, "=") + 1, mask = list->nindex - 1;
    uint32_t h = 2166136261U; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)entry[i]) * 16777619U;
    size_t at = h & mask;
    while (list->index[at] && strncmp(list->items[list->index[at] - 1], entry, n) != 0)
        at = (at + 1) & mask;
    return &list->index[at];
}

static void grow_index(struct env_list *list)
{
    free(list->index);
    list->nindex = list->nindex ? 2 * list->nindex : 128;
    list->index = mem_alloc(list->nindex, sizeof *list->index);
    for (size_t i = 0; i < list->n; i++)
        *find_place(list, list->items[i]) = (uint32_t)i + 1;
}

void env_list_set(struct env_list *list, struct str name, struct str value)
{
    char *entry = mem_printf("%.*s=%.*s", STR_ARG(name), STR_ARG(value));
    if (2 * (list->n + 1) > list->nindex)
        grow_index(list);
    uint32_t *place = find_place(list, entry);
    if (*place) {
        free(list->items[*place - 1]);
        list->items[*place - 1] = entry;
        return;
    }
    *place = (uint32_t)list->n + 1;
    array_grow(list->items, list->n, list->cap);
    list->items[list->n++] = entry;
    array_grow(list->items, list->n, list->cap);
    list->items[list->n] = NULL;
}

static bool matches(struct str name, struct str pattern)
{
    bool is_open = pattern.n && pattern.p[pattern.n - 1] == '*';
    pattern.n -= is_open;
    return is_open ? name.n >= pattern.n && memcmp(name.p, pattern.p, pattern.n) == 0
                   : name.n == pattern.n && memcmp(name.p, pattern.p, name.n) == 0;
}

static bool is_among(struct str name, const char *const *patterns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (matches(name, str_from(patterns[i])))
            return true;
    return false;
}
#define IS_AMONG(name, table) is_among(name, table, sizeof(table) / sizeof((table)[0]))

static bool split(const char *entry, struct str *name, struct str *value)
{
    const char *equals = strchr(entry, '=');
    if (!equals || equals == entry)
        return false;
    *name = (struct str){entry, (size_t)(equals - entry)};
    *value = str_from(equals + 1);
    return true;
}

static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool is_letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
        if (!is_letter && !(i && c >= '0' && c <= '9'))
            return false;
    }
    return name.n > 0;
}

static int set_checked(struct env_list *out, const char *where, struct str name,
                       struct str value, struct err *e)
{
    if (!is_name(name))
        return err_set(e, ERR_USAGE, "%s: '%.*s' is no name of a variable", where,
                       STR_ARG(name));
    if (IS_AMONG(name, staying))
        return err_set(e, ERR_USAGE,
                       "%s: %.*s belongs to one machine or process and does not travel", where,
                       STR_ARG(name));
    env_list_set(out, name, value);
    return 0;
}

static int add_file(struct str file, const char *file_name, struct env_list *out, struct err *e)
{
    struct str line;
    char where[256];
    for (unsigned number = 1; str_split(&file, '\n', &line); number++) {
        struct str name;
        line.n -= line.n && line.p[line.n - 1] == '\r';
        if (!line.n || *line.p == '#')
            continue;
        err_set(e, ERR_USAGE, "%.200s:%u", file_name, number);
        strcpy(where, e->text);
        struct str value = line;
        if (!memchr(line.p, '=', line.n) || !str_split(&value, '=', &name))
            return err_set(e, ERR_USAGE, "%s: a line is NAME=VALUE", where);
        if (set_checked(out, where, name, value, e) < 0)
            return -1;
    }
    return 0;
}

static int add_named(const char *text, const char *const *environment, struct env_list *out,
                     struct err *e)
{
    struct str name, value, wanted = str_from(text);
    size_t found = 0;
    if (split(text, &name, &value))
        return set_checked(out, "-x", name, value, e);
    bool is_pattern = wanted.p[wanted.n - 1] == '*';
    for (const char *const *v = environment; v && *v; v++) {
        if (!split(*v, &name, &value) || !matches(name, wanted)
            || (is_pattern && IS_AMONG(name, staying)))
            continue;
        if (set_checked(out, "-x", name, value, e) < 0)
            return -1;
        found++;
    }
    if (found || is_pattern)
        return 0;
    return err_set(e, ERR_USAGE, "-x %s: no such variable is set here; -x %s=VALUE gives one",
                   text, text);
}

int env_forward(const struct options *opt, const char *const *environment, struct str file,
                const char *file_name, struct env_list *out, struct err *e)
{
    struct str name, value;
    for (const char *const *v = environment; v && *v; v++)
        if (split(*v, &name, &value) && IS_AMONG(name, travelling) && !IS_AMONG(name, staying))
            env_list_set(out, name, value);
    if (file.p && add_file(file, file_name, out, e) < 0)
        return -1;
    for (uint32_t i = 0; i < opt->forward.n; i++)
        if (add_named(opt->forward.items[i], environment, out, e) < 0)
            return -1;
    return 0;
}
