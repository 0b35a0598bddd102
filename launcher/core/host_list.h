/* host_list.h - the hosts of a job, as read from a hostfile, --hosts or a scheduler's list.
 *
 * Owns the list, finding a host by its name, and the canonical text of one. Reading is
 * hostfile's and host_option's, choosing host_filter's. Order is that of the first mention.
 */
#ifndef MUSTER_LAUNCHER_CORE_HOST_LIST_H
#define MUSTER_LAUNCHER_CORE_HOST_LIST_H

#include "base/buf.h"
#include "launcher/core/host_fault.h"

/* How a host was written, for whether another line of it may join. */
enum host_shape {
    HOST_BARE, /* nothing but the name: lines add up to slots */
    HOST_GPUS, /* only gpus=: lines are joined */
    HOST_FULL  /* anything else stands once */
};

/* Which slots of a host take part; slot K is the worker that would be local rank K. */
struct host_slots {
    uint64_t *bits; /* owned, HOST_SLOTS_MAX of them; NULL = all slots */
    bool is_except; /* bits are those that do not; only where the number is not known */
};

/* What gpus= has chosen so far; auto, none and n:N stand alone, also over joined lines. */
struct host_gpus {
    bool adds, is_alone;
};

/* Text members are the list's, NULL = not given. */
struct host {
    char *name; /* as first written, an IPv6 address without brackets */
    const char *user, *addr, *iface;
    const char *gpus; /* grammar of --gpus; joined lines with a comma between */
    struct host_gpus gpus_state;
    const char *const *env; /* NAME=VALUE, NULL-terminated */
    uint32_t slots;         /* 0 = not given: as many as the host has GPUs */
    uint32_t max_slots;     /* 0 = no limit */
    uint16_t port;          /* 0 = not given */
    enum host_shape shape;
    uint32_t line, col; /* of the first mention */
    struct host_slots chosen;
};

struct host_list {
    struct host *hosts;
    size_t n, cap;
    char *source; /* name of the file or option, for messages */
    bool is_option;
    uint32_t *index; /* by name: places in hosts + 1, 0 = free */
    size_t nindex;   /* a power of two */
    void **kept;     /* memory of the list */
    size_t nkept, kept_cap;
};

/* An empty list. source: where it is from, for messages, copied; is_option: that is an
 * option, which has no lines. fini frees the hosts and all text in them. */
void host_list_init(struct host_list *list, const char *source, bool is_option);
void host_list_fini(struct host_list *list);

/* The host of that name, compared without case; NULL if there is none. Valid until the list
 * changes. */
struct host *host_list_find(const struct host_list *list, const char *name);

/* Appends a host that host_list_find does not know: *like under this name. */
struct host *host_list_add(struct host_list *list, const char *name, const struct host *like);

/* Keeps only the hosts i with is_kept[i], in order. */
void host_list_keep_only(struct host_list *list, const bool *is_kept);

/* A copy of s that lives as long as the list; memory p, from malloc, that the list shall free.
 */
char *host_list_dup(struct host_list *list, struct str s);
void *host_list_own(struct host_list *list, void *p);

/* -n beats the numbers of the list: sets slots of every host. E_CONFLICT where max_slots
 * forbids it. */
int host_list_set_nproc(struct host_list *list, uint32_t nproc, struct host_fault *fault,
                        struct err *e);

/* Appends "HOST slots=N|auto max_slots=N user=U port=N gpus=SPEC addr=A iface=I env.NAME=VALUE
 * ...": what is set, in this order. */
void host_format(const struct host *host, struct buf *out);

/* Appends the slots that take part: "0,1,3"; "*" all and "^0" all but these, where the number
 * is not known. */
void host_slots_format(const struct host *host, struct buf *out);

/* How many workers the host runs if it has `found` GPUs to count by (0 = unknown or none): its
 * slots less what was filtered away. E_EMPTY if no number is known, E_NOSLOT if a slot was
 * chosen that it does not have. */
int host_workers(const struct host_list *list, const struct host *host, uint32_t found,
                 uint32_t *out, struct host_fault *fault, struct err *e);

#endif
