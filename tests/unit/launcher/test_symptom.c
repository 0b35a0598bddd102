/* symptom: known lines are explained, the particular before the general, nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "launcher/core/doctor_rules.h"
#include "launcher/core/symptom.h"

static void expect(const char *tail, const char *id)
{
    const struct symptom *s = symptom_find(tail);
    assert_non_null(s);
    assert_string_equal(s->id, id);
}

static void lines_as_they_are_seen(void **state)
{
    (void)state;
    expect("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
           "cuda.memory");
    expect(
        "init.cc:1000 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA "
        "device 1000\nncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
        "gpu.duplicate");
    expect(
        "ncclSystemError: System call (e.g. socket, malloc) or external library call failed\n"
        "NCCL error: unhandled system error",
        "nccl.system");
    expect("misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-ab to 9637892 "
           "bytes\nunhandled system error",
           "shm.size");
    expect("RuntimeError: The server socket has failed to listen on any local network address. "
           "The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in "
           "use).",
           "port.used");
    expect("OSError: [Errno 98] address already in use", "port.used");
    expect("ModuleNotFoundError: No module named 'torch'", "python.module");
}

static void the_particular_comes_first(void **state)
{
    (void)state;
    expect("unhandled system error\nNo space left on device (28)\nfailed to extend /dev/shm/x",
           "shm.size");
    expect("unhandled cuda error\nCUDA error: invalid device ordinal", "gpu.ordinal");
}

static void what_is_not_known_is_not_explained(void **state)
{
    (void)state;
    assert_null(symptom_find(NULL));
    assert_null(symptom_find(""));
    assert_null(symptom_find("ValueError: boom"));
}

/* Every row can be reached: no earlier row's text is a part of its text. */
static void no_row_hides_another(void **state)
{
    (void)state;
    size_t n;
    const struct symptom *rows = symptom_rows(&n);
    assert_true(n > 20);
    for (size_t i = 0; i < n; i++) {
        assert_ptr_equal(symptom_find(rows[i].text), &rows[i]);
        assert_non_null(doctor_rule_find(rows[i].id));
        assert_true(*symptom_cause(&rows[i]) && *symptom_fix(&rows[i]));
        assert_null(strchr(symptom_fix(&rows[i]), '\n'));
    }
}

static void exit_codes_of_the_worker(void **state)
{
    (void)state;
    assert_string_equal(symptom_of_worker("/opt/bin/muster-worker", 10)->id, "data.flaky");
    assert_string_equal(symptom_of_worker("muster-worker", 12)->id, "rank.missing");
    assert_non_null(doctor_rule_find(symptom_of_worker("muster-worker", 12)->id));
    assert_null(symptom_of_worker("muster-worker", 1));
    assert_null(symptom_of_worker("./train", 10));
    assert_null(symptom_of_worker(NULL, 10));
}

static void exit_codes(void **state)
{
    (void)state;
    assert_non_null(strstr(symptom_exit_code(139), "SIGSEGV"));
    assert_non_null(strstr(symptom_exit_code(134), "SIGABRT"));
    assert_non_null(strstr(symptom_exit_code(137), "memory"));
    assert_null(symptom_exit_code(1));
    assert_null(symptom_exit_code(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_as_they_are_seen),
        cmocka_unit_test(the_particular_comes_first),
        cmocka_unit_test(what_is_not_known_is_not_explained),
        cmocka_unit_test(no_row_hides_another),
        cmocka_unit_test(exit_codes_of_the_worker),
        cmocka_unit_test(exit_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
