/* PMI-1: what any worker may write. The same bytes in two chunkings are the same requests, and
 * get the same answers of a job; every reply is whole lines.
 *
 * Input: the size of the second reading's pieces, then what a client sends.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/pmi_job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct mpi_node nodes[] = {{"a", 0, 1}};
static const struct mpi_layout layout = {nodes, 1, 1};

static void read_all(struct buf *log, const uint8_t *data, size_t size, size_t piece)
{
    struct pmi_job *job = pmi_job_new(&layout, 0, "k");
    struct buf in;
    struct pmi_request request;
    struct err e;
    buf_init(&in, 0);
    bool is_alive = true;
    for (size_t at = 0; is_alive && at < size; at += piece) {
        buf_add(&in, data + at, size - at < piece ? size - at : piece);
        char *copy = mem_dup(in.data, in.len); /* of its own size: ASan sees a read past it */
        struct str rest = {copy, in.len};
        int rc = 0;
        while (is_alive && (rc = pmi_request_decode(&rest, &request, &e)) == 1) {
            buf_addf(log, "<%s>", pmi_command_name(request.command));
            switch (pmi_job_request(job, 0, &request, log)) {
            case PMI_GO_ON:
            case PMI_END:
                break;
            case PMI_ALL_IN:
                pmi_job_release(job, STR_LIT(""));
                break;
            case PMI_LOST: /* no rank ends here */
                abort();
            case PMI_CLOSE:
                is_alive = false;
                break;
            }
        }
        if (rc < 0) {
            assert(e.code == ERR_PROTOCOL && e.text[0]);
            buf_adds(log, "bad");
            is_alive = false;
        }
        assert(!is_alive || rest.n < PMI_REQUEST_MAX);
        buf_consume(&in, in.len - rest.n);
        free(copy);
    }
    int code;
    enum mpi_state state = pmi_job_state(job, 0, &code);
    buf_addf(log, "state %d %d", (int)state, code);
    buf_fini(&in);
    pmi_job_free(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1
        || size > 8000) /* less than a request may have: chunking then decides nothing */
        return 0;
    struct buf whole, pieces;
    buf_init(&whole, 0);
    buf_init(&pieces, 0);
    read_all(&whole, data + 1, size - 1, size);
    read_all(&pieces, data + 1, size - 1, data[0] % 61 + 1u);
    assert(strcmp(buf_str(&whole), buf_str(&pieces)) == 0);
    buf_fini(&whole);
    buf_fini(&pieces);
    return 0;
}
