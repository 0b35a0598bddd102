#include "launcher/core/xid.h"

#include <string.h>

#include "launcher/core/device.h"

static const struct {
    uint32_t number;
    const char *meaning;
} rows[] = {
    {8, "the GPU stopped working on a request"},
    {13, "a program error on the GPU, such as an access out of bounds"},
    {31, "a program touched GPU memory that it does not own"},
    {32, "the commands sent to the GPU were corrupt; often the bus or the driver"},
    {38, "the driver's firmware failed"},
    {43, "the GPU ended a program after an error of that program"},
    {45, "the GPU cleaned up after a program that ended"},
    {48, "GPU memory: an error that ECC cannot correct"},
    {61, "the GPU's internal microcontroller stopped"},
    {62, "the GPU's internal microcontroller halted"},
    {63, "GPU memory: a bad row was taken out of use; takes effect at the next reset"},
    {64, "GPU memory: a bad row could not be taken out of use"},
    {69, "a program error on the GPU's graphics engine"},
    {74, "an NVLink connection failed"},
    {79, "the GPU has fallen off the bus: hardware, power or heat; the node needs a look"},
    {92, "GPU memory: many corrected ECC errors"},
    {94, "GPU memory: an uncorrectable error, contained to this program"},
    {95, "GPU memory: an uncorrectable error, not contained; the GPU needs a reset"},
    {109, "switching between programs on the GPU took too long"},
    {119, "the GPU's system processor (GSP) does not answer"},
    {120, "the GPU's system processor (GSP) failed"},
};

/* Hexadecimal digits up to a character. */
static bool take_hex(struct str *s, char end, uint32_t *v)
{
    size_t n = 0;
    *v = 0;
    for (; n < s->n && n <= 8; n++) {
        const char *digits = "0123456789abcdef";
        char c = s->p[n];
        const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
        if (!at)
            break;
        *v = *v << 4 | (uint32_t)(at - digits);
    }
    if (!n || n > 8 || n == s->n || s->p[n] != end)
        return false;
    *s = (struct str){s->p + n + 1, s->n - n - 1};
    return true;
}

bool xid_parse(struct str line, struct xid *x)
{
    static const char mark[] = "NVRM: Xid (PCI:";
    const size_t n = sizeof mark - 1;
    while (line.n >= n && memcmp(line.p, mark, n) != 0)
        line = (struct str){line.p + 1, line.n - 1};
    if (line.n < n)
        return false;
    struct str s = {line.p + n, line.n - n}, number;
    uint64_t value;
    if (!take_hex(&s, ':', &x->domain) || !take_hex(&s, ':', &x->bus)
        || !take_hex(&s, ')', &x->device) || !str_starts(s, ": "))
        return false;
    s = (struct str){s.p + 2, s.n - 2};
    str_split(&s, ',', &number);
    if (str_parse_u64(str_trim(number), 0, 99999, &value) < 0)
        return false;
    x->number = (uint32_t)value;
    return true;
}

bool xid_is_of(const struct xid *x, const char *pci)
{
    uint32_t domain, bus, device;
    return device_pci_parse(pci, &domain, &bus, &device) == 0 && domain == x->domain
           && bus == x->bus && device == x->device;
}

const char *xid_meaning(uint32_t number)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].number == number)
            return rows[i].meaning;
    return NULL;
}

bool xid_is_aftermath(uint32_t number)
{
    return number == 43 || number == 45;
}
