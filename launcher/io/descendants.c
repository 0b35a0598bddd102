#include "launcher/io/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

enum { PASSES = 4 }; /* a process may fork while it is being looked for */

int descendants_adopt(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

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

static void children_of(pid_t pid, struct pids *out)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.')
            children_of_thread(pid, entry->d_name, out);
    closedir(dir);
}

/* The letter of /proc/PID/stat, '\0' if the process is gone. */
static char state_of(pid_t pid)
{
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return '\0';
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return '\0';
    text[n] = '\0';
    const char *end = strrchr(text, ')'); /* the name before it may hold anything */
    return end && end[1] == ' ' ? end[2] : '\0';
}

static bool is_alive(pid_t pid)
{
    char state = state_of(pid);
    return state && state != 'Z' && state != 'X';
}

/* All live descendants of this process; zombies are looked through, they have no children of
 * their own. */
static void collect(struct pids *out)
{
    struct pids direct = {0};
    children_of(getpid(), &direct);
    for (size_t i = 0; i < direct.len; i++)
        if (is_alive(direct.items[i]))
            pids_add(out, direct.items[i]);
    free(direct.items);
    for (size_t i = 0; i < out->len; i++)
        children_of(out->items[i], out);
}

uint32_t descendants_signal(int signo)
{
    struct pids found = {0};
    collect(&found);
    size_t n = found.len;
    for (int pass = 0; signo && found.len && pass < PASSES; pass++) {
        for (size_t i = 0; i < found.len; i++)
            kill(found.items[i], signo);
        if (signo != SIGKILL)
            break;
        found.len = 0;
        collect(&found);
    }
    free(found.items);
    return (uint32_t)n;
}

void descendants_collect(bool (*is_known)(void *ctx, pid_t pid), void *ctx)
{
    struct pids direct = {0};
    children_of(getpid(), &direct);
    for (size_t i = 0; i < direct.len; i++)
        if (!is_known(ctx, direct.items[i]))
            waitpid(direct.items[i], NULL, WNOHANG);
    free(direct.items);
}
