#include "launcher/io/driver_store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "launcher/io/admission.h"
#include "launcher/io/descriptors.h"
#include "launcher/io/resolve.h"
#include "launcher/io/signals.h"
#include "rendezvous/port.h"

struct driver_store {
    uv_loop_t loop;
    struct port *port;
    struct signals signals;
    struct admission *admission;
    bool is_closing;
};

/* ---- callbacks ---- */

static void close_all(struct driver_store *d)
{
    if (d->is_closing)
        return;
    d->is_closing = true;
    port_close(d->port, NULL, NULL);
    signals_close(&d->signals);
}

static void on_signal(void *ctx, int signo)
{
    if (signo == SIGTSTP)
        raise(SIGSTOP);
    if (signo == SIGINT || signo == SIGTERM || signo == SIGHUP || signo == SIGQUIT)
        close_all(ctx);
}

static void on_note(void *ctx, const struct server_note *note)
{
    const struct driver_store *d = ctx;
    admission_note(d->admission, "", note);
}

static bool admit(void *ctx, const struct sockaddr *near, const struct sockaddr *far)
{
    const struct driver_store *d = ctx;
    return admission_admit(d->admission, near, far);
}

/* Whoever can reach an address that is not loopback. */
static bool is_node(void *ctx, const struct peer_ip *ip)
{
    (void)ctx;
    (void)ip;
    return true;
}

static bool is_user(void *ctx, uint32_t uid)
{
    (void)ctx;
    (void)uid;
    return false;
}

/* ---- the address ---- */

/* Which address to listen on; every one is "". */
static int find_address(const struct store_options *opt, struct addr *out, struct err *e)
{
    struct addr where = {.port = opt->port};
    if (strcmp(opt->host, "all") == 0) {
        *out = where;
        return 0;
    }
    if (addr_parse(str_from(opt->host), opt->port, &where, e) < 0)
        return err_wrap(e, "--host");
    if (where.port != opt->port)
        return err_set(e, ERR_USAGE, "--host: '%.80s' has a port; it belongs to --port",
                       opt->host);
    return resolve(&where, 0, out, 1, e) < 0 ? err_wrap(e, "--host") : 0;
}

/* Somebody waits for this line: it is all or nothing. */
static int tell(const struct store_options *opt, const struct port *port, struct err *e)
{
    struct addr at = {.port = port_number(port)};
    strncpy(at.host, port_address(port), sizeof at.host - 1);
    struct buf line;
    buf_init(&line, 0);
    if (opt->is_port_only)
        buf_addf(&line, "%u", at.port);
    else
        addr_format(&at, &line);
    buf_addc(&line, '\n');
    int fd = opt->ready_fd < 0 ? STDOUT_FILENO : opt->ready_fd, rc = 0;
    ssize_t n;
    do {
        n = write(fd, line.data, line.len);
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)line.len)
        rc = err_sys(e, n < 0 ? errno : EIO, "cannot write the address to descriptor %d", fd);
    if (fd > STDERR_FILENO)
        close(fd);
    buf_fini(&line);
    return rc;
}

/* ---- life ---- */

static int open_port(struct driver_store *d, const struct store_options *opt, struct err *e)
{
    struct port_options port = port_options_default();
    struct addr at;
    if (find_address(opt, &at, e) < 0)
        return -1;
    port.address = at.host;
    port.port = at.port;
    port.ctx = d;
    port.on_note = on_note;
    port.admit = admit;
    if (getrandom(port.seed, sizeof port.seed, 0) < 0)
        return err_sys(e, errno, "getrandom");
    d->port = port_open(&d->loop, &port, e);
    return d->port ? 0 : -1;
}

static int serve(struct driver_store *d, const struct store_options *opt, struct err *e)
{
    const struct admission_asks asks = {d, is_node, is_user};
    d->admission = admission_new(&d->loop, opt->is_open, true, &asks, e);
    if (!d->admission)
        return -1;
    int rc = open_port(d, opt, e);
    if (rc == 0) {
        signals_open(&d->signals, &d->loop, d, on_signal);
        rc = tell(opt, d->port, e);
        if (rc < 0)
            close_all(d);
    }
    uv_run(&d->loop, UV_RUN_DEFAULT);
    admission_end(d->admission);
    return rc;
}

int driver_store_run(const struct store_options *opt, struct err *e)
{
    struct driver_store d = {.port = NULL};
    if (opt->ready_fd >= 0 && fcntl(opt->ready_fd, F_GETFD) < 0)
        return err_set(e, ERR_USAGE, "--ready-fd: descriptor %d is not open", opt->ready_fd);
    descriptors_raise_limit();
    int rc = uv_loop_init(&d.loop);
    if (rc < 0)
        return err_set(e, ERR_SYSTEM, "cannot make an event loop: %s", uv_strerror(rc));
    rc = serve(&d, opt, e);
    int left = uv_loop_close(&d.loop);
    if (left < 0)
        log_error("store", "handles were left open: %s", uv_strerror(left));
    return rc;
}
