#include "launcher/io/proc_look.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/io/proc_workers.h"
#include "launcher/io/syscall_name.h"

enum { DEPTH_MAX = 16 };

/* "" when it cannot be read. */
static void read_file(pid_t pid, const char *name, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    out[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = read(fd, out, size - 1);
    close(fd);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    for (char *p = out; *p; p++) /* a process may call itself anything */
        *p = (char)((unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p);
}

/* "202 0x7f..." -> "futex"; "running" -> "" */
static void read_syscall(struct proc_look *p)
{
    char text[256], *end;
    read_file(p->pid, "syscall", text, sizeof text);
    long number = strtol(text, &end, 10);
    if (end == text || number < 0)
        return;
    const char *name = syscall_name(number);
    if (*name)
        snprintf(p->syscall, sizeof p->syscall, "%s", name);
    else
        snprintf(p->syscall, sizeof p->syscall, "system call %ld", number);
}

/* "[<0>] futex_wait+0x74/0xf0\n[<0>] ..." -> "futex_wait < ..." */
static void read_kernel_stack(struct proc_look *p)
{
    enum { FRAMES = 4 };
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stack", (int)p->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    size_t len = 0;
    char *save = NULL;
    char *line = strtok_r(text, "\n", &save);
    for (int i = 0; i < FRAMES && line; i++, line = strtok_r(NULL, "\n", &save)) {
        const char *name = strchr(line, ' ');
        if (!name || len >= sizeof p->kernel)
            break;
        int k = (int)strcspn(name + 1, "+");
        int added = snprintf(p->kernel + len, sizeof p->kernel - len, "%s%.*s", i ? " < " : "",
                             k, name + 1);
        len += added > 0 ? (size_t)added : 0;
    }
}

static bool is_python(const struct proc_look *p)
{
    char path[32], exe[512];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)p->pid);
    ssize_t n = readlink(path, exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    const char *base = strrchr(exe, '/');
    return strncmp(base ? base + 1 : p->name, "python", strlen("python")) == 0;
}

static void look(struct proc_look *p)
{
    read_file(p->pid, "comm", p->name, sizeof p->name);
    read_file(p->pid, "wchan", p->wchan, sizeof p->wchan);
    read_syscall(p);
    read_kernel_stack(p);
    p->is_python = is_python(p);
}

void proc_look_workers(const pid_t *workers, size_t n, struct proc_looks *out)
{
    struct proc_workers found;
    proc_workers_read(workers, n, &found);
    *out = (struct proc_looks){.items = mem_alloc(found.len, sizeof *out->items)};
    for (size_t i = 0; i < found.len; i++) {
        const struct proc_worker *w = &found.items[i];
        if (!proc_stat_is_alive(&w->stat))
            continue;
        struct proc_look *p = &out->items[out->len++];
        *p = (struct proc_look){.pid = w->pid,
                                .parent = w->stat.parent,
                                .worker = w->worker,
                                .state = w->stat.state,
                                .nthreads = w->stat.nthreads,
                                .start_ticks = w->stat.start_ticks};
        look(p);
    }
    proc_workers_fini(&found);
}

void proc_looks_fini(struct proc_looks *l)
{
    free(l->items);
    *l = (struct proc_looks){0};
}

static const struct proc_look *find(const struct proc_looks *l, pid_t pid)
{
    for (size_t i = 0; i < l->len; i++)
        if (l->items[i].pid == pid)
            return &l->items[i];
    return NULL;
}

/* Its one child of the same worker; NULL if it has none or several. */
static const struct proc_look *only_child(const struct proc_looks *l, const struct proc_look *p)
{
    const struct proc_look *found = NULL;
    for (size_t i = 0; i < l->len; i++) {
        if (l->items[i].parent != p->pid || l->items[i].worker != p->worker)
            continue;
        if (found)
            return NULL;
        found = &l->items[i];
    }
    return found;
}

/* A Python that no Python has started: not a loader's helper. */
static const struct proc_look *first_python(const struct proc_looks *l, pid_t worker)
{
    for (size_t i = 0; i < l->len; i++) {
        const struct proc_look *parent = find(l, l->items[i].parent);
        if (l->items[i].worker == worker && l->items[i].is_python
            && !(parent && parent->is_python))
            return &l->items[i];
    }
    return NULL;
}

const struct proc_look *proc_look_main(const struct proc_looks *l, pid_t worker)
{
    const struct proc_look *p = find(l, worker);
    const struct proc_look *python = p && p->is_python ? p : first_python(l, worker);
    if (python)
        return python;
    for (size_t i = 0; !p && i < l->len; i++) /* it has gone before its children */
        p = l->items[i].worker == worker ? &l->items[i] : NULL;
    for (int i = 0; p && i < DEPTH_MAX && strncmp(p->syscall, "wait", 4) == 0; i++) {
        const struct proc_look *child = only_child(l, p);
        if (!child)
            break;
        p = child;
    }
    return p;
}

bool proc_look_is_same(const struct proc_look *p)
{
    struct proc_stat stat;
    return proc_stat_read(p->pid, &stat) && proc_stat_is_alive(&stat)
           && stat.start_ticks == p->start_ticks;
}
