/* stack_text: where a process is, from what real tools have printed and from odd texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/stack_text.h"

static char *where_of(enum stack_format format, const char *text)
{
    struct buf out;
    buf_init(&out, 0);
    stack_where(format, str_from(text), &out);
    return buf_steal(&out);
}

static void expect(enum stack_format format, const char *text, const char *where)
{
    char *found = where_of(format, text);
    assert_string_equal(found, where);
    free(found);
}

static char *read_vector(const char *name)
{
    char *path = mem_printf(TESTS_DIR "/vectors/stacks/%s.txt", name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = mem_alloc(1, 65536);
    size_t n = fread(text, 1, 65535, f);
    assert_true(n > 0);
    fclose(f);
    free(path);
    return text;
}

static void expect_vector(enum stack_format format, const char *name, const char *where)
{
    char *text = read_vector(name);
    expect(format, text, where);
    free(text);
}

static void what_tools_print(void **state)
{
    (void)state;
    expect_vector(STACK_PY_SPY, "py_spy-threads", "wait_for_peers (th.py:5)");
    expect_vector(STACK_FAULTHANDLER, "faulthandler-threads", "wait_for_peers (th.py:5)");
    expect_vector(STACK_GDB, "gdb-read", "read from fill");
    expect_vector(STACK_EU_STACK, "eu_stack-read", "read from fill");
    expect_vector(STACK_EU_STACK, "eu_stack-threads",
                  "futex_abstimed_wait_common from lock_PyThread_acquire_lock");
}

static void the_main_thread_is_found(void **state)
{
    (void)state;
    char *text = read_vector("gdb-threads");
    struct str main = stack_main_thread(STACK_GDB, str_from(text));
    assert_true(str_starts(main, "Thread 1 (Thread 0x"));
    assert_null(memchr(main.p, '[', main.n)); /* gdb's farewell is no part of it */
    free(text);
    text = read_vector("faulthandler-threads");
    main = stack_main_thread(STACK_FAULTHANDLER, str_from(text));
    assert_true(str_starts(main, "Current thread "));
    free(text);
    text = read_vector("py_spy-threads");
    main = stack_main_thread(STACK_PY_SPY, str_from(text));
    assert_true(str_starts(main, "Thread 30970 (idle): \"MainThread\""));
    assert_true(main.n < 120);
    free(text);
    text = read_vector("eu_stack-threads");
    main = stack_main_thread(STACK_EU_STACK, str_from(text));
    assert_true(str_starts(main, "TID 30970:"));
    assert_true(main.n < 1200);
    free(text);
}

/* Inside a library the caller of one's own says more. */
static void a_library_s_caller_is_named(void **state)
{
    (void)state;
    expect(STACK_PY_SPY,
           "Thread 7 (active): \"MainThread\"\n"
           "    all_reduce (torch/distributed/distributed_c10d.py:2501)\n"
           "    wrapper (torch/distributed/c10d_logger.py:81)\n"
           "    train (train.py:41)\n"
           "    <module> (train.py:60)\n",
           "all_reduce (distributed_c10d.py:2501) from train (train.py:41)");
    expect(STACK_FAULTHANDLER,
           "Current thread 0x1 (most recent call first):\n"
           "  File \"/venv/lib/python3.11/site-packages/torch/x.py\", line 5 in wait\n"
           "  File \"/home/me/train.py\", line 9 in step\n",
           "wait (x.py:5) from step (train.py:9)");
    expect(STACK_FAULTHANDLER,
           "Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n"
           "  File \"<string>\", line 1 in <module>\n",
           "<module> (<string>:1)");
}

static void odd_texts_give_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n\n",
        "Error: Permission Denied (os error 13)\n",
        "ptrace: Operation not permitted.\n",
        "#",
        "#0",
        "#0  ",
        "#0  0x0000 ?? ()\n",
        "Thread ",
        "TID 1:\n",
        "    (\n    ()\n     )\n",
        "File \"",
        "  File \"x\", line 1",
        "  File \"x\", line 1 in ",
        "Current thread 0x0 (most recent call first):\n  <no Python frame>\n",
    };
    static const char *const heads[] = {
        [STACK_PY_SPY] = "Thread 1 (idle): \"MainThread\"\n",
        [STACK_EU_STACK] = "TID 1:\n",
        [STACK_GDB] = "Thread 1 (LWP 1):\n",
        [STACK_FAULTHANDLER] = "Current thread 0x1 (most recent call first):\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (int format = STACK_PY_SPY; format <= STACK_FAULTHANDLER; format++) {
            char *text = mem_printf("%s%s", heads[format], texts[i]);
            expect((enum stack_format)format, texts[i], "");
            expect((enum stack_format)format, text, "");
            free(text);
        }
    }
}

static void names_are_bounded(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 0);
    buf_adds(&text, "TID 1:\n#0  0x00 ");
    for (int i = 0; i < 5000; i++)
        buf_addc(&text, 'x');
    char *where = where_of(STACK_EU_STACK, buf_str(&text));
    assert_int_equal(strlen(where), 80);
    free(where);
    buf_fini(&text);
}

static void expect_kernel(char letter, const char *syscall, const char *wchan,
                          const char *where)
{
    struct buf out;
    buf_init(&out, 0);
    stack_where_kernel(letter, syscall, wchan, &out);
    assert_string_equal(buf_str(&out), where);
    buf_fini(&out);
}

static void the_kernel_s_words(void **state)
{
    (void)state;
    expect_kernel('R', "", "0", "running");
    expect_kernel('S', "futex", "futex_do_wait", "futex (futex_do_wait)");
    expect_kernel('S', "read", "0", "read");
    expect_kernel('S', "", "pipe_read", "pipe_read");
    expect_kernel('S', "", "", "sleep");
    expect_kernel('T', "futex", "do_signal_stop", "stopped by a signal");
    expect_kernel('D', "fsync", "nfs_wait", "fsync (nfs_wait), which no signal can end");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_tools_print),
        cmocka_unit_test(the_main_thread_is_found),
        cmocka_unit_test(a_library_s_caller_is_named),
        cmocka_unit_test(odd_texts_give_nothing),
        cmocka_unit_test(names_are_bounded),
        cmocka_unit_test(the_kernel_s_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
