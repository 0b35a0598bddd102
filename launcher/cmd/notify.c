/* muster notify KEY=VALUE...: tells the muster above that this worker is alive, for shells. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "launcher/cmd/cmd.h"
#include "launcher/core/notify_parse.h"
#include "launcher/io/notify.h"

static int send_lines(const char *address, char *const *lines, struct err *e)
{
    struct notify_message message;
    struct buf text;
    buf_init(&text, NOTIFY_BYTES_MAX);
    for (; *lines; lines++)
        buf_addf(&text, "%s\n", *lines);
    const char *rank =
        getenv("RANK"); /* this process may have ended when the message is read */
    if (rank && *rank)
        buf_addf(&text, "RANK=%s\n", rank);
    int rc = text.overflowed ? err_set(e, ERR_USAGE, "notify: that is more than %d bytes",
                                       (int)NOTIFY_BYTES_MAX)
                             : notify_parse(buf_str(&text), text.len, &message, e);
    if (rc == 0)
        rc = notify_send(address, buf_str(&text), text.len, e);
    buf_fini(&text);
    return rc;
}

int cmd_notify(char *const *args)
{
    struct err e;
    const char *address = getenv("MUSTER_NOTIFY_SOCKET");
    if (!args[0]) {
        err_set(&e, ERR_USAGE, "notify: nothing to say; as in: muster notify STEP=17");
        return cmd_fail(&e);
    }
    if (!address || !*address) /* not below muster: a script may run without */
        return 0;
    return send_lines(address, args, &e) < 0 ? cmd_fail(&e) : 0;
}
