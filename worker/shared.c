#include "worker/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

enum { LINE = 64, SPINS = 2000 };

/* What the ranks share. Each counter has a cache line of its own. */
struct counter {
    _Alignas(LINE) _Atomic uint64_t value;
};

struct segment {
    _Alignas(LINE) _Atomic uint32_t arrived;
    _Alignas(LINE) _Atomic uint32_t turn;
    struct counter counters[]; /* ranks x SHARED_COUNTERS, then the slots */
};

struct shared {
    struct segment *segment;
    size_t bytes, slots_at, slot_bytes;
    uint32_t ranks;
    int fd; /* of the creator until shared_hide, else -1 */
    uint64_t waited_ns;
};

static struct shared *layout(uint32_t ranks, uint32_t slots, size_t slot_bytes)
{
    struct shared *s = mem_alloc(1, sizeof *s);
    size_t counters = (size_t)ranks * SHARED_COUNTERS * sizeof(struct counter);
    s->slots_at = (sizeof(struct segment) + counters + 4095) / 4096 * 4096;
    s->slot_bytes = slot_bytes;
    s->bytes = s->slots_at + slots * slot_bytes;
    s->ranks = ranks;
    s->fd = -1;
    return s;
}

/* Frees s on failure. */
static struct shared *map(struct shared *s, int fd, const char *name, struct err *e)
{
    void *p = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p != MAP_FAILED) {
        s->segment = p;
        return s;
    }
    err_sys(e, errno, "shared memory %s cannot be mapped", name);
    free(s);
    return NULL;
}

struct shared *shared_create(uint32_t ranks, uint32_t slots, size_t slot_bytes,
                             char name[SHARED_NAME_MAX], struct err *e)
{
    int fd = memfd_create("muster-worker", MFD_CLOEXEC);
    if (fd < 0) {
        err_sys(e, errno, "no shared memory");
        return NULL;
    }
    struct shared *s = layout(ranks, slots, slot_bytes);
    snprintf(name, SHARED_NAME_MAX, "/proc/%ld/fd/%d", (long)getpid(), fd);
    int sys = posix_fallocate(fd, 0, (off_t)s->bytes);
    if (sys) {
        err_sys(e, sys, "no memory for the %zu KiB that %u ranks share", s->bytes / 1024,
                ranks);
        free(s);
        s = NULL;
    } else {
        s = map(s, fd, name, e);
    }
    if (s)
        s->fd = fd;
    else
        close(fd);
    return s;
}

struct shared *shared_open(const char *name, uint32_t ranks, uint32_t slots, size_t slot_bytes,
                           struct err *e)
{
    int fd = open(name, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        err_sys(e, errno, "shared memory %s of local rank 0 cannot be opened", name);
        return NULL;
    }
    struct shared *s = layout(ranks, slots, slot_bytes);
    struct stat st;
    if (fstat(fd, &st) < 0 || (size_t)st.st_size != s->bytes) {
        err_set(e, ERR_PROTOCOL, "shared memory %s has not the size expected", name);
        free(s);
        s = NULL;
    } else {
        s = map(s, fd, name, e);
    }
    close(fd);
    return s;
}

void shared_hide(struct shared *s)
{
    if (s && s->fd >= 0) {
        close(s->fd);
        s->fd = -1;
    }
}

void shared_close(struct shared *s)
{
    if (!s)
        return;
    shared_hide(s);
    munmap(s->segment, s->bytes);
    free(s);
}

static void relax(unsigned *spins)
{
    if (++*spins > SPINS) {
        sched_yield();
        return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void shared_barrier(struct shared *s)
{
    struct segment *g = s->segment;
    uint32_t turn = atomic_load(&g->turn);
    if (atomic_fetch_add(&g->arrived, 1) + 1 == s->ranks) {
        atomic_store(&g->arrived, 0);
        atomic_store(&g->turn, turn + 1);
        return;
    }
    uint64_t begin = now_ns();
    unsigned spins = 0;
    while (atomic_load_explicit(&g->turn, memory_order_acquire) == turn)
        relax(&spins);
    s->waited_ns += now_ns() - begin;
}

static _Atomic uint64_t *counter(struct shared *s, uint32_t rank, enum shared_counter c)
{
    return &s->segment->counters[rank * SHARED_COUNTERS + c].value;
}

void shared_publish(struct shared *s, uint32_t rank, enum shared_counter c, uint64_t value)
{
    atomic_store_explicit(counter(s, rank, c), value, memory_order_release);
}

void shared_wait_one(struct shared *s, uint32_t rank, enum shared_counter c, uint64_t value)
{
    uint64_t begin = 0;
    unsigned spins = 0;
    while (atomic_load_explicit(counter(s, rank, c), memory_order_acquire) < value) {
        if (!begin)
            begin = now_ns();
        relax(&spins);
    }
    if (begin)
        s->waited_ns += now_ns() - begin;
}

void shared_wait(struct shared *s, enum shared_counter c, uint64_t value)
{
    for (uint32_t r = 0; r < s->ranks; r++)
        shared_wait_one(s, r, c, value);
}

void *shared_slot(struct shared *s, uint32_t slot)
{
    return (char *)s->segment + s->slots_at + slot * s->slot_bytes;
}

size_t shared_slot_bytes(const struct shared *s)
{
    return s->slot_bytes;
}

uint64_t shared_waited_ns(const struct shared *s)
{
    return s->waited_ns;
}
