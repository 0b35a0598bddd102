/* nvml_links_abi.h - NVML's functions about links between GPUs; see nvml_abi.h. Loads and calls
 * nothing.
 */
#ifndef MUSTER_LAUNCHER_IO_NVML_LINKS_ABI_H
#define MUSTER_LAUNCHER_IO_NVML_LINKS_ABI_H

#include "launcher/io/nvml_abi.h"

enum {
    NVML_FAR_GPU = 0,
    NVML_FAR_SWITCH = 2,
    NVML_FAR_UNKNOWN = 255
};                          /* nvmlIntNvLinkDeviceType_t */
enum { NVML_MAY_READ = 0 }; /* nvmlGpuP2PCapsIndex_t */
enum { NVML_MAY_OK = 0 };   /* nvmlGpuP2PStatus_t */

/* X(name, symbol, arguments): any of them may be missing from an old library. */
#define NVML_LINK_FUNCTIONS(X)                                                                 \
    X(link_state, nvmlDeviceGetNvLinkState,                                                    \
      (struct nvml_handle * h, uint32_t link, int *is_active))                                 \
    X(link_type, nvmlDeviceGetNvLinkRemoteDeviceType,                                          \
      (struct nvml_handle * h, uint32_t link, int *type))                                      \
    X(link_pci, nvmlDeviceGetNvLinkRemotePciInfo_v2,                                           \
      (struct nvml_handle * h, uint32_t link, struct nvml_pci * pci))                          \
    X(p2p, nvmlDeviceGetP2PStatus,                                                             \
      (struct nvml_handle * a, struct nvml_handle * b, int index, int *status))                \
    X(pcie_gen, nvmlDeviceGetMaxPcieLinkGeneration, (struct nvml_handle * h, uint32_t * gen))  \
    X(pcie_width, nvmlDeviceGetMaxPcieLinkWidth, (struct nvml_handle * h, uint32_t * width))

#endif
