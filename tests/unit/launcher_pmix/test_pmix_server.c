/* pmix_server with a client of libpmix, as rank 0 of a job on two nodes of which this is one:
 * the fence goes to the peers and comes back; what the client says becomes its state. The test
 * itself is the client, when it is called with a word.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/io/folder.h"
#include "launcher/io/pmix_server.h"

/* ---- the client ---- */

static void *library;

static void *function(const char *name)
{
    void *at = dlsym(library, name);
    if (!at)
        _exit(90);
    return at;
}

#define CALL(name, type) (*(type)function(name))

static int fence(const pmix_proc_t *me)
{
    typedef pmix_status_t put(pmix_scope_t, const char *, pmix_value_t *);
    typedef pmix_status_t commit(void);
    typedef pmix_status_t wait_for(const pmix_proc_t *, size_t, const pmix_info_t *, size_t);
    pmix_value_t value = {.type = PMIX_UINT32, .data.uint32 = 17};
    pmix_proc_t all = *me;
    pmix_info_t info;
    memset(&info, 0, sizeof info);
    strcpy(info.key, PMIX_COLLECT_DATA);
    info.value.type = PMIX_BOOL;
    info.value.data.flag = true;
    all.rank = PMIX_RANK_WILDCARD;
    if (CALL("PMIx_Put", put *)(PMIX_GLOBAL, "test.key", &value) != PMIX_SUCCESS)
        return 2;
    if (CALL("PMIx_Commit", commit *)() != PMIX_SUCCESS)
        return 3;
    return CALL("PMIx_Fence", wait_for *)(&all, 1, &info, 1) == PMIX_SUCCESS ? 0 : 4;
}

/* What rank 1 of the other node has to tell: nothing will come of it, or an answer. */
static int get_other(const pmix_proc_t *me)
{
    typedef pmix_status_t get(const pmix_proc_t *, const char *, const pmix_info_t *, size_t,
                              pmix_value_t **);
    pmix_proc_t other = *me;
    pmix_value_t *value = NULL;
    other.rank = 1;
    return CALL("PMIx_Get", get *)(&other, "test.key", NULL, 0, &value) == PMIX_SUCCESS ? 5 : 0;
}

static int client(const char *word)
{
    typedef pmix_status_t init(pmix_proc_t *, pmix_info_t *, size_t);
    typedef pmix_status_t finalize(const pmix_info_t *, size_t);
    typedef pmix_status_t abort_all(int, const char *, pmix_proc_t *, size_t);
    pmix_proc_t me;
    library = dlopen("libpmix.so.2", RTLD_NOW);
    if (!library || CALL("PMIx_Init", init *)(&me, NULL, 0) != PMIX_SUCCESS || me.rank != 0)
        return 1;
    if (strcmp(word, "leave") == 0)
        return 0;
    if (strcmp(word, "abort") == 0) {
        CALL("PMIx_Abort", abort_all *)(7, "test", NULL, 0);
        return 7;
    }
    int rc = strcmp(word, "get") == 0 ? get_other(&me) : fence(&me);
    CALL("PMIx_Finalize", finalize *)(NULL, 0);
    return rc;
}

/* ---- the node ---- */

static const struct mpi_node nodes[] = {{"here", 0, 1}, {"there", 1, 1}};
static const struct mpi_layout layout = {nodes, 2, 2};
static const char *self;
static char folder[] = "/tmp/muster-test-XXXXXX";
static uv_loop_t loop;
static void *service;

static struct {
    char operation[128];
    size_t nnodes, ndata;
    uint32_t nodes[2];
    unsigned ncalls;
    struct maybe_u64 wanted;
    bool is_wanted_of_us; /* the next fence is a moment to ask about our rank */
} asked;

static const uint32_t both[] = {0, 1};
static struct {
    mpi_gathered *done;
    void *ctx;
} kept;

/* As if the other node had given the same. */
static void gather(void *ctx, const struct gather *piece, mpi_gathered *done, void *done_ctx)
{
    (void)ctx;
    asked.ncalls++;
    snprintf(asked.operation, sizeof asked.operation, "%s", piece->operation);
    asked.nnodes = piece->nnodes;
    asked.ndata = piece->data.n;
    asked.wanted = piece->wanted;
    memcpy(asked.nodes, piece->nodes,
           (piece->nnodes < 2 ? piece->nnodes : 2) * sizeof *piece->nodes);
    if (asked.is_wanted_of_us) { /* the fence waits until we have told */
        const struct gather wanted = {.operation = "muster-test-4/modex/0/1/0",
                                      .nodes = both,
                                      .nnodes = 2,
                                      .wanted = {true, 0}};
        asked.is_wanted_of_us = false;
        kept.done = done;
        kept.ctx = done_ctx;
        pmix_service.wanted(service, &wanted);
        return;
    }
    done(done_ctx, piece->data.p, piece->data.n);
    if (kept.done)
        kept.done(kept.ctx, "", 0);
    kept.done = NULL;
}

static void forget(void *ctx)
{
    (void)ctx;
}

static const struct mpi_peers peers = {NULL, gather, forget};

static int set_up(void **state)
{
    (void)state;
    struct err e;
    assert_non_null(mkdtemp(folder));
    uv_loop_init(&loop);
    const struct mpi_context context = {
        .loop = &loop, .dir = folder, .host = "here", .peers = &peers};
    service = pmix_service.open(&context, &e);
    if (!service)
        print_message("%s\n", e.text);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (service)
        pmix_service.close(service);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    folder_remove(folder);
    return 0;
}

static void on_exit_of(uv_process_t *process, int64_t status, int signo)
{
    *(int64_t *)process->data = signo ? 1000 + signo : status;
    uv_close((uv_handle_t *)process, NULL);
}

/* One generation with one client; its exit code. */
static int64_t run_client(const char *name, const char *word, enum mpi_state *state, int *code)
{
    struct mpi_world world = {name, &layout, 0};
    struct mpi_ticket ticket = {.fd = -1};
    struct err e;
    int64_t status = -1;
    if (!service)
        skip();
    assert_int_equal(pmix_service.begin(service, &world, &e), 0);
    assert_int_equal(pmix_service.join(service, 0, &ticket, &e), 0);
    char **env = mem_alloc(ticket.len + 1, sizeof *env);
    for (size_t i = 0; i < ticket.len; i++)
        env[i] = ticket.variables[i].entry;
    char *argv[] = {mem_strdup(self), mem_strdup(word), NULL};
    uv_process_t process = {.data = &status};
    uv_process_options_t options = {
        .file = self, .args = argv, .env = env, .exit_cb = on_exit_of};
    assert_int_equal(uv_spawn(&loop, &process, &options), 0);
    while (uv_run(&loop, UV_RUN_ONCE) && status < 0)
        ;
    uv_run(&loop, UV_RUN_NOWAIT);
    *state = pmix_service.state(service, 0, code);
    pmix_service.end(service);
    mpi_ticket_fini(&ticket);
    free(argv[0]);
    free(argv[1]);
    free(env);
    return status;
}

static void a_fence_of_two_nodes(void **state)
{
    (void)state;
    enum mpi_state said;
    int code;
    memset(&asked, 0, sizeof asked);
    assert_int_equal(run_client("muster-test-0", "fence", &said, &code), 0);
    assert_int_equal(said, MPI_STATE_FINALIZED);
    assert_int_equal(asked.ncalls, 1);
    assert_string_equal(asked.operation, "muster-test-0/fence/-2");
    assert_int_equal(asked.nnodes, 2);
    assert_int_equal(asked.nodes[0], 0);
    assert_int_equal(asked.nodes[1], 1);
    assert_true(asked.ndata > 0);
}

static void what_another_node_has_to_tell(void **state)
{
    (void)state;
    enum mpi_state said;
    int code;
    memset(&asked, 0, sizeof asked);
    assert_int_equal(run_client("muster-test-3", "get", &said, &code), 0);
    assert_int_equal(said, MPI_STATE_FINALIZED);
    assert_int_equal(asked.ncalls, 1);
    assert_string_equal(asked.operation, "muster-test-3/modex/1/0/0");
    assert_int_equal(asked.nnodes, 2);
    assert_true(asked.wanted.is_known && asked.wanted.value == 1);
    assert_int_equal(asked.ndata, 0);
}

/* While its fence is under way, our rank has committed what it has to tell. */
static void what_another_node_wants_of_us(void **state)
{
    (void)state;
    enum mpi_state said;
    int code;
    memset(&asked, 0, sizeof asked);
    asked.is_wanted_of_us = true;
    assert_int_equal(run_client("muster-test-4", "fence", &said, &code), 0);
    assert_int_equal(asked.ncalls, 2);
    assert_string_equal(asked.operation, "muster-test-4/modex/0/1/0");
    assert_false(asked.wanted.is_known);
    assert_true(asked.ndata > 0);
}

static void an_abort(void **state)
{
    (void)state;
    enum mpi_state said;
    int code;
    assert_int_equal(run_client("muster-test-1", "abort", &said, &code), 7);
    assert_int_equal(said, MPI_STATE_ABORTED);
    assert_int_equal(code, 7);
}

static void one_that_leaves(void **state)
{
    (void)state;
    enum mpi_state said;
    int code;
    assert_int_equal(run_client("muster-test-2", "leave", &said, &code), 0);
    assert_int_equal(said, MPI_STATE_INSIDE);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        _exit(client(argv[1])); /* what the library keeps is not ours to free */
    self = argv[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fence_of_two_nodes),
        cmocka_unit_test(what_another_node_has_to_tell),
        cmocka_unit_test(what_another_node_wants_of_us),
        cmocka_unit_test(an_abort),
        cmocka_unit_test(one_that_leaves),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
