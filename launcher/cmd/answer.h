/* answer.h - `muster gpus` over hosts: the side that asks and the side that answers. */
#ifndef MUSTER_LAUNCHER_CMD_ANSWER_H
#define MUSTER_LAUNCHER_CMD_ANSWER_H

#include "base/buf.h"
#include "launcher/core/facts.h"
#include "launcher/core/options.h"

/* In the agent: fd, whose first bytes are in *got, has an ask record. Reads the rest, answers
 * on standard output, and stays until fd ends; the exit status of the agent. */
int answer(int fd, struct buf *got);

/* What `muster gpus --json` of this machine prints, appended, and with which status it would
 * end. Adds the GPUs to facts. 0, or -1 with the error. */
int cmd_gpus_json(const struct options *opt, struct facts *facts, struct buf *out, int *status,
                  struct err *e);

/* Asks the hosts of the list, prints, returns the exit status. */
int gpus_of_hosts(struct options *opt, char *const *args);

#endif
