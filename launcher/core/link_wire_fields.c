#include "launcher/core/link_wire_fields.h"

#include "launcher/core/mpi_gather.h"
#include "launcher/core/node_sample.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const unsigned char wire_numbers[] = {
    [FRAME_HELLO] = 1,      [FRAME_PLAN] = 2,     [FRAME_READY] = 3,   [FRAME_REFUSED] = 4,
    [FRAME_START] = 5,      [FRAME_STARTED] = 6,  [FRAME_SIGNAL] = 7,  [FRAME_STOP] = 8,
    [FRAME_EXITED] = 9,     [FRAME_REAPED] = 10,  [FRAME_BEAT] = 11,   [FRAME_BYE] = 12,
    [FRAME_INTERRUPT] = 13, [FRAME_HUNG] = 14,    [FRAME_STACKS] = 15, [FRAME_STACK] = 16,
    [FRAME_STACKED] = 17,   [FRAME_GATHER] = 18,  [FRAME_WANTED] = 19, [FRAME_GATHERED] = 20,
    [FRAME_SAMPLE] = 21,    [FRAME_SAMPLED] = 22,
};

#define ROW(type, kind, member, max)                                                           \
    {                                                                                          \
        FRAME_##type, FIELD_##kind, offsetof(struct frame, u.member), max, #member             \
    }
static const struct wire_field frame_rows[] = {
    ROW(HELLO, TEXT, hello.host, WIRE_HOST_MAX),
    ROW(HELLO, U32, hello.slots, 0),
    ROW(HELLO, U32, hello.node_rank, 0),
    ROW(HELLO, U32, hello.nnodes, 0),
    ROW(HELLO, U32, hello.pid, 0),
    ROW(HELLO, MAYBE, hello.via, WIRE_ADDR_MAX),
    ROW(HELLO, MAYBE, hello.reach, WIRE_ADDR_MAX),
    ROW(PLAN, ORDER, plan.order, 0),
    ROW(REFUSED, ERR, refused.err, 0),
    ROW(REFUSED, MAYBE, refused.host, WIRE_HOST_MAX),
    ROW(REFUSED, U32, refused.node_rank, 0),
    ROW(READY, MPI, ready.mpi, 0),
    ROW(START, LAYOUT, start.layout, 0),
    ROW(STARTED, U32, started.local_rank, 0),
    ROW(STARTED, U32, started.pid, 0),
    ROW(SIGNAL, SIGNAL, signal.signo, 0),
    ROW(INTERRUPT, SIGNAL, signal.signo, 0),
    ROW(BEAT, BOOL, beat.is_last, 0),
    ROW(BYE, STATUS, bye.status, 0),
    ROW(BYE, MAYBE, bye.text, WIRE_TAIL_MAX),
    ROW(STOP, SIGNAL, stop.signo, 0),
    ROW(STOP, U64, stop.grace_ms, 0),
    ROW(STOP, BOOL, stop.is_final, 0),
    ROW(STOP, NOTICE, stop.notice, 0),
    ROW(HUNG, HANG, hung.kind, 0),
    ROW(HUNG, U32, hung.local_rank, 0),
    ROW(HUNG, U64, hung.quiet_ms, 0),
    ROW(STACKS, BOOL, stacks.may_abort, 0),
    ROW(STACK, U32, stack.local_rank, 0),
    ROW(STACK, MAYBE, stack.facts.where, WIRE_LINE_MAX),
    ROW(STACK, COUNT, stack.facts.step, 0),
    ROW(STACK, COUNT, stack.facts.quiet_ms, 0),
    ROW(STACK, MAYBE, stack.facts.section, WIRE_LINE_MAX),
    ROW(STACK, MAYBE, stack.facts.status, WIRE_LINE_MAX),
    ROW(STACKED, MAYBE, stacked.file, WIRE_DIR_MAX),
    ROW(SAMPLED, BYTES, sampled.text, NODE_SAMPLE_BYTES_MAX),
    ROW(GATHER, TEXT, gather.operation, MPI_GATHER_NAME_MAX),
    ROW(GATHER, NODES, gather, 0),
    ROW(GATHER, COUNT, gather.wanted, 0),
    ROW(GATHER, BYTES, gather.data, MPI_GATHER_BYTES_MAX),
    ROW(WANTED, TEXT, gather.operation, MPI_GATHER_NAME_MAX),
    ROW(WANTED, NODES, gather, 0),
    ROW(WANTED, COUNT, gather.wanted, 0),
    ROW(GATHERED, TEXT, gathered.operation, MPI_GATHER_NAME_MAX),
    ROW(GATHERED, BOOL, gathered.is_lost, 0),
    ROW(GATHERED, BYTES, gathered.data, MPI_GATHER_BYTES_MAX),
    ROW(EXITED, U32, exited.local_rank, 0),
    ROW(EXITED, U32, exited.pid, 0),
    ROW(EXITED, END_OF_WORKER, exited.end, 0),
    ROW(EXITED, TEXT, exited.gpu, WIRE_GPU_MAX),
    ROW(EXITED, MAYBE, exited.evidence.tail, WIRE_TAIL_MAX),
    ROW(EXITED, MAYBE, exited.evidence.error, WIRE_LINE_MAX),
    ROW(EXITED, MAYBE, exited.evidence.cause, WIRE_LINE_MAX),
};

#define ORDER_ROW(kind, member, max)                                                           \
    {                                                                                          \
        0, FIELD_##kind, offsetof(struct order, member), max, "order." #member                 \
    }
static const struct wire_field order_rows[] = {
    ORDER_ROW(TEXT, job_id, WIRE_JOB_MAX),
    ORDER_ROW(U32, generation, 0),
    ORDER_ROW(U32, max_restarts, 0),
    ORDER_ROW(U32, node_rank, 0),
    ORDER_ROW(U32, nnodes, 0),
    ORDER_ROW(U32, first_rank, 0),
    ORDER_ROW(U32, nworkers, 0),
    ORDER_ROW(U32, world_size, 0),
    ORDER_ROW(TEXT, master_addr, WIRE_ADDR_MAX),
    ORDER_ROW(U16, master_port, 0),
};

const struct wire_fields wire_frame_fields = {frame_rows, COUNT(frame_rows)};
const struct wire_fields wire_order_fields = {order_rows, COUNT(order_rows)};

const struct wire_end_code wire_end_codes[] = {
    [END_EXIT] = {0, WIRE_EXIT_MAX},
    [END_SIGNAL] = {1, WIRE_SIGNAL_MAX},
    [END_EXEC] = {0, WIRE_ERRNO_MAX},
    [END_UNKNOWN] = {0, WIRE_ERRNO_MAX},
};
