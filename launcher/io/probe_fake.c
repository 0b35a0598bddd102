#include "launcher/io/probe_fake.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int get_int(const json_t *o, const char *key, int missing)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_integer(v))
        return missing;
    json_int_t n = json_integer_value(v);
    return n < INT_MIN || n > INT_MAX ? missing : (int)n;
}

static uint64_t get_mib(const json_t *o, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(o, key));
    return n > 0 ? (uint64_t)n << 20 : 0;
}

static void get_text(const json_t *o, const char *key, char *out, size_t size)
{
    const char *s = json_string_value(json_object_get(o, key));
    snprintf(out, size, "%s", s ? s : "");
}

static enum compute_mode get_mode(const json_t *o)
{
    const char *s = json_string_value(json_object_get(o, "compute_mode"));
    if (s && !strcmp(s, "PROHIBITED"))
        return COMPUTE_PROHIBITED;
    if (s && !strcmp(s, "EXCLUSIVE_PROCESS"))
        return COMPUTE_EXCLUSIVE_PROCESS;
    return COMPUTE_DEFAULT;
}

static void read_mig(const json_t *list, struct device *d)
{
    size_t i;
    json_t *o;
    json_array_foreach(list, i, o)
    {
        if (d->nmig == DEVICE_MIG_MAX)
            return;
        struct mig *m = &d->mig[d->nmig++];
        m->slot = get_int(o, "slot", 0);
        m->gi = get_int(o, "gi", 0);
        m->ci = get_int(o, "ci", 0);
        m->mem_total = get_mib(o, "mem_total_mib");
        get_text(o, "uuid", m->uuid, sizeof m->uuid);
    }
}

static void read_gpu(const json_t *o, struct device *d)
{
    d->index = get_int(o, "index", 0);
    d->minor = get_int(o, "minor", -1);
    d->numa = get_int(o, "numa_node", -1);
    d->cc_major = get_int(o, "cc_major", 0);
    d->cc_minor = get_int(o, "cc_minor", 0);
    d->util = get_int(o, "util_percent", -1);
    d->nprocs = get_int(o, "compute_procs", -1);
    d->mem_total = get_mib(o, "mem_total_mib");
    d->mem_free = get_mib(o, "mem_free_mib");
    get_text(o, "uuid", d->uuid, sizeof d->uuid);
    get_text(o, "pci", d->pci, sizeof d->pci);
    get_text(o, "name", d->name, sizeof d->name);
    d->mode = get_mode(o);
    d->lost = json_is_true(json_object_get(o, "lost"));
    d->mig_enabled = json_is_true(json_object_get(o, "mig_enabled"));
    read_mig(json_object_get(o, "mig"), d);
}

int probe_fake(const char *file, const char *node, struct inventory *out, struct err *e)
{
    json_error_t why;
    json_t *root = json_load_file(file, 0, &why);
    if (!root)
        return err_set(e, ERR_SYSTEM, "GPU inventory %s: line %d: %s", file, why.line,
                       why.text);
    const json_t *all = json_object_get(root, "inventories");
    const json_t *gpus = json_object_get(json_object_get(all, node), "gpus");
    int rc = 0;
    if (json_is_array(gpus)) {
        size_t n = json_array_size(gpus);
        *out = (struct inventory){.devices = mem_alloc(n, sizeof *out->devices),
                                  .ndevices = (int)n};
        for (size_t i = 0; i < n; i++)
            read_gpu(json_array_get(gpus, i), &out->devices[i]);
    } else {
        rc = err_set(e, ERR_SYSTEM, "GPU inventory %s: it has no inventory \"%s\"", file, node);
    }
    json_decref(root);
    return rc;
}

int probe_fake_spec(const char *spec, struct inventory *out, struct err *e)
{
    char *file = mem_strdup(spec);
    char *colon = strrchr(file, ':');
    const char *node = "N4";
    if (colon && colon[1] && !strchr(colon, '/')) {
        *colon = '\0';
        node = colon + 1;
    }
    int rc = probe_fake(file, node, out, e);
    free(file);
    return rc;
}
