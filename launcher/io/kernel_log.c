#include "launcher/io/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/core/xid.h"

enum { RECORD_BYTES = 8192, XIDS_MAX = 256 };

struct kernel_log {
    int fd;
    struct xid xids[XIDS_MAX]; /* the first ones, each once: the rest are consequences */
    size_t n;
};

struct kernel_log *kernel_log_open(const char *root)
{
    char *path = mem_printf("%s/dev/kmsg", root);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    free(path);
    if (fd < 0)
        return NULL;
    lseek(fd, 0, SEEK_END); /* behind the last record */
    struct kernel_log *k = mem_alloc(1, sizeof *k);
    k->fd = fd;
    return k;
}

void kernel_log_close(struct kernel_log *k)
{
    if (!k)
        return;
    close(k->fd);
    free(k);
}

/* Another job's GPU may repeat its own for hours. */
static bool is_known(const struct kernel_log *k, const struct xid *x)
{
    for (size_t i = 0; i < k->n; i++)
        if (k->xids[i].number == x->number && k->xids[i].domain == x->domain
            && k->xids[i].bus == x->bus && k->xids[i].device == x->device)
            return true;
    return false;
}

/* One read gives one record; of a plain file, several lines. */
static void read_all(struct kernel_log *k)
{
    char text[RECORD_BYTES];
    ssize_t n;
    while ((n = read(k->fd, text, sizeof text)) > 0
           || (n < 0 && (errno == EPIPE || errno == EINTR))) { /* EPIPE: records were lost */
        struct str rest = {text, n > 0 ? (size_t)n : 0}, line;
        while (k->n < XIDS_MAX && str_split(&rest, '\n', &line))
            k->n += xid_parse(line, &k->xids[k->n]) && !is_known(k, &k->xids[k->n]);
    }
}

static bool is_of_any(const struct xid *x, const char *gpus)
{
    struct str rest = str_from(gpus), part;
    while (str_split(&rest, ',', &part)) {
        char *pci = mem_printf("%.*s", STR_ARG(part));
        bool is = xid_is_of(x, pci);
        free(pci);
        if (is)
            return true;
    }
    return false;
}

static char *cause_of(const struct xid *x)
{
    const char *meaning = xid_meaning(x->number);
    return mem_printf("the kernel log has Xid %u for its GPU (PCI %04x:%02x:%02x)%s%s",
                      x->number, x->domain, x->bus, x->device, meaning ? ": " : "",
                      meaning ? meaning : "");
}

char *kernel_log_cause(struct kernel_log *k, const char *gpus)
{
    const struct xid *best = NULL;
    if (!k || !gpus)
        return NULL;
    read_all(k);
    for (size_t i = 0; i < k->n; i++) {
        const struct xid *x = &k->xids[i];
        if (is_of_any(x, gpus)
            && (!best || (xid_is_aftermath(best->number) && !xid_is_aftermath(x->number))))
            best = x;
    }
    return best ? cause_of(best) : NULL;
}
