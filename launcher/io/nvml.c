#include "launcher/io/nvml.h"

#include <dlfcn.h>
#include <string.h>

static int load_symbol(void *library, const char *symbol, int needed, void *to, struct err *e)
{
    void *at = dlsym(library, symbol);
    if (!at && needed)
        return err_set(e, ERR_UNAVAILABLE, "NVML: the library has no %s; is it NVIDIA's?",
                       symbol);
    memcpy(to, &at, sizeof at);
    return 0;
}

static int load(const char *path, struct nvml *n, struct err *e)
{
    *n = (struct nvml){.library = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (!n->library)
        return err_set(e, ERR_UNAVAILABLE, "NVML: %s", dlerror());
    int rc = load_symbol(n->library, "nvmlErrorString", 1, &n->error_string, e);
#define X(needed, name, symbol, args)                                                          \
    if (rc == 0)                                                                               \
        rc = load_symbol(n->library, #symbol, needed, &n->name, e);
    NVML_FUNCTIONS(X)
#undef X
    if (rc != 0)
        dlclose(n->library);
    return rc;
}

static const char *hint(int rc)
{
    switch (rc) {
    case NVML_DRIVER_NOT_LOADED:
        return "; load the nvidia kernel module";
    case NVML_NO_PERMISSION:
    case NVML_OS_BLOCKED:
        return "; /dev/nvidia* may not be opened here";
    case NVML_VERSION_MISMATCH:
        return "; the driver was updated under a running system: reboot or reload it";
    case NVML_UNKNOWN:
        return "; in a container this follows a systemctl daemon-reload on the host: start "
               "the container again";
    default:
        return "";
    }
}

int nvml_fail(const struct nvml *n, const char *what, int rc, struct err *e)
{
    return err_set(e, ERR_UNAVAILABLE, "NVML: %s gives %d (%s)%s", what, rc,
                   n->error_string(rc), hint(rc));
}

int nvml_open(const char *path, struct nvml *n, int *rc, struct err *e)
{
    *rc = -1;
    if (load(path ? path : "libnvidia-ml.so.1", n, e) != 0)
        return -1;
    *rc = n->init();
    if (*rc == NVML_OK)
        return 0;
    nvml_fail(n, "nvmlInit_v2", *rc, e);
    dlclose(n->library);
    return -1;
}

void nvml_close(struct nvml *n)
{
    n->shutdown();
    dlclose(n->library);
}
