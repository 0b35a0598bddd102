/* hosts: any hostfile, --hosts, --include, --exclude. Beyond not crashing: an error has a
 * class, a place within the text and one line; what is accepted keeps the limits of
 * host_list.h, and its canonical text means the same again.
 *
 * Input: --include, --exclude and -n (one byte), each ended by NUL and absent if empty, then
 * the list; one that begins with "=" is a value of --hosts.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/host_filter.h"
#include "launcher/core/hostfile.h"
#include "launcher/core/hosts_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE_MAX_INPUT = 512 }; /* a line may name 65,536 hosts: few lines are enough */

static void check_fault(const struct host_fault *f, const struct err *e)
{
    assert(f->class != HOST_OK && e->code == ERR_HOSTFILE && e->text[0]);
    assert(!memchr(e->text, '\n', strlen(e->text)) && f->text.len > 0);
    assert(!f->col == !f->line && f->col <= SIZE_MAX_INPUT + 1);
    for (size_t i = 0; i < f->text.len; i++)
        assert(f->text.data[i] == '\n' || (f->text.data[i] >= 0x20 && f->text.data[i] < 0x7f));
}

static void check_hosts(const struct host_list *list)
{
    assert(list->n >= 1 && list->n <= HOSTS_MAX);
    for (size_t i = 0; i < list->n; i++) {
        const struct host *host = &list->hosts[i];
        assert(host->name[0] && host->name[0] != '-' && strlen(host->name) <= 253);
        assert(host->slots <= HOST_SLOTS_MAX && host->max_slots <= HOST_SLOTS_MAX);
        assert(!host->user || (host->user[0] && host->user[0] != '-'));
        assert(!host->addr || host->addr[0] != '-');
        assert(host_list_find(list, host->name) == host);
    }
}

static void format(const struct host_list *list, bool is_input, struct buf *out)
{
    struct buf once;
    buf_init(&once, 0);
    for (size_t i = 0; i < list->n && i < 100; i++) {
        const struct host *host = &list->hosts[i];
        buf_reset(&once);
        host_format(host, &once);
        const char *rest = buf_str(&once) + strlen(host->name);
        if (is_input && !host->slots)
            rest += strlen(" slots=auto");
        buf_addf(out, is_input && strchr(host->name, ':') ? "[%s]%s\n" : "%s%s\n", host->name,
                 rest);
    }
    buf_fini(&once);
}

static void check_again(const struct host_list *list)
{
    struct buf text, first, second;
    struct host_list again;
    struct err e;
    buf_init(&text, 0);
    buf_init(&first, 0);
    buf_init(&second, 0);
    format(list, true, &text);
    int rc = hostfile_parse((struct str){text.data, text.len}, "again", &again, NULL, &e);
    assert(rc == 0);
    format(list, false, &first);
    format(&again, false, &second);
    assert(strcmp(buf_str(&first), buf_str(&second)) == 0);
    host_list_fini(&again);
    buf_fini(&text);
    buf_fini(&first);
    buf_fini(&second);
}

static void check_ranks(const struct host_list *list)
{
    struct hosts_row *rows = mem_alloc(list->n, sizeof *rows);
    uint32_t world = 0, next = 0;
    struct err e;
    if (hosts_plan_rows(list, rows, &world, &e) == 0) {
        for (size_t i = 0; i < list->n; i++) {
            assert(rows[i].first_rank == next && rows[i].nworkers > 0);
            next = next == HOSTS_UNKNOWN || rows[i].nworkers == HOSTS_UNKNOWN
                       ? HOSTS_UNKNOWN
                       : next + rows[i].nworkers;
        }
        assert(world == next);
    }
    free(rows);
}

static void run(const char *include, const char *exclude, uint32_t nproc, struct str text)
{
    struct host_list list;
    struct host_fault f;
    struct err e = {ERR_OK, 0, ""};
    host_fault_init(&f);
    bool is_option = str_starts(text, "=");
    char *value = is_option ? mem_printf("%.*s", (int)text.n - 1, text.p + 1) : NULL;
    int rc = is_option ? hostfile_parse_option(value, "--hosts", &list, &f, &e)
                       : hostfile_parse(text, "hosts", &list, &f, &e);
    free(value);
    bool has_list = rc == 0;
    if (has_list) {
        check_hosts(&list);
        check_again(&list);
    }
    if (rc == 0 && nproc)
        rc = host_list_set_nproc(&list, nproc, &f, &e);
    if (rc == 0)
        rc = host_filter_apply(&list, include, exclude, &f, &e);
    if (rc != 0) {
        check_fault(&f, &e);
    } else {
        check_hosts(&list);
        check_ranks(&list);
    }
    if (has_list)
        host_list_fini(&list);
    host_fault_fini(&f);
}

/* The bytes before the next NUL, in memory of their own; *at goes behind it. NULL if empty. */
static char *take(const uint8_t *data, size_t size, size_t *at)
{
    size_t n = strnlen((const char *)data + *at, size - *at);
    char *text = mem_alloc(n + 1, 1);
    memcpy(text, data + *at, n);
    *at += n + (*at + n < size);
    if (n)
        return text;
    free(text);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t at = 0;
    if (size == 0 || size > SIZE_MAX_INPUT)
        return 0;
    char *include = take(data, size, &at), *exclude = take(data, size, &at),
         *nproc = take(data, size, &at);
    size_t n = size - at;
    char *copy = mem_alloc(n ? n : 1, 1); /* of its own size: ASan sees a read past it */
    memcpy(copy, data + at, n);
    run(include, exclude, nproc ? (unsigned char)nproc[0] : 0, (struct str){copy, n});
    free(copy);
    free(include);
    free(exclude);
    free(nproc);
    return 0;
}
