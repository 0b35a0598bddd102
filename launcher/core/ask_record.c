#include "launcher/core/ask_record.h"

#include <string.h>

#include "launcher/core/link_wire.h"

static const char key[] = "muster-ask=";

void ask_record_encode(struct str setup, struct buf *out)
{
    buf_addf(out, "%s%zu\n\n", key, setup.n);
    buf_add(out, setup.p, setup.n);
}

bool ask_record_is(struct str got)
{
    return str_starts(got, key);
}

int ask_record_parse(struct str got, size_t *length, struct str *setup, struct err *e)
{
    struct str rest = got, line, empty;
    uint64_t size;
    if (!ask_record_is(got) || !str_split(&rest, '\n', &line)
        || str_parse_u64((struct str){line.p + sizeof key - 1, line.n - (sizeof key - 1)}, 1,
                         LINK_WIRE_MAX, &size)
               < 0
        || !rest.p || !memchr(rest.p, '\n', rest.n) || !str_split(&rest, '\n', &empty)
        || empty.n)
        return err_set(e, ERR_PROTOCOL, "the head's question is none: no size, no empty line");
    size_t begin = line.n + 2;
    *length = begin + (size_t)size;
    *setup = (struct str){got.p + begin, got.n < *length ? got.n - begin : (size_t)size};
    return 0;
}

bool ask_record_answer(const char *line, const char **text, int *status)
{
    static const char answer[] = "answer ", answered[] = "answered ";
    uint64_t value;
    *text = NULL;
    if (strncmp(line, answer, sizeof answer - 1) == 0) {
        *text = line + sizeof answer - 1;
        return true;
    }
    if (strncmp(line, answered, sizeof answered - 1) != 0
        || str_parse_u64(str_from(line + sizeof answered - 1), 0, 255, &value) < 0)
        return false;
    *status = (int)value;
    return true;
}
