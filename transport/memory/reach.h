/* SPDX-License-Identifier: MIT */
/*
 * The regions of memory that the sender of a FIFO link has shared with the receiver, which maps
 * them. Notices travel on the link's connection; a word in the FIFO's memory counts them, so that
 * the connection is never asked in vain:
 *
 *	sender, the owner                                receiver
 *	share    notice {region, bytes} + descriptor ->  mapped when it is taken in
 *	forget   notice {region}                     ->  unmapped by tidy()
 *	lends?   counts them                         <-  how many those were
 *
 * Memory of a device has a name in its notice, and perhaps a descriptor. It is opened by whom the
 * receiver says, when an address is first asked for, and its owner may not free it before it is
 * closed. So the sender keeps it in mind until it is; the receiver counts it only then, as closing
 * waits for streams that wait.
 *
 * Within one process nothing is mapped: the owner's address is valid at the other end, once the
 * jobs of whom the receiver names have been let reach a device's memory.
 */
#ifndef RING_REACH_H
#define RING_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

#define RING_REACH_MAX 512 /* regions over one link at the same time */

enum ring_notice_kind { RING_SHARE = 0x52475348, RING_FORGET = 0x52474647 };

/* What the sender puts on the connection. No padding: it is sent as bytes. */
struct ring_notice {
	uint64_t kind;
	uint64_t region;
	uint64_t bytes, address; /* RING_SHARE: its size, and where it lies at its owner */
	uint64_t lends;          /* RING_SHARE: it is a device's, and ... */
	struct ring_lent lent;   /* ... opened by this, and by the descriptor if one came */
};

/* A region as one end knows it. */
struct ring_reached {
	uint64_t region;
	void *memory;   /* receiver: where it lies here; NULL: a device's that is not open */
	size_t bytes;   /* receiver: its size */
	bool kept;      /* receiver: for life */
	bool forgotten; /* sender: the other end is yet to be told; receiver: yet to be unmapped */
	bool lends;     /* it is a device's */
	bool told;      /* sender: the other end was told to forget it, */
	uint32_t turn;  /* as the so manieth */
	struct ring_lent lent;            /* receiver: of a device's */
	size_t opened;                    /* receiver: likewise, bytes of what was opened */
	int fd;                           /* receiver: likewise, until it is open; or -1 */
	const struct ring_opener *opener; /* receiver: who opened it */
};

/* One end's regions. All zero at first, except `maps`. */
struct ring_reach {
	bool maps;                    /* the other end is another process */
	struct ring_reached *regions; /* by number */
	int count, room;
	int forgotten;                    /* of them */
	uint32_t notices;                 /* sender: said; receiver: taken in */
	uint32_t forgets;                 /* of them, those to forget */
	const struct ring_opener *opener; /* receiver: who says what is closed; NULL: nobody */
	bool owes; /* receiver: it has not told yet what is closed, as something is not */
	int deaf;  /* receiver: a notice was lost, by that error: it hears no more; 0: none was */
	int cause; /* receiver: errno of that */
};

/* Members of struct ring_reach_ops, for links that begin with a struct ring_fifo_link. */
int ring_reach_share(struct ring_link *base, const struct ring_region *region);
void ring_reach_forget(struct ring_link *base, uint64_t region);
int ring_reach_map(struct ring_link *base, uint64_t region, uint64_t offset, size_t bytes,
		   void **address);
int ring_reach_open(struct ring_link *base, uint64_t region, uint64_t offset, size_t bytes,
		    const struct ring_opener *opener, void **address);
bool ring_reach_lends(struct ring_link *base, uint64_t region);
bool ring_reach_part(struct ring_link *base);
int ring_reach_keep(struct ring_link *base, uint64_t region);
int ring_reach_tidy(struct ring_link *base);

/* Those, and fifo_link.h's: what moves bytes is the transport's. */
#define RING_REACH_OPS                                                                             \
	.share = ring_reach_share, .forget = ring_reach_forget, .map = ring_reach_map,             \
	.open = ring_reach_open, .lends = ring_reach_lends, .part = ring_reach_part,               \
	.keep = ring_reach_keep, .tidy = ring_reach_tidy, .enter = ring_fifo_link_enter,           \
	.leave = ring_fifo_link_leave, .revoke = ring_fifo_link_revoke

/* Unmaps and frees; accepts all zero. */
void ring_reach_close(struct ring_reach *reach);

#endif
