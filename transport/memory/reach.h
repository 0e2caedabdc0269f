/* SPDX-License-Identifier: MIT */
/*
 * The regions of memory that the sender of a FIFO link has shared with the receiver, which maps
 * them. Notices travel on the link's connection; a word in the FIFO's memory counts them, so that
 * the connection is never asked in vain:
 *
 *	sender, the owner                                receiver
 *	share    notice {region, bytes} + descriptor ->  mapped when it is taken in
 *	forget   notice {region}                     ->  unmapped by tidy()
 *
 * Within one process nothing is mapped: the owner's address is valid at the other end.
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
};

/* A region as one end knows it. */
struct ring_reached {
	uint64_t region;
	void *memory;   /* receiver: where it lies here */
	size_t bytes;   /* receiver: its size */
	bool kept;      /* receiver: for life */
	bool forgotten; /* sender: the other end is yet to be told; receiver: yet to be unmapped */
};

/* One end's regions. All zero at first, except `maps`. */
struct ring_reach {
	bool maps;                    /* the other end is another process */
	struct ring_reached *regions; /* by number */
	int count, room;
	int forgotten;    /* of them */
	uint32_t notices; /* sender: said; receiver: taken in */
};

/* Members of struct ring_transport, for links that begin with a struct ring_fifo_link. */
int ring_reach_share(struct ring_link *base, const struct ring_region *region);
void ring_reach_forget(struct ring_link *base, uint64_t region);
int ring_reach_map(struct ring_link *base, uint64_t region, uint64_t offset, size_t bytes,
		   void **address);
int ring_reach_keep(struct ring_link *base, uint64_t region);
int ring_reach_tidy(struct ring_link *base);

/* Unmaps and frees; accepts all zero. */
void ring_reach_close(struct ring_reach *reach);

#endif
