#include "launcher/core/stack_text.h"

#include <string.h>

enum { FRAMES_MAX = 200, NAME_MAX_BYTES = 80 };

struct stack_frame {
    struct str name, file, line; /* file and line may be empty */
};

/* ---- which thread ---- */

static bool find_in(struct str line, const char *what)
{
    size_t n = strlen(what);
    for (size_t i = 0; i + n <= line.n; i++)
        if (memcmp(line.p + i, what, n) == 0)
            return true;
    return false;
}

/* Whether a line begins the part of a thread; *is_main: of the first thread of the process. */
static bool is_thread_line(enum stack_format format, struct str line, bool *is_main)
{
    switch (format) {
    case STACK_PY_SPY: /* Thread 77 (idle): "MainThread" */
        *is_main = find_in(line, "MainThread");
        return str_starts(line, "Thread ");
    case STACK_EU_STACK: /* TID 77: ; the first is the main thread's */
        *is_main = true;
        return str_starts(line, "TID ");
    case STACK_GDB: /* Thread 1 (Thread 0x7f (LWP 77)): */
        *is_main = str_starts(line, "Thread 1 ");
        return str_starts(line, "Thread ");
    case STACK_FAULTHANDLER: /* Current thread 0x7f (most recent call first): */
        *is_main = str_starts(line, "Current thread ");
        return *is_main || (str_starts(line, "Thread 0x") && find_in(line, "most recent"));
    }
    return false;
}

struct str stack_main_thread(enum stack_format format, struct str text)
{
    struct str rest = text, line, found = {text.p, 0}, last = found;
    bool is_inside = false, is_main = false, is_chosen = false;
    while (str_split(&rest, '\n', &line)) {
        bool begins = is_thread_line(format, line, &is_main);
        bool is_note = format == STACK_GDB && str_starts(line, "[");
        if (is_chosen && (begins || is_note || (!line.n && format != STACK_EU_STACK)))
            break;
        if (begins) {
            is_inside = true;
            is_chosen = is_main;
            last.p = line.p;
        } else if (!line.n) {
            is_inside = false;
        }
        if (is_inside)
            last.n = (size_t)(line.p + line.n - last.p);
        if (is_chosen)
            found = last;
    }
    return found.n ? found : last;
}

/* ---- one frame ---- */

/* Cuts s at the first c; the rest goes to *after. False if there is none. */
static bool cut(struct str *s, char c, struct str *after)
{
    const char *at = s->n ? memchr(s->p, c, s->n) : NULL;
    if (!at)
        return false;
    *after = (struct str){at + 1, (size_t)(s->p + s->n - at - 1)};
    s->n = (size_t)(at - s->p);
    return true;
}

/* "    all_reduce (torch/distributed/c10d.py:41)" */
static bool parse_py_spy(struct str line, struct stack_frame *f)
{
    struct str s = str_trim(line), place;
    if (line.n < 2 || line.p[0] != ' ' || !cut(&s, '(', &place) || !place.n
        || place.p[place.n - 1] != ')')
        return false;
    place.n--;
    f->name = str_trim(s);
    f->file = place;
    f->line = (struct str){0};
    for (size_t i = place.n; i-- > 0;) {
        if (place.p[i] != ':')
            continue;
        f->file.n = i;
        f->line = (struct str){place.p + i + 1, place.n - i - 1};
        break;
    }
    return f->name.n != 0;
}

/* '  File "train.py", line 41 in all_reduce' */
static bool parse_faulthandler(struct str line, struct stack_frame *f)
{
    struct str s = str_trim(line), rest, after;
    if (!str_starts(s, "File \"") || !cut(&s, '"', &rest) || !cut(&rest, '"', &after))
        return false;
    f->file = rest;
    if (!str_starts(after, ", line "))
        return false;
    after = (struct str){after.p + strlen(", line "), after.n - strlen(", line ")};
    if (!cut(&after, ' ', &rest) || !str_starts(rest, "in ") || rest.n < 4)
        return false;
    f->line = after;
    f->name = (struct str){rest.p + 3, rest.n - 3};
    return true;
}

static struct str without(struct str s, const char *prefix)
{
    size_t n = strlen(prefix);
    return str_starts(s, prefix) ? (struct str){s.p + n, s.n - n} : s;
}

/* "__GI___libc_read" and "read@@GLIBC_2.2" are "read" to who calls it. */
static struct str public_name(struct str s)
{
    struct str rest;
    s = without(s, "__GI_");
    while (s.n && *s.p == '_')
        s = (struct str){s.p + 1, s.n - 1};
    s = without(s, "libc_");
    cut(&s, '@', &rest);
    cut(&s, '.', &rest);
    return s;
}

/* "#0  0x00007f3a in __GI_read (fd=0) at read.c:26", "#1 0x0000 fill" */
static bool parse_native(struct str line, struct stack_frame *f)
{
    struct str s = str_trim(line), rest;
    if (!s.n || s.p[0] != '#' || !cut(&s, ' ', &rest))
        return false;
    s = str_trim(rest);
    if (str_starts(s, "0x") && cut(&s, ' ', &rest))
        s = str_trim(rest);
    if (str_starts(s, "in "))
        s = (struct str){s.p + 3, s.n - 3};
    cut(&s, ' ', &rest);
    *f = (struct stack_frame){.name = public_name(s)};
    return f->name.n && s.p[0] != '?' && s.p[0] != '-';
}

static bool parse_frame(enum stack_format format, struct str line, struct stack_frame *f)
{
    switch (format) {
    case STACK_PY_SPY:
        return parse_py_spy(line, f);
    case STACK_FAULTHANDLER:
        return parse_faulthandler(line, f);
    case STACK_EU_STACK:
    case STACK_GDB:
        return parse_native(line, f);
    }
    return false;
}

/* ---- in a few words ---- */

/* What locks and waits are made of in glibc and CPython. */
static bool is_plumbing(struct str name)
{
    static const char *const prefixes[] = {"futex_",   "do_futex", "new_sem_", "lll_",
                                           "pthread_", "PyThread", "PyEval",   "acquire_timed"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (str_starts(name, prefixes[i]))
            return true;
    return false;
}

/* Whether the frame is a library's, so that who called it says more. */
static bool is_library(enum stack_format format, const struct stack_frame *f)
{
    if (format == STACK_EU_STACK || format == STACK_GDB)
        return is_plumbing(f->name);
    return find_in(f->file, "/lib/python") || find_in(f->file, "-packages/")
           || str_starts(f->file, "<frozen") || str_starts(f->file, "torch/")
           || str_starts(f->file, "threading.py");
}

static struct str base_name(struct str path)
{
    for (size_t i = path.n; i-- > 0;)
        if (path.p[i] == '/')
            return (struct str){path.p + i + 1, path.n - i - 1};
    return path;
}

static struct str shorten(struct str s)
{
    return (struct str){s.p, s.n < NAME_MAX_BYTES ? s.n : NAME_MAX_BYTES};
}

/* Names may hold anything: what is no text does not reach a terminal. */
static void add_name(struct str s, struct buf *out)
{
    s = shorten(s);
    for (size_t i = 0; i < s.n; i++)
        buf_addc(out, (unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f ? '?' : s.p[i]);
}

static void add_frame(const struct stack_frame *f, struct buf *out)
{
    add_name(f->name, out);
    if (!f->file.n)
        return;
    buf_adds(out, " (");
    add_name(base_name(f->file), out);
    if (f->line.n)
        buf_addc(out, ':');
    add_name(f->line, out);
    buf_addc(out, ')');
}

/* The caller that says most: the first frame of no library; of a native stack simply the next.
 */
static bool tells_more(enum stack_format format, const struct stack_frame *f,
                       const struct stack_frame *innermost)
{
    if (f->name.n == innermost->name.n && memcmp(f->name.p, innermost->name.p, f->name.n) == 0)
        return false;
    return !is_library(format, f);
}

void stack_where(enum stack_format format, struct str text, struct buf *out)
{
    struct str rest = stack_main_thread(format, text), line;
    struct stack_frame innermost = {0}, f = {0};
    bool is_native = format == STACK_EU_STACK || format == STACK_GDB;
    bool has_innermost = false;
    for (int i = 0; i < FRAMES_MAX && str_split(&rest, '\n', &line); i++) {
        if (!parse_frame(format, line, &f))
            continue;
        if (!has_innermost) {
            has_innermost = true;
            innermost = f;
            add_frame(&f, out);
            if (!is_native && !is_library(format, &f))
                return;
        } else if (tells_more(format, &f, &innermost)) {
            buf_adds(out, " from ");
            add_frame(&f, out);
            return;
        }
    }
}

void stack_where_kernel(char state, const char *syscall, const char *wchan, struct buf *out)
{
    bool has_wchan = wchan[0] && strcmp(wchan, "0") != 0;
    if (state == 'R') {
        buf_adds(out, "running");
        return;
    }
    if (state == 'T' || state == 't') {
        buf_adds(out, "stopped by a signal");
        return;
    }
    const char *name = syscall[0] ? syscall : has_wchan ? wchan : "sleep";
    buf_adds(out, name);
    if (has_wchan && name != wchan)
        buf_addf(out, " (%s)", wchan);
    if (state == 'D')
        buf_adds(out, ", which no signal can end");
}
