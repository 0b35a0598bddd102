#include "launcher/io/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/io/proc_stat.h"

enum { PASSES = 4, LOOKS = 16 }; /* a process may fork while it is being looked for */

struct pids {
    pid_t *items;
    size_t len, cap;
};

static void pids_add(struct pids *p, pid_t pid)
{
    array_grow(p->items, p->len, p->cap);
    p->items[p->len++] = pid;
}

/* Appends the children of one thread. */
static void children_of_thread(pid_t pid, const char *tid, struct pids *out)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", (int)pid, tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    pid_t number = 0;
    bool has_digits = false;
    ssize_t n;
    while ((n = read(fd, text, sizeof text)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                number = number * 10 + (text[i] - '0');
                has_digits = true;
            } else if (has_digits) {
                pids_add(out, number);
                number = 0;
                has_digits = false;
            }
        }
    }
    if (has_digits)
        pids_add(out, number);
    close(fd);
}

/* Of all threads but this one; 0 = of all. */
static void children_but_of(pid_t pid, pid_t thread, struct pids *out)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != thread)
            children_of_thread(pid, entry->d_name, out);
    closedir(dir);
}

static void children_of(pid_t pid, struct pids *out)
{
    children_but_of(pid, 0, out);
}

struct descendants {
    pid_t session;
    uint64_t mark; /* 0 = workers carry none */
    bool has_threads;
    bool had_strangers;    /* at first: what these leave behind becomes our child, too */
    struct pids strangers; /* children that we were started with */
    struct pids kept;      /* of others in this process, who collect them */
};

/* Those of the first thread come last: whoever is adopted is appended to them. */
static void own_children(const struct descendants *d, struct pids *out)
{
    char tid[24];
    snprintf(tid, sizeof tid, "%d", (int)getpid());
    if (d->has_threads)
        children_but_of(getpid(), getpid(), out);
    children_of_thread(getpid(), tid, out);
}

static bool is_among(const struct pids *p, pid_t pid)
{
    for (size_t i = 0; i < p->len; i++)
        if (p->items[i] == pid)
            return true;
    return false;
}

static bool is_stranger(const struct descendants *d, pid_t pid)
{
    return is_among(&d->strangers, pid) || is_among(&d->kept, pid);
}

static void forget(struct pids *p, pid_t pid)
{
    for (size_t i = 0; i < p->len; i++)
        if (p->items[i] == pid)
            p->items[i] = p->items[--p->len];
}

struct descendants *descendants_adopt(void)
{
    struct descendants *d = mem_alloc(1, sizeof *d);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* Linux 3.4 or later always can */
    d->session = getsid(0);
    own_children(d, &d->strangers);
    d->had_strangers = d->strangers.len > 0;
    return d;
}

void descendants_have_threads(struct descendants *d)
{
    d->has_threads = true;
}

void descendants_know_mark(struct descendants *d, uint64_t mark)
{
    d->mark = mark;
}

void descendants_except(struct descendants *d, pid_t pid)
{
    pids_add(&d->strangers, pid);
}

void descendants_keep(struct descendants *d, pid_t pid)
{
    forget(&d->strangers, pid);
    pids_add(&d->kept, pid);
}

void descendants_release(struct descendants *d, pid_t pid)
{
    forget(&d->kept, pid);
}

void descendants_free(struct descendants *d)
{
    if (!d)
        return;
    free(d->strangers.items);
    free(d->kept.items);
    free(d);
}

/* Whether a direct child is dead and waits to be collected: cheaper than what /proc says. */
static bool is_over(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0
           && info.si_pid == pid;
}

/* Of a direct child that is no stranger itself. */
static bool is_ours(const struct descendants *d, pid_t pid, const struct proc_stat *stat)
{
    if (!d->had_strangers)
        return true;
    return d->mark ? proc_stat_mark(pid) == d->mark : stat->session != d->session;
}

/* One look. Dead ones have no children. */
static void look(const struct descendants *d, const struct pids *direct, struct pids *out)
{
    struct proc_stat stat;
    for (size_t i = 0; i < direct->len; i++)
        if (!is_stranger(d, direct->items[i]) && !is_over(direct->items[i])
            && proc_stat_read(direct->items[i], &stat) && proc_stat_is_alive(&stat)
            && is_ours(d, direct->items[i], &stat))
            pids_add(out, direct->items[i]);
    for (size_t i = 0; i < out->len; i++)
        children_of(out->items[i], out);
}

static pid_t last_of(const struct pids *p)
{
    return p->len ? p->items[p->len - 1] : 0;
}

/* All live descendants that are ours. Of one that dies during a look the children become ours
 * and are not seen: the kernel appends them to our list, so then there is another look. */
static void collect(const struct descendants *d, struct pids *out)
{
    struct pids direct = {0};
    own_children(d, &direct);
    for (int pass = 0; pass < LOOKS; pass++) {
        pid_t last = last_of(&direct);
        out->len = 0;
        look(d, &direct, out);
        direct.len = 0;
        own_children(d, &direct);
        if (last_of(&direct) == last)
            break;
    }
    free(direct.items);
}

static void kill_group_of(const struct descendants *d, pid_t pid)
{
    struct proc_stat stat;
    if (proc_stat_read(pid, &stat) && stat.group > 1
        && (stat.session != d->session || stat.group == pid))
        kill(-stat.group, SIGKILL);
}

uint32_t descendants_signal(struct descendants *d, int signo)
{
    struct pids found = {0};
    collect(d, &found);
    size_t n = found.len;
    for (int pass = 0; signo && found.len && pass < PASSES; pass++) {
        for (size_t i = 0; i < found.len; i++) {
            if (signo == SIGKILL)
                kill_group_of(d, found.items[i]);
            kill(found.items[i], signo);
        }
        if (signo != SIGKILL)
            break;
        found.len = 0;
        collect(d, &found);
    }
    free(found.items);
    return (uint32_t)n;
}

void descendants_collect(struct descendants *d, bool (*is_known)(void *ctx, pid_t pid),
                         void *ctx)
{
    struct pids direct = {0};
    own_children(d, &direct);
    for (size_t i = 0; i < direct.len; i++)
        if (!is_known(ctx, direct.items[i]) && !is_among(&d->kept, direct.items[i])
            && waitpid(direct.items[i], NULL, WNOHANG) == direct.items[i])
            forget(&d->strangers, direct.items[i]);
    free(direct.items);
}
