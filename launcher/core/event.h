/* event.h - what the two machines see and what they ask for: events, effects, and the frames
 * between head and node.
 *
 * Closed enums with a union each; their one text form is event_text.h.
 * Pointers inside are borrowed: those of an event are valid during the step that gets it, those
 * of an effect until the next step of the machine that made it. Time is a field of the event;
 * nothing here reads a clock.
 */
#ifndef MUSTER_LAUNCHER_CORE_EVENT_H
#define MUSTER_LAUNCHER_CORE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "launcher/core/mpi_layout.h"
#include "launcher/core/mpi_mode.h"

/* How a worker ended. */
enum end_kind {
    END_EXIT,   /* code = exit code */
    END_SIGNAL, /* code = signal number */
    END_EXEC,   /* it never ran: code = errno of fork or exec */
    END_UNKNOWN /* it did not die, or its node was lost */
};

struct worker_end {
    enum end_kind kind;
    int code;
    bool core; /* END_SIGNAL: a core was dumped */
};

/* What is known of a worker that ended, each a text for people; NULL = nothing. */
struct evidence {
    const char *tail;  /* last lines of its stderr */
    const char *error; /* from its error.json: exception and place, one line */
    const char *cause; /* what the kernel says about its death, one line */
};

/* A number that may not be known. */
struct maybe_u64 {
    bool is_known;
    uint64_t value;
};

/* What a worker said through its notify socket (notify_parse.h). */
struct sign {
    bool is_alive; /* it counts as a sign of life */
    struct maybe_u64 step;
    const char *section; /* "+save", "-save"; NULL = nothing */
    uint64_t section_ms; /* of "+": its own limit, 0 = none */
    const char *status;  /* NULL = nothing */
};

/* Which limit has passed. */
enum hang_kind {
    HANG_NONE,      /* none any more: there is output again */
    HANG_HEARTBEAT, /* of one worker */
    HANG_SILENCE,   /* no worker of the node has written anything */
    HANG_KIND_COUNT
};

struct hang {
    enum hang_kind kind;
    uint32_t local_rank; /* HANG_HEARTBEAT */
    uint64_t quiet_ms;   /* since the last sign of life, or output */
};

/* What a node knows of one of its workers when it is asked. */
struct rank_facts {
    const char *where;               /* what it was seen doing, one line: "spin (train.py:7)" */
    struct maybe_u64 step, quiet_ms; /* last STEP; since its last sign of life */
    const char *section, *status;    /* NULL = none */
};

/* A signal and the time to act on it, before a stop begins; ms 0 = none. */
struct notice {
    int signo;
    uint64_t ms;
};

/* What a node gives to others when all its MPI ranks have come to a fence or barrier. */
struct gather {
    const char *operation; /* which one: equal on all nodes that take part */
    const uint32_t *nodes; /* who they are, by node rank, ascending */
    uint32_t nnodes;
    struct maybe_u64 wanted; /* a rank of another one of them, which does not know of it yet and
                                has to be told: what that rank has to tell is wanted */
    struct str data;         /* any bytes */
};

/* The answer, to each of them. */
struct gathered {
    const char *operation;
    bool is_lost;    /* a node that was to take part is gone: nothing will come */
    struct str data; /* what all have given, one piece after the other, in any order */
};

/* What the head orders a node to run. Owned by the head; the same for one generation. */
struct order {
    const char *job_id;
    uint32_t generation, max_restarts;
    uint32_t node_rank, nnodes;
    uint32_t first_rank, nworkers, world_size;
    const char *master_addr; /* numeric */
    uint16_t master_port;
};

/* A node that leaves its rank to the head. */
enum { NODE_RANK_ANY = UINT32_MAX };

/* X(name, direction). up: node to head, down: head to node. */
#define FRAME_TYPES(X)                                                                         \
    X(HELLO, up)                                                                               \
    X(PLAN, down)                                                                              \
    X(READY, up)                                                                               \
    X(REFUSED, both)                                                                           \
    X(START, down)                                                                             \
    X(STARTED, up)                                                                             \
    X(SIGNAL, down)                                                                            \
    X(STOP, down)                                                                              \
    X(EXITED, up)                                                                              \
    X(REAPED, up)                                                                              \
    X(BEAT, both)                                                                              \
    X(BYE, down)                                                                               \
    X(INTERRUPT, up)                                                                           \
    X(HUNG, up)                                                                                \
    X(STACKS, down)                                                                            \
    X(STACK, up)                                                                               \
    X(STACKED, up)                                                                             \
    X(GATHER, up)                                                                              \
    X(WANTED, down)                                                                            \
    X(GATHERED, down)                                                                          \
    X(SAMPLE, down)                                                                            \
    X(SAMPLED, up)

enum frame_type {
#define X(name, direction) FRAME_##name,
    FRAME_TYPES(X)
#undef X
        FRAME_TYPE_COUNT
};

struct frame {
    enum frame_type type;
    uint32_t generation; /* frames of another generation than the current one are ignored */
    union {
        struct {
            const char *host;
            uint32_t slots;     /* workers that this node will run */
            uint32_t node_rank; /* that it was given, or NODE_RANK_ANY */
            uint32_t nnodes;    /* of its own command line, 0 = none */
            uint32_t pid;       /* of its muster */
            const char *via;    /* numeric address under which it reached the head; NULL = it is
                                   in the head's own process */
            const char *reach;  /* numeric address under which others reach it; NULL = the one
                                   its link comes from */
        } hello;
        struct {
            const struct order *order;
        } plan;
        struct {
            enum mpi_mode mpi; /* what its program wants; never MPI_MODE_AUTO */
        } ready;
        struct {
            const struct mpi_layout *layout; /* of all nodes; NULL = no MPI */
        } start;
        struct {
            const struct err *err; /* up: why this node cannot run its part; down: why it may
                                      not join */
            const char *host;      /* up: as in its hello, which it may not have said */
            uint32_t node_rank;    /* likewise */
        } refused;
        struct {
            uint32_t local_rank, pid;
        } started;
        struct {
            int signo;
        } signal; /* also interrupt: what this node's muster was sent */
        struct {
            bool is_last; /* the sender stands still from now on, by its own will (Ctrl-Z) */
        } beat;
        struct {
            int status;       /* of the job */
            const char *text; /* how it ended, whole lines; NULL = nothing to say */
        } bye;
        struct {
            int signo;
            uint64_t grace_ms;    /* until SIGKILL; 0 = at once */
            bool is_final;        /* the user wants out: pending output may be lost */
            struct notice notice; /* comes before signo; the grace begins after it */
        } stop;
        struct {
            uint32_t local_rank, pid;
            struct worker_end end;
            const char *gpu; /* for people, "" if none */
            struct evidence evidence;
        } exited;
        struct hang hung;
        struct {
            bool may_abort; /* the job ends: a Python worker may be made to print its stacks */
        } stacks;
        struct {
            uint32_t local_rank;
            struct rank_facts facts;
        } stack; /* one a worker that lives */
        struct {
            const char *file; /* where the stacks stand, NULL = nowhere */
        } stacked;            /* all have been told */
        struct {
            struct str text; /* node_sample.h */
        } sampled;
        struct gather gather; /* also wanted, without data: the node that has to be told */
        struct gathered gathered;
    } u;
};

/* X(name, who sees it) */
#define EVENT_TYPES(X)                                                                         \
    X(BOOT, both)                                                                              \
    X(TICK, both)                                                                              \
    X(FRAME, both)                                                                             \
    X(SIGNAL, both)                                                                            \
    X(STORE_READY, head)                                                                       \
    X(NODE_LOST, head)                                                                         \
    X(NODE_FAILED, head)                                                                       \
    X(NODE_STATE, head)                                                                        \
    X(LINK_LOST, node)                                                                         \
    X(PREPARED, node)                                                                          \
    X(PREPARE_FAILED, node)                                                                    \
    X(SPAWNED, node)                                                                           \
    X(SPAWN_FAILED, node)                                                                      \
    X(EXITED, node)                                                                            \
    X(STREAMS_ENDED, node)                                                                     \
    X(OUTPUT_BLOCKED, both)                                                                    \
    X(OUTPUT_FLOWING, both)                                                                    \
    X(LINKS_PAUSED, head)                                                                      \
    X(LINKS_RESUMED, head)                                                                     \
    X(NOTIFY, node)                                                                            \
    X(LOOKED, node)                                                                            \
    X(STACK, node)                                                                             \
    X(STACKED, node)                                                                           \
    X(SAMPLE, head)                                                                            \
    X(SAMPLED, node)                                                                           \
    X(GATHER, node)                                                                            \
    X(ABORTED, node)                                                                           \
    X(SWEPT, node)

enum event_type {
#define X(name, who) EV_##name,
    EVENT_TYPES(X)
#undef X
        EVENT_TYPE_COUNT
};

struct event {
    enum event_type type;
    uint64_t now_ms; /* monotonic */
    union {
        struct {
            const char *addr; /* head: where the store listens */
            uint16_t port;
        } boot;
        struct {
            uint32_t node; /* head: the number of its link; node: 0 */
            struct frame frame;
        } frame;
        struct {
            int signo;
            bool is_at_once; /* of one that ends the job: without grace */
        } signal;
        struct {
            uint32_t generation;
        } store_ready;
        struct {
            uint32_t node;          /* the number of its link */
            struct maybe_u64 place; /* in the list of hosts, if it was told that it is that */
            const struct err *err;
        } node_lost;
        struct {
            uint32_t node; /* its place in the list of hosts */
            const struct err *err;
        } node_failed; /* it could not be started */
        struct {
            uint32_t node; /* likewise */
            const char *host, *state;
        } node_state; /* how far it is, for people: "ssh refused, trying again" */
        struct {
            enum mpi_mode mpi; /* as in the frame READY */
        } prepared;
        struct {
            const struct err *err;
        } prepare_failed;
        struct {
            uint32_t local_rank, pid;
        } spawned;
        struct {
            uint32_t local_rank;
            int sys; /* errno of fork or exec */
        } spawn_failed;
        struct {
            uint32_t local_rank;
            struct worker_end end;
            struct evidence evidence;
        } exited;
        struct {
            uint32_t local_rank;
        } streams_ended;
        struct {
            uint32_t left; /* descendants still alive */
        } swept;
        struct {
            uint32_t local_rank;
            struct sign sign;
        } notify;
        struct {
            uint64_t output_at_ms; /* when a worker wrote last; 0 = none has */
        } looked;                  /* the answer to FX_LOOK, once more with the next output */
        struct {
            uint32_t local_rank;
            const char *where; /* as in rank_facts; valid until the next FX_STACKS */
        } stack;
        struct {
            const char *file; /* as in the frame */
        } stacked;
        struct {
            struct str text; /* items of node_sample.h; valid until the next FX_SAMPLE */
        } sampled;
        struct gather gather; /* this node's ranks have come */
        struct {
            uint32_t local_rank;
        } aborted; /* it has called MPI_Abort and waits for its end */
    } u;
};

/* X(name, whose) */
#define EFFECT_TYPES(X)                                                                        \
    X(SEND, both)                                                                              \
    X(NOTE, both)                                                                              \
    X(STORE_GATE, head)                                                                        \
    X(STORE_RESET, head)                                                                       \
    X(SUSPEND, head)                                                                           \
    X(DROP_NODE, head)                                                                         \
    X(DONE, head)                                                                              \
    X(PREPARE, node)                                                                           \
    X(SPAWN, node)                                                                             \
    X(KILL, node)                                                                              \
    X(SWEEP, node)                                                                             \
    X(CLOSE_STREAMS, node)                                                                     \
    X(REAP, node)                                                                              \
    X(DROP_OUTPUT, both)                                                                       \
    X(LOOK, node)                                                                              \
    X(STACKS, node)                                                                            \
    X(SAMPLE, node)                                                                            \
    X(WORLD, node)                                                                             \
    X(WANTED, node)                                                                            \
    X(GATHERED, node)

enum effect_type {
#define X(name, whose) FX_##name,
    EFFECT_TYPES(X)
#undef X
        EFFECT_TYPE_COUNT
};

/* A thing worth saying, without its words. */
struct note {
    int id; /* enum note_id of note.h */
    uint32_t rank, node;
    int64_t number;
    const char *text;
};

struct effect {
    enum effect_type type;
    union {
        struct {
            uint32_t node; /* the number of its link */
            struct frame frame;
        } send;
        struct {
            uint32_t node; /* its link is of no use any more: closed once all is sent */
        } drop_node;
        struct note note;
        struct {
            uint32_t generation;
        } store_reset;
        struct {
            uint32_t local_rank;
        } spawn; /* also close_streams */
        struct {
            uint32_t local_rank;
            int signo; /* to the worker's whole process group */
        } kill;
        struct {
            int signo; /* to every descendant that is left */
        } sweep;
        struct {
            bool may_abort; /* as in the frame */
        } stacks;
        struct {
            const struct mpi_layout *layout; /* MPI ranks are about to start */
        } world;
        struct gather wanted; /* without data */
        struct gathered gathered;
    } u;
};

/* A list of effects, in order. Zero-initialised by the owner; freed with effects_fini. */
struct effects {
    struct effect *items;
    size_t len, cap;
};

/* Appends an effect of this type with an empty union and returns it, valid until the next
 * append. */
struct effect *effects_add(struct effects *fx, enum effect_type type);
void effects_clear(struct effects *fx);
void effects_fini(struct effects *fx);

/* A queue of events for a driver; zero-initialised; first in, first out. */
struct event_queue {
    struct event *items;
    size_t head, len, cap;
};
void event_queue_push(struct event_queue *q, const struct event *ev);
bool event_queue_pop(struct event_queue *q, struct event *ev);
void event_queue_fini(struct event_queue *q);

/* "exit 7", "signal 9 (SIGKILL)", "signal 11 (SIGSEGV), core dumped", "exec failed: ...". */
void worker_end_format(const struct worker_end *end, struct buf *out);

/* Whether the worker's end is a failure. */
bool worker_end_is_failure(const struct worker_end *end);

#endif
