#include "launcher/io/proc_workers.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>

#include "base/mem.h"

enum { PARENTS_MAX = 256 }; /* of one process; numbers that pass on may form a ring */

static int compare_pids(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return x < y ? -1 : x > y;
}

static int compare(const void *a, const void *b)
{
    const struct proc_worker *x = a, *y = b;
    return compare_pids(&x->pid, &y->pid);
}

static void read_all(struct proc_workers *out)
{
    struct proc_worker p = {0};
    DIR *dir = opendir("/proc");
    for (const struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        p.pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
        if (p.pid <= 0 || !proc_stat_read(p.pid, &p.stat))
            continue;
        array_grow(out->items, out->len, out->cap);
        out->items[out->len++] = p;
    }
    if (dir)
        closedir(dir);
    if (out->len)
        qsort(out->items, out->len, sizeof *out->items, compare);
}

struct leaders {
    pid_t *pids; /* sorted */
    size_t n;
};

static bool is_leader(const struct leaders *l, pid_t pid)
{
    return pid > 0 && bsearch(&pid, l->pids, l->n, sizeof pid, compare_pids) != NULL;
}

static const struct proc_worker *find(const struct proc_workers *all, pid_t pid)
{
    const struct proc_worker key = {.pid = pid};
    return bsearch(&key, all->items, all->len, sizeof key, compare);
}

/* 0 = nobody, or one that leads its session. */
static pid_t owner_of_terminal(const struct leaders *l, const struct proc_worker *p)
{
    if (p->pid != p->stat.session && is_leader(l, p->pid))
        return p->pid;
    return p->stat.group != p->stat.session && is_leader(l, p->stat.group) ? p->stat.group : 0;
}

/* 0 = nobody's */
static pid_t worker_of(const struct proc_workers *all, const struct leaders *l,
                       const struct proc_worker *p)
{
    if (is_leader(l, p->stat.session))
        return p->stat.session;
    pid_t owner = 0;
    for (int i = 0; p && !owner && i < PARENTS_MAX; i++, p = find(all, p->stat.parent))
        owner = owner_of_terminal(l, p);
    return owner;
}

static void keep_those_of_workers(struct proc_workers *all, const struct leaders *l)
{
    size_t n = 0;
    for (size_t i = 0; i < all->len; i++)
        all->items[i].worker = worker_of(all, l, &all->items[i]);
    for (size_t i = 0; i < all->len; i++)
        if (all->items[i].worker)
            all->items[n++] = all->items[i];
    all->len = n;
}

void proc_workers_read(const pid_t *workers, size_t n, struct proc_workers *out)
{
    struct leaders l = {mem_alloc(n, sizeof *l.pids), n};
    *out = (struct proc_workers){0};
    for (size_t i = 0; i < n; i++)
        l.pids[i] = workers[i];
    qsort(l.pids, n, sizeof *l.pids, compare_pids);
    read_all(out);
    keep_those_of_workers(out, &l);
    free(l.pids);
}

void proc_workers_fini(struct proc_workers *p)
{
    free(p->items);
    *p = (struct proc_workers){0};
}
