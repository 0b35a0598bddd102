#include "launcher/io/evidence_gather.h" /* of which this is the part that asks the worker */

#include <stdlib.h>
#include <sys/wait.h>

#include "launcher/core/probe_answer.h"
#include "launcher/io/capture.h"
#include "launcher/io/spawn.h"

enum { DEADLINE_MS = 10000, ANSWER_MAX = 1 << 16 };

static void run(const char *path, const struct evidence_request *r, struct host_evidence *ev)
{
    char *argv[] = {(char *)(uintptr_t)path, (char *)(uintptr_t) "--probe", NULL};
    struct buf answer;
    struct err e;
    bool is_complete = false;
    int status = 0;
    buf_init(&answer, ANSWER_MAX);
    int rc = capture(path, argv, (char *const *)(uintptr_t)r->facts->environment, DEADLINE_MS,
                     &answer, &is_complete, &status, &e);
    if (rc < 0) {
        evidence_set_text(&ev->probe_error, e.text);
    } else if (!is_complete) {
        evidence_set_text(&ev->probe_error, "it did not end within 10 s");
    } else {
        evidence_set(&ev->probe, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
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
