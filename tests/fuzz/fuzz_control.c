/* control: any bytes, as a request and as an answer. Beyond not crashing: what is understood is
 * written again as text that means the same.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(struct str line)
{
    struct err e;
    enum control_verb verb, again;
    if (control_request_parse(line, &verb, &e) < 0) {
        assert(e.code == ERR_PROTOCOL && e.text[0]);
        return;
    }
    struct buf text;
    buf_init(&text, 0);
    control_request_format(verb, &text);
    assert(text.len == line.n + 1 && text.len <= CONTROL_REQUEST_MAX);
    int rc = control_request_parse((struct str){text.data, text.len - 1}, &again, &e);
    assert(rc == 0 && again == verb);
    buf_fini(&text);
}

static void check_answer(struct str bytes)
{
    struct err e;
    struct control_status status, again;
    struct buf first, second;
    if (control_status_parse(bytes, &status, &e) < 0) {
        assert(e.code == ERR_PROTOCOL && !status.ranks && !status.job_id);
        return;
    }
    buf_init(&first, 0);
    buf_init(&second, 0);
    control_status_format(&status, &first);
    int rc = control_status_parse((struct str){first.data, first.len}, &again, &e);
    assert(rc == 0 && again.nranks == status.nranks);
    control_status_format(&again, &second);
    assert(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
    buf_fini(&first);
    buf_fini(&second);
    control_status_fini(&status);
    control_status_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = mem_alloc(size ? size : 1, 1); /* of its own size: ASan sees a read past it */
    if (size)
        memcpy(bytes, data, size);
    check_request((struct str){bytes, size});
    check_answer((struct str){bytes, size});
    free(bytes);
    return 0;
}
