/* nvml_links_abi.h - NVML's functions about the far ends of links; see nvml_abi.h, which has
 * the state of a link and peer access. Loads and calls nothing.
 */
#ifndef MUSTER_LAUNCHER_IO_NVML_LINKS_ABI_H
#define MUSTER_LAUNCHER_IO_NVML_LINKS_ABI_H

#include "launcher/io/nvml_abi.h"

enum {
    NVML_FAR_GPU = 0,
    NVML_FAR_SWITCH = 2,
    NVML_FAR_UNKNOWN = 255
};                        /* nvmlIntNvLinkDeviceType_t */
enum { NVML_P2P_OK = 0 }; /* nvmlGpuP2PStatus_t */

/* X(name, symbol, arguments): any of them may be missing from an old library. */
#define NVML_LINK_FUNCTIONS(X)                                                                 \
    X(link_type, nvmlDeviceGetNvLinkRemoteDeviceType,                                          \
      (struct nvml_handle * h, uint32_t link, int *type))                                      \
    X(link_pci, nvmlDeviceGetNvLinkRemotePciInfo_v2,                                           \
      (struct nvml_handle * h, uint32_t link, struct nvml_pci * pci))                          \
    X(pcie_gen, nvmlDeviceGetMaxPcieLinkGeneration, (struct nvml_handle * h, uint32_t * gen))  \
    X(pcie_width, nvmlDeviceGetMaxPcieLinkWidth, (struct nvml_handle * h, uint32_t * width))

#endif
