/* stack_text.h - reads what py-spy, eu-stack, gdb and Python's faulthandler print: where a
 * process is, in a few words. Pure and bounded; knows nothing of processes.
 *
 * Formats: py-spy 0.3 `dump`, elfutils `eu-stack -p`, gdb `thread apply all bt`, CPython's
 * faulthandler (Modules/faulthandler.c, Python/traceback.c).
 */
#ifndef MUSTER_LAUNCHER_CORE_STACK_TEXT_H
#define MUSTER_LAUNCHER_CORE_STACK_TEXT_H

#include "base/buf.h"
#include "base/str.h"

enum stack_format { STACK_PY_SPY, STACK_EU_STACK, STACK_GDB, STACK_FAULTHANDLER };

/* The part of text about the process's main thread, without the rest; empty if there is none.
 */
struct str stack_main_thread(enum stack_format format, struct str text);

/* Appends the innermost function and the code that called it, as in "all_reduce
 * (distributed_c10d.py:2501) from train (train.py:41)" or "read from fill"; nothing if no frame
 * is understood. */
void stack_where(enum stack_format format, struct str text, struct buf *out);

/* The same from the kernel's words: state is the letter of /proc/PID/stat, the others may be
 * "". "futex (futex_do_wait)", "running". */
void stack_where_kernel(char state, const char *syscall, const char *wchan, struct buf *out);

#endif
