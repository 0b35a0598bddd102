/* escape.c - workers that leave processes behind which are hard to find. "left" is printed once
 * the process is in the state it is about.
 *
 *   threads     a process in a session of its own whose first thread has ended: it looks like a
 * zombie relay N     a process that is replaced by its own child all the time, N seconds at
 * most deaf        a process in a session of its own that only SIGKILL ends, without our
 * descriptors
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void leave(void)
{
    setsid();
    int fd = open("/dev/null", O_RDWR);
    for (int target = 0; target < 3; target++)
        dup2(fd, target);
}

static void *rest(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static void threads(void)
{
    pthread_t thread;
    leave();
    pthread_create(&thread, NULL, rest, NULL);
    pthread_exit(NULL);
}

static void relay(long seconds)
{
    time_t end = time(NULL) + seconds;
    leave();
    while (time(NULL) < end)
        if (fork() > 0)
            _exit(0);
}

static void deaf(void)
{
    signal(SIGTERM, SIG_IGN);
    leave();
    rest(NULL);
}

static int is_in_state(pid_t pid, char state)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    const char *end = n ? strrchr(text, ')') : NULL;
    return end && end[2] == state;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    pid_t pid = fork();
    if (pid == 0) {
        if (strcmp(verb, "threads") == 0)
            threads();
        if (strcmp(verb, "relay") == 0)
            relay(argc > 2 ? atol(argv[2]) : 10);
        if (strcmp(verb, "deaf") == 0)
            deaf();
        _exit(2);
    }
    while (strcmp(verb, "threads") == 0 && !is_in_state(pid, 'Z'))
        usleep(1000);
    while (strcmp(verb, "deaf") == 0 && getsid(pid) != pid)
        usleep(1000);
    if (strcmp(verb, "relay") == 0)
        waitpid(pid, NULL, 0); /* its child has taken over */
    puts("left");
    return 0;
}
