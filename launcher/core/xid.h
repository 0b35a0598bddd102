/* xid.h - the GPU driver's error messages in the kernel log ("Xid"): which GPU, which number,
 * and what the common numbers mean. Pure: lines come in as text.
 */
#ifndef MUSTER_LAUNCHER_CORE_XID_H
#define MUSTER_LAUNCHER_CORE_XID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct xid {
    uint32_t domain, bus, device; /* PCI address of the GPU */
    uint32_t number;
};

/* A line that holds "NVRM: Xid (PCI:0000:07:00): 79, ..." anywhere. False if it is none. */
bool xid_parse(struct str line, struct xid *x);

/* Whether it is about the GPU at this PCI address, as NVML writes it ("00000000:07:00.0"). */
bool xid_is_of(const struct xid *x, const char *pci);

/* What the number means, a few words; NULL if it is not in the table. Static. */
const char *xid_meaning(uint32_t number);

/* Whether it is an after-effect of the end of a process rather than its reason. */
bool xid_is_aftermath(uint32_t number);

#endif
