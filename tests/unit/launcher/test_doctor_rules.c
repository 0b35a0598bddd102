/* The rules of doctor on recorded evidence: tests/vectors/doctor/<rule>-<case>.txt, "fires"
 * and "silent" for every rule of rules.txt. --rewrite writes the answers anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/doctor_judge.h"
#include "launcher/core/doctor_rules.h"
#include "launcher/core/symptom.h"

static const char folder[] = TESTS_DIR "/vectors/doctor";
static bool is_rewriting;

enum { HOSTS_MAX = 8, ALL = RULE_HOST | RULE_WORKER | RULE_ACROSS | RULE_TEST };

static char *read_file(const char *name)
{
    struct buf text;
    char *path = mem_printf("%s/%s", folder, name);
    FILE *f = fopen(path, "re");
    if (!f)
        fail_msg("%s: cannot be read", path);
    buf_init(&text, 0);
    for (int c; (c = getc(f)) != EOF;)
        buf_addc(&text, (char)c);
    fclose(f);
    free(path);
    return buf_steal(&text);
}

static void write_file(const char *name, const char *input, const char *answer)
{
    char *path = mem_printf("%s/%s", folder, name);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fprintf(f, "%s----\n%s", input, answer);
    fclose(f);
    free(path);
}

/* ---- a vector: "host NAME" and its evidence, or "log" and the words of a failed rank ---- */

static size_t read_hosts(const char *name, char *input, struct host_evidence *hosts)
{
    size_t n = 0;
    struct err e;
    for (char *at = input; (at = strstr(at, "host ")) != NULL; n++) {
        char *begin = at + strcspn(at, "\n"), *next = strstr(begin, "\nhost ");
        size_t len = next ? (size_t)(next - begin) : strlen(begin);
        assert_true(n < HOSTS_MAX);
        hosts[n] = (struct host_evidence){0};
        hosts[n].host = mem_printf("%.*s", (int)(begin - at - 5), at + 5);
        if (evidence_parse((struct str){begin, len}, &hosts[n], &e) < 0)
            fail_msg("%s: %s", name, e.text);
        at = begin + len;
    }
    return n;
}

static void judge_hosts(const char *name, const char *id, char *input, struct buf *answer)
{
    struct host_evidence hosts[HOSTS_MAX];
    const struct host_evidence *list[HOSTS_MAX];
    struct finding_list findings = {0};
    const char *only[] = {id, NULL};
    const struct doctor_choice choice = {.only = only, .where = ALL};
    size_t n = read_hosts(name, input, hosts);
    for (size_t i = 0; i < n; i++)
        list[i] = &hosts[i];
    doctor_judge(&choice, list, n, &findings);
    for (size_t i = 0; i < findings.n; i++) {
        assert_string_equal(findings.items[i].rule, id);
        finding_format(&findings.items[i], answer);
    }
    finding_list_fini(&findings);
    for (size_t i = 0; i < n; i++)
        evidence_clear(&hosts[i]);
}

static void judge_log(const char *log, struct buf *answer)
{
    const struct symptom *s = symptom_find(log);
    if (s)
        buf_addf(answer, "%s\n", s->id);
}

static void run_vector(const char *name)
{
    char *text = read_file(name), *line = strstr(text, "----\n");
    struct buf answer;
    char *id = mem_strdup(name);
    id[strcspn(id, "-")] = '\0';
    if (!line || !doctor_rule_find(id))
        fail_msg("%s: it has no line ----, or is named after no rule", name);
    *line = '\0';
    buf_init(&answer, 0);
    char *input = mem_strdup(text);
    if (strncmp(text, "log\n", 4) == 0)
        judge_log(text + 4, &answer);
    else
        judge_hosts(name, id, text, &answer);
    bool has_fired = strncmp(buf_str(&answer), "?", 1) != 0 && answer.len > 0;
    if (strstr(name, "-fires") && !has_fired)
        fail_msg("%s: the rule is silent", name);
    if (strstr(name, "-silent") && strcmp(buf_str(&answer), "") != 0
        && strncmp(text, "log\n", 4) != 0)
        fail_msg("%s: the rule says %s", name, buf_str(&answer));
    if (is_rewriting)
        write_file(name, input, buf_str(&answer));
    else if (strcmp(buf_str(&answer), line + 5) != 0)
        fail_msg("%s: expected\n%s\nhad\n%s", name, line + 5, buf_str(&answer));
    buf_fini(&answer);
    free(input);
    free(id);
    free(text);
}

static void every_vector(void **state)
{
    DIR *dir = opendir(folder);
    unsigned n = 0;
    (void)state;
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (!strstr(entry->d_name, "-") || !strstr(entry->d_name, ".txt"))
            continue;
        run_vector(entry->d_name);
        n++;
    }
    closedir(dir);
    assert_true(n >= 80);
}

/* ---- the list ---- */

static void expect_vector(const char *id, const char *kind)
{
    char *path = mem_printf("%s/%s-%s.txt", folder, id, kind);
    FILE *f = fopen(path, "re");
    if (!f)
        fail_msg("there is no %s", path);
    fclose(f);
    free(path);
}

static void every_rule_of_the_list_has_a_row_and_two_tests(void **state)
{
    char *text = read_file("rules.txt");
    struct str rest = str_from(text), line;
    unsigned n = 0;
    (void)state;
    while (str_split(&rest, '\n', &line)) {
        char *id = mem_printf("%.*s", STR_ARG(line));
        if (line.n) {
            if (!doctor_rule_find(id))
                fail_msg("there is no rule %s", id);
            expect_vector(id, "fires");
            expect_vector(id, "silent");
            n++;
        }
        free(id);
    }
    assert_int_equal(n, 44);
    free(text);
}

static bool is_listed(const char *list, const char *id)
{
    struct str rest = str_from(list), line;
    while (str_split(&rest, '\n', &line))
        if (str_eq(line, id))
            return true;
    return false;
}

static void every_row_is_complete_and_listed(void **state)
{
    size_t n;
    const struct rule *rules = doctor_rules(&n);
    char *list = read_file("rules.txt");
    (void)state;
    for (size_t i = 0; i < n; i++) {
        bool is_judged = rules[i].check || rules[i].compare;
        assert_ptr_equal(doctor_rule_find(rules[i].id), &rules[i]);
        assert_true(*rules[i].title && *rules[i].fix && rules[i].where);
        assert_false(rules[i].check && rules[i].compare);
        assert_true(is_judged
                    == ((rules[i].where & (RULE_HOST | RULE_WORKER | RULE_ACROSS)) != 0));
        if (is_listed(list, rules[i].id))
            assert_true(rules[i].looks && rules[i].symptom);
        else
            assert_int_equal(rules[i].where, RULE_AFTER);
    }
    free(list);
}

/* ---- what is missing is not a pass ---- */

static void without_evidence_nothing_passes(void **state)
{
    size_t n;
    const struct rule *rules = doctor_rules(&n);
    struct host_evidence a = {0}, b = {0};
    const struct host_evidence *hosts[] = {&a, &b};
    (void)state;
    a.host = mem_strdup("a");
    b.host = mem_strdup("b");
    for (size_t i = 0; i < n; i++) {
        const char *only[] = {rules[i].id, NULL};
        const struct doctor_choice choice = {.only = only, .where = ALL};
        struct finding_list findings = {0};
        if (!rules[i].check && !rules[i].compare)
            continue;
        doctor_judge(&choice, hosts, 2, &findings);
        if (findings.n == 0 || findings.items[0].level != FINDING_UNKNOWN)
            fail_msg("%s passes without evidence", rules[i].id);
        for (size_t k = 0; k < findings.n; k++)
            assert_int_equal(findings.items[k].level, FINDING_UNKNOWN);
        finding_list_fini(&findings);
    }
    evidence_clear(&a);
    evidence_clear(&b);
}

/* ---- which are asked ---- */

static void lists_name_rules_there_are(void **state)
{
    struct err e;
    const char *unknown[] = {"shm.sizes", NULL}, *running[] = {"rank.missing", NULL};
    (void)state;
    assert_int_equal(
        doctor_choice_check(&(struct doctor_choice){.only = unknown, .where = ALL}, &e), -1);
    assert_non_null(strstr(e.text, "the nearest is shm.size"));
    assert_int_equal(
        doctor_choice_check(&(struct doctor_choice){.skip = running, .where = ALL}, &e), -1);
    assert_non_null(strstr(e.text, "in a running job"));
    assert_int_equal(doctor_choice_check(&(struct doctor_choice){.where = ALL}, &e), 0);
}

static void chosen_skipped_and_hardened(void **state)
{
    struct host_evidence ev = {0};
    const struct host_evidence *hosts[] = {&ev};
    const char *skip[] = {"env.leftover", NULL};
    struct finding_list findings = {0};
    (void)state;
    struct evidence_setting *s = evidence_setting_add(&ev);
    evidence_set_text(&s->name, "NCCL_ALGO");
    evidence_set_text(&s->value, "Ring");
    doctor_judge(&(struct doctor_choice){.where = RULE_HOST, .is_strict = true}, hosts, 1,
                 &findings);
    assert_int_equal(finding_list_count(&findings, FINDING_ERROR), 1);
    assert_string_equal(findings.items[0].rule, "env.leftover");
    finding_list_fini(&findings);
    doctor_judge(&(struct doctor_choice){.skip = skip, .where = RULE_HOST}, hosts, 1,
                 &findings);
    assert_int_equal(finding_list_count(&findings, FINDING_WARNING), 0);
    finding_list_fini(&findings);
    doctor_judge(&(struct doctor_choice){.where = RULE_WORKER}, hosts, 1, &findings);
    assert_int_equal(finding_list_count(&findings, FINDING_WARNING), 0);
    finding_list_fini(&findings);
    evidence_clear(&ev);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector),
        cmocka_unit_test(every_rule_of_the_list_has_a_row_and_two_tests),
        cmocka_unit_test(every_row_is_complete_and_listed),
        cmocka_unit_test(without_evidence_nothing_passes),
        cmocka_unit_test(lists_name_rules_there_are),
        cmocka_unit_test(chosen_skipped_and_hardened),
    };
    is_rewriting = argc > 1 && strcmp(argv[1], "--rewrite") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
