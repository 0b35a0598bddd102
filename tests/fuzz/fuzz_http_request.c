/* http_request: any bytes as the head of a request. However they arrive, the answer is the
 * same: what is decided of the first bytes is not changed by later ones.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/http_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_within(struct str part, struct str whole)
{
    return part.p >= whole.p && part.p + part.n <= whole.p + whole.n;
}

static void check_prefixes(struct str all, enum http_progress progress, enum http_status why)
{
    size_t step = all.n / 64 + 1;
    for (size_t n = 0; n < all.n; n += step) {
        struct http_request request;
        enum http_status other = HTTP_OK;
        enum http_progress early = http_request_read((struct str){all.p, n}, &request, &other);
        assert(early == HTTP_MORE || (early == progress && other == why));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = mem_alloc(size ? size : 1, 1); /* of its own size: ASan sees a read past it */
    if (size)
        memcpy(bytes, data, size);
    struct str all = {bytes, size};
    struct http_request request;
    enum http_status why = HTTP_OK;
    enum http_progress progress = http_request_read(all, &request, &why);
    assert((progress == HTTP_REFUSED) == (why != HTTP_OK));
    assert(progress != HTTP_MORE || size < HTTP_HEAD_MAX);
    if (progress == HTTP_WHOLE)
        assert(request.path.n && request.path.p[0] == '/' && is_within(request.path, all));
    check_prefixes(all, progress, why);
    free(bytes);
    return 0;
}
