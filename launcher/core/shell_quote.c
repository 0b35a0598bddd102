#include "launcher/core/shell_quote.h"

#include <string.h>

int shell_quote(const char *word, struct buf *out, struct err *e)
{
    if (!*word)
        return err_set(e, ERR_USAGE, "an empty path cannot be handed to a remote shell");
    for (const char *c = word; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return err_set(e, ERR_USAGE,
                           "a path with the control character 0x%02x cannot be handed to a "
                           "remote shell; install muster under a plain name",
                           (unsigned char)*c);
    buf_addc(out, '\'');
    for (const char *c = word; *c; c++) {
        if (strchr("'\\!", *c))
            buf_addf(out, "'\\%c'", *c);
        else
            buf_addc(out, *c);
    }
    buf_addc(out, '\'');
    return 0;
}
