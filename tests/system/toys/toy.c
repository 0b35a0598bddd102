/* toy.c - a worker that behaves in one special way, named by its first argument. Each says what
 * it is about to do ("ready") only when it is so, so that tests need no pauses.
 *
 *   polite              says "ready", waits, on SIGTERM or SIGINT says "got TERM" or "got INT",
 * exits 0 deaf                the same without hearing either: only SIGKILL ends it orphan CODE
 * leaves a deaf child that keeps stdout and stderr open, exits with CODE exit RANK CODE the
 * worker of that RANK exits with CODE, the others are polite signal RANK N       the worker of
 * that RANK ends by signal N, the others are polite flood LINES WIDTH   numbered lines on
 * stdout and stderr, each written in two pieces partial TEXT        TEXT without a newline at
 * the end env                 the environment, one variable a line, "RANK:" before each session
 * "pid PID sid SID pgid PGID ppid PPID"
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *rank(void)
{
    const char *text = getenv("RANK");
    return text ? text : "?";
}

static void say(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
}

static int polite(void)
{
    sigset_t set;
    int sig = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    say("ready");
    sigwait(&set, &sig);
    say(sig == SIGTERM ? "got TERM" : "got INT");
    return 0;
}

static _Noreturn void deaf(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    say("ready");
    for (;;)
        pause();
}

static int orphan(int code)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        deaf();
    printf("left %ld\n", (long)pid);
    return pid < 0 ? 1 : code;
}

static int by_signal(int sig)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(sig, SIG_DFL);
    raise(sig);
    return 1;
}

static int flood(long lines, int width)
{
    for (long i = 0; i < lines; i++) {
        for (int fd = 1; fd <= 2; fd++) {
            char head[64];
            int n = snprintf(head, sizeof head, "%c %s %ld ", fd == 1 ? 'o' : 'e', rank(), i);
            char *tail = malloc((size_t)width + 1);
            if (!tail)
                return 1;
            memset(tail, 'x', (size_t)width);
            tail[width] = '\n';
            int bad = write(fd, head, (size_t)n) != n
                      || write(fd, tail, (size_t)width + 1) != width + 1;
            free(tail);
            if (bad)
                return 1;
        }
    }
    return 0;
}

static int print_environment(void)
{
    for (char **p = environ; *p; p++)
        printf("%s:%s\n", rank(), *p);
    return 0;
}

static int print_session(void)
{
    printf("pid %ld sid %ld pgid %ld ppid %ld\n", (long)getpid(), (long)getsid(0),
           (long)getpgrp(), (long)getppid());
    return 0;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    const char *first = argc > 2 ? argv[2] : "0";
    const char *second = argc > 3 ? argv[3] : "0";
    if (strcmp(verb, "polite") == 0)
        return polite();
    if (strcmp(verb, "deaf") == 0)
        deaf();
    if (strcmp(verb, "orphan") == 0)
        return orphan(atoi(first));
    if (strcmp(verb, "exit") == 0)
        return strcmp(rank(), first) == 0 ? atoi(second) : polite();
    if (strcmp(verb, "signal") == 0)
        return strcmp(rank(), first) == 0 ? by_signal(atoi(second)) : polite();
    if (strcmp(verb, "flood") == 0)
        return flood(atol(first), atoi(second));
    if (strcmp(verb, "partial") == 0)
        return fputs(first, stdout) < 0;
    if (strcmp(verb, "env") == 0)
        return print_environment();
    if (strcmp(verb, "session") == 0)
        return print_session();
    fprintf(stderr, "toy: no such behaviour: '%s'\n", verb);
    return 2;
}
