/* note.h - the registry of things that the deciding part may want said, and their words.
 *
 * Core does not log: it emits FX_NOTE with an id and values, and note_format makes one line of
 * it.
 */
#ifndef MUSTER_LAUNCHER_CORE_NOTE_H
#define MUSTER_LAUNCHER_CORE_NOTE_H

#include "base/buf.h"
#include "base/log.h"
#include "launcher/core/event.h"

/* X(name, level, words). {rank} {node} {number} {text} {signal} ({number} as a signal's name)
 * {seconds} ({number} ms). */
#define NOTE_REGISTRY(X)                                                                       \
    X(GENERATION, INFO, "starting again: attempt {number} of {rank}")                          \
    X(STOPPING, DEBUG, "stopping all workers with {signal}")                                   \
    X(INTERRUPTED, INFO, "{signal}: stopping {rank} workers; once more kills them at once")    \
    X(ESCALATED, INFO, "{number} of the workers did not end within the grace; SIGKILL")        \
    X(UNKILLABLE, WARN,                                                                        \
      "rank {rank} (pid {number}) does not die, not even by SIGKILL; it is left behind")       \
    X(STREAM_HELD, INFO,                                                                       \
      "rank {rank} has ended, but a process that it started keeps its output open; "           \
      "closing it")                                                                            \
    X(SWEPT, INFO, "{number} processes that workers had started are still there; ending them") \
    X(LEFT_BEHIND, WARN, "{number} processes that workers had started could not be killed")    \
    X(OUTPUT_LOST, WARN,                                                                       \
      "standard output is not being read; what was still to be written is lost")               \
    X(GPUS, WARN, "{text}")                                                                    \
    X(UNBOUND, WARN,                                                                           \
      "{number} workers on this node, more than visible GPUs: CUDA_VISIBLE_DEVICES stays as "  \
      "it is, the program has to share them")                                                  \
    X(CPU_EMPTY, WARN,                                                                         \
      "W_CPU_EMPTY: muster may use no CPU near the GPU of some workers; they stay unbound")    \
    X(CPU_FEW, WARN,                                                                           \
      "W_CPU_FEW: fewer cores than workers near some GPU; these share the cores of its NUMA "  \
      "node")                                                                                  \
    X(CPU_REFUSED, WARN,                                                                       \
      "the CPUs of rank {rank} could not be bound ({text}); the job goes on without")          \
    X(MEM_POLICY, WARN,                                                                        \
      "W_MEM_POLICY: no memory policy can be set here ({text}); CPUs are bound all the same")  \
    X(NODE_LATE, INFO, "waiting for {number} of {rank} nodes{text}")                           \
    X(PREEMPTED, INFO, "workers get {signal} and up to {rank} s before they are asked to end") \
    X(SEEN, INFO, "{text}")                                                                    \
    X(NOTHING_RUNS, INFO, "no worker is running whose stacks could be shown")                  \
    X(NODE_AWAITED, INFO, "waiting for {number} nodes in place of those that were lost")       \
    X(LAST_CALL, INFO, "{number} nodes have joined; {rank} s for more")                        \
    X(NODE_REFUSED, INFO, "a node was turned away: {text}")                                    \
    X(ALSO_REFUSED, ERROR, "{text}")                                                           \
    X(NODE_SPARE, INFO,                                                                        \
      "{text} has come as a spare: it takes the place of a node that is lost")                 \
    X(NODE_LEFT, INFO, "a node left before the start ({text}); waiting for another")           \
    X(HEAD_SILENT, WARN, "no sign of life from the head for {seconds}; ending the workers")    \
    X(NO_RESTART_CODE, INFO, "rank {rank} asked not to be restarted (exit 93)")                \
    X(NO_RESTART_LISTED, INFO,                                                                 \
      "rank {rank} ended with {number}, after which nothing is restarted "                     \
      "(--no-restart-codes)")                                                                  \
    X(CRASH_LOOP, INFO,                                                                        \
      "{number} failures in a row came sooner than --min-uptime, the last of rank {rank}; no " \
      "more restarts")                                                                         \
    X(RESTART_WAIT, INFO, "starting again in {seconds} s")                                     \
    X(GATHER_LIMIT, ERROR,                                                                     \
      "MPI: what the ranks of this node tell those of others at one fence or barrier has "     \
      "{number} bytes; {rank} can travel")

enum note_id {
#define X(name, level, words) NOTE_##name,
    NOTE_REGISTRY(X)
#undef X
        NOTE_COUNT
};

/* "RESTART_WAIT" for NOTE_RESTART_WAIT. Static text. */
const char *note_name(enum note_id id);
/* How loudly it is said. */
enum log_level note_level(const struct note *note);

/* Appends the note's words, without newline. */
void note_format(const struct note *note, struct buf *out);

/* Adds an FX_NOTE; fields may be changed through the result until the next append. */
struct note *note_add(struct effects *fx, enum note_id id);

#endif
