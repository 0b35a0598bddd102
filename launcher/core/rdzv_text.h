/* rdzv_text.h - the grammar of torchrun's --rdzv-endpoint and --rdzv-conf.
 *
 * Resolves nothing and decides nothing: whether an endpoint is this machine is asked
 * elsewhere. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_RDZV_TEXT_H
#define MUSTER_LAUNCHER_CORE_RDZV_TEXT_H

#include "base/err.h"
#include "base/str.h"
#include "launcher/core/options.h"

struct rdzv_endpoint {
    struct str host; /* borrowed; without brackets */
    int32_t port;    /* -1 = not given */
};

/* HOST, HOST:PORT, [IPv6], [IPv6]:PORT or a bare IPv6 address, blanks around it ignored. where:
 * how the user spelled the option. 0, or -1 with ERR_USAGE. */
int rdzv_endpoint_parse(const char *where, const char *text, struct rdzv_endpoint *out,
                        struct err *e);

/* KEY=VALUE,...: fills the members of opt that a key has (join_timeout_ms, last_call_ms,
 * beat_ms, beats_missed, is_host); keys of torchrun that mean nothing here are checked only.
 * is_static: `timeout` is the time to join, `join_timeout` is not. 0, or -1 with ERR_USAGE: an
 * unknown key comes with the nearest known one. */
int rdzv_conf_parse(const char *where, const char *text, bool is_static, struct options *opt,
                    struct err *e);

#endif
