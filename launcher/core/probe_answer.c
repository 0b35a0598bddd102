#include "launcher/core/probe_answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void set_number(struct evidence_number *field, struct str value)
{
    uint64_t n;
    if (str_parse_u64(value, 0, INT32_MAX, &n) == 0)
        evidence_set(field, (int64_t)n);
}

static void set_text(char **field, struct str value)
{
    char *text = mem_printf("%.*s", STR_ARG(value));
    if (*text)
        evidence_set_text(field, text);
    free(text);
}

void probe_answer_read(struct str text, struct host_evidence *ev)
{
    const struct {
        const char *name;
        struct evidence_number *number;
        char **text;
    } keys[] = {
        {"driver", &ev->cuda_driver, NULL},
        {"runtime", &ev->cuda_runtime, NULL},
        {"code", &ev->cuda_code, NULL},
        {"peers", &ev->cuda_peers, NULL},
        {"nccl_version", NULL, &ev->nccl_version},
        {"nccl_file", NULL, &ev->nccl_file},
        {"nccl_header", NULL, &ev->nccl_header},
    };
    struct str line;
    while (str_split(&text, '\n', &line)) {
        const char *equals = memchr(line.p, '=', line.n);
        if (!equals)
            continue;
        struct str name = str_trim((struct str){line.p, (size_t)(equals - line.p)});
        struct str value =
            str_trim((struct str){equals + 1, line.n - (size_t)(equals + 1 - line.p)});
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
            if (!str_eq(name, keys[i].name))
                continue;
            if (keys[i].number)
                set_number(keys[i].number, value);
            else
                set_text(keys[i].text, value);
        }
    }
}
