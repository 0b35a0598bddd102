/* head_metrics.h - the figures of a running job, at the address of --metrics: brings together
 * what the machines, the store and the output know, at most once a second, however many ask.
 *
 * A part of the head's driver, on the state of driver_head_state.h. Carries between
 * metrics_server.h (HTTP) and metrics_render.h (the page).
 */
#ifndef MUSTER_LAUNCHER_IO_HEAD_METRICS_H
#define MUSTER_LAUNCHER_IO_HEAD_METRICS_H

#include "launcher/io/driver_head_state.h"

struct head_metrics;

/* Opens d->metrics, which stays NULL where nobody asked and where nothing will run, and says
 * where it is. Once d->port is there. 0, or -1 with ERR_USAGE: the address cannot be had. */
int head_metrics_open(struct driver_head *d, struct err *e);

/* Where it is: "http://127.0.0.1:9410/metrics". */
const char *head_metrics_url(const struct head_metrics *m);

/* After each round of callbacks. */
void head_metrics_settle(struct head_metrics *m);

/* Nobody is served from here on; whoever waits is answered first. NULL is fine. */
void head_metrics_close(struct head_metrics *m);

#endif
