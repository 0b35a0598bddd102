#include "launcher/core/gpu_sample.h"

static const struct {
    uint64_t bit;
    const char *words;
} reasons[] = {
    {0x04, "power cap"},   /* SwPowerCap */
    {0x08, "hw slowdown"}, /* HwSlowdown */
    {0x10, "sync boost"},  /* SyncBoost */
    {0x20, "thermal"},     /* SwThermalSlowdown */
    {0x40, "hw thermal"},  /* HwThermalSlowdown */
    {0x80, "power brake"}, /* HwPowerBrakeSlowdown */
};

void gpu_throttle_format(uint64_t clock_events, struct buf *out)
{
    const char *mark = "";
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (clock_events & reasons[i].bit) {
            buf_addf(out, "%s%s", mark, reasons[i].words);
            mark = ", ";
        }
}
