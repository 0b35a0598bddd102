/* What another host says of itself, and what a worker's probe prints: whatever it is, reading
 * it twice through its own text form changes nothing, and every rule can judge it.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "launcher/core/doctor_judge.h"
#include "launcher/core/probe_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(const struct host_evidence *ev)
{
    const struct host_evidence *hosts[] = {ev, ev};
    const struct doctor_choice choice = {.where =
                                             RULE_HOST | RULE_WORKER | RULE_ACROSS | RULE_TEST};
    struct finding_list findings = {0};
    struct buf text;
    doctor_judge(&choice, hosts, 2, &findings);
    buf_init(&text, 0);
    doctor_format(&findings, 2, true, &text);
    doctor_json(&findings, hosts, 2, 0, 78, &text);
    buf_fini(&text);
    finding_list_fini(&findings);
}

static void come_back(const struct host_evidence *ev)
{
    struct host_evidence again = {0};
    struct buf first, second;
    struct err e;
    buf_init(&first, 0);
    buf_init(&second, 0);
    evidence_format(ev, &first);
    assert(evidence_parse((struct str){buf_str(&first), first.len}, &again, &e) == 0);
    evidence_format(&again, &second);
    assert(strcmp(buf_str(&first), buf_str(&second)) == 0);
    buf_fini(&second);
    buf_fini(&first);
    evidence_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct host_evidence ev = {0};
    struct err e;
    if (!size)
        return 0;
    struct str text = {(const char *)data + 1, size - 1};
    if (data[0] % 2)
        probe_answer_read(text, &ev);
    else if (evidence_parse(text, &ev, &e) < 0)
        assert(e.code == ERR_PROTOCOL);
    come_back(&ev);
    judge(&ev);
    evidence_clear(&ev);
    return 0;
}
