/* check_junit.h - a check as a JUnit XML file: a test case for the preflight, one for each
 * measurement, one for the whole, so that a CI shows what failed. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_CHECK_JUNIT_H
#define MUSTER_LAUNCHER_CORE_CHECK_JUNIT_H

#include "launcher/core/check_result.h"

/* Appends the file. A warning is a test that passed, with the warning as its output; what has
 * no figure to be held against and was not verified is skipped, and so is the whole where
 * nothing was tested. */
void check_junit(const struct check_result *r, struct buf *out);

#endif
