/* check_judge.h - what the measurements mean: a verdict for each size, and one for the whole
 * with the exit status of muster check. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_CHECK_JUDGE_H
#define MUSTER_LAUNCHER_CORE_CHECK_JUDGE_H

#include "launcher/core/check_result.h"
#include "launcher/core/expect.h"

/* Sizes from JUDGED on are held against what is expected and can fail; smaller ones do not
 * reach it on any machine (4 x H200: 85 % at 64 MiB). Those from WARNED on can also warn: good
 * machines still grow up to there (2 x H200: 87 % at 256 MiB, 95 % at 1 GiB;
 * docs/benchmarks.md). */
#define CHECK_JUDGED_BYTES (256ull << 20)
#define CHECK_WARNED_BYTES (1ull << 30)

/* Exit statuses: those of muster-worker (worker/status.h) that check itself may give. */
enum { CHECK_STATUS_WRONG = 10, CHECK_STATUS_SLOW = 11, CHECK_STATUS_UNTESTED = 17 };

struct check_limits {
    double min_busbw;              /* GB/s; 0 = none; wins over what is expected */
    double warn_below, fail_below; /* of what is expected */
    struct expectation expected;   /* of this group */
    bool has_gpus;                 /* some machine has some, wanted or not */
    bool is_host_wanted;           /* --backend host */
};

/* What ended the job, where it did not end well. */
struct check_end {
    int status;       /* exit status of the job; 0 = all went well */
    const char *text; /* one line, for people; NULL = nothing is known beside the status */
};

/* Fills expected, ratio and verdict of each row, and of the whole: verdict, status,
 * verdict_text, and notes. Only all_reduce can fail; the others can only warn, for want of
 * figures of many machines. */
void check_judge(struct check_result *r, const struct check_limits *limits,
                 const struct check_end *end);

#endif
