/* head_links.h - the links of the head's nodes, by number.
 *
 * Owns the links from the port's hand-over to their end, and what has been read from them. A
 * number is never used twice; 0 is the node in the head's own process, which has no link. How
 * many strangers may knock at a time is bounded here; who is a node of the job decides job.c.
 */
#ifndef MUSTER_LAUNCHER_IO_HEAD_LINKS_H
#define MUSTER_LAUNCHER_IO_HEAD_LINKS_H

#include "launcher/core/link_wire.h"
#include "rendezvous/link.h"
#include "rendezvous/peer_ip.h"

struct head_links;
struct uv_loop_s;
struct uv_tcp_s;

struct head_links_events {
    void *ctx;
    /* A frame of a node; what it borrows stays until head_links_settle. */
    void (*on_frame)(void *ctx, uint32_t link, const struct frame *frame);
    /* A node that muster has started says which one it is: appends what it has to know to out;
     * 1 = that is a farewell, for it is not needed; -1 = it is none of them. NULL: there are no
     * such nodes. */
    int (*setup)(void *ctx, uint32_t link, const struct wire_who *who, struct buf *out);
    /* What one of its workers has written; valid during the call. NULL likewise. */
    void (*on_output)(void *ctx, uint32_t link, const struct wire_output *output);
    /* It has room for standard input. NULL likewise. */
    void (*on_more)(void *ctx, uint32_t link);
    /* A link that was open has ended without having been dropped. err stays likewise. */
    void (*on_lost)(void *ctx, uint32_t link, const struct err *err);
    /* One has ended that never proved itself; why begins with its address. is_named: as
     * strangers_is_one has it. */
    void (*on_unproven)(void *ctx, const struct peer_ip *ip, bool is_named,
                        const struct err *why);
};

/* key is borrowed. nnodes bounds how many that have not yet proved themselves are heard at a
 * time: max(256, 2 * nnodes); of more, the oldest that has not named the job goes. */
struct head_links *head_links_new(struct uv_loop_s *loop, const struct link_key *key,
                                  uint32_t nnodes, const struct head_links_events *events);

/* As port.h's on_link hands it over. user: of its process, -1 = it runs on another machine. */
void head_links_accept(struct head_links *hl, struct uv_tcp_s *tcp, struct str first,
                       int64_t user);

/* To a link that is gone: nothing. */
void head_links_send(struct head_links *hl, uint32_t number, const struct frame *frame);

/* Standard input, none = the end; likewise. */
void head_links_send_input(struct head_links *hl, uint32_t number, struct str bytes);

/* Stops or resumes reading all links, while their output has nowhere to go. */
void head_links_pause(struct head_links *hl, bool is_paused);

/* Its orderly end, once all is sent; on_lost is not called. */
void head_links_drop(struct head_links *hl, uint32_t number);

/* Whether some open link comes from this address, or from a process of this user on this
 * machine. */
bool head_links_has_peer(const struct head_links *hl, const struct peer_ip *ip);
bool head_links_has_user(const struct head_links *hl, uint32_t uid);

/* All queues are empty: what frames and errors borrowed may go. */
void head_links_settle(struct head_links *hl);

/* Ends all: open ones orderly. Frees itself once the last is closed. */
void head_links_close(struct head_links *hl);

#endif
