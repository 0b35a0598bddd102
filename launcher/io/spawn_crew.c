#include "launcher/io/spawn_crew.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"

enum {
    THREADS_MAX = 3,
    CPUS_A_THREAD = 2,
    WORKERS_A_THREAD = 4,
    STACK_BYTES = 256 * 1024,
};

struct spawn_crew {
    uv_mutex_t mutex; /* of all below, and of the tasks' states */
    uv_cond_t has_work, has_result;
    struct spawn_task *first, **last; /* that wait */
    bool is_over;
    uint32_t nthreads;
    uv_thread_t threads[THREADS_MAX];
};

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t spawn_crew_size(uint32_t ncpus, uint32_t nworkers)
{
    return least(THREADS_MAX, least(ncpus / CPUS_A_THREAD, nworkers / WORKERS_A_THREAD));
}

/* With the mutex held; it is free while the worker is made. */
static void start_first(struct spawn_crew *c)
{
    struct spawn_task *t = c->first;
    c->first = t->next;
    if (!c->first)
        c->last = &c->first;
    t->state = SPAWN_TASK_RUNNING;
    uv_mutex_unlock(&c->mutex);
    t->rc = spawn_start(&t->spawn, &t->pid, &t->pidfd, &t->err);
    uv_mutex_lock(&c->mutex);
    t->state = SPAWN_TASK_DONE;
    uv_cond_signal(&c->has_result); /* the owner alone waits for it */
}

static void thread_main(void *ctx)
{
    struct spawn_crew *c = ctx;
    uv_mutex_lock(&c->mutex);
    while (!c->is_over) {
        if (c->first)
            start_first(c);
        else
            uv_cond_wait(&c->has_work, &c->mutex);
    }
    uv_mutex_unlock(&c->mutex);
}

/* While threads share the table of descriptors, the kernel lets it grow only after a grace
 * period of RCU, which takes tens of milliseconds (expand_fdtable in fs/file.c). */
static void make_room(uint32_t descriptors)
{
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, (int)descriptors);
    if (fd >= 0)
        close(fd);
}

/* A thread inherits the mask. */
static void start_threads(struct spawn_crew *c, uint32_t nthreads)
{
    const uv_thread_options_t options = {.flags = UV_THREAD_HAS_STACK_SIZE,
                                         .stack_size = STACK_BYTES};
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (c->nthreads < least(nthreads, THREADS_MAX)
           && uv_thread_create_ex(&c->threads[c->nthreads], &options, thread_main, c) == 0)
        c->nthreads++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

struct spawn_crew *spawn_crew_new(uint32_t nthreads, uint32_t descriptors)
{
    struct spawn_crew *c = mem_alloc(1, sizeof *c);
    if (nthreads)
        make_room(descriptors);
    c->last = &c->first;
    uv_mutex_init(&c->mutex); /* fails for want of memory alone */
    uv_cond_init(&c->has_work);
    uv_cond_init(&c->has_result);
    start_threads(c, nthreads);
    return c;
}

uint32_t spawn_crew_threads(const struct spawn_crew *c)
{
    return c->nthreads;
}

void spawn_crew_free(struct spawn_crew *c)
{
    if (!c)
        return;
    uv_mutex_lock(&c->mutex);
    c->is_over = true;
    uv_cond_broadcast(&c->has_work);
    uv_mutex_unlock(&c->mutex);
    for (uint32_t i = 0; i < c->nthreads; i++)
        uv_thread_join(&c->threads[i]);
    uv_cond_destroy(&c->has_result);
    uv_cond_destroy(&c->has_work);
    uv_mutex_destroy(&c->mutex);
    free(c);
}

void spawn_crew_begin(struct spawn_crew *c, struct spawn_task *t)
{
    uv_mutex_lock(&c->mutex);
    t->state = SPAWN_TASK_WAITING;
    t->next = NULL;
    *c->last = t;
    c->last = &t->next;
    uv_cond_signal(&c->has_work);
    uv_mutex_unlock(&c->mutex);
}

int spawn_crew_end(struct spawn_crew *c, struct spawn_task *t, pid_t *pid, int *pidfd,
                   struct err *e)
{
    uv_mutex_lock(&c->mutex);
    while (t->state != SPAWN_TASK_DONE) {
        if (c->first)
            start_first(c);
        else
            uv_cond_wait(&c->has_result, &c->mutex);
    }
    uv_mutex_unlock(&c->mutex);
    *pid = t->pid;
    *pidfd = t->pidfd;
    if (t->rc < 0)
        *e = t->err;
    return t->rc;
}
