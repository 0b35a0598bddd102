#include "launcher/io/evidence_gather.h" /* of which this is the part about settings */

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/io/root_file.h"

static bool is_wanted(struct str name)
{
    static const char *const names[] = {"CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES",
                                        "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_eq(name, names[i]))
            return true;
    return str_starts(name, "NCCL_");
}

/* The first of a name counts, as with NCCL: the environment before its files. */
static void add(struct str entry, const char *origin, struct host_evidence *ev)
{
    const char *equals = memchr(entry.p, '=', entry.n);
    if (!equals)
        return;
    struct str name = str_trim((struct str){entry.p, (size_t)(equals - entry.p)});
    struct str value = {equals + 1, entry.n - (size_t)(equals + 1 - entry.p)};
    if (!is_wanted(name))
        return;
    char *text = mem_printf("%.*s", STR_ARG(name));
    if (!evidence_setting(ev, text)) {
        struct evidence_setting *s = evidence_setting_add(ev);
        char *words = mem_printf("%.*s", STR_ARG(value));
        evidence_set_text(&s->name, text);
        evidence_set_text(&s->value, words);
        evidence_set_text(&s->origin, origin);
        free(words);
    }
    free(text);
}

/* NAME=VALUE lines, "#" begins a remark. */
static void read_conf(const char *root, const char *path, struct host_evidence *ev)
{
    struct buf text;
    buf_init(&text, 0);
    struct str line, rest = {NULL, 0};
    if (root_read(root, path, &text) == 0 && text.len)
        rest = (struct str){text.data, text.len};
    while (str_split(&rest, '\n', &line)) {
        const char *remark = memchr(line.p, '#', line.n);
        if (remark)
            line.n = (size_t)(remark - line.p);
        add(str_trim(line), path, ev);
    }
    buf_fini(&text);
}

void evidence_gather_settings(const struct evidence_request *r, struct host_evidence *ev)
{
    const char *conf = facts_getenv(r->facts, "NCCL_CONF_FILE");
    const char *home = facts_getenv(r->facts, "HOME");
    ev->settings.is_known = true;
    for (const char *const *entry = r->facts->environment; *entry; entry++)
        add(str_from(*entry), "environment", ev);
    char *own =
        conf && *conf ? mem_strdup(conf) : mem_printf("%s/.nccl.conf", home ? home : "");
    read_conf(r->root, own, ev);
    read_conf(r->root, "/etc/nccl.conf", ev);
    free(own);
}
