#include "launcher/core/doctor_host.h"

#include <errno.h>
#include <string.h>

static const int64_t MIB = 1024 * 1024;

enum { SHM_MIB_A_RANK = 64, MEMLOCK_MIB = 64, FIRST_USER = 1000 };

void doctor_shm_size(const struct rule *rule, const struct host_evidence *ev,
                     struct finding_list *out)
{
    if (!ev->ranks.is_known || !ev->shm_free.is_known || !ev->shm_errno.is_known) {
        rule_unknown(rule, ev, out, "the free space of /dev/shm, or the number of ranks");
        return;
    }
    int64_t need = ev->ranks.value * SHM_MIB_A_RANK * MIB;
    bool is_full = ev->shm_free.value < need || ev->shm_errno.value == ENOSPC;
    if (!is_full && ev->shm_errno.value == 0)
        return;
    if (!is_full) {
        rule_found(rule, ev, out, "no file can be made in /dev/shm: %s",
                   strerror((int)ev->shm_errno.value));
        return;
    }
    struct buf text;
    buf_init(&text, 0);
    rule_bytes(ev->shm_free.value, &text);
    buf_addf(&text, " free, %lld rank%s need%s ", (long long)ev->ranks.value,
             ev->ranks.value == 1 ? "" : "s", ev->ranks.value == 1 ? "s" : "");
    rule_bytes(need, &text);
    rule_found(rule, ev, out, "/dev/shm has %s", buf_str(&text));
    buf_fini(&text);
}

void doctor_shm_removeipc(const struct rule *rule, const struct host_evidence *ev,
                          struct finding_list *out)
{
    if (evidence_is(&ev->removeipc, 0) || (ev->uid.is_known && ev->uid.value < FIRST_USER))
        return;
    if (!ev->removeipc.is_known || !ev->uid.is_known || !ev->lingers.is_known
        || !ev->has_session.is_known) {
        rule_unknown(rule, ev, out, "RemoveIPC of logind, or this user's sessions");
        return;
    }
    if (ev->lingers.value || ev->has_session.value)
        return;
    rule_found(
        rule, ev, out, "RemoveIPC is on (%s), and user %lld neither is logged in nor lingers",
        ev->removeipc_file ? ev->removeipc_file : "by default", (long long)ev->uid.value);
}

void doctor_numa_syscall(const struct rule *rule, const struct host_evidence *const *hosts,
                         size_t n, struct finding_list *out)
{
    size_t denied = 0, known = 0;
    for (size_t i = 0; i < n; i++) {
        denied += evidence_is(&hosts[i]->numa_errno, EPERM);
        known += hosts[i]->numa_errno.is_known;
        if (!hosts[i]->numa_errno.is_known)
            rule_unknown(rule, hosts[i], out, "whether get_mempolicy and mbind are permitted");
    }
    if (!denied)
        return;
    bool is_mixed = denied < known;
    struct finding *f =
        is_mixed ? rule_differs(
            rule, out, "get_mempolicy or mbind is denied on %zu of %zu hosts", denied, known)
                 : rule_differs(rule, out, "get_mempolicy or mbind is denied");
    f->is_difference = is_mixed;
    if (is_mixed)
        f->level = FINDING_ERROR;
    for (size_t i = 0; i < n; i++)
        if (evidence_is(&hosts[i]->numa_errno, EPERM))
            finding_add_host(f, rule_host(hosts[i]));
}

void doctor_limit_memlock(const struct rule *rule, const struct host_evidence *ev,
                          struct finding_list *out)
{
    if (ev->hcas.is_known && !ev->hcas.n)
        return;
    if (!ev->hcas.is_known || !ev->memlock.is_known) {
        rule_unknown(rule, ev, out, "InfiniBand devices, or the limit of locked memory");
        return;
    }
    if (ev->memlock.value < 0 || ev->memlock.value >= MEMLOCK_MIB * MIB)
        return;
    rule_found(rule, ev, out,
               "locked memory is limited to %lld KiB beside %zu InfiniBand device%s, which "
               "need %d MiB or more",
               (long long)(ev->memlock.value / 1024), ev->hcas.n, ev->hcas.n == 1 ? "" : "s",
               MEMLOCK_MIB);
}

/* What a rank opens besides its own files: its libraries, GPUs and the sockets to its peers. */
static int64_t files_needed(const struct host_evidence *ev)
{
    enum { OWN = 256, A_LOCAL_RANK = 64, A_RANK = 16 };
    int64_t world = ev->world.is_known ? ev->world.value : ev->ranks.value;
    return OWN + A_LOCAL_RANK * ev->ranks.value + A_RANK * world;
}

void doctor_limit_nofile(const struct rule *rule, const struct host_evidence *ev,
                         struct finding_list *out)
{
    if (evidence_is(&ev->nofile, -1))
        return;
    if (!ev->nofile.is_known || !ev->nofile_hard.is_known || !ev->ranks.is_known) {
        rule_unknown(rule, ev, out, "the limits of open files, or the number of ranks");
        return;
    }
    int64_t need = files_needed(ev);
    if (ev->nofile.value >= need)
        return;
    struct finding *f =
        rule_found(rule, ev, out, "%lld open files are allowed, a rank may need %lld",
                   (long long)ev->nofile.value, (long long)need);
    if (ev->nofile_hard.value < 0 || ev->nofile_hard.value >= need)
        finding_set_fix(f, "ulimit -n %lld", (long long)need);
}

void doctor_dev_uvm(const struct rule *rule, const struct host_evidence *ev,
                    struct finding_list *out)
{
    if (evidence_is(&ev->has_nvidia0, 0))
        return;
    if (!ev->has_nvidia0.is_known || !ev->has_uvm.is_known)
        rule_unknown(rule, ev, out, "which device nodes there are");
    else if (!ev->has_uvm.value)
        rule_found(rule, ev, out, "/dev/nvidia0 is there, /dev/nvidia-uvm is not");
}
