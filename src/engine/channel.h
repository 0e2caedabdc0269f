/* SPDX-License-Identifier: MIT */
/*
 * A channel carries out one plan: it sends what is ready, hands what arrived to the device, and
 * knows nothing of calls, communicators or waiting. All its progress is four counters that only
 * grow, each moved by one small function while its guard holds:
 *
 *	            plan.outgoing                         plan.incoming
 *	posted      handed to a link          started     message given to the device
 *	sent        source may change again   reduced     result in place, slot given back
 *
 *	sent <= posted    reduced <= started
 *	post entry i      when reduced >= outgoing(i).needs and the link has room
 *	start entry j     when sent >= incoming(j).needs and its message has arrived
 *
 * The call is done on this channel when sent and reduced have reached the plan's totals.
 *
 * Where ranks have boards, a rank writes what it says to all others once, on its board: such
 * entries are counted like messages, but no link carries them.
 *
 * receive.c takes what peers say, exchange.c writes what this rank says on its board, and job.c
 * gives the device its jobs. Entries that reach into peers' memory are direct.c's; each starts when
 * all before it are complete. When a plan starts, a channel chooses the loop of these moves:
 * channel.c has one for all plans. Plans that send nothing on links have loops of their own: small
 * calls small.c's, those that reach into memory reaching.c's.
 */
#ifndef RING_CHANNEL_H
#define RING_CHANNEL_H

#include "kernels/device.h"
#include "transport/transport.h"
#include "known_plan.h"
#include "plan/record.h"
#include "staging.h"
#include "waker.h"

struct ring_channel;
struct ring_reached;
struct ring_trace;

_Static_assert(RING_SUM_RANKS <= RING_REDUCE_SOURCES, "a device adds as many as plans do");

#define RING_RING_ROUTES 2 /* a ring has two neighbours */

/* The links to and from one other rank, and how far this channel has used them; for life. */
struct ring_route {
	int peer;
	struct ring_link *out, *in;   /* NULL where no plan needs one, or not yet */
	bool pinned;                  /* the slots of `in`, for the device; or else ... */
	char *rooms;                  /* [depth], a slot each: what arrives is copied there */
	uint64_t queued;              /* messages handed to out */
	uint64_t retired;             /* those whose source may change again */
	uint64_t taken;               /* messages of `in` given to the device */
	uint64_t announced;           /* messages of `in` it was told of */
	uint64_t heard;               /* the last call that one of them opens */
	const struct ring_bell *bell; /* the peer's, once `out` is there; NULL: it has none */
	struct ring_board *board;     /* the peer's, once `in` is there */
	struct ring_arrival sheet;    /* what ring_receive() last read there */
	const char *said;             /* the last payload, on the board or on `in` */
	uint64_t sent_messages, sent_bytes, received_messages, received_bytes; /* payload only */
	struct ring_opening opening; /* what goes to this rank alone, behind the record */
};

/* Where the plan's buffers lie in this call, and what the elements are. */
struct ring_operands {
	const char *input;
	char *output;
	enum ring_datatype type;
	enum ring_op op;
	struct ring_function function; /* instead of op */
	uint64_t divisor;              /* the last addition divides by it; 1 leaves the sum */
	uint64_t scalar; /* of plans that are `scaled`: one element, its first bytes */
};

/* What a channel has with a device that it does not serve now. */
struct ring_left {
	const struct ring_device *device; /* NULL: there is none */
	struct ring_device_queue *queue;
	uint64_t jobs; /* given to the queue, all finished */
	char *scratch;
};

/* This rank's board, if all have one; the others' are in routes. */
struct ring_own_board {
	struct ring_board *own; /* NULL: there is none */
	bool light;             /* the doorbell before it is (doorbell_words.h) */
	uint64_t exchanges;     /* with the current call's; the same on all ranks */
};

/* The current call. */
struct ring_channel_call {
	struct ring_known_plan *known;
	const struct ring_plan *plan;                 /* the known one's */
	int (*advance)(struct ring_channel *channel); /* moves the counters of such a plan */
	struct ring_operands operands;
	struct ring_opening opening;           /* this rank's, as all are told */
	uint64_t written;                      /* exchanges of the plan, on its board */
	size_t sheet_bytes;                    /* on the board of a rank with something to say */
	bool root_says;                        /* only root has */
	const struct ring_reached *reached;    /* where all buffers lie; plans that reach there */
	bool tells;                            /* each signal tells where this rank's buffers lie */
	bool on_boards;                        /* what opens messages is written on boards */
	uint64_t heard;                        /* peers that a small call has heard */
	const char *said[RING_KNOWN_OUTGOING]; /* what each of them said behind its record */
	uint64_t posted, sent, started, reduced;
	uint64_t expected; /* incoming entries already announced, if the channel announces */
};

struct ring_channel {
	int self; /* rank */
	struct ring_route ring_routes[RING_RING_ROUTES];
	struct ring_route *routes; /* ring_routes; once reserved: one for every rank, by rank */
	int route_count;
	bool reserved;
	bool announces; /* some link wants to know what comes next */
	int glances; /* extra looks in a row at what a peer must say next; 0: others need the CPU */
	int yields;  /* if they do: how often brief.c yields it before it gives up */
	struct ring_own_board board;
	const struct ring_device *device;
	struct ring_device_queue *queue;
	uint64_t jobs;                    /* given to the queue */
	const struct ring_device *fitted; /* for whom the links are; NULL: the host alone */
	struct ring_left other;           /* the device that it served before */
	char *scratch;
	size_t scratch_used;      /* the most that a call used */
	struct ring_trace *trace; /* NULL: no trace */
	struct ring_waker waker;
	struct ring_staging staging; /* where the device is apart from the host */
	struct ring_known_plan *own; /* for plans that nobody else keeps */
	struct ring_channel_call call;
	struct ring_channel *next; /* of the call's channels */

	/* of the failure that advance() returned */
	int failed_peer;
	struct ring_record theirs; /* RING_EMISMATCH: what failed_peer says it does */
};

/*
 * Allocates scratch and queue on a chip of the device, and room for a plan. returns 0; RING_ENOMEM,
 * RING_ESYSTEM; close it even then
 */
int ring_channel_open(struct ring_channel *channel, int self, const struct ring_device *device,
		      int chip, size_t scratch_bytes);

/*
 * Turns a channel whose last call is done to another device's memory, over the same links; the
 * first time it allocates scratch there. Links that once served memory apart from the host stay as
 * they are and carry the host's, too, so turning back never blocks. returns 0; RING_ENOMEM,
 * RING_ESYSTEM: it can only be closed
 */
int ring_channel_serve(struct ring_channel *channel, const struct ring_device *device, int chip,
		       size_t scratch_bytes);

/*
 * From now on writes what it says to all on this rank's board, behind its doorbell. All ranks must
 * do so, and all links of this channel must have boards.
 */
void ring_channel_use_board(struct ring_channel *channel, struct ring_doorbell_page *page);

/* Makes room for links with all of `size` ranks; without it, with two. returns 0; RING_ENOMEM */
int ring_channel_reserve(struct ring_channel *channel, int size);

/*
 * Gives a finished link to the channel, which closes it in the end. It may come during a call:
 * entries that need it wait till then. returns 0; RING_ENOMEM, RING_ESYSTEM: the device cannot use
 * it
 */
int ring_channel_add_link(struct ring_channel *channel, struct ring_link *link);

/*
 * Adds the link that goes the other way over the connection of the one to or from `peer`; its
 * transport can reverse it. returns 0; RING_ENOMEM, RING_ESYSTEM
 */
int ring_channel_add_reverse(struct ring_channel *channel, int peer, bool outgoing);

/* The link to or from a peer, NULL if there is none. */
struct ring_link *ring_channel_link(const struct ring_channel *channel, int peer, bool outgoing);

/*
 * Bytes that the channel holds beside its struct: links, routes, and scratch as far as it was ever
 * used: the rest takes no memory.
 */
size_t ring_channel_memory(const struct ring_channel *channel);

/* Closes links and frees; accepts what open left behind on failure, and all zero. */
void ring_channel_close(struct ring_channel *channel);

/*
 * Begins a call. The last one must be done. The plan's scratch must fit the channel's; `known`
 * must stay until the next call.
 */
void ring_channel_start_known(struct ring_channel *channel, struct ring_known_plan *known,
			      const struct ring_operands *operands,
			      const struct ring_record *record);

/* Begins the last call again, with another number and perhaps other buffers. */
void ring_channel_start_again(struct ring_channel *channel, const struct ring_operands *operands,
			      uint64_t sequence);

/* Begins one by a plan that the channel keeps. */
void ring_channel_start(struct ring_channel *channel, const struct ring_plan *plan,
			const struct ring_operands *operands, const struct ring_record *record);

/*
 * Begins a plan of signals that also tell where this rank's buffers lie, as `reached` has it, and
 * stores there what the others tell. A direct plan that follows uses it.
 */
void ring_channel_tell(struct ring_channel *channel, struct ring_known_plan *known,
		       const struct ring_record *record, const struct ring_reached *reached);

/*
 * Moves every counter as far as it goes without blocking. returns how many moves that were, or
 * RING_EMISMATCH (a record differs: `theirs`), RING_EPEER (a link broke: `failed_peer`),
 * RING_ESYSTEM
 */
int ring_channel_advance(struct ring_channel *channel);

/* What a peer says if it makes the same call. */
static inline struct ring_record ring_channel_expects(const struct ring_channel *channel, int peer)
{
	const struct ring_plan_params *params = &channel->call.plan->params;
	struct ring_record record = channel->call.opening.record;
	if (ring_plan_knows_own_parts(params))
		record.count = ring_plan_on_edge(params, peer, false);
	return record;
}

static inline bool ring_channel_is_done(const struct ring_channel *channel)
{
	return channel->call.reduced == channel->call.plan->incoming &&
	       channel->call.sent == channel->call.plan->outgoing;
}

/* Whether it waits in an exchange over boards, for no rank that was last seen on this CPU. */
bool ring_channel_waits_elsewhere(const struct ring_channel *channel);

/* The rank whose move this channel waits for, -1 if none; *step is the plan's step. */
int ring_channel_waits_for(const struct ring_channel *channel, int *step);

/* Before the last look of a sleeper that has announced itself; see ring_link_arm(). */
void ring_channel_arm(const struct ring_channel *channel);

/*
 * Has the bell rung when the device's jobs are done, for a sleeper that has announced itself and is
 * about to look once more. returns 0; RING_ENOMEM, RING_ESYSTEM
 */
int ring_channel_ask(struct ring_channel *channel, const struct ring_bell *bell);

/* returns 0: the device has nothing under way; RING_EAGAIN; the device's error */
int ring_channel_settled(const struct ring_channel *channel);

/* Descriptors a sleeper must watch, at most 2 per route and one. Returns how many were written. */
int ring_channel_wait_fds(const struct ring_channel *channel, struct pollfd *fds);

#endif
