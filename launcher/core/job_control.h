/* job_control.h - decides what a request over the control socket means to the job: what it is
 * told, and which event it is.
 *
 * Reads the state of the head machine and, where the head runs workers itself, of that node;
 * changes neither. Form of requests and answers: control.h.
 */
#ifndef MUSTER_LAUNCHER_CORE_JOB_CONTROL_H
#define MUSTER_LAUNCHER_CORE_JOB_CONTROL_H

#include "launcher/core/control.h"
#include "launcher/core/job.h"

struct node;

/* What the machines do not know of themselves. Borrowed. */
struct control_facts {
    uint64_t now_ms, began_ms;
    uint32_t pid;            /* of muster */
    const struct node *node; /* of this process, link 0; NULL = none */
    const char *log_dir;     /* of this node and generation; NULL = none */
    enum log_layout layout;
    const char *cwd;     /* what a relative path is relative to */
    const char *metrics; /* where they are served; NULL = nowhere */
};

/* Whether the request is also an event of the job; then *ev is it, without its time. */
bool job_control_event(enum control_verb verb, struct event *ev);

/* Whether its answer has to wait: stacks are being taken. */
bool job_control_must_wait(const struct job *j, enum control_verb verb);

/* Appends the answer to a request. */
void job_control_answer(const struct job *j, enum control_verb verb,
                        const struct control_facts *facts, struct buf *out);

/* The same before it is text. End with control_status_fini. */
void job_control_look(const struct job *j, enum control_verb verb,
                      const struct control_facts *facts, struct control_status *out);

#endif
