#include "launcher/io/check_store.h"

#include "launcher/core/check_trace.h"
#include "rendezvous/port.h"

bool check_store_result(const struct port *port, struct buf *json)
{
    return port_store_value(port, CHECK_TRACE_RESULT, json);
}

static void read_phase(const struct port *port, enum check_phase phase, struct check_rank *rank)
{
    struct buf key, value;
    buf_init(&key, 0);
    buf_init(&value, 0);
    check_trace_phase_key(rank->rank, phase, &key);
    if (port_store_value(port, buf_str(&key), &value))
        check_trace_phase(buf_str(&value), phase, rank);
    buf_fini(&value);
    buf_fini(&key);
}

static void read_record(const struct port *port, struct check_rank *rank)
{
    struct buf key, value;
    buf_init(&key, 0);
    buf_init(&value, 0);
    check_trace_record_key(rank->rank, &key);
    if (port_store_value(port, buf_str(&key), &value))
        check_trace_record(buf_str(&value), rank);
    buf_fini(&value);
    buf_fini(&key);
}

void check_store_trace(const struct port *port, struct check_result *r)
{
    for (size_t i = 0; i < r->nranks; i++) {
        read_record(port, &r->ranks[i]);
        for (int phase = 0; phase < CHECK_PHASE_COUNT; phase++)
            read_phase(port, (enum check_phase)phase, &r->ranks[i]);
    }
}
