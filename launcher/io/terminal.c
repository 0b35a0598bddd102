#include "launcher/io/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"

struct terminal {
    int fd;
    struct termios modes;
    pid_t group; /* has it, 0 = nobody */
};

bool terminal_is_ours(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (!isatty(fd) || tcgetpgrp(fd) != getpgrp())
            return false;
    return true;
}

struct terminal *terminal_open(struct err *e)
{
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct terminal *t = mem_alloc(1, sizeof *t);
    t->fd = fd;
    if (fd >= 0 && tcgetattr(fd, &t->modes) == 0) {
        signal(SIGTTOU, SIG_IGN);
        return t;
    }
    err_sys(e, errno, "/dev/tty");
    if (fd >= 0)
        close(fd);
    free(t);
    return NULL;
}

void terminal_close(struct terminal *t)
{
    if (!t)
        return;
    terminal_take(t);
    close(t->fd);
    free(t);
}

int terminal_fd(const struct terminal *t)
{
    return t->fd;
}

bool terminal_can_give(const struct terminal *t)
{
    return tcgetpgrp(t->fd) == getpgrp();
}

void terminal_note_given(struct terminal *t, pid_t group)
{
    t->group = group;
}

void terminal_give_again(struct terminal *t)
{
    if (t->group && terminal_can_give(t))
        tcsetpgrp(t->fd, t->group);
}

void terminal_take(struct terminal *t)
{
    if (!t->group)
        return;
    /* Only from our worker: somebody else's foreground is not ours to take. */
    if (tcgetpgrp(t->fd) == t->group) {
        tcsetpgrp(t->fd, getpgrp());
        tcsetattr(t->fd, TCSADRAIN, &t->modes);
    }
    t->group = 0;
}
