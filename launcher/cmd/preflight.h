/* preflight.h - a look at the hosts and the judgement, for `muster doctor` and `muster run
 * --preflight`. */
#ifndef MUSTER_LAUNCHER_CMD_PREFLIGHT_H
#define MUSTER_LAUNCHER_CMD_PREFLIGHT_H

#include "launcher/core/doctor_judge.h"
#include "launcher/core/options.h"
#include "launcher/io/doctor_look.h"

/* Which rules: those of each host that need no CUDA, or all that need no job. */
enum preflight_depth { PREFLIGHT_HOST, PREFLIGHT_ALL };

struct preflight {
    struct evidence_set set;
    const struct host_evidence **hosts; /* set.n of them */
    struct finding_list findings;
    size_t nlost; /* hosts that did not answer */
};

/* Looks at the hosts that opt names and judges them by opt's --only, --skip and --strict. 0,
 * and preflight_fini frees it; or -1 with ERR_USAGE (no such rule) or as doctor_look. */
int preflight_look(const struct options *opt, enum preflight_depth depth, struct preflight *out,
                   struct err *e);
void preflight_fini(struct preflight *p);

/* The exit status: that of ERR_PREFLIGHT for an error, ERR_UNAVAILABLE's if a host did not
 * answer, else 0. */
int preflight_status(const struct preflight *p);

#endif
