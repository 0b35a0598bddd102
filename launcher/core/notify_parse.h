/* notify_parse.h - what a worker says through MUSTER_NOTIFY_SOCKET: one datagram of lines
 * KEY=VALUE, as sd_notify(3) sends them.
 *
 * Pure and bounded: bytes in, a value out. Unknown keys are nobody's business and are skipped;
 * a known key with a wrong value makes the whole message wrong, so that a typing error shows.
 */
#ifndef MUSTER_LAUNCHER_CORE_NOTIFY_PARSE_H
#define MUSTER_LAUNCHER_CORE_NOTIFY_PARSE_H

#include <stddef.h>

#include "launcher/core/event.h"

enum { NOTIFY_BYTES_MAX = 4096, NOTIFY_SECTION_MAX = 32, NOTIFY_STATUS_MAX = 80 };

/* Keys: HEARTBEAT=1, READY=1, STEP=n, SECTION=+name, SECTION=+name:TIME, SECTION=-name,
 * STATUS=text, RANK=n. The first four are signs of life. Texts that are too long are cut;
 * control bytes become '?'. */
struct notify_message {
    bool is_alive;
    struct maybe_u64 step;
    struct maybe_u64 rank; /* who it is from, where the kernel cannot tell */
    char section[NOTIFY_SECTION_MAX];
    uint64_t section_ms; /* of "+name:TIME"; 0 = not given */
    char status[NOTIFY_STATUS_MAX];
};

/* 0, or -1 with ERR_USAGE that names the line that is wrong: then *out says nothing. An empty
 * datagram is a message without content. */
int notify_parse(const char *bytes, size_t n, struct notify_message *out, struct err *e);

#endif
