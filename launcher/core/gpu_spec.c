#include "launcher/core/gpu_spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/gpu_error.h"

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool has_prefix_nocase(struct str s, const char *prefix)
{
    size_t n = strlen(prefix);
    for (size_t i = 0; i < n; i++)
        if (i >= s.n || lower(s.p[i]) != lower(prefix[i]))
            return false;
    return true;
}

static struct str after(struct str s, size_t n)
{
    return (struct str){s.p + n, s.n - n};
}

/* Decimal, no sign, no leading zero, at most 4 digits. */
static bool take_int(struct str s, int *out)
{
    uint64_t v;
    if (s.n > 4 || (s.n > 1 && s.p[0] == '0') || str_parse_u64(s, 0, 9999, &v) != 0)
        return false;
    *out = (int)v;
    return true;
}

static bool take_range(struct str s, struct gpu_item *it)
{
    struct str a, b;
    str_split(&s, '-', &a);
    if (!take_int(a, &it->first))
        return false;
    if (!str_split(&s, '-', &b)) {
        it->last = it->first;
        return true;
    }
    return !s.p && take_int(b, &it->last);
}

/* Two integers around sep. */
static bool take_pair(struct str s, char sep, struct gpu_item *it)
{
    struct str a, b;
    return str_split(&s, sep, &a) && str_split(&s, sep, &b) && !s.p && take_int(a, &it->first)
           && take_int(b, &it->last);
}

static bool take_uuid(struct str s, struct gpu_item *it)
{
    if (s.n < 1 || s.n > 36)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_hex(s.p[i]) && s.p[i] != '-')
            return false;
        it->hex[i] = lower(s.p[i]);
    }
    it->hex[s.n] = '\0';
    return true;
}

static bool take_hex(struct str s, size_t min, size_t max, uint32_t *out)
{
    uint32_t v = 0;
    if (s.n < min || s.n > max)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_hex(s.p[i]))
            return false;
        char c = lower(s.p[i]);
        v = v << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *out = v;
    return true;
}

static bool take_pci(struct str s, struct gpu_item *it)
{
    struct str part[3];
    size_t n = 0;
    if (s.n > 2 && !memcmp(s.p + s.n - 2, ".0", 2))
        s.n -= 2;
    while (n < 3 && str_split(&s, ':', &part[n]))
        n++;
    if (s.p || n < 2)
        return false;
    uint32_t domain;
    it->domain = -1;
    if (n == 3) {
        if (!take_hex(part[0], 4, 8, &domain))
            return false;
        it->domain = domain;
    }
    return take_hex(part[n - 2], 2, 2, &it->bus) && take_hex(part[n - 1], 2, 2, &it->dev);
}

static bool take_mig_name(struct str s, struct gpu_item *it)
{
    if (!has_prefix_nocase(s, "GPU-")) {
        it->kind = GPU_ITEM_MIG_UUID;
        return take_uuid(s, it);
    }
    it->kind = GPU_ITEM_MIG_LEGACY;
    struct str rest = after(s, 4), uuid;
    return str_split(&rest, '/', &uuid) && rest.p && take_uuid(uuid, it)
           && take_pair(rest, '/', it);
}

static bool take_atom(struct str s, struct gpu_item *it)
{
    if (has_prefix_nocase(s, "GPU-")) {
        it->kind = GPU_ITEM_GPU_UUID;
        return take_uuid(after(s, 4), it);
    }
    if (has_prefix_nocase(s, "MIG-"))
        return take_mig_name(after(s, 4), it);
    if (str_starts(s, "phys:")) {
        it->kind = GPU_ITEM_PHYS;
        return take_range(after(s, 5), it);
    }
    if (str_starts(s, "mig:")) {
        it->kind = GPU_ITEM_MIG_SLOT;
        return take_pair(after(s, 4), ':', it);
    }
    if (str_starts(s, "pci:")) {
        it->kind = GPU_ITEM_PCI;
        return take_pci(after(s, 4), it);
    }
    if (str_starts(s, "minor:")) {
        it->kind = GPU_ITEM_MINOR;
        return take_int(after(s, 6), &it->first);
    }
    it->kind = GPU_ITEM_POSITION;
    return take_range(s, it);
}

static bool take_item(struct str s, struct gpu_item *it)
{
    *it = (struct gpu_item){.first = -1, .last = -1, .domain = -1};
    snprintf(it->text, sizeof it->text, "%.*s", STR_ARG(s));
    if (s.n && (s.p[0] == '^' || s.p[0] == '!')) {
        it->removes = true;
        return take_atom(after(s, 1), it);
    }
    if (str_eq(s, "all") || str_eq(s, "none")) {
        it->kind = s.p[0] == 'a' ? GPU_ITEM_ALL : GPU_ITEM_NONE;
        return true;
    }
    if (str_eq(s, "auto") || str_starts(s, "auto:")) {
        it->kind = GPU_ITEM_AUTO;
        return s.n == 4 || take_int(after(s, 5), &it->first);
    }
    if (str_starts(s, "n:")) {
        it->kind = GPU_ITEM_FIRST;
        return take_int(after(s, 2), &it->first);
    }
    return take_atom(s, it);
}

/* ---- what to say about text that is not well formed ---- */

static bool all_of(struct str s, const char *set)
{
    for (size_t i = 0; i < s.n; i++)
        if (!strchr(set, s.p[i]))
            return false;
    return s.n > 0;
}

#define DIGITS "0123456789"

/* Writes the spelling that would work into hint; the plain list of choices if none is near. */
static void suggest(struct str s, char *hint, size_t size)
{
    struct str body = s.n && strchr("^!+", s.p[0]) ? after(s, 1) : s;
    while (body.n > 1 && body.p[0] == '0' && strchr(DIGITS, body.p[1]))
        body = after(body, 1);
    if (!s.n)
        snprintf(hint, size, "an item is empty; write a list such as 0,1");
    else if (strpbrk(s.p, "[]\"'()"))
        snprintf(hint, size, "write the list without brackets or quotes, as 0,1");
    else if (all_of(body, DIGITS) && body.n <= 4 && body.n < s.n && s.p[0] != '^')
        snprintf(hint, size, "numbers have no sign and no leading zero; write %.*s",
                 STR_ARG(body));
    else if (s.p[0] == '-' && all_of(after(s, 1), DIGITS))
        snprintf(hint, size, "to leave a GPU out write ^%.*s", STR_ARG(after(s, 1)));
    else if (has_prefix_nocase(s, "cuda:") || has_prefix_nocase(s, "gpu:"))
        snprintf(hint, size, "write the number alone, %.*s",
                 STR_ARG(after(s, s.p[0] == 'c' || s.p[0] == 'C' ? 5 : 4)));
    else if (strpbrk(s.p, " ;\t") && all_of(s, DIGITS " ;\t"))
        snprintf(hint, size, "separate GPUs with commas, as 0,1");
    else if ((strchr(s.p, ':') && all_of(s, DIGITS ":"))
             || (strstr(s.p, "..") && all_of(s, DIGITS ".")))
        snprintf(hint, size, "a range is written 0-3");
    else if (all_of(s, DIGITS "abcdefABCDEF-") && !all_of(s, DIGITS "-") && s.n >= 4
             && s.n <= 36)
        snprintf(hint, size, "if this is a UUID write GPU-%.*s", STR_ARG(s));
    else if (strchr(DIGITS, s.p[0]))
        snprintf(hint, size, "a number stands alone and is plain decimal, as 0,1 or 0-3");
    else
        snprintf(hint, size,
                 "write all, none, auto:N, n:N, I, I-J, ^I, phys:I, GPU-UUID, MIG-UUID, "
                 "mig:G:M, pci:BB:DD or minor:N");
}

static int fail_item(const char *text, struct str s, struct gpu_fault *f)
{
    char hint[160];
    char *copy = mem_printf("%.*s", STR_ARG(s));
    suggest((struct str){copy, s.n}, hint, sizeof hint);
    if (s.n)
        gpu_fail(f, GPU_E_SYNTAX, "--gpus: cannot read \"%.40s\"; %s", copy, hint);
    else
        gpu_fail(f, GPU_E_SYNTAX, "--gpus \"%.60s\": %s", text, hint);
    free(copy);
    return -1;
}

/* none, auto and n: choose by themselves, so nothing else may add to them. */
static int check_alone(const struct gpu_spec *spec, struct gpu_fault *f)
{
    int adding = 0, alone = -1;
    for (int i = 0; i < spec->nitems; i++) {
        const struct gpu_item *it = &spec->items[i];
        adding += !it->removes;
        if (it->kind == GPU_ITEM_NONE || it->kind == GPU_ITEM_AUTO
            || it->kind == GPU_ITEM_FIRST)
            alone = i;
    }
    if (alone < 0 || adding == 1)
        return 0;
    return gpu_fail(f, GPU_E_SYNTAX,
                    "--gpus: \"%s\" chooses by itself and cannot be joined with other GPUs; "
                    "write it alone (removals such as ^0 may follow)",
                    spec->items[alone].text);
}

int gpu_spec_parse(const char *text, struct gpu_spec *out, struct err *e)
{
    struct gpu_fault f = {.e = e};
    struct str rest = str_from(text), part;
    size_t cap = 0;
    *out = (struct gpu_spec){0};
    if (!str_trim(rest).n)
        return gpu_fail(&f, GPU_E_SYNTAX,
                        "--gpus is empty; write none for no GPU, all, or a list such as 0,1");
    while (str_split(&rest, ',', &part)) {
        struct gpu_item it;
        part = str_trim(part);
        if (!take_item(part, &it)) {
            gpu_spec_fini(out);
            return fail_item(text, part, &f);
        }
        array_grow(out->items, (size_t)out->nitems, cap);
        out->items[out->nitems++] = it;
    }
    if (check_alone(out, &f) != 0) {
        gpu_spec_fini(out);
        return -1;
    }
    return 0;
}

void gpu_spec_fini(struct gpu_spec *spec)
{
    free(spec->items);
    *spec = (struct gpu_spec){0};
}

bool gpu_spec_is_all(const struct gpu_spec *spec)
{
    return !spec || (spec->nitems == 1 && spec->items[0].kind == GPU_ITEM_ALL);
}

bool gpu_spec_is_none(const struct gpu_spec *spec)
{
    for (int i = 0; spec && i < spec->nitems; i++)
        if (spec->items[i].kind == GPU_ITEM_NONE)
            return true;
    return false;
}

bool gpu_spec_has_auto(const struct gpu_spec *spec)
{
    for (int i = 0; i < spec->nitems; i++)
        if (spec->items[i].kind == GPU_ITEM_AUTO)
            return true;
    return false;
}

bool gpu_spec_has_physical(const struct gpu_spec *spec)
{
    for (int i = 0; spec && i < spec->nitems; i++) {
        const struct gpu_item *it = &spec->items[i];
        if (!it->removes && it->kind > GPU_ITEM_POSITION)
            return true;
    }
    return false;
}

static bool take_require(struct str s, struct require *r)
{
    int v;
    if (str_starts(s, "free>=") && s.p[s.n - 1] == 'G' && r->free_gib < 0) {
        bool ok = take_int((struct str){s.p + 6, s.n - 7}, &v);
        r->free_gib = ok ? v : -1;
        return ok;
    }
    if (str_starts(s, "util<=") && r->util < 0)
        return take_int(after(s, 6), &r->util) && r->util <= 100;
    return str_starts(s, "procs=") && r->procs < 0 && take_int(after(s, 6), &r->procs);
}

int gpu_require_parse(const char *text, struct require *out, struct err *e)
{
    struct gpu_fault f = {.e = e};
    struct str rest = str_from(text), part;
    *out = (struct require){-1, -1, -1};
    while (str_split(&rest, ',', &part)) {
        part = str_trim(part);
        if (!take_require(part, out))
            return gpu_fail(&f, GPU_E_SYNTAX,
                            "--gpu-require: cannot read \"%.*s\"; write free>=40G (GiB), "
                            "util<=10 (percent), procs=0, each at most once",
                            part.n < 60 ? (int)part.n : 60, part.n ? part.p : "");
    }
    return 0;
}
