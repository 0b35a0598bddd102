#include "launcher/core/gpus_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

__attribute__((format(printf, 2, 3))) static void say(struct gpus_view *v, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    gpu_one_line(text);
    v->words = mem_realloc(v->words, v->nwords + 1, sizeof *v->words);
    v->words[v->nwords++] = mem_strdup(text);
}

static const char *variable(const struct gpus_view *v, const char *name)
{
    return facts_getenv(v->facts, name);
}

/* ---- CUDA_VISIBLE_DEVICES ---- */

/* "cuda:0 is GPU 2, cuda:1 is GPU 0" */
static void add_mapping(const struct gpus_view *v, struct buf *out)
{
    for (int i = 0; i < v->seen.nunits && i < 16; i++) {
        buf_addf(out, "%scuda:%d is GPU ", i ? ", " : "", i);
        gpu_unit_format(v->inv, v->seen.units[i], out);
    }
    if (v->seen.nunits > 16)
        buf_adds(out, " and so on");
}

static void say_mapping(struct gpus_view *v, const char *cvd)
{
    struct buf map;
    int n = v->seen.nunits, all = v->inv->ndevices;
    buf_init(&map, 0);
    add_mapping(v, &map);
    say(v,
        "CUDA_VISIBLE_DEVICES=%.200s: CUDA shows %d of %d GPU%s, in the order of this list: "
        "%s. "
        "Numbers of --gpus count in it.",
        cvd, n, all, all == 1 ? "" : "s", buf_str(&map));
    buf_fini(&map);
}

static void say_dropped(struct gpus_view *v, const char *cvd)
{
    if (v->seen.tail && !v->seen.blank)
        say(v,
            "CUDA stops reading CUDA_VISIBLE_DEVICES at \"%.80s\" and ignores it and what "
            "follows "
            "without a word.",
            v->seen.tail);
    if (v->seen.sloppy.p)
        say(v,
            "CUDA reads only the number in front of \"%.*s\": it knows no ranges and no other "
            "words. Write the list as 0,1,2.",
            (int)(v->seen.sloppy.n < 80 ? v->seen.sloppy.n : 80), v->seen.sloppy.p);
    if (cvd[strcspn(cvd, "[](){}\"'")])
        say(v, "Brackets and quotes are no part of the format of CUDA_VISIBLE_DEVICES.");
}

static void say_cvd(struct gpus_view *v)
{
    const char *cvd = variable(v, "CUDA_VISIBLE_DEVICES");
    if (!v->inv || !v->inv->ndevices)
        return;
    if (!v->has_seen) {
        say(v, "%s", v->seen_err.text);
        return;
    }
    if (!cvd) {
        say(v, "CUDA_VISIBLE_DEVICES is not set: CUDA shows every GPU.");
    } else if (v->seen.blank) {
        say(v, "CUDA_VISIBLE_DEVICES is set and empty: CUDA shows no GPU (error 100, no "
               "CUDA-capable device). Unset it to see all.");
    } else if (!v->seen.nunits) {
        say(v,
            "CUDA_VISIBLE_DEVICES=%.200s leaves no GPU: every CUDA program here fails with "
            "error "
            "100 (no CUDA-capable device). Unset it, or list GPUs as 0,1 or by UUID.",
            cvd);
        say_dropped(v, cvd);
    } else {
        say_mapping(v, cvd);
        say_dropped(v, cvd);
    }
}

static void say_order(struct gpus_view *v)
{
    const char *order = variable(v, "CUDA_DEVICE_ORDER");
    if (!order || !v->has_seen || !v->inv->ndevices)
        return;
    if (strcmp(order, "PCI_BUS_ID") == 0)
        say(v, "CUDA_DEVICE_ORDER=PCI_BUS_ID: numbers count in PCI order, as nvidia-smi's do.");
    else if (v->seen.fastest_first)
        say(v, "CUDA_DEVICE_ORDER=FASTEST_FIRST: numbers count in CUDA's own order, which CUDA "
               "was asked for (muster-worker --probe).");
    else if (!device_is_mixed(v->inv))
        say(v, "CUDA_DEVICE_ORDER=%s: among GPUs of one kind that is PCI order.", order);
}

/* ---- variables that others wrote ---- */

static void say_container(struct gpus_view *v)
{
    const char *value = variable(v, "NVIDIA_VISIBLE_DEVICES");
    if (!value)
        return;
    if (!*value || strcmp(value, "void") == 0)
        say(v,
            "NVIDIA_VISIBLE_DEVICES=%s: the container runtime was told not to add GPUs in the "
            "old "
            "way; they come by CDI or not at all. CUDA and muster do not read it.",
            value);
    else if (strcmp(value, "none") == 0)
        say(v, "NVIDIA_VISIBLE_DEVICES=none: the container runtime adds the driver's libraries "
               "and "
               "no GPU. CUDA and muster do not read it.");
    else
        say(v,
            "NVIDIA_VISIBLE_DEVICES=%.200s was for the container runtime, which read it on the "
            "host when this container was made; its numbers are the host's. CUDA and muster do "
            "not read it, and changing it in here changes nothing.",
            value);
}

static void say_slurm(struct gpus_view *v)
{
    const char *name = "SLURM_STEP_GPUS", *value = variable(v, name);
    if (!value)
        value = variable(v, name = "SLURM_JOB_GPUS");
    if (!value)
        return;
    say(v,
        "%s=%.200s: what Slurm gave this %s, in the node's own numbers. CUDA_VISIBLE_DEVICES "
        "is "
        "what counts here; where Slurm fences devices off it counts from 0 among these, so the "
        "two need not agree.",
        name, value, name[6] == 'S' ? "step" : "job");
}

/* Tasks of this step on this node, from "2" or "2(x3),1"; 0 = unknown. */
static int slurm_tasks(const struct gpus_view *v)
{
    const char *tasks = variable(v, "SLURM_STEP_TASKS_PER_NODE");
    if (!tasks)
        tasks = variable(v, "SLURM_NTASKS_PER_NODE");
    uint64_t n = 0;
    struct str text = str_from(tasks);
    text.n = tasks ? strspn(tasks, "0123456789") : 0;
    return str_parse_u64(text, 0, 100000, &n) == 0 ? (int)n : 0;
}

static void say_fence(struct gpus_view *v)
{
    struct gpu_note note;
    if (v->inv && device_task_is_fenced(v->inv->ndevices, slurm_tasks(v), &note))
        say(v, "%s.", note.text);
}

static void say_mps(struct gpus_view *v)
{
    const char *value = variable(v, "CUDA_MPS_PIPE_DIRECTORY");
    if (value)
        say(v,
            "CUDA_MPS_PIPE_DIRECTORY=%.200s: programs here go through an MPS daemon, which may "
            "count its GPUs differently; muster therefore writes UUIDs for workers.",
            value);
}

/* ---- what is missing ---- */

static void say_no_driver(struct gpus_view *v)
{
    if (v->source.nbus > 0)
        say(v,
            "%d NVIDIA GPU%s on the PCI bus, but no driver is here: neither /dev/nvidia* nor "
            "/proc/driver/nvidia. On the machine itself load the kernel module (modprobe "
            "nvidia); "
            "in a container start it with its GPUs (docker run --gpus all).",
            v->source.nbus, v->source.nbus == 1 ? " is" : "s are");
    else
        say(v, "This machine has no NVIDIA GPU and no driver. Workers without a GPU need a "
               "number: muster -n 4 program.");
    const char *cvd = variable(v, "CUDA_VISIBLE_DEVICES");
    if (cvd && *cvd)
        say(v,
            "CUDA_VISIBLE_DEVICES=%.200s cannot be checked here; it is passed on as it is "
            "written.",
            cvd);
}

static void say_no_inventory(struct gpus_view *v)
{
    say(v,
        "There is a driver, but nothing tells which GPUs there are: %s. In a container add the "
        "driver capability \"utility\" (NVIDIA_DRIVER_CAPABILITIES=compute,utility); on the "
        "machine itself nvidia-smi should work.",
        v->source.why && *v->source.why ? v->source.why : "NVML does not answer");
    if (v->has_choice && v->choice.nranks)
        say(v, "muster run would start %d worker%s and check none of their GPUs.",
            v->choice.nranks, v->choice.nranks == 1 ? "" : "s");
}

/* ---- the run ---- */

static void say_notes(struct gpus_view *v)
{
    for (int i = 0; i < v->choice.nnotes; i++) {
        const struct gpu_note *note = &v->choice.notes[i];
        bool is_said = note->kind == GPU_W_TRUNC || note->kind == GPU_W_SLOPPY
                       || note->kind == GPU_W_NO_NVML
                       || (note->kind == GPU_W_UNUSED && !v->opt->gpus);
        if (!is_said)
            say(v, "Warning: %s.", note->text);
    }
}

static void say_run(struct gpus_view *v)
{
    if (!v->has_choice) {
        bool is_said = !v->has_seen && strcmp(v->refusal.text, v->seen_err.text) == 0;
        if (!v->has_request && v->inv && v->inv->ndevices && !is_said)
            say(v, "muster run without options would refuse: %s.", v->refusal.text);
        return;
    }
    say_notes(v);
    if (v->choice.units_known && v->choice.nunits)
        say(v, "Ranks are those of muster run%s, binding %s.",
            v->has_request ? " with these options" : " without options",
            binding_name(v->opt->binding));
}

void gpus_words(struct gpus_view *v)
{
    if (!v->inv)
        say_no_inventory(v);
    else if (!v->inv->ndevices)
        say_no_driver(v);
    say_cvd(v);
    say_order(v);
    say_container(v);
    say_slurm(v);
    say_fence(v);
    say_mps(v);
    say_run(v);
}
