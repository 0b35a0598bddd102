/* ask_hosts.h - one question to every host of a list, by the commands that start agents: logs
 * in on each, hears what its muster answers, and is gone.
 *
 * Owns the loop that this runs in. Many at a time, another try where it may help, quoting and
 * versions: all as for a job (remotes.h). What the answers mean decides the caller.
 */
#ifndef MUSTER_LAUNCHER_IO_ASK_HOSTS_H
#define MUSTER_LAUNCHER_IO_ASK_HOSTS_H

#include "base/buf.h"
#include "launcher/io/spread.h"

struct host_answer {
    struct buf text; /* what it said, lines */
    bool is_whole;   /* and that this was all */
    int status;      /* with is_whole: as its muster would have ended */
    char why[256];   /* else why there is no answer, without the host's name */
};

/* Fills out[i], one for each host; freed by host_answer_fini. limit_ms: for all of them. 0, or
 * -1 with ERR_USAGE or ERR_SYSTEM if nobody could be asked; then there is nothing to free. */
int ask_hosts(struct spread *s, uint64_t limit_ms, struct host_answer *out, struct err *e);
void host_answer_fini(struct host_answer *answer);

#endif
