#include "launcher/core/hostfile.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/host_keys.h"
#include "launcher/core/host_text.h"

/* "^hosts": kept until all lines are read. */
struct exclusion {
    struct str line, hosts;
    uint32_t number;
};

struct reader {
    struct host_source src;
    struct host_list *list;
    struct exclusion *exclusions;
    size_t nexclusions, cap;
};

static struct str without_comment(struct str line)
{
    for (size_t i = 0; i < line.n; i++) {
        bool is_start = i == 0 || host_is_blank(line.p[i - 1]);
        bool is_mark =
            line.p[i] == '#' || (line.p[i] == '/' && i + 1 < line.n && line.p[i + 1] == '/');
        if (is_start && is_mark)
            return (struct str){line.p, i};
    }
    return line;
}

/* What no entry begins with, and what was meant by it. rest: what follows the word. */
static int refuse_special(const struct host_source *src, struct str word, struct str rest)
{
    struct str next = host_take_word(&rest);
    if (word.p[0] == '+')
        return host_fail(src, HOST_E_RELATIVE, word.p,
                         "places in the list such as +n0 belong into --include and --exclude; "
                         "name a host here");
    if (!src->is_option && str_eq(word, "rank") && next.n && next.p[0] >= '0'
        && next.p[0] <= '9')
        return host_fail(src, HOST_E_RANKFILE, word.p,
                         "this looks like a rankfile; write one host a line with slots=N, and "
                         "bind CPUs with --cpu-bind");
    bool is_key = memchr(word.p, '=', word.n) || (next.n && next.p[0] == '=');
    if (!is_key || word.p[0] == '-')
        return 0;
    return host_fail(src, HOST_E_SYNTAX, word.p, "\"%.*s\" is no host; %s",
                     (int)(word.n < 60 ? word.n : 60), word.p,
                     src->is_option ? "write n1:4,n2:4, or use a hostfile, where keys may stand"
                                    : "a line begins with one, and keys follow: n1 slots=4");
}

static int read_exclusion(struct reader *r, struct str word, struct str rest)
{
    struct str expression = {word.p + 1, word.n - 1}, hosts;
    struct host_names names;
    const char *colon = host_part(expression, &hosts);
    if (host_names_parse(&r->src, hosts, &names) != 0)
        return -1;
    host_names_fini(&names);
    struct str stray = host_take_word(&rest);
    if (colon || stray.n)
        return host_fail(&r->src, HOST_E_SYNTAX, colon ? colon : stray.p,
                         "an exclusion is a host and no more; leave this out, or choose slots "
                         "with --exclude %.*s:0",
                         (int)(hosts.n < 60 ? hosts.n : 60), hosts.p);
    array_grow(r->exclusions, r->nexclusions, r->cap);
    r->exclusions[r->nexclusions++] = (struct exclusion){r->src.line, hosts, r->src.number};
    return 0;
}

static int read_entry(struct reader *r, struct str word, struct str rest)
{
    struct host_entry entry;
    if (host_entry_parse(&r->src, word, r->list, &entry) != 0)
        return -1;
    int rc = host_keys_parse(&r->src, rest, r->list, &entry);
    if (rc == 0)
        rc = host_entry_add(&r->src, &entry, r->list);
    host_entry_fini(&entry);
    return rc;
}

static int read_line(struct reader *r)
{
    struct str rest = without_comment(r->src.line);
    if (host_check_bytes(&r->src, rest) != 0)
        return -1;
    struct str word = host_take_word(&rest);
    if (!word.n)
        return 0;
    if (word.p[0] == '^' || word.p[0] == '!')
        return read_exclusion(r, word, rest);
    if (refuse_special(&r->src, word, rest) != 0)
        return -1;
    return read_entry(r, word, rest);
}

static int apply_exclusion(struct reader *r, const struct exclusion *ex, bool *is_kept)
{
    char name[HOST_NAME_SIZE];
    struct host_names names;
    r->src.line = ex->line;
    r->src.number = ex->number;
    if (host_names_parse(&r->src, ex->hosts, &names) != 0)
        return -1;
    while (host_names_next(&names, name)) {
        const struct host *host = host_list_find(r->list, name);
        if (!host) {
            host_names_fini(&names);
            return host_fail(&r->src, HOST_E_NOHOST, ex->hosts.p,
                             "%.80s is not in this list, so it cannot be excluded; correct the "
                             "name or remove the line",
                             name);
        }
        is_kept[host - r->list->hosts] = false;
    }
    host_names_fini(&names);
    return 0;
}

static int apply_exclusions(struct reader *r)
{
    bool *is_kept = mem_alloc(r->list->n, sizeof *is_kept);
    int rc = 0;
    memset(is_kept, true, r->list->n);
    for (size_t i = 0; i < r->nexclusions && rc == 0; i++)
        rc = apply_exclusion(r, &r->exclusions[i], is_kept);
    if (rc == 0)
        host_list_keep_only(r->list, is_kept);
    free(is_kept);
    if (rc == 0 && !r->list->n)
        return host_fail(&r->src, HOST_E_EMPTY, NULL,
                         "no host is left; write at least one name that is not excluded");
    return rc;
}

static int read_lines(struct reader *r, struct str text)
{
    struct str line;
    if (str_starts(text, "\xef\xbb\xbf"))
        text = (struct str){text.p + 3, text.n - 3};
    while (str_split(&text, '\n', &line)) {
        if (line.n && line.p[line.n - 1] == '\r')
            line.n--;
        r->src.line = line;
        r->src.number++;
        if (read_line(r) != 0)
            return -1;
    }
    return apply_exclusions(r);
}

int hostfile_parse(struct str text, const char *name, struct host_list *out,
                   struct host_fault *fault, struct err *e)
{
    struct reader r = {.src = {.name = name, .fault = fault, .e = e}, .list = out};
    host_list_init(out, name, false);
    int rc = read_lines(&r, text.p ? text : STR_LIT(""));
    free(r.exclusions);
    if (rc != 0)
        host_list_fini(out);
    return rc;
}

/* ---- the value of an option ---- */

static int read_item(const struct host_source *src, struct str item, struct host_list *list)
{
    struct str rest = item, word = host_take_word(&rest);
    struct host_entry entry;
    if (!word.n)
        return host_fail(src, HOST_E_EMPTYITEM, item.p,
                         "a host is missing here; write a list such as n1:4,n2:4");
    if (word.p[0] == '^' || word.p[0] == '!')
        return host_fail(src, HOST_E_SYNTAX, word.p,
                         "hosts are left out with --exclude, not here");
    if (refuse_special(src, word, rest) != 0 || host_entry_parse(src, word, list, &entry) != 0)
        return -1;
    struct str stray = host_take_word(&rest);
    int rc = stray.n
                 ? host_fail(src, HOST_E_SYNTAX, stray.p,
                             "\"%.*s\" should not be here; separate hosts with commas, or use "
                             "a hostfile, where keys may stand",
                             (int)(stray.n < 60 ? stray.n : 60), stray.p)
                 : host_entry_add(src, &entry, list);
    host_entry_fini(&entry);
    return rc;
}

int hostfile_parse_option(const char *value, const char *name, struct host_list *out,
                          struct host_fault *fault, struct err *e)
{
    struct str rest = str_from(value), item;
    struct host_source src = {
        .name = name, .is_option = true, .number = 1, .line = rest, .fault = fault, .e = e};
    host_list_init(out, name, true);
    int rc = host_check_bytes(&src, rest);
    while (rc == 0 && host_split(&rest, ',', &item))
        rc = read_item(&src, item, out);
    if (rc != 0)
        host_list_fini(out);
    return rc;
}
