/* pmix_api.h - the functions of libpmix that muster calls, from a library opened at run time.
 *
 * Types come from PMIx's own headers, so this is built only where these are; the library itself
 * is looked for when a job needs it. No other file but pmix_*.c knows PMIx.
 */
#ifndef MUSTER_LAUNCHER_IO_PMIX_API_H
#define MUSTER_LAUNCHER_IO_PMIX_API_H

#include <pmix_server.h>

#include "base/err.h"

/* X(member, symbol, result, arguments): as pmix_server.h and pmix.h declare them */
#define PMIX_FUNCTIONS(X)                                                                      \
    X(server_init, PMIx_server_init, pmix_status_t,                                            \
      (pmix_server_module_t *, pmix_info_t *, size_t))                                         \
    X(server_finalize, PMIx_server_finalize, pmix_status_t, (void))                            \
    X(register_nspace, PMIx_server_register_nspace, pmix_status_t,                             \
      (const char *, int, pmix_info_t *, size_t, pmix_op_cbfunc_t, void *))                    \
    X(deregister_nspace, PMIx_server_deregister_nspace, void,                                  \
      (const char *, pmix_op_cbfunc_t, void *))                                                \
    X(register_client, PMIx_server_register_client, pmix_status_t,                             \
      (const pmix_proc_t *, uid_t, gid_t, void *, pmix_op_cbfunc_t, void *))                   \
    X(dmodex_request, PMIx_server_dmodex_request, pmix_status_t,                               \
      (const pmix_proc_t *, pmix_dmodex_response_fn_t, void *))                                \
    X(setup_fork, PMIx_server_setup_fork, pmix_status_t, (const pmix_proc_t *, char ***))      \
    X(generate_regex, PMIx_generate_regex, pmix_status_t, (const char *, char **))             \
    X(generate_ppn, PMIx_generate_ppn, pmix_status_t, (const char *, char **))                 \
    X(error_string, PMIx_Error_string, const char *, (pmix_status_t))                          \
    X(version, PMIx_Get_version, const char *, (void))

struct pmix_api {
    void *library;
#define X(member, symbol, result, args) result(*member) args;
    PMIX_FUNCTIONS(X)
#undef X
};

/* Opens libpmix.so.2, or the file that MUSTER_PMIX_PATH names. 0, or -1 with ERR_UNAVAILABLE.
 * It stays open: its threads may still be on their way out. */
int pmix_api_load(struct pmix_api *api, struct err *e);

/* 0 if status means done, else -1 with ERR_UNAVAILABLE and the library's words. */
int pmix_check(const struct pmix_api *api, const char *what, pmix_status_t status,
               struct err *e);

#endif
