#include "launcher/io/pmix_api.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static int load_symbol(void *library, const char *symbol, void *to, struct err *e)
{
    void *at = dlsym(library, symbol);
    if (!at)
        return err_set(e, ERR_UNAVAILABLE, "PMIx: the library has no %s", symbol);
    memcpy(to, &at, sizeof at);
    return 0;
}

int pmix_api_load(struct pmix_api *api, struct err *e)
{
    const char *path = getenv("MUSTER_PMIX_PATH");
    *api = (struct pmix_api){
        .library = dlopen(path && *path ? path : "libpmix.so.2", RTLD_NOW | RTLD_LOCAL)};
    if (!api->library)
        return err_set(e, ERR_UNAVAILABLE, "PMIx: %s", dlerror());
#define X(member, symbol, result, args)                                                        \
    if (load_symbol(api->library, #symbol, &api->member, e) < 0)                               \
        return -1;
    PMIX_FUNCTIONS(X)
#undef X
    return 0;
}

int pmix_check(const struct pmix_api *api, const char *what, pmix_status_t status,
               struct err *e)
{
    if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED)
        return 0;
    return err_set(e, ERR_UNAVAILABLE, "PMIx: %s: %s", what, api->error_string(status));
}
