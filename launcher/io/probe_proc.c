#include "launcher/io/probe_proc.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void copy_value(struct str value, char *out, size_t size)
{
    snprintf(out, size, "%.*s", STR_ARG(value));
}

/* One line "Key: <blanks> value". A UUID of question marks is one not known yet. */
static void read_line(struct str line, struct device *d)
{
    struct str key;
    uint64_t v;
    str_split(&line, ':', &key);
    struct str value = str_trim(line);
    if (!line.p || !value.n)
        return;
    if (str_eq(key, "Model"))
        copy_value(value, d->name, sizeof d->name);
    else if (str_eq(key, "GPU UUID") && !memchr(value.p, '?', value.n))
        copy_value(value, d->uuid, sizeof d->uuid);
    else if (str_eq(key, "Device Minor") && str_parse_u64(value, 0, 9999, &v) == 0)
        d->minor = (int)v;
}

static bool read_information(const char *root, const char *bdf, struct device *d)
{
    uint32_t domain, bus, dev;
    if (device_pci_parse(bdf, &domain, &bus, &dev) != 0)
        return false;
    char *path = mem_printf("%s/driver/nvidia/gpus/%s/information", root, bdf), *line = NULL;
    FILE *file = fopen(path, "r");
    free(path);
    if (!file)
        return false;
    *d = (struct device){.minor = -1, .util = -1, .nprocs = -1};
    snprintf(d->pci, sizeof d->pci, "%08X:%02X:%02X.0", domain, bus & 0xff, dev & 0xff);
    d->numa = probe_pci_numa("/sys", d->pci);
    size_t cap = 0;
    while (getline(&line, &cap, file) > 0)
        read_line(str_from(line), d);
    free(line);
    fclose(file);
    return true;
}

static int compare_pci(const void *a, const void *b)
{
    const struct device *x = a, *y = b;
    return strcmp(x->pci, y->pci); /* fixed width, upper case hex */
}

int probe_proc(const char *root, struct inventory *out, struct err *e)
{
    char *path = mem_printf("%s/driver/nvidia/gpus", root);
    DIR *dir = opendir(path);
    int sys = errno;
    free(path);
    if (!dir)
        return err_set(e, ERR_UNAVAILABLE, "%s/driver/nvidia/gpus: %s", root, strerror(sys));
    *out = (struct inventory){0};
    size_t cap = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        array_grow(out->devices, (size_t)out->ndevices, cap);
        if (read_information(root, entry->d_name, &out->devices[out->ndevices]))
            out->ndevices++;
    }
    closedir(dir);
    if (!out->ndevices) {
        inventory_fini(out);
        return err_set(e, ERR_UNAVAILABLE, "%s/driver/nvidia/gpus: no GPU can be read", root);
    }
    qsort(out->devices, (size_t)out->ndevices, sizeof *out->devices, compare_pci);
    for (int i = 0; i < out->ndevices; i++)
        out->devices[i].index = i;
    return 0;
}

int probe_pci_numa(const char *root, const char *pci)
{
    uint32_t domain, bus, dev;
    int node = -1;
    if (device_pci_parse(pci, &domain, &bus, &dev) != 0)
        return -1;
    char *path =
        mem_printf("%s/bus/pci/devices/%04x:%02x:%02x.0/numa_node", root, domain, bus, dev);
    FILE *file = fopen(path, "r");
    free(path);
    if (!file)
        return -1;
    if (fscanf(file, "%d", &node) != 1 || node < 0)
        node = -1;
    fclose(file);
    return node;
}
