#include "launcher/core/event_fields.h"

#include <assert.h>

#define FRAME_FIELD(type, name, kind, member)                                                  \
    {                                                                                          \
        FRAME_##type, name, FIELD_##kind, offsetof(struct frame, u.member)                     \
    }
static const struct event_field frame_fields[] = {
    FRAME_FIELD(HELLO, "host", TEXT, hello.host),
    FRAME_FIELD(HELLO, "slots", U32, hello.slots),
    FRAME_FIELD(HELLO, "rank", RANK, hello.node_rank),
    FRAME_FIELD(HELLO, "nnodes", U32, hello.nnodes),
    FRAME_FIELD(HELLO, "pid", U32, hello.pid),
    FRAME_FIELD(HELLO, "via", MAYBE, hello.via),
    FRAME_FIELD(HELLO, "reach", MAYBE, hello.reach),
    FRAME_FIELD(PLAN, "order", ORDER, plan.order),
    FRAME_FIELD(REFUSED, "err", ERR, refused.err),
    FRAME_FIELD(REFUSED, "host", MAYBE, refused.host),
    FRAME_FIELD(REFUSED, "rank", RANK, refused.node_rank),
    FRAME_FIELD(STARTED, "local_rank", U32, started.local_rank),
    FRAME_FIELD(STARTED, "pid", U32, started.pid),
    FRAME_FIELD(SIGNAL, "signo", SIGNAL, signal.signo),
    FRAME_FIELD(INTERRUPT, "signo", SIGNAL, signal.signo),
    FRAME_FIELD(BEAT, "last", FLAG, beat.is_last),
    FRAME_FIELD(BYE, "status", INT, bye.status),
    FRAME_FIELD(BYE, "text", MAYBE, bye.text),
    FRAME_FIELD(STOP, "signo", SIGNAL, stop.signo),
    FRAME_FIELD(STOP, "grace_ms", U64, stop.grace_ms),
    FRAME_FIELD(STOP, "final", BOOL, stop.is_final),
    FRAME_FIELD(EXITED, "local_rank", U32, exited.local_rank),
    FRAME_FIELD(EXITED, "pid", U32, exited.pid),
    FRAME_FIELD(EXITED, "end", END_OF_WORKER, exited.end),
    FRAME_FIELD(EXITED, "gpu", TEXT, exited.gpu),
    FRAME_FIELD(EXITED, "tail", TEXT, exited.evidence.tail),
    FRAME_FIELD(EXITED, "error", MAYBE, exited.evidence.error),
    FRAME_FIELD(EXITED, "cause", MAYBE, exited.evidence.cause),
    FRAME_FIELD(STOP, "notice", NOTICE, stop.notice),
    FRAME_FIELD(HUNG, "what", HANG, hung.kind),
    FRAME_FIELD(HUNG, "local_rank", U32, hung.local_rank),
    FRAME_FIELD(HUNG, "quiet_ms", U64, hung.quiet_ms),
    FRAME_FIELD(STACKS, "may_abort", BOOL, stacks.may_abort),
    FRAME_FIELD(STACK, "local_rank", U32, stack.local_rank),
    FRAME_FIELD(STACK, "where", TEXT, stack.facts.where),
    FRAME_FIELD(STACK, "step", COUNT, stack.facts.step),
    FRAME_FIELD(STACK, "quiet_ms", COUNT, stack.facts.quiet_ms),
    FRAME_FIELD(STACK, "section", MAYBE, stack.facts.section),
    FRAME_FIELD(STACK, "status", MAYBE, stack.facts.status),
    FRAME_FIELD(STACKED, "file", MAYBE, stacked.file),
    FRAME_FIELD(SAMPLED, "text", BYTES, sampled.text),
    FRAME_FIELD(READY, "mpi", MPI, ready.mpi),
    FRAME_FIELD(START, "layout", LAYOUT, start.layout),
    FRAME_FIELD(GATHER, "operation", TEXT, gather.operation),
    FRAME_FIELD(GATHER, "nodes", NODES, gather),
    FRAME_FIELD(GATHER, "wanted", COUNT, gather.wanted),
    FRAME_FIELD(GATHER, "data", BYTES, gather.data),
    FRAME_FIELD(WANTED, "operation", TEXT, gather.operation),
    FRAME_FIELD(WANTED, "nodes", NODES, gather),
    FRAME_FIELD(WANTED, "wanted", COUNT, gather.wanted),
    FRAME_FIELD(GATHERED, "operation", TEXT, gathered.operation),
    FRAME_FIELD(GATHERED, "lost", FLAG, gathered.is_lost),
    FRAME_FIELD(GATHERED, "data", BYTES, gathered.data),
};

#define EVENT_FIELD(type, name, kind, member)                                                  \
    {                                                                                          \
        EV_##type, name, FIELD_##kind, offsetof(struct event, u.member)                        \
    }
static const struct event_field event_fields[] = {
    EVENT_FIELD(BOOT, "addr", TEXT, boot.addr),
    EVENT_FIELD(BOOT, "port", U16, boot.port),
    EVENT_FIELD(FRAME, "node", U32, frame.node),
    EVENT_FIELD(SIGNAL, "signo", SIGNAL, signal.signo),
    EVENT_FIELD(SIGNAL, "at_once", FLAG, signal.is_at_once),
    EVENT_FIELD(STORE_READY, "generation", U32, store_ready.generation),
    EVENT_FIELD(NODE_LOST, "node", U32, node_lost.node),
    EVENT_FIELD(NODE_LOST, "place", COUNT, node_lost.place),
    EVENT_FIELD(NODE_LOST, "err", ERR, node_lost.err),
    EVENT_FIELD(NODE_FAILED, "node", U32, node_failed.node),
    EVENT_FIELD(NODE_FAILED, "err", ERR, node_failed.err),
    EVENT_FIELD(NODE_STATE, "node", U32, node_state.node),
    EVENT_FIELD(NODE_STATE, "host", TEXT, node_state.host),
    EVENT_FIELD(NODE_STATE, "state", TEXT, node_state.state),
    EVENT_FIELD(PREPARED, "mpi", MPI, prepared.mpi),
    EVENT_FIELD(PREPARE_FAILED, "err", ERR, prepare_failed.err),
    EVENT_FIELD(SPAWNED, "local_rank", U32, spawned.local_rank),
    EVENT_FIELD(SPAWNED, "pid", U32, spawned.pid),
    EVENT_FIELD(SPAWN_FAILED, "local_rank", U32, spawn_failed.local_rank),
    EVENT_FIELD(SPAWN_FAILED, "sys", INT, spawn_failed.sys),
    EVENT_FIELD(EXITED, "local_rank", U32, exited.local_rank),
    EVENT_FIELD(EXITED, "end", END_OF_WORKER, exited.end),
    EVENT_FIELD(EXITED, "tail", TEXT, exited.evidence.tail),
    EVENT_FIELD(EXITED, "error", MAYBE, exited.evidence.error),
    EVENT_FIELD(EXITED, "cause", MAYBE, exited.evidence.cause),
    EVENT_FIELD(STREAMS_ENDED, "local_rank", U32, streams_ended.local_rank),
    EVENT_FIELD(SWEPT, "left", U32, swept.left),
    EVENT_FIELD(NOTIFY, "local_rank", U32, notify.local_rank),
    EVENT_FIELD(NOTIFY, "alive", BOOL, notify.sign.is_alive),
    EVENT_FIELD(NOTIFY, "step", COUNT, notify.sign.step),
    EVENT_FIELD(NOTIFY, "section", MAYBE, notify.sign.section),
    EVENT_FIELD(NOTIFY, "section_ms", U64, notify.sign.section_ms),
    EVENT_FIELD(NOTIFY, "status", MAYBE, notify.sign.status),
    EVENT_FIELD(LOOKED, "output_at_ms", U64, looked.output_at_ms),
    EVENT_FIELD(STACK, "local_rank", U32, stack.local_rank),
    EVENT_FIELD(STACK, "where", TEXT, stack.where),
    EVENT_FIELD(STACKED, "file", MAYBE, stacked.file),
    EVENT_FIELD(SAMPLED, "text", BYTES, sampled.text),
    EVENT_FIELD(ABORTED, "local_rank", U32, aborted.local_rank),
    EVENT_FIELD(GATHER, "operation", TEXT, gather.operation),
    EVENT_FIELD(GATHER, "nodes", NODES, gather),
    EVENT_FIELD(GATHER, "wanted", COUNT, gather.wanted),
    EVENT_FIELD(GATHER, "data", BYTES, gather.data),
};

#define EFFECT_FIELD(type, name, kind, member)                                                 \
    {                                                                                          \
        FX_##type, name, FIELD_##kind, offsetof(struct effect, u.member)                       \
    }
static const struct event_field effect_fields[] = {
    EFFECT_FIELD(SEND, "node", U32, send.node),
    EFFECT_FIELD(DROP_NODE, "node", U32, drop_node.node),
    EFFECT_FIELD(NOTE, "id", NOTE_ID, note.id),
    EFFECT_FIELD(NOTE, "rank", U32, note.rank),
    EFFECT_FIELD(NOTE, "node", U32, note.node),
    EFFECT_FIELD(NOTE, "number", I64, note.number),
    EFFECT_FIELD(NOTE, "text", TEXT, note.text),
    EFFECT_FIELD(STORE_RESET, "generation", U32, store_reset.generation),
    EFFECT_FIELD(SPAWN, "local_rank", U32, spawn.local_rank),
    EFFECT_FIELD(KILL, "local_rank", U32, kill.local_rank),
    EFFECT_FIELD(KILL, "signo", SIGNAL, kill.signo),
    EFFECT_FIELD(SWEEP, "signo", SIGNAL, sweep.signo),
    EFFECT_FIELD(CLOSE_STREAMS, "local_rank", U32, spawn.local_rank),
    EFFECT_FIELD(STACKS, "may_abort", BOOL, stacks.may_abort),
    EFFECT_FIELD(WORLD, "layout", LAYOUT, world.layout),
    EFFECT_FIELD(WANTED, "operation", TEXT, wanted.operation),
    EFFECT_FIELD(WANTED, "nodes", NODES, wanted),
    EFFECT_FIELD(WANTED, "wanted", COUNT, wanted.wanted),
    EFFECT_FIELD(GATHERED, "operation", TEXT, gathered.operation),
    EFFECT_FIELD(GATHERED, "lost", FLAG, gathered.is_lost),
    EFFECT_FIELD(GATHERED, "data", BYTES, gathered.data),
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *const frame_names[] = {
#define X(name, direction) [FRAME_##name] = #name,
    FRAME_TYPES(X)
#undef X
};
static const char *const event_names[] = {
#define X(name, who) [EV_##name] = #name,
    EVENT_TYPES(X)
#undef X
};
static const char *const effect_names[] = {
#define X(name, whose) [FX_##name] = #name,
    EFFECT_TYPES(X)
#undef X
};
static_assert(COUNT(frame_names) == FRAME_TYPE_COUNT, "one name a frame");
static_assert(COUNT(event_names) == EVENT_TYPE_COUNT, "one name an event");
static_assert(COUNT(effect_names) == EFFECT_TYPE_COUNT, "one name an effect");

const char *const event_end_names[EVENT_END_NAMES] = {[END_EXIT] = "exit",
                                                      [END_SIGNAL] = "signal",
                                                      [END_EXEC] = "exec",
                                                      [END_UNKNOWN] = "unknown"};

const char *const event_hang_names[] = {
    [HANG_NONE] = "none", [HANG_HEARTBEAT] = "heartbeat", [HANG_SILENCE] = "silence"};
static_assert(COUNT(event_hang_names) == HANG_KIND_COUNT, "one name a kind");

const struct event_table event_table_frames = {frame_fields, COUNT(frame_fields), frame_names,
                                               COUNT(frame_names)};
const struct event_table event_table_events = {event_fields, COUNT(event_fields), event_names,
                                               COUNT(event_names)};
const struct event_table event_table_effects = {effect_fields, COUNT(effect_fields),
                                                effect_names, COUNT(effect_names)};

void event_fields_lower(struct buf *out, const char *name)
{
    for (; *name; name++)
        buf_addc(out, (char)(*name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name));
}
