/* cmd.h - the subcommands: one function a file, named by COMMAND_TABLE. args: the words
 * after the subcommand, NULL-terminated. The result is the process's exit status.
 */
#ifndef MUSTER_LAUNCHER_CMD_CMD_H
#define MUSTER_LAUNCHER_CMD_CMD_H

#include "base/err.h"
#include "launcher/core/command_page.h"
#include "launcher/core/options.h"

int cmd_run(char *const *args);
int cmd_check(char *const *args);
int cmd_plan(char *const *args);
int cmd_agent(char *const *args);
int cmd_sampler(char *const *args); /* of a node, for io/sampler.h */
int cmd_gpus(char *const *args);
int cmd_doctor(char *const *args);
int cmd_ps(char *const *args);
int cmd_top(char *const *args);
int cmd_logs(char *const *args);
int cmd_stack(char *const *args);
int cmd_stop(char *const *args);
int cmd_store(char *const *args);
int cmd_notify(char *const *args);
int cmd_explain(char *const *args);
int cmd_completion(char *const *args);
int cmd_version(char *const *args);
int cmd_torchrun(char *const *args); /* also muster itself, called by that name */

/* Runs the job that opt asks for: cmd_run once the command line is read. A job without an id
 * has one while it runs. Returns the exit status. */
int cmd_run_job(struct options *opt, char *const *args);

/* An error before there is a job: as cmd_fail, and written to the reports that opt names. */
int cmd_fail_early(const struct options *opt, const struct err *e);

/* Prints "muster: text" and returns the error's exit status: for errors before a job exists. */
int cmd_fail(const struct err *e);

/* Prints the command's --help; 0. */
int cmd_help(enum command_id command);

#endif
