/* status.h - the exit statuses of muster-worker.
 *
 * Functions of this folder that can end the run return 0 or one of these, with the sentence for
 * the user in their struct err; main.c returns it unchanged. Errors of lower layers (a store
 * that cannot be reached, say) keep the status of base/err.h.
 */
#ifndef MUSTER_WORKER_STATUS_H
#define MUSTER_WORKER_STATUS_H

/* X(name, status, meaning) */
#define WORKER_STATUSES(X)                                                                     \
    X(PASS, 0, "everything that was tested is right")                                          \
    X(USAGE, 2, "bad option, or the environment of a launcher is missing")                     \
    X(WRONG, 10, "wrong data")                                                                 \
    X(SLOW, 11, "slower than demanded")                                                        \
    X(PHASE, 12, "a rank did not reach a phase in time")                                       \
    X(NCCL, 13, "NCCL reported an error")                                                      \
    X(CUDA, 14, "CUDA reported an error")                                                      \
    X(STUCK, 15, "all ranks entered a collective and it did not end")                          \
    X(DEVICE, 16, "not the planned GPU")                                                       \
    X(BACKEND, 17, "the backend asked for is not available here")

enum worker_status {
#define X(name, status, meaning) STATUS_##name = status,
    WORKER_STATUSES(X)
#undef X
};

#endif
