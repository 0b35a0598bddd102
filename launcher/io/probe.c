#include "launcher/io/probe.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "launcher/io/probe_apart.h"
#include "launcher/io/probe_fake.h"
#include "launcher/io/probe_proc.h"

/* Any trace of an NVIDIA driver: its control node, its /proc folder, the device of WSL. */
static bool has_driver(void)
{
    return access("/dev/nvidiactl", F_OK) == 0
           || access("/proc/driver/nvidia/version", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

const char *probe_source_name(enum probe_source source)
{
    switch (source) {
    case PROBE_FAKE:
        return "MUSTER_FAKE_GPUS";
    case PROBE_NVML:
        return "NVML";
    case PROBE_PROC:
        return "/proc/driver/nvidia";
    case PROBE_NO_GPU:
    case PROBE_NO_INVENTORY:
        break;
    }
    return NULL;
}

int probe_devices(bool with_load, enum probe_source *source, struct inventory *out,
                  struct err *why, struct err *e)
{
    const char *fake = getenv("MUSTER_FAKE_GPUS"), *path = getenv("MUSTER_NVML_PATH");
    struct err proc;
    *out = (struct inventory){0};
    if (fake && fake[0]) {
        *source = PROBE_FAKE;
        return probe_fake_spec(fake, out, e);
    }
    if (!(path && path[0])
        && !has_driver()) { /* spares the search for a library that cannot work */
        *source = PROBE_NO_GPU;
        return 0;
    }
    int rc = probe_apart(path && path[0] ? path : NULL, with_load, PROBE_APART_MS, out, why);
    if (rc < 0 && why->code == ERR_TIMEOUT)
        log_warn("nvml", "%s", why->text);
    if (rc == 0)
        *source = PROBE_NVML;
    else if (probe_proc("/proc", out, &proc) == 0)
        *source = PROBE_PROC;
    else
        *source = PROBE_NO_INVENTORY;
    return 0;
}
