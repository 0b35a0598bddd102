/* death --measure N FILE COMMAND... - how long a group lives on after one of its workers has
 * died. COMMAND is a launcher that starts N times "death --worker FILE". Prints "LAST EXIT" in
 * microseconds: from the death of one worker to that of the last other one, and to the
 * launcher's own end.
 *
 * A worker enters its pid into FILE and waits; it obeys SIGTERM by its default action. Once the
 * pids of all are known and watched, one is told to die, by SIGKILL:
 * an exit code alone ends no group under Hydra. Deaths are seen through
 * pidfds, so that no report of a launcher is needed or believed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS_MAX = 1024, LIMIT_S = 60 };

struct shared {
    atomic_uint n, victim; /* victim: entry + 1, 0 = nobody yet */
    atomic_llong died_us;
    atomic_int pids[WORKERS_MAX];
};

static long long now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void pause_ms(void)
{
    nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "death: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct shared *map(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct shared)) < 0)
        fail(path);
    void *p = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        fail("mmap");
    close(fd);
    return p;
}

static int worker(struct shared *s)
{
    unsigned entry = atomic_fetch_add(&s->n, 1);
    atomic_store(&s->pids[entry], getpid());
    while (atomic_load(&s->victim) == 0)
        pause_ms();
    while (atomic_load(&s->victim) != entry + 1)
        pause();
    atomic_store(&s->died_us, now_us());
    raise(SIGKILL);
    _exit(7);
}

static int pidfd_of(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        fail("pidfd_open");
    return fd;
}

static void wait_for_all(struct shared *s, unsigned n)
{
    long long limit = now_us() + LIMIT_S * 1000000LL;
    for (unsigned i = 0; i < n;) {
        if (now_us() > limit) {
            errno = ETIMEDOUT;
            fail("not all workers came");
        }
        if (atomic_load(&s->pids[i]))
            i++;
        else
            pause_ms();
    }
}

/* Until all descriptors told of an end: when the first n did, and when the last one, the
 * launcher's, did. */
static void watch_all(struct pollfd *fds, unsigned n, long long *last, long long *launcher)
{
    for (unsigned left = n + 1; left;) {
        if (poll(fds, n + 1, LIMIT_S * 1000) <= 0) {
            errno = ETIMEDOUT;
            fail("somebody lives on");
        }
        long long now = now_us();
        for (unsigned i = 0; i <= n; i++) {
            if (fds[i].fd < 0 || !fds[i].revents)
                continue;
            *(i < n ? last : launcher) = now;
            close(fds[i].fd);
            fds[i].fd = -1;
            left--;
        }
    }
}

static int measure(unsigned n, const char *path, char **command)
{
    unlink(path);
    struct shared *s = map(path);
    pid_t pid = fork();
    if (pid == 0) {
        execvp(command[0], command);
        fail(command[0]);
    }
    static struct pollfd fds[WORKERS_MAX + 1];
    wait_for_all(s, n);
    for (unsigned i = 0; i < n; i++)
        fds[i] = (struct pollfd){pidfd_of(atomic_load(&s->pids[i])), POLLIN, 0};
    fds[n] = (struct pollfd){pidfd_of(pid), POLLIN, 0};
    atomic_store(&s->victim, n / 2 + 1);
    long long last = 0, launcher = 0;
    watch_all(fds, n, &last, &launcher);
    waitpid(pid, NULL, 0);
    long long died = atomic_load(&s->died_us);
    printf("%lld %lld\n", last - died, launcher - died);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--worker") == 0)
        return worker(map(argv[2]));
    int n = argc > 4 && strcmp(argv[1], "--measure") == 0 ? atoi(argv[2]) : 0;
    if (n >= 1 && n <= WORKERS_MAX)
        return measure((unsigned)n, argv[3], argv + 4);
    fprintf(stderr, "usage: death --measure N FILE COMMAND... | death --worker FILE\n");
    return 2;
}
