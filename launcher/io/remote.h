/* remote.h - one command that starts `muster agent` elsewhere: its process and its three pipes.
 *
 * Owns one run of it at a time, from the start until it is reaped and its pipes are closed; it
 * may then be started again. Finds the agent's first words in the noise of start-up files,
 * splits what follows into lines, and sends one text down its standard input. What its words
 * and its end mean decides the owner (remotes.h).
 */
#ifndef MUSTER_LAUNCHER_IO_REMOTE_H
#define MUSTER_LAUNCHER_IO_REMOTE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

struct remote;
struct spawn;
struct uv_loop_s;

/* Everything is borrowed, for the remote's life. */
struct remote_setup {
    struct uv_loop_s *loop;
    const struct spawn *spawn; /* limits and signals of the process */
    char *slab;                /* REMOTE_SLAB bytes to read into, shared by all of a loop */
    char *const *argv;
    const char *const *hidden; /* variables that it must not get, NULL-terminated; or NULL */
    const char *token;         /* that the agent's first line has; NULL = agents say nothing */
};

enum { REMOTE_SLAB = 16 * 1024 };

struct remote_events {
    void *ctx;
    /* The agent runs and has said "muster-agent PROTOCOL TOKEN VERSION". */
    void (*on_marker)(void *ctx, struct str protocol, struct str version);
    /* A line of its standard output after that, without its end. */
    void (*on_line)(void *ctx, const char *line);
    /* Bytes of its standard error. */
    void (*on_complaint)(void *ctx, const char *p, size_t n);
    /* It is reaped; status as of waitpid. */
    void (*on_exit)(void *ctx, int status);
    /* And nothing of it is open any more: it may be started again, or freed. */
    void (*on_over)(void *ctx);
};

/* Starts nothing yet. */
struct remote *remote_new(const struct remote_setup *setup, const struct remote_events *events);

/* 0, or -1 with ERR_NOT_FOUND, ERR_NOT_EXECUTABLE or ERR_SYSTEM: nothing runs then, and no
 * event will come. Only of one that is over. */
int remote_start(struct remote *m, struct err *e);

/* Neither runs nor has anything open. */
bool remote_is_over(const struct remote *m);

/* Of its process, 0 = none. */
pid_t remote_pid(const struct remote *m);

/* Sends text down its standard input; copied, and the copy is wiped once it has gone. Once a
 * run. */
void remote_send(struct remote *m, struct str text);

/* Ends its standard input, which ends an agent that has no link. */
void remote_end_input(struct remote *m);

/* Of one that is over. */
void remote_free(struct remote *m);

#endif
