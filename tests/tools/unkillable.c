/* unkillable: a process that SIGKILL does not end, as one that sleeps in a driver, by what any
 * user may do: a thread that another process traces is not gone until that one has looked.
 *
 *   unkillable hold FIFO                  who traces; ends when it is killed, and so does the
 * other UNKILLABLE=FIFO unkillable ...        the process, whatever its words: says so much,
 * once it is traced, that who reads it ends it
 *
 * Where tracing is not allowed, `hold` ends the other by SIGUSR1.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ALL_AT_ONCE = 2 << 20 };

static int hold(const char *fifo)
{
    pid_t ids[2];
    int fd = open(fifo, O_RDONLY);
    if (fd < 0 || read(fd, ids, sizeof ids) != (ssize_t)sizeof ids)
        return 1;
    if (ptrace(PTRACE_SEIZE, ids[1], NULL, NULL) < 0) {
        kill(ids[0], SIGUSR1);
        return 1;
    }
    close(fd);
    for (;;)
        pause();
}

/* The fifo's only reader closes it once it traces. */
static void *be_traced(void *fifo)
{
    const pid_t ids[2] = {getpid(), (pid_t)syscall(SYS_gettid)};
    int fd = open(fifo, O_WRONLY);
    struct pollfd reader = {.fd = fd};
    if (fd < 0 || write(fd, ids, sizeof ids) != (ssize_t)sizeof ids)
        exit(1);
    while (poll(&reader, 1, -1) < 0)
        ;
    char *much = calloc(1, ALL_AT_ONCE);
    while (much && write(STDOUT_FILENO, much, ALL_AT_ONCE) > 0)
        ;
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char *fifo = getenv("UNKILLABLE");
    if (argc == 3 && strcmp(argv[1], "hold") == 0)
        return hold(argv[2]);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    signal(SIGPIPE, SIG_IGN);
    if (!fifo || pthread_create(&thread, NULL, be_traced, fifo) != 0)
        return 2;
    for (;;)
        pause();
}
