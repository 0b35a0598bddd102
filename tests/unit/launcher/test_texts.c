/* event, note, verdict: text forms and exit statuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/core/note.h"
#include "launcher/core/signal_names.h"
#include "launcher/core/verdict.h"
#include "launcher/core/event_text.h"

static char *formatted(const struct event *ev)
{
    struct buf out;
    buf_init(&out, 0);
    event_format(ev, &out);
    return buf_steal(&out);
}

static void events_have_a_text(void **state)
{
    (void)state;
    struct event ev = {.type = EV_EXITED, .now_ms = 12};
    ev.u.exited.local_rank = 1;
    ev.u.exited.end = (struct worker_end){END_SIGNAL, 11, true};
    ev.u.exited.evidence.tail = "two words\nand a line";
    char *text = formatted(&ev);
    assert_string_equal(text,
                        "12 exited local_rank=1 end=signal:11:core tail=two_words_and_a_line");
    free(text);
}

/* What was read is written again as it was. */
static void texts_come_back(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "0 boot addr=127.0.0.1 port=65535",
        "5 tick",
        "7 signal signo=SIGTERM",
        "8 exited local_rank=3 end=exit:7 tail=-",
        "8 exited local_rank=3 end=signal:9 tail=boom",
        "8 exited local_rank=0 end=exec:2 tail=-",
        "9 spawned local_rank=1 pid=4294967295",
        "9 spawn_failed local_rank=1 sys=13",
        "10 streams_ended local_rank=0",
        "11 swept left=2",
        "12 node_lost node=1 err=NODE_LOST:gone",
        "13 store_ready generation=4",
        "14 output_blocked",
        "18446744073709551615 prepared",
        "15 prepared mpi=pmix",
        "16 aborted local_rank=3",
        "17 gather operation=j/f nodes=0,1,12 data=abc",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char line[128];
        struct event ev;
        struct event_parts parts = {0};
        struct err e;
        strcpy(line, lines[i]);
        assert_int_equal(event_parse(line, &ev, &parts, &e), 0);
        char *text = formatted(&ev);
        assert_string_equal(text, lines[i]);
        free(text);
    }
}

static void every_event_and_effect_has_a_name(void **state)
{
    (void)state;
    for (int type = 0; type < EVENT_TYPE_COUNT; type++) {
        struct event ev = {.type = (enum event_type)type};
        struct event_parts parts = {0};
        struct err e;
        char *text = formatted(&ev);
        char *end = strchr(strchr(text, ' ') + 1, ' ');
        if (end)
            *end = '\0';
        if (type != EV_FRAME)
            assert_int_equal(event_parse(text, &ev, &parts, &e), 0);
        assert_int_equal(ev.type, type);
        free(text);
    }
    for (int type = 0; type < EFFECT_TYPE_COUNT; type++) {
        struct effect fx = {.type = (enum effect_type)type};
        struct buf out;
        buf_init(&out, 0);
        effect_format(&fx, &out);
        assert_true(out.len > 0);
        buf_fini(&out);
    }
}

static void bad_texts_are_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "tick",
        "x tick",
        "5",
        "5 tock",
        "5 tick now=1",
        "5 signal signo",
        "5 signal signo=15",
        "5 signal signo=SIGNONE",
        "5 boot port=65536",
        "5 spawned pid=4294967296",
        "5 exited end=exit",
        "5 exited end=exit:256",
        "5 exited end=left:1",
        "5 frame",
        "5 frame 0 hello",
        "5 frame 0 hallo 0",
        "5 frame x hello 0",
        "5 frame 0 plan 0 order=first",
        "5 frame 0 plan 0 order=fist=1",
        "5 prepared mpi=slurm",
        "5 gather nodes=0,a",
        "5 frame 0 start 0 layout=a",
        "5 frame 0 start 0 layout=a:x",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char line[128];
        struct event ev;
        struct event_parts parts = {0};
        struct err e;
        strcpy(line, lines[i]);
        if (event_parse(line, &ev, &parts, &e) == 0)
            fail_msg("'%s' was taken", lines[i]);
        assert_int_equal(e.code, ERR_USAGE);
    }
}

static void frames_come_back(void **state)
{
    (void)state;
    char line[] = "3 frame 2 exited 1 local_rank=4 pid=77 end=exit:3 gpu=- tail=-";
    struct event ev;
    struct event_parts parts = {0};
    struct err e;
    assert_int_equal(event_parse(line, &ev, &parts, &e), 0);
    assert_int_equal(ev.u.frame.node, 2);
    assert_int_equal(ev.u.frame.frame.generation, 1);
    assert_int_equal(ev.u.frame.frame.u.exited.pid, 77);
    assert_null(ev.u.frame.frame.u.exited.gpu);
}

static void signals_have_one_name(void **state)
{
    (void)state;
    for (int i = 1; i < SIGNAL_NAMES_END; i++)
        assert_int_equal(signal_number(str_from(signal_name(i))), i);
    assert_string_equal(signal_name(15), "SIGTERM");
    assert_string_equal(signal_name(SIGNAL_NAMES_END), "real-time signal");
    assert_string_equal(signal_name(-1), "real-time signal");
    assert_int_equal(signal_number(STR_LIT("SIGPOLL")), 29);
    assert_int_equal(signal_number(STR_LIT("SIG0")), -1);
    assert_int_equal(signal_number(STR_LIT("TERM")), -1);
    assert_int_equal(signal_number(STR_LIT("sigterm")), -1);
    assert_int_equal(signal_number((struct str){NULL, 0}), -1);
}

static void a_queue_keeps_its_order(void **state)
{
    (void)state;
    struct event_queue q = {0};
    struct event ev = {.type = EV_TICK};
    uint64_t in = 0, out = 0;
    assert_false(event_queue_pop(&q, &ev));
    for (int round = 0; round < 200; round++) { /* grows while its head is anywhere */
        for (int i = 0; i < 3; i++) {
            ev.now_ms = in++;
            event_queue_push(&q, &ev);
        }
        for (int i = 0; i < 2; i++) {
            assert_true(event_queue_pop(&q, &ev));
            assert_int_equal(ev.now_ms, out++);
        }
    }
    while (event_queue_pop(&q, &ev))
        assert_int_equal(ev.now_ms, out++);
    assert_int_equal(in, out);
    event_queue_fini(&q);
}

static void notes_have_words(void **state)
{
    (void)state;
    struct effects fx = {0};
    for (int id = 0; id < NOTE_COUNT; id++) {
        struct note *note = note_add(&fx, (enum note_id)id);
        note->rank = 3;
        note->node = 4;
        note->number = 15;
        note->text = "why";
        struct buf out;
        buf_init(&out, 0);
        note_format(note, &out);
        assert_true(out.len > 0);
        assert_null(strchr(buf_str(&out), '{'));
        assert_null(strchr(buf_str(&out), '\n'));
        assert_true(note_level(note) <= LOG_DEBUG);
        assert_non_null(note_name((enum note_id)id));
        buf_fini(&out);
    }
    struct buf out;
    buf_init(&out, 0);
    note_format(&fx.items[NOTE_INTERRUPTED].u.note, &out);
    assert_non_null(strstr(buf_str(&out), "SIGTERM"));
    buf_fini(&out);
    effects_fini(&fx);
}

static void signals_have_names(void **state)
{
    (void)state;
    assert_string_equal(signal_name(15), "SIGTERM");
    assert_string_equal(signal_name(9), "SIGKILL");
    assert_string_equal(signal_name(31), "SIGSYS");
    static const int odd[] = {-1, 32, 64, 1000};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        assert_non_null(signal_name(odd[i]));
}

static void statuses(void **state)
{
    (void)state;
    static const struct {
        struct worker_end end;
        int status;
    } rows[] = {
        {{END_EXIT, 7, false}, 7},        {{END_EXIT, 255, false}, 255},
        {{END_SIGNAL, 9, false}, 137},    {{END_SIGNAL, 11, true}, 139},
        {{END_EXEC, ENOENT, false}, 127}, {{END_EXEC, ENOTDIR, false}, 127},
        {{END_EXEC, EACCES, false}, 126}, {{END_EXEC, ENOEXEC, false}, 126},
        {{END_EXEC, EISDIR, false}, 126}, {{END_EXEC, EPERM, false}, 126},
        {{END_EXEC, EMFILE, false}, 125}, {{END_EXEC, E2BIG, false}, 125},
        {{END_UNKNOWN, 0, false}, 125},
    };
    struct verdict v = {.kind = VERDICT_OK};
    assert_int_equal(verdict_exit_status(&v), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        v = (struct verdict){.kind = VERDICT_WORKER, .end = rows[i].end};
        assert_int_equal(verdict_exit_status(&v), rows[i].status);
        assert_true(worker_end_is_failure(&rows[i].end));
    }
    v = (struct verdict){.kind = VERDICT_SIGNAL, .signo = 2};
    assert_int_equal(verdict_exit_status(&v), 130);
    v = (struct verdict){.kind = VERDICT_TIME_LIMIT};
    assert_int_equal(verdict_exit_status(&v), 124);
    for (int code = 1; code < ERR_CODE_COUNT; code++) {
        v = (struct verdict){.kind = VERDICT_ERROR, .err.code = (enum err_code)code};
        assert_int_equal(verdict_exit_status(&v), err_exit_status((enum err_code)code));
        assert_int_not_equal(verdict_exit_status(&v), 0);
    }
    const struct worker_end well = {END_EXIT, 0, false};
    assert_false(worker_end_is_failure(&well));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_have_a_text),
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(every_event_and_effect_has_a_name),
        cmocka_unit_test(bad_texts_are_refused),
        cmocka_unit_test(frames_come_back),
        cmocka_unit_test(signals_have_one_name),
        cmocka_unit_test(a_queue_keeps_its_order),
        cmocka_unit_test(notes_have_words),
        cmocka_unit_test(signals_have_names),
        cmocka_unit_test(statuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
