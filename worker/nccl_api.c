#include "worker/nccl_api.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t offset;
    bool is_required;
} functions[] = {
#define X(name, required) {"nccl" #name, offsetof(struct nccl, name), required},
    NCCL_FUNCTIONS(X)
#undef X
};

static int resolve(struct nccl *n, struct err *e)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *f = dlsym(n->handle, functions[i].name);
        if (!f && functions[i].is_required)
            return err_set(e, ERR_NOT_FOUND, "%s has no %s: too old?", n->path,
                           functions[i].name);
        memcpy((char *)n + functions[i].offset, &f, sizeof f);
    }
    return 0;
}

static void find_path(struct nccl *n, const char *asked)
{
    Dl_info info;
    void *f = dlsym(n->handle, "ncclGetVersion");
    bool known = f && dladdr(f, &info) && info.dli_fname;
    snprintf(n->path, sizeof n->path, "%s", known ? info.dli_fname : asked);
}

static void unload(struct nccl *n)
{
    dlclose(n->handle);
    n->handle = NULL;
}

int nccl_load(struct nccl *n, const char *path, struct err *e)
{
    memset(n, 0, sizeof *n);
    const char *asked = path ? path : "libnccl.so.2";
    n->handle = dlopen(asked, RTLD_NOW | RTLD_LOCAL);
    if (!n->handle)
        return err_set(e, ERR_NOT_FOUND, "%s", dlerror());
    find_path(n, asked);
    if (resolve(n, e) < 0) {
        unload(n);
        return -1;
    }
    ncclResult_t rc = n->GetVersion(&n->version);
    if (rc == ncclSuccess)
        return 0;
    unload(n);
    return err_set(e, ERR_NOT_FOUND, "%s: ncclGetVersion gives %d", asked, (int)rc);
}

const char *nccl_version_text(int version, char text[24])
{
    if (version < 10000)
        snprintf(text, 24, "%d.%d.%d", version / 1000, version / 100 % 10, version % 100);
    else
        snprintf(text, 24, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    return text;
}
