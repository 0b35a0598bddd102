#include "launcher/io/syscall_name.h"

#include <stddef.h>
#include <sys/syscall.h>

/* On every machine; the older ones that only some have follow. */
#define COMMON(X)                                                                              \
    X(accept)                                                                                  \
    X(accept4)                                                                                 \
    X(clock_nanosleep)                                                                         \
    X(close)                                                                                   \
    X(connect)                                                                                 \
    X(epoll_pwait)                                                                             \
    X(execve)                                                                                  \
    X(fcntl)                                                                                   \
    X(fdatasync)                                                                               \
    X(flock)                                                                                   \
    X(fsync)                                                                                   \
    X(futex)                                                                                   \
    X(getrandom)                                                                               \
    X(io_getevents)                                                                            \
    X(ioctl)                                                                                   \
    X(madvise)                                                                                 \
    X(mmap)                                                                                    \
    X(munmap)                                                                                  \
    X(nanosleep)                                                                               \
    X(openat)                                                                                  \
    X(ppoll)                                                                                   \
    X(pread64)                                                                                 \
    X(pselect6)                                                                                \
    X(pwrite64)                                                                                \
    X(read)                                                                                    \
    X(readv)                                                                                   \
    X(recvfrom)                                                                                \
    X(recvmmsg)                                                                                \
    X(recvmsg)                                                                                 \
    X(restart_syscall)                                                                         \
    X(rt_sigsuspend)                                                                           \
    X(rt_sigtimedwait)                                                                         \
    X(sched_yield)                                                                             \
    X(semtimedop)                                                                              \
    X(sendmsg)                                                                                 \
    X(sendto)                                                                                  \
    X(sync)                                                                                    \
    X(wait4)                                                                                   \
    X(waitid)                                                                                  \
    X(write)                                                                                   \
    X(writev)

static const struct {
    long number;
    const char *name;
} names[] = {
#define X(name) {SYS_##name, #name},
    COMMON(X)
#undef X
#ifdef SYS_poll
        {SYS_poll, "poll"},
#endif
#ifdef SYS_select
    {SYS_select, "select"},
#endif
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, "epoll_wait"},
#endif
#ifdef SYS_pause
    {SYS_pause, "pause"},
#endif
#ifdef SYS_io_uring_enter
    {SYS_io_uring_enter, "io_uring_enter"},
#endif
};

const char *syscall_name(long number)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == number)
            return names[i].name;
    return "";
}
