/* notify: messages and their senders through the real socket; what is not understood is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/io/notify.h"

struct stage {
    uv_loop_t loop;
    struct watch_set *watches;
    struct notify *notify;
    int nmessages, nrefused;
    pid_t sender;
    struct notify_message last;
    char refusal[256];
};

static void on_message(void *ctx, pid_t pid, const struct notify_message *m)
{
    struct stage *s = ctx;
    s->nmessages++;
    s->sender = pid;
    s->last = *m;
}

static void on_refused(void *ctx, pid_t pid, const struct err *e)
{
    struct stage *s = ctx;
    s->nrefused++;
    s->sender = pid;
    snprintf(s->refusal, sizeof s->refusal, "%s", e->text);
}

static void begin(struct stage *s)
{
    const struct notify_events events = {s, on_message, on_refused};
    struct err e;
    memset(s, 0, sizeof *s);
    uv_loop_init(&s->loop);
    s->watches = watch_set_new(&s->loop, &e);
    assert_non_null(s->watches);
    s->notify = notify_open(s->watches, &events, &e);
    assert_non_null(s->notify);
}

static void end(struct stage *s)
{
    notify_close(s->notify);
    watch_set_close(s->watches);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&s->loop), 0);
}

/* What has been sent is there: one round of the loop reads it. */
static void send_text(struct stage *s, const char *text)
{
    struct err e;
    assert_int_equal(notify_send(notify_address(s->notify), text, strlen(text), &e), 0);
    uv_run(&s->loop, UV_RUN_NOWAIT);
}

static void a_message_arrives_with_its_sender(void **state)
{
    (void)state;
    struct stage s;
    begin(&s);
    assert_int_equal(notify_address(s.notify)[0], '@');
    send_text(&s, "STEP=17\nSTATUS=fine");
    assert_int_equal(s.nmessages, 1);
    assert_int_equal(s.sender, getpid());
    assert_int_equal(s.last.step.value, 17);
    assert_string_equal(s.last.status, "fine");
    end(&s);
}

static void another_process_is_told_apart(void **state)
{
    (void)state;
    struct stage s;
    begin(&s);
    pid_t pid = fork();
    if (pid == 0) {
        struct err e;
        _exit(notify_send(notify_address(s.notify), "READY=1", 7, &e) < 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    uv_run(&s.loop, UV_RUN_NOWAIT);
    assert_int_equal(s.sender, pid);
    end(&s);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct stage s;
    begin(&s);
    send_text(&s, "STEP=seventeen");
    assert_int_equal(s.nmessages, 0);
    assert_int_equal(s.nrefused, 1);
    assert_non_null(strstr(s.refusal, "'STEP=seventeen' is not understood"));
    send_text(&s, "");
    assert_int_equal(s.nmessages, 1);
    end(&s);
}

/* Long datagrams are cut by the kernel: the part that is there is judged. */
static void a_long_message_does_no_harm(void **state)
{
    (void)state;
    struct stage s;
    char text[3 * NOTIFY_BYTES_MAX];
    begin(&s);
    memset(text, 'x', sizeof text);
    memcpy(text, "STEP=3\nSTATUS=", 14);
    text[sizeof text - 1] = '\0';
    send_text(&s, text);
    assert_int_equal(s.last.step.value, 3);
    end(&s);
}

static void sending_never_waits(void **state)
{
    (void)state;
    struct stage s;
    struct err e;
    begin(&s);
    int rc = 0;
    for (int i = 0; i < 100000 && rc == 0; i++) /* nobody reads: the queue is full at last */
        rc = notify_send(notify_address(s.notify), "HEARTBEAT=1", 11, &e);
    assert_int_equal(rc, -1);
    assert_int_equal(e.code, ERR_SYSTEM);
    end(&s);
}

static void addresses_that_are_none(void **state)
{
    (void)state;
    struct err e;
    char longer[200];
    memset(longer, 'a', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(notify_send("", "READY=1", 7, &e), -1);
    assert_int_equal(notify_send(longer, "READY=1", 7, &e), -1);
    assert_int_equal(e.code, ERR_USAGE);
    assert_int_equal(notify_send("/nowhere/at/all", "READY=1", 7, &e), -1);
    assert_int_equal(e.code, ERR_SYSTEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_arrives_with_its_sender),
        cmocka_unit_test(another_process_is_told_apart),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(a_long_message_does_no_harm),
        cmocka_unit_test(sending_never_waits),
        cmocka_unit_test(addresses_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
