#include "launcher/core/pulse.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/notify_parse.h"

struct beat {
    uint64_t last_ms;          /* its last sign of life */
    uint64_t since_ms, due_ms; /* since when it is waited for, until when; UINT64_MAX = not */
    struct maybe_u64 step;
    uint64_t section_ms; /* own limit of the open section, 0 = none */
    bool is_alive, has_beaten, is_told;
    char section[NOTIFY_SECTION_MAX]; /* "" = none is open */
    char status[NOTIFY_STATUS_MAX];
};

struct pulse {
    uint64_t heartbeat_ms, silence_ms;
    uint64_t output_ms, silence_due_ms; /* output: last seen, or when the limit began again */
    unsigned held;                      /* bits of the reasons */
    bool is_asked, is_silence_told, has_spoken_again;
    uint32_t nworkers;
    struct beat beats[];
};

struct pulse *pulse_new(uint32_t nworkers, uint64_t heartbeat_ms, uint64_t silence_ms)
{
    struct pulse *p = mem_alloc(1, sizeof *p + nworkers * sizeof p->beats[0]);
    p->nworkers = nworkers;
    p->heartbeat_ms = heartbeat_ms;
    p->silence_ms = silence_ms;
    p->silence_due_ms = UINT64_MAX;
    for (uint32_t i = 0; i < nworkers; i++)
        p->beats[i].due_ms = UINT64_MAX;
    return p;
}

void pulse_free(struct pulse *p)
{
    free(p);
}

static void set_due(const struct pulse *p, struct beat *b, uint64_t from_ms)
{
    uint64_t limit = b->section[0] && b->section_ms ? b->section_ms : p->heartbeat_ms;
    bool is_due = p->heartbeat_ms && b->is_alive && b->has_beaten;
    b->since_ms = from_ms;
    b->due_ms = is_due ? from_ms + limit : UINT64_MAX;
}

void pulse_restart(struct pulse *p, uint64_t now_ms)
{
    p->output_ms = now_ms;
    p->silence_due_ms = p->silence_ms ? now_ms + p->silence_ms : UINT64_MAX;
    p->has_spoken_again = p->has_spoken_again || p->is_silence_told;
    p->is_silence_told = false;
    for (uint32_t i = 0; i < p->nworkers; i++)
        set_due(p, &p->beats[i], now_ms);
}

void pulse_start(struct pulse *p, uint64_t now_ms)
{
    for (uint32_t i = 0; i < p->nworkers; i++)
        p->beats[i].is_alive = true;
    pulse_restart(p, now_ms);
}

/* "+save" opens, "-save" closes what is open, whatever its name. */
static void take_section(struct beat *b, const struct sign *sign)
{
    b->section[0] = '\0';
    b->section_ms = 0;
    if (sign->section[0] != '+')
        return;
    strncat(b->section, sign->section + 1, sizeof b->section - 1);
    b->section_ms = sign->section_ms;
}

void pulse_sign(struct pulse *p, uint32_t local_rank, const struct sign *sign, uint64_t now_ms)
{
    struct beat *b = &p->beats[local_rank];
    if (sign->step.is_known)
        b->step = sign->step;
    if (sign->section && sign->section[0])
        take_section(b, sign);
    if (sign->status) {
        b->status[0] = '\0';
        strncat(b->status, sign->status, sizeof b->status - 1);
    }
    if (!sign->is_alive)
        return;
    b->last_ms = now_ms;
    b->has_beaten = true;
    b->is_told = false;
    set_due(p, b, now_ms);
}

void pulse_end(struct pulse *p, uint32_t local_rank)
{
    p->beats[local_rank].is_alive = false;
    p->beats[local_rank].due_ms = UINT64_MAX;
}

void pulse_hold(struct pulse *p, enum pulse_hold_reason why, bool is_held, uint64_t now_ms)
{
    unsigned bit = 1u << why, before = p->held;
    p->held = is_held ? p->held | bit : p->held & ~bit;
    if (before && !p->held)
        pulse_restart(p, now_ms);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t pulse_deadline(const struct pulse *p)
{
    if (p->held || p->is_asked)
        return UINT64_MAX;
    uint64_t due = p->silence_due_ms;
    for (uint32_t i = 0; p->heartbeat_ms && i < p->nworkers; i++)
        due = p->beats[i].is_told ? due : least(due, p->beats[i].due_ms);
    return due;
}

void pulse_ask(struct pulse *p)
{
    p->is_asked = true;
}

void pulse_looked(struct pulse *p, uint64_t output_at_ms, uint64_t now_ms)
{
    p->is_asked = false;
    if (!p->silence_ms || output_at_ms <= p->output_ms)
        return;
    p->output_ms = least(output_at_ms, now_ms);
    p->silence_due_ms = p->output_ms + p->silence_ms;
    p->has_spoken_again = p->is_silence_told && p->silence_due_ms > now_ms;
    p->is_silence_told = p->is_silence_told && !p->has_spoken_again;
}

static struct beat *longest_overdue(struct pulse *p, uint64_t now_ms)
{
    struct beat *found = NULL;
    for (uint32_t i = 0; i < p->nworkers; i++) {
        struct beat *b = &p->beats[i];
        if (!b->is_told && b->due_ms <= now_ms && (!found || b->due_ms < found->due_ms))
            found = b;
    }
    return found;
}

bool pulse_hung(struct pulse *p, uint64_t now_ms, struct hang *hang)
{
    *hang = (struct hang){HANG_NONE, 0, 0};
    if (p->held || p->is_asked)
        return false;
    if (p->has_spoken_again) {
        p->has_spoken_again = false;
        return true;
    }
    struct beat *late = longest_overdue(p, now_ms);
    if (late) {
        late->is_told = true;
        *hang =
            (struct hang){HANG_HEARTBEAT, (uint32_t)(late - p->beats), now_ms - late->since_ms};
        return true;
    }
    if (now_ms < p->silence_due_ms)
        return false;
    p->is_silence_told = true;
    p->silence_due_ms = UINT64_MAX;
    *hang = (struct hang){HANG_SILENCE, 0, now_ms - p->output_ms};
    return true;
}

void pulse_facts(const struct pulse *p, uint32_t local_rank, uint64_t now_ms,
                 struct rank_facts *out)
{
    const struct beat *b = &p->beats[local_rank];
    out->step = b->step;
    out->quiet_ms =
        b->has_beaten ? (struct maybe_u64){true, now_ms - b->last_ms} : (struct maybe_u64){0};
    out->section = b->section[0] ? b->section : NULL;
    out->status = b->status[0] ? b->status : NULL;
}
