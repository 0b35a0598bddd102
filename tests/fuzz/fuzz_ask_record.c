/* ask_record: any text, as the record that an agent reads and as a line that it has said. What
 * is found lies in the text; an error is one of class PROTOCOL.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/core/ask_record.h"
#include "launcher/core/link_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_record(struct str got)
{
    struct str setup;
    struct err e = {ERR_OK, 0, ""};
    size_t length;
    if (ask_record_parse(got, &length, &setup, &e) < 0) {
        assert(e.code == ERR_PROTOCOL && e.text[0]);
        return;
    }
    assert(ask_record_is(got));
    assert(length > 0 && length <= LINK_WIRE_MAX + 64);
    assert(setup.p >= got.p && setup.p + setup.n <= got.p + got.n);
    assert(got.n < length || (size_t)(setup.p - got.p) + setup.n == length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text;
    int status = -1;
    read_record((struct str){(const char *)data, size});
    char *line = malloc(size + 1);
    if (size)
        memcpy(line, data, size);
    line[size] = '\0';
    if (ask_record_answer(line, &text, &status))
        assert(text ? text > line && text <= line + size : status >= 0 && status <= 255);
    free(line);
    return 0;
}
