/* outcome.h - how a job ended, and who hears of it: for a command that runs a job as a part of
 * its work.
 */
#ifndef MUSTER_LAUNCHER_CMD_OUTCOME_H
#define MUSTER_LAUNCHER_CMD_OUTCOME_H

#include "launcher/core/job.h"
#include "launcher/core/options.h"

struct port;

struct outcome {
    int status;     /* exit status of the whole job */
    struct err err; /* why there was no job; ERR_OK if there was one */
    void *ctx;
    /* Once the job is done, with its store, during the call; on the head alone. May be NULL. */
    void (*on_done)(void *ctx, const struct job *job, const struct port *port);
};

/* Runs the job that opt asks for: cmd_run once the command line is read. A job without an id
 * has one while it runs. What went wrong before there was a job has been said. */
void cmd_run_outcome(struct options *opt, char *const *args, struct outcome *out);

#endif
