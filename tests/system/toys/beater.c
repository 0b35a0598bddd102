/* beater.c - a worker in C that tells muster that it is alive, and then hangs in its own way.
 *
 *   beater RANK    that rank says STEP=17, once, and sleeps for ever; the others say nothing
 * and wait in read()
 *
 * Each says "up" when it is about to hang.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The three lines that docs/supervision.md shows, with what C needs around them. */
static int tell(const char *text)
{
    const char *name = getenv("MUSTER_NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (!name || strlen(name) >= sizeof to.sun_path)
        return -1;
    memcpy(to.sun_path + 1, name + 1, strlen(name) - 1); /* "@name": an abstract one */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ssize_t n = sendto(fd, text, strlen(text), MSG_DONTWAIT, (struct sockaddr *)&to,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name)));
    close(fd);
    return n < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
    const char *rank = getenv("RANK");
    int pipes[2];
    char byte;
    if (argc < 2 || !rank || pipe(pipes) < 0)
        return 2;
    puts("up");
    fflush(stdout);
    if (strcmp(rank, argv[1]) != 0)
        return read(pipes[0], &byte, 1) != 1;
    if (tell("STEP=17\nSTATUS=as it should") < 0)
        return 3;
    for (;;)
        pause();
}
