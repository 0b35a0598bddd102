#include "launcher/io/evidence_gather.h" /* of which this is the part about the PCI bus */

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/io/root_file.h"

enum { VENDOR_NVIDIA = 0x10de, CLASS_VGA = 0x0300, CLASS_3D = 0x0302 };

struct look {
    const char *root;
    struct host_evidence *ev;
};

static char *device_line(const struct look *l, const char *device, const char *file)
{
    char *path = mem_printf("/sys/bus/pci/devices/%s/%s", device, file);
    char *line = root_line(l->root, path);
    free(path);
    return line;
}

static unsigned long device_hex(const struct look *l, const char *device, const char *file)
{
    char *line = device_line(l, device, file);
    unsigned long value = line ? strtoul(line, NULL, 16) : 0;
    free(line);
    return value;
}

static void set_number(const struct look *l, const char *device, const char *file,
                       struct evidence_number *out)
{
    char *line = device_line(l, device, file);
    uint64_t value;
    if (line && str_parse_u64(str_from(line), 0, 1024, &value) == 0)
        evidence_set(out, (int64_t)value);
    free(line);
}

static void on_device(void *ctx, const char *name)
{
    const struct look *l = ctx;
    unsigned long class = device_hex(l, name, "class") >> 8;
    if (device_hex(l, name, "vendor") != VENDOR_NVIDIA
        || (class != CLASS_VGA && class != CLASS_3D))
        return;
    struct evidence_bus *bus = evidence_bus_add(l->ev);
    char *driver = mem_printf("/proc/driver/nvidia/gpus/%s", name);
    evidence_set_text(&bus->pci, name);
    evidence_set(&bus->has_driver, root_exists(l->root, driver));
    set_number(l, name, "current_link_width", &bus->width);
    set_number(l, name, "max_link_width", &bus->width_max);
    free(driver);
}

void evidence_gather_bus(const struct evidence_request *r, struct host_evidence *ev)
{
    struct look l = {r->root, ev};
    bool is_there = root_each(r->root, "/sys/bus/pci/devices", on_device, &l) == 0;
    ev->buses.is_known = is_there || !root_exists(r->root, "/sys/bus/pci");
}
