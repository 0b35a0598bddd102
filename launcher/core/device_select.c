#include "launcher/core/device_select.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/device_pick.h"
#include "launcher/core/device_ranks.h"

enum { MAX_WORKERS = 65536, MAX_SHARE = 4096 };
static const char pci_order[] = "PCI_BUS_ID";

#define X(name, spelling) [BINDING_##name] = spelling,
static const char *const binding_names[] = {GPU_BINDINGS(X)};
#undef X
#define X(name, spelling) [DIST_##name] = spelling,
static const char *const dist_names[] = {GPU_DISTS(X)};
#undef X
#define X(name, spelling) [GPU_FORMAT_##name] = spelling,
static const char *const format_names[] = {GPU_FORMATS(X)};
#undef X
static_assert(sizeof binding_names / sizeof *binding_names == BINDING_COUNT, "one name each");
static_assert(sizeof dist_names / sizeof *dist_names == DIST_COUNT, "one name each");
static_assert(sizeof format_names / sizeof *format_names == GPU_FORMAT_COUNT, "one name each");

static int find_name(const char *const *names, int n, struct str s)
{
    for (int i = 0; i < n; i++)
        if (str_eq(s, names[i]))
            return i;
    return -1;
}

const char *binding_name(enum binding b)
{
    return binding_names[b];
}

const char *dist_name(enum dist d)
{
    return dist_names[d];
}

const char *gpu_format_name(enum gpu_format f)
{
    return format_names[f];
}

int binding_parse(struct str s, enum binding *out)
{
    int i = find_name(binding_names, BINDING_COUNT, s);
    *out = i < 0 ? *out : (enum binding)i;
    return i < 0 ? -1 : 0;
}

int dist_parse(struct str s, enum dist *out)
{
    int i = find_name(dist_names, DIST_COUNT, s);
    *out = i < 0 ? *out : (enum dist)i;
    return i < 0 ? -1 : 0;
}

int gpu_format_parse(struct str s, enum gpu_format *out)
{
    int i = find_name(format_names, GPU_FORMAT_COUNT, s);
    *out = i < 0 ? *out : (enum gpu_format)i;
    return i < 0 ? -1 : 0;
}

/* ---- notes ---- */

__attribute__((format(printf, 3, 4))) static void
add_note(struct device_choice *out, enum gpu_warning kind, const char *fmt, ...)
{
    struct gpu_note *note = &out->notes[out->nnotes++];
    va_list ap;
    note->kind = kind;
    va_start(ap, fmt);
    vsnprintf(note->text, sizeof note->text, fmt, ap);
    va_end(ap);
    gpu_one_line(note->text);
}

static int cut(size_t n, size_t max)
{
    return (int)(n < max ? n : max);
}

/* W_TRUNC and W_SLOPPY, errors under strict_env. n: how many entries CUDA takes. */
static int note_ambient(const struct request *req, const char *tail, struct str sloppy, int n,
                        struct device_choice *out, struct gpu_fault *f)
{
    if (req->strict_env && tail)
        return gpu_fail(f, GPU_E_AMBIENT_BAD,
                        "CUDA_VISIBLE_DEVICES: CUDA stops reading at \"%.80s\"; correct or "
                        "remove it (--strict-env makes this an error)",
                        tail);
    if (req->strict_env && sloppy.p)
        return gpu_fail(
            f, GPU_E_AMBIENT_BAD,
            "CUDA_VISIBLE_DEVICES: in \"%.*s\" CUDA reads only the number in front; "
            "write the numbers as 0,1,2 (--strict-env makes this an error)",
            cut(sloppy.n, 80), sloppy.p);
    if (tail)
        add_note(out, GPU_W_TRUNC,
                 "CUDA_VISIBLE_DEVICES: CUDA stops reading at \"%.80s\", so %d GPU%s visible",
                 tail, n, n == 1 ? " is" : "s are");
    if (sloppy.p)
        add_note(
            out, GPU_W_SLOPPY,
            "CUDA_VISIBLE_DEVICES: in \"%.*s\" CUDA reads only the number in front (it has "
            "no ranges), so %d GPU%s visible; write the list as 0,1,2",
            cut(sloppy.n, 80), sloppy.p, n, n == 1 ? " is" : "s are");
    return 0;
}

static void note_spread(const struct request *req, const struct spread *s, int nunits,
                        struct device_choice *out)
{
    if (s->used < nunits)
        add_note(out, GPU_W_UNUSED,
                 "%d of %d selected GPUs stay unused with %d worker%s; choose them with --gpus",
                 nunits - s->used, nunits, s->n, s->n == 1 ? "" : "s");
    if (req->procs_per_gpu > 1 && s->n > 1)
        add_note(out, GPU_W_MULTI_RANK,
                 "%d workers share a GPU: NCCL 2.28 aborts with \"Duplicate GPU "
                 "detected\", 2.30 wants NCCL_MULTI_RANK_GPU_ENABLE=1",
                 req->procs_per_gpu);
}

/* ---- the ends that need no GPU ---- */

static int choose_none(const struct request *req, struct device_choice *out,
                       struct gpu_fault *f)
{
    if (!req->n)
        return gpu_fail(f, GPU_E_EMPTY,
                        "--gpus none: say how many workers without a GPU, with -n N");
    out->units_known = true;
    device_ranks_bare(req, req->n, "", pci_order, out);
    return 0;
}

static void note_no_nvml(struct device_choice *out)
{
    add_note(
        out, GPU_W_NO_NVML,
        "no GPU inventory: neither NVML (libnvidia-ml.so.1) nor /proc/driver/nvidia can be "
        "read here, so the GPUs are not checked");
}

static int fail_no_nvml(const char *what, struct gpu_fault *f)
{
    return gpu_fail(
        f, GPU_E_NVML,
        "no GPU inventory (neither NVML nor /proc/driver/nvidia): %s; in a container "
        "add the driver capability \"utility\"",
        what);
}

static int fail_hidden(const char *cvd, int ndevices, bool inventory, struct gpu_fault *f)
{
    if (!cvd)
        return gpu_fail(f, GPU_E_NO_DEVICES,
                        "there is no GPU on this machine; for workers without a GPU say how "
                        "many, with -n N (--nproc-per-node N)");
    if (inventory && !ndevices)
        return gpu_fail(
            f, GPU_E_NO_DEVICES,
            "CUDA_VISIBLE_DEVICES=\"%.80s\" asks for GPUs, but this machine has none; "
            "unset it, and say how many workers with -n N",
            cvd);
    char have[48] = "the GPUs";
    if (inventory)
        snprintf(have, sizeof have, "all %d GPUs of this machine", ndevices);
    return gpu_fail(
        f, GPU_E_NO_DEVICES,
        "CUDA_VISIBLE_DEVICES=\"%.80s\" hides %s; unset it or list them as 0,1 (for "
        "workers without a GPU: --gpus none -n N)",
        cvd, have);
}

/* ---- without an inventory (step 2) ---- */

static int check_text_mig(const struct request *req, const struct visible_text *seen, int used,
                          struct gpu_fault *f)
{
    bool wide = req->binding == BINDING_SHARED || req->binding == BINDING_ROTATED;
    for (int i = 0; i < used; i++)
        if (!strncmp(seen->entries[i], "MIG-", 4)
            && (req->gpus_per_proc > 1 || (wide && used > 1)))
            return gpu_fail(f, GPU_E_MIG_SHARED,
                            "%.60s: a process can use one MIG instance only; use --binding "
                            "isolated with one instance per worker",
                            seen->entries[i]);
    return 0;
}

static int choose_text(const struct request *req, const struct ambient *amb,
                       const struct visible_text *seen, struct device_choice *out,
                       struct gpu_fault *f)
{
    if (note_ambient(req, seen->tail, seen->sloppy, seen->nentries, out, f) != 0)
        return -1;
    if (req->binding == BINDING_NONE || !amb->cvd) {
        if (!req->n && !seen->nentries)
            return amb->cvd ? fail_hidden(amb->cvd, 0, false, f)
                            : fail_no_nvml("say how many workers, with -n N", f);
        device_ranks_untouched(req->n ? req->n : seen->nentries, out);
        note_no_nvml(out);
        return 0;
    }
    if (!seen->nentries) {
        if (!seen->blank || req->spec || !req->n)
            return fail_hidden(amb->cvd, 0, false, f);
        device_ranks_bare(req, req->n, NULL, NULL, out);
        note_no_nvml(out);
        return 0;
    }
    struct spread s;
    if (device_spread(req, seen->nentries, &s, f) != 0)
        return -1;
    bool is_mig = seen->nentries && !strncmp(seen->entries[0], "MIG-", 4);
    if (req->keeps_rest && req->binding == BINDING_SHARED && !is_mig)
        s.used = seen->nentries;
    if (check_text_mig(req, seen, s.used, f) != 0)
        return -1;
    const char **names = mem_alloc((size_t)s.used, sizeof *names);
    for (int i = 0; i < s.used; i++)
        names[i] = seen->entries[i];
    device_ranks_bind(req, &s, names, NULL, out);
    free(names);
    note_spread(req, &s, seen->nentries, out);
    note_no_nvml(out);
    return 0;
}

static int choose_unseen(const struct request *req, const struct ambient *amb,
                         struct device_choice *out, struct gpu_fault *f)
{
    struct visible_text seen;
    if (!gpu_spec_is_all(req->spec))
        return fail_no_nvml("--gpus can only be \"all\" here", f);
    if (ambient_read_text(amb, &seen, f) != 0)
        return -1;
    int rc = choose_text(req, amb, &seen, out, f);
    visible_text_fini(&seen);
    return rc;
}

/* ---- with one ---- */

static int check_mig(const struct request *req, const struct inventory *inv,
                     const struct gpu_unit *units, int used, struct gpu_fault *f)
{
    bool wide = req->binding == BINDING_SHARED || req->binding == BINDING_ROTATED;
    for (int i = 0; i < used; i++)
        if (units[i].mig >= 0 && (req->gpus_per_proc > 1 || (wide && used > 1)))
            return gpu_fail(f, GPU_E_MIG_SHARED,
                            "%s: a process can use one MIG instance only and no other GPU; use "
                            "--binding isolated with one instance per worker",
                            gpu_unit_uuid(inv, units[i]));
    return 0;
}

static int fail_format(const char *uuid, struct gpu_fault *f)
{
    return gpu_fail(f, GPU_E_CONFLICT,
                    "--gpu-format index: the MIG instance %s has no index; use --gpu-format "
                    "uuid",
                    uuid);
}

/* Whether the list is written in UUIDs. */
static int choose_format(const struct pick *p, const struct unit_list *l, int used,
                         bool *by_uuid)
{
    *by_uuid = p->req->format == GPU_FORMAT_UUID
               || (p->req->format == GPU_FORMAT_AUTO
                   && (p->seen->by_uuid || p->amb->mps || p->seen->fastest_first));
    for (int i = 0; i < used; i++) {
        if (l->units[i].mig < 0)
            continue;
        if (p->req->format == GPU_FORMAT_INDEX)
            return fail_format(gpu_unit_uuid(p->inv, l->units[i]), p->f);
        *by_uuid = true;
    }
    for (int i = 0; *by_uuid && i < used; i++)
        if (!gpu_unit_uuid(p->inv, l->units[i])[0])
            return gpu_fail(
                p->f, GPU_E_NVML,
                "GPU %d: its UUID cannot be read, and the list has to be written in "
                "UUIDs; leave it out with ^phys:%d",
                p->inv->devices[l->units[i].device].index,
                p->inv->devices[l->units[i].device].index);
    return 0;
}

/* GPUs beyond those of the workers that shared workers see all the same: without a promise that
 * a process may use them all (MIG), none. */
static void keep_rest(const struct pick *p, const struct unit_list *l, struct spread *s)
{
    bool has_mig = false;
    for (int i = 0; i < l->n; i++)
        has_mig = has_mig || l->units[i].mig >= 0;
    if (p->req->keeps_rest && p->req->binding == BINDING_SHARED && !has_mig && s->used < l->n)
        s->used = l->n;
}

/* The name of each unit as it goes into CUDA_VISIBLE_DEVICES; each to be freed. */
static char **make_names(const struct pick *p, const struct unit_list *l, int used,
                         bool by_uuid)
{
    int *order = mem_alloc((size_t)p->inv->ndevices, sizeof *order);
    char **names = mem_alloc((size_t)used, sizeof *names);
    device_pci_order(p->inv, order);
    for (int i = 0; i < used; i++) {
        int place = 0;
        while (order[place] != l->units[i].device)
            place++;
        names[i] =
            by_uuid ? mem_strdup(gpu_unit_uuid(p->inv, l->units[i])) : mem_printf("%d", place);
    }
    free(order);
    return names;
}

static int bind(const struct pick *p, const struct unit_list *l, struct device_choice *out)
{
    struct spread s;
    bool by_uuid;
    if (device_spread(p->req, l->n, &s, p->f) != 0)
        return -1;
    keep_rest(p, l, &s);
    if (check_mig(p->req, p->inv, l->units, s.used, p->f) != 0
        || choose_format(p, l, s.used, &by_uuid) != 0)
        return -1;
    char **names = make_names(p, l, s.used, by_uuid);
    const char **list = mem_alloc((size_t)s.used, sizeof *list);
    for (int i = 0; i < s.used; i++)
        list[i] = names[i];
    device_ranks_bind(p->req, &s, list, pci_order, out);
    for (int i = 0; i < s.used; i++)
        free(names[i]);
    free(names);
    free(list);
    out->units = mem_dup(l->units, (size_t)s.used * sizeof *l->units);
    out->nunits = s.used;
    if (p->busy)
        add_note(out, GPU_W_BUSY,
                 "--gpus auto had to take a GPU that runs other processes; `muster gpus` shows "
                 "them, --gpu-require procs=0 refuses such GPUs");
    note_spread(p->req, &s, l->n, out);
    return 0;
}

/* Step 4: the environment is somebody else's. */
static int choose_untouched(struct pick *p, struct device_choice *out)
{
    struct unit_list all = {0};
    device_expand(p->inv, p->seen, &all);
    out->nunits = all.n;
    out->units = mem_dup(all.units, (size_t)all.n * sizeof *all.units);
    unit_list_fini(&all);
    if (!out->nunits && !p->req->n)
        return fail_hidden(p->amb->cvd, p->inv->ndevices, true, p->f);
    device_ranks_untouched(p->req->n ? p->req->n : out->nunits, out);
    return 0;
}

/* Steps 5 to 9. */
static int choose_units(struct pick *p, struct device_choice *out)
{
    const struct request *req = p->req;
    bool physical = req->ignore_visible && gpu_spec_has_physical(req->spec);
    if (!p->seen->nunits && !physical) {
        bool nothing = p->seen->blank || (!p->inv->ndevices && !p->amb->cvd);
        if (req->spec || !req->n || !nothing)
            return fail_hidden(p->amb->cvd, p->inv->ndevices, true, p->f);
        device_ranks_bare(req, req->n, NULL, NULL, out);
        return 0;
    }
    struct unit_list units = {0};
    int rc = device_pick(p, &units);
    if (rc == 0)
        rc = bind(p, &units, out);
    unit_list_fini(&units);
    return rc;
}

static int choose_seen(const struct request *req, const struct ambient *amb,
                       const struct inventory *inv, struct device_choice *out,
                       struct gpu_fault *f)
{
    struct visible seen;
    if (ambient_enumerate(amb, inv, &seen, f) != 0)
        return -1;
    struct pick p = {.req = req, .amb = amb, .inv = inv, .seen = &seen, .f = f};
    out->units_known = true;
    int rc = note_ambient(req, seen.tail, seen.sloppy, seen.nunits, out, f);
    if (rc == 0 && seen.order_guessed)
        add_note(out, GPU_W_ORDER,
                 "GPUs of different kinds and no CUDA_DEVICE_ORDER: numbers are taken in PCI "
                 "order, as nvidia-smi counts; set CUDA_DEVICE_ORDER=PCI_BUS_ID to say so");
    if (rc == 0)
        rc = req->binding == BINDING_NONE ? choose_untouched(&p, out) : choose_units(&p, out);
    visible_fini(&seen);
    return rc;
}

static int check_numbers(const struct request *req, struct gpu_fault *f)
{
    int p = req->procs_per_gpu, g = req->gpus_per_proc;
    if (req->n < 0 || req->n > MAX_WORKERS)
        return gpu_fail(f, GPU_E_SYNTAX, "-n %d: write a number of workers from 1 to %d",
                        req->n, MAX_WORKERS);
    if (p < 1 || p > MAX_SHARE || g < 1 || g > MAX_SHARE)
        return gpu_fail(f, GPU_E_SYNTAX, "--%s %d: write a number from 1 to %d",
                        p < 1 || p > MAX_SHARE ? "procs-per-gpu" : "gpus-per-proc",
                        p < 1 || p > MAX_SHARE ? p : g, MAX_SHARE);
    if (p > 1 && g > 1)
        return gpu_fail(
            f, GPU_E_CONFLICT,
            "--procs-per-gpu %d and --gpus-per-proc %d exclude each other; leave one "
            "of them out",
            p, g);
    if (req->binding == BINDING_NONE && !gpu_spec_is_all(req->spec))
        return gpu_fail(f, GPU_E_CONFLICT,
                        "--binding none leaves the GPUs as they are, so --gpus %s cannot be "
                        "obeyed; leave out one of the two",
                        req->spec->items[0].text);
    return 0;
}

int device_resolve(const struct request *req, const struct ambient *amb,
                   const struct inventory *inv, struct device_choice *out, struct err *e)
{
    struct gpu_fault f = {.e = e};
    struct request r = *req;
    r.procs_per_gpu = r.procs_per_gpu ? r.procs_per_gpu : 1;
    r.gpus_per_proc = r.gpus_per_proc ? r.gpus_per_proc : 1;
    *out = (struct device_choice){.gpus_per_proc = r.gpus_per_proc};
    int rc = check_numbers(&r, &f);
    if (rc == 0 && gpu_spec_is_none(r.spec))
        rc = choose_none(&r, out, &f);
    else if (rc == 0 && !inv)
        rc = choose_unseen(&r, amb, out, &f);
    else if (rc == 0)
        rc = choose_seen(&r, amb, inv, out, &f);
    if (rc != 0) {
        device_choice_fini(out);
        out->error = f.class;
    }
    return rc;
}

void device_choice_fini(struct device_choice *c)
{
    for (int i = 0; i < c->nstrings; i++)
        free(c->strings[i]);
    free(c->strings);
    free(c->ranks);
    free(c->units);
    *c = (struct device_choice){0};
}

void device_choice_fact(const struct device_choice *c, const struct inventory *inv, int rank,
                        enum gpu_fact fact, struct buf *out)
{
    int first = c->ranks[rank].first_unit;
    if (!inv || !c->units_known || first < 0)
        return;
    for (int i = first; i < first + c->gpus_per_proc && i < c->nunits; i++) {
        const struct device *d = &inv->devices[c->units[i].device];
        buf_adds(out, i > first ? "," : "");
        switch (fact) {
        case GPU_FACT_UUID:
            buf_adds(out, gpu_unit_uuid(inv, c->units[i]));
            break;
        case GPU_FACT_PCI_BUS_ID:
            buf_adds(out, d->pci);
            break;
        case GPU_FACT_INDEX:
            buf_addf(out, "%d", d->index);
            break;
        }
    }
}

bool device_task_is_fenced(int ndevices, int tasks_on_node, struct gpu_note *note)
{
    if (ndevices != 1 || tasks_on_node < 2)
        return false;
    *note = (struct gpu_note){.kind = GPU_W_TASK_SHARING};
    snprintf(
        note->text, sizeof note->text,
        "Slurm lets this task open one GPU only, while %d tasks run here: NCCL cannot reach "
        "the other GPUs directly; add --gres-flags=allow-task-sharing to srun",
        tasks_on_node);
    return true;
}
