#include "launcher/io/evidence_gather.h" /* of which this is the part that asks the worker */

#include <stdlib.h>
#include <sys/wait.h>

#include "base/log.h"
#include "launcher/core/probe_answer.h"
#include "launcher/io/capture.h"
#include "launcher/io/spawn.h"

enum { DEADLINE_MS = 10000, ANSWER_MAX = 1 << 16 };

static void run(const char *path, const struct evidence_request *r, struct host_evidence *ev)
{
    char *argv[] = {(char *)(uintptr_t)path, (char *)(uintptr_t) "--probe", NULL};
    struct buf answer;
    struct err e;
    struct capture_end end;
    buf_init(&answer, ANSWER_MAX);
    int rc = capture(path, argv, (char *const *)(uintptr_t)r->facts->environment, DEADLINE_MS,
                     &answer, &end, &e);
    if (rc < 0) {
        evidence_set_text(&ev->probe_error, e.text);
    } else if (!end.is_complete) {
        capture_late(&end, "muster-worker --probe", DEADLINE_MS, &e);
        log_warn("doctor", "%s", e.text); /* a rule that is not judged is no finding */
        evidence_set_text(&ev->probe_error, e.text);
    } else {
        evidence_set(&ev->probe, WIFEXITED(end.status) ? WEXITSTATUS(end.status) : -1);
        probe_answer_read((struct str){buf_str(&answer), answer.len}, ev);
    }
    buf_fini(&answer);
}

void evidence_gather_worker(const struct evidence_request *r, struct host_evidence *ev)
{
    const char *given = getenv("MUSTER_PROBE");
    struct err e;
    char *path = spawn_find(given && *given ? given : "muster-worker", r->facts, &e);
    evidence_set(&ev->probe, -1);
    if (path)
        run(path, r, ev);
    else
        evidence_set_text(&ev->probe_error, e.text);
    free(path);
    if (ev->cuda_driver.is_known && ev->cuda_driver.value > 0)
        evidence_set(&ev->has_libcuda, 1);
}
