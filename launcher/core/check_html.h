/* check_html.h - a check as one HTML page: nothing is loaded, no script runs, every text is
 * escaped, light or dark as the reader's system is, readable from 360 pixels on. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_CHECK_HTML_H
#define MUSTER_LAUNCHER_CORE_CHECK_HTML_H

#include "launcher/core/check_result.h"

/* Appends the whole page. */
void check_html(const struct check_result *r, struct buf *out);

#endif
