#include "launcher/io/doctor_look.h"

#include <stdlib.h>

#include "base/mem.h"
#include "launcher/io/doctor_hosts.h"
#include "launcher/io/evidence_gather.h"
#include "launcher/io/facts_gather.h"

void doctor_test_variables(struct buf *out)
{
    static const char *const names[] = {"MUSTER_TEST_ROOT", "MUSTER_PROBE", "MUSTER_FAKE_GPUS",
                                        "MUSTER_NVML_PATH"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            buf_addf(out, "%s%s=%s", out->len ? " " : "", names[i], value);
    }
}

int doctor_look_here(const struct options *opt, bool is_worker_asked, struct host_evidence *out,
                     struct err *e)
{
    struct facts facts;
    struct err why = {0};
    enum probe_source source;
    const char *root = getenv("MUSTER_TEST_ROOT");
    *out = (struct host_evidence){0};
    if (facts_gather(FACTS_NO_GPUS, &facts, e) < 0)
        return -1;
    int rc = facts_gather_gpus(&facts, false, &source, &why, e);
    const struct evidence_request request = {.opt = opt,
                                             .facts = &facts,
                                             .source = source,
                                             .is_nvml_late = why.code == ERR_TIMEOUT,
                                             .is_worker_asked = is_worker_asked,
                                             .root = root ? root : ""};
    if (rc == 0)
        evidence_gather(&request, out);
    facts_release(&facts);
    return rc;
}

void evidence_set_fini(struct evidence_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        evidence_clear(&set->hosts[i]);
    free(set->hosts);
    *set = (struct evidence_set){0};
}

int doctor_look(const struct options *opt, bool is_worker_asked, struct evidence_set *out,
                size_t *nlost, struct err *e)
{
    *nlost = 0;
    if (options_has_hosts(opt))
        return doctor_hosts_ask(opt, is_worker_asked, out, nlost, e);
    *out = (struct evidence_set){.hosts = mem_alloc(1, sizeof *out->hosts), .n = 1};
    if (doctor_look_here(opt, is_worker_asked, &out->hosts[0], e) == 0)
        return 0;
    evidence_set_fini(out);
    return -1;
}
