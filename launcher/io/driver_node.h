/* driver_node.h - runs the node machine of this host: its effects become processes, signals and
 * files, and what happens to them becomes events. Decides nothing.
 */
#ifndef MUSTER_LAUNCHER_IO_DRIVER_NODE_H
#define MUSTER_LAUNCHER_IO_DRIVER_NODE_H

#include <sys/resource.h>

#include "launcher/core/node.h"
#include "launcher/io/output.h"
#include "launcher/io/pump.h"

struct driver_node;

/* The way to the head. In the head's own process it is a function call; what a frame borrows is
 * valid during it. */
struct link_up {
    void *ctx;
    void (*send)(void *ctx, const struct frame *frame);
    /* The reader of standard output has gone. */
    void (*reader_gone)(void *ctx);
    /* NULL, or the way of the workers' output, as in output.h. */
    void (*relay)(void *ctx, uint32_t rank, enum output_fd fd, const char *p, size_t n);
    bool (*is_full)(void *ctx);
    int input; /* what is read as standard input; 0 = muster's own */
};

/* Everything is borrowed. nofile: the limit of open files that workers get. Joins the pump
 * after the head. */
struct driver_node *driver_node_new(uv_loop_t *loop, struct pump *pump,
                                    const struct options *opt, const struct facts *facts,
                                    const struct node_place *place, const struct rlimit *nofile,
                                    const struct link_up *up);

/* Queues a frame from the head. What it borrows must stay until the next round of the pump. */
void driver_node_receive(struct driver_node *d, const struct frame *frame);

/* Queues another event: a signal that reached this muster, the loss of the link. */
void driver_node_post(struct driver_node *d, struct event *ev);

/* up->is_full was true and is not any more. */
void driver_node_flowing(struct driver_node *d);

/* Whether nothing is left to do, after BYE or the loss of the link. */
bool driver_node_is_done(const struct driver_node *d);

/* The plan in force and the path of what is executed; valid until the next FRAME_PLAN. Only
 * once the node has said FRAME_READY. */
const struct node_plan *driver_node_plan(const struct driver_node *d);
const char *driver_node_program(const struct driver_node *d);

/* The machine, to be read; its files of the generation in force: the folder, NULL without
 * --log-dir, and its layout. */
const struct node *driver_node_machine(const struct driver_node *d);
const char *driver_node_log_dir(const struct driver_node *d, enum log_layout *layout);

/* As output_bytes; with opt->metrics and without a relay only. */
struct maybe_u64 driver_node_output_bytes(const struct driver_node *d, uint32_t rank,
                                          enum output_fd fd);

/* A socket of this muster, which its guard removes should muster be killed. path is borrowed
 * until the first workers start. */
void driver_node_note_socket(struct driver_node *d, const char *path);

/* A SIGCHLD came: some descendant ended. */
void driver_node_child_signal(struct driver_node *d);

/* A child of this process that is no worker and is collected by who started it; it has been. */
void driver_node_keep(struct driver_node *d, pid_t pid);
void driver_node_release(struct driver_node *d, pid_t pid);

/* Once its workers are reaped. Asynchronous: frees itself when its handles are closed. */
void driver_node_close(struct driver_node *d);

#endif
