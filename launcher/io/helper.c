#include "launcher/io/helper.h"

int helper_start(const struct helper_host *host, const char *path, char *const *argv,
                 char *const *envp, const struct helper_streams *streams, pid_t *pid,
                 int *pidfd, struct err *e)
{
    struct spawn s = *host->spawn;
    s.path = path;
    s.argv = argv;
    s.envp = envp;
    s.in = streams->in;
    s.out = streams->out;
    s.err = streams->err;
    s.exec_pipe = streams->out;
    s.cpus = NULL;
    s.mem_node = -1;
    int rc = spawn_start(&s, pid, pidfd, e);
    if (rc == 0)
        host->on_started(host->ctx, *pid);
    return rc;
}
