/* muster explain CODE: what an error code means, from the registry, or all codes with an exit
 * status; or a rule of doctor. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "launcher/cmd/cmd.h"
#include "launcher/core/doctor_rules.h"
#include "launcher/core/signal_names.h"
#include "launcher/core/symptom.h"

static void print_row(enum err_code code)
{
    printf("%-15s exit %3d  %s\n", err_name(code), err_exit_status(code), err_hint(code));
}

static void print_rule(const struct rule *rule)
{
    struct buf text;
    buf_init(&text, 0);
    doctor_rule_format(rule, &text);
    fputs(buf_str(&text), stdout);
    buf_fini(&text);
}

static void print_rules(void)
{
    size_t n;
    const struct rule *rules = doctor_rules(&n);
    printf("\nRules of `muster doctor`, and what is known of a failed rank's last lines:\n");
    for (size_t i = 0; i < n; i++)
        printf("%-17s %-8s %s\n", rules[i].id, finding_level_name(rules[i].level),
               rules[i].title);
}

/* All codes that end with this status; how many there are. */
static int print_codes(int status)
{
    int n = 0;
    for (int code = 1; code < ERR_CODE_COUNT; code++)
        if (err_exit_status((enum err_code)code) == status) {
            print_row((enum err_code)code);
            n++;
        }
    return n;
}

/* What is no code of muster's: the status of a signal, or a worker's own that means something.
 */
static int print_others(int status)
{
    int signo = status - 128;
    bool is_signal = signo > 0 && signo < SIGNAL_NAMES_END;
    const char *custom = symptom_exit_code(status);
    if (is_signal)
        printf(
            "%-15s exit %3d  128+%d: it ended the worker that failed first, or muster itself\n",
            signal_name(signo), status, signo);
    if (custom)
        printf("%-15s exit %3d  of a worker itself: %s\n", is_signal ? "" : "-", status,
               custom);
    return is_signal || custom;
}

static int fail_status(int status)
{
    struct err e;
    err_set(&e, ERR_USAGE,
            "explain: %d is no status of muster's own; it is that of the worker that failed "
            "first (of muster check and muster-worker: muster-worker --help)",
            status);
    return cmd_fail(&e);
}

static int explain_status(int status)
{
    if (status == 0)
        printf("%-15s exit   0  every worker ended with 0\n", "OK");
    else if (!print_codes(status) && !print_others(status))
        return fail_status(status);
    return 0;
}

int cmd_explain(char *const *args)
{
    uint64_t status;
    if (args[0] && args[1]) {
        struct err e;
        err_set(&e, ERR_USAGE, "explain: one word at a time; '%s' is a second one", args[1]);
        return cmd_fail(&e);
    }
    if (args[0] && str_parse_u64(str_from(args[0]), 0, 255, &status) == 0)
        return explain_status((int)status);
    for (int code = 1; code < ERR_CODE_COUNT; code++) {
        if (args[0] && strcasecmp(args[0], err_name((enum err_code)code)) != 0)
            continue;
        print_row((enum err_code)code);
        if (args[0])
            return 0;
    }
    if (!args[0]) {
        print_rules();
        return 0;
    }
    const struct rule *rule = doctor_rule_find(args[0]);
    if (rule) {
        print_rule(rule);
        return 0;
    }
    struct err e;
    err_set(&e, ERR_USAGE,
            "explain: no code and no rule is called '%s'; the nearest rule is %s (`muster "
            "explain` lists all)",
            args[0], doctor_rule_nearest(args[0])->id);
    return cmd_fail(&e);
}
