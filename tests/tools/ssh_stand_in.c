/* A remote shell for tests of many hosts: says what an agent says first, hands the boot record
 * that it then gets to the process behind the socket $AGENT_LOAD (agent_load), and ends with
 * its standard input, as the ssh of an agent does.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FAILED = 255 }; /* ssh's own failures */

static int connect_load(void)
{
    const char *path = getenv("AGENT_LOAD");
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    if (!path || strlen(path) >= sizeof addr.sun_path)
        return -1;
    memcpy(addr.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0 ? fd : -1;
}

/* The record ends with an empty line; what comes after it is nobody's. */
static bool pass_record_on(int fd)
{
    char byte, last = 0;
    while (read(STDIN_FILENO, &byte, 1) == 1) {
        if (write(fd, &byte, 1) != 1)
            return false;
        if (byte == '\n' && last == '\n')
            return true;
        last = byte;
    }
    return false;
}

int main(int argc, char **argv)
{
    static const char option[] = "--boot=";
    const char *token = argc > 1 ? strstr(argv[argc - 1], option) : NULL;
    char byte;
    if (!token)
        return FAILED;
    printf("\nmuster-agent 1 %s %s\n", token + sizeof option - 1, MUSTER_VERSION);
    fflush(stdout);
    int fd = connect_load();
    if (fd < 0 || !pass_record_on(fd)) {
        perror("agent_load");
        return FAILED;
    }
    close(fd);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return 0;
}
