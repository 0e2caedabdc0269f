/* SPDX-License-Identifier: MIT */
/*
 * A communicator as one rank holds it. create.c makes it, comm.c answers for it, collective.c
 * checks calls, group.c collects them, queue.c decides who runs them, carry.c turns them into plans
 * and runs those.
 */
#ifndef RING_COMM_H
#define RING_COMM_H

#include <pthread.h>

#include "engine/channel.h"
#include "far.h"
#include "door/edge.h"
#include "base/fd.h"
#include "base/flag.h"
#include "health/lanes.h"
#include "health/lookout.h"
#include "memory.h"
#include "op.h"
#include "choose/options.h"
#include "pairs.h"
#include "partners.h"
#include "meet/rendezvous.h"
#include "engine/wait.h"
#include "door/watcher.h"
#include "way.h"

#define RING_CHANNELS_MAX 8

/* A call as the program makes it; type, op and root are -1 where the kind has none. */
struct ring_request {
	enum ring_kind kind;
	const void *send;
	void *recv;
	uint64_t count;
	int type, op, root; /* SEND, RECV: root is the peer */
	struct ring_stream *stream;
};

/* One call, from its arguments to its end. */
struct ring_call {
	enum ring_kind kind;
	struct ring_operands operands;
	const struct ring_device *device;                 /* of its buffers, ... */
	int chip;                                         /* ... and which chip's */
	bool scaled;                                      /* operands has a scalar */
	bool internal;                                    /* the library's own */
	struct ring_region *input_region, *output_region; /* that peers may map; NULL: private */
	uint64_t count;
	int root; /* SEND, RECV: the other rank */
	struct ring_record record;
	uint64_t turn; /* its number as a collective, or that of the last one before it */
	struct ring_stream *stream; /* NULL: the caller waits for it */
	uint64_t position;          /* in stream */
	bool stops;                 /* the program's stream on a device, until it is done ... */
	uint32_t place;             /* ... where it is to come first */
	/* BARRIER: makes all links for memory of this device, on the chip; NULL: does not */
	const struct ring_device *connects;
	int result;
	bool done;                  /* under the queue's lock */
	struct ring_call *together; /* SEND, RECV: the next one that runs at the same time */
	struct ring_call *next;
};

#define RING_CALLS_KEPT 4

/*
 * A call that was checked: programs repeat a few. (8 B on 2 ranks, between barriers, the last call
 * kept -> some calls kept: 0.13 -> 0.11 us.)
 */
struct ring_checked_call {
	bool keeps; /* the next call like it needs no check */
	struct ring_request request;
	struct ring_call call;
	uint64_t regions_epoch; /* as its memory was found */
};

struct ring_queue;

struct ring_comm {
	int size, rank;
	struct ring_config config;
	char lacks[RING_ABSENT_TEXT]; /* why it has none of the transports that the options name */
	struct ring_tuning_table *table; /* of the file that the options name, or NULL */
	struct ring_placement placement;
	int *order;              /* position -> rank; also the placement's */
	struct ring_peer *peers; /* peers[size], by rank, without their CPUs */
	struct ring_watcher *watcher;
	struct ring_edge_ends ends; /* for links with any rank; owns its contact */
	struct ring_pace pace;      /* of all links, if the options say one */
	struct ring_lanes *lanes;
	struct ring_lookout lookout; /* after links over TCP */
	struct ring_join *join;      /* while creating */
	struct ring_bell bell;
	struct ring_channel channels[RING_CHANNELS_MAX];
	int channel_count;
	struct ring_patience patience; /* the options', or chosen */
	struct ring_trace *trace;
	unsigned fork_generation;

	uint64_t sequence; /* collectives made; the caller's */
	struct ring_queue *queue;
	/* the caller's: calls on this device's memory have all links that they may need */
	const struct ring_device *connected;
	struct ring_made_ops made_ops;                     /* the caller's */
	struct ring_checked_call checked[RING_CALLS_KEPT]; /* the caller's */
	unsigned next_checked;                             /* of those, the next to be replaced */
	struct ring_comm_memory memory;

	/*
	 * The one device beside the host whose memory calls work on, as the options say or the
	 * first such call, and which of its chips, likewise; NULL, RING_CHIP_ANY: any. The
	 * caller's.
	 */
	const struct ring_device *device;
	int chip;

	/*
	 * For the thread that runs a call, which holds this: the caller, or the queue's thread once
	 * there is a queue.
	 */
	pthread_mutex_t running;
	struct ring_flag busy; /* while a call is carried out */
	struct ring_call *current;
	struct ring_channel *active;              /* the call's channels */
	struct ring_way ways[RING_WAYS_KEPT + 1]; /* the last is for sends and receives */
	unsigned next_way;                        /* the next to be replaced */
	struct ring_answer answers[RING_ANSWERS_KEPT];
	struct ring_way *way;          /* of the last call */
	const struct ring_way *loaded; /* whose plans the active channels have, or NULL */
	struct ring_pairs pairs;
	struct ring_far *far; /* channels of other devices than the host */
	struct ring_partners partners;
	struct pollfd *fds; /* room to sleep on */
	int fd_room;
	uint64_t calls; /* completed */

	/* The first failure: failed is raised once failure is complete. */
	pthread_mutex_t failing;
	struct ring_flag failed;
	struct ring_failure failure;
	uint64_t failed_call;        /* the first call that it ends; 0: all */
	struct ring_failure refused; /* the last call that was refused; under failing */

	/* prev, next said goodbye, and when */
	struct ring_flag left[2];
	uint64_t left_ms[2];

	struct ring_comm *next_living, **living; /* farewell.c's list */

	/* prev, next: the call in which it says that it waits; under failing */
	struct ring_record waits[2];
};

/*
 * comm.c: makes the news the communicator's failure, unless there is one already, and tells the
 * other ranks if `tell`. Any thread. returns the communicator's failure
 */
int ring_comm_fail_with(struct ring_comm *comm, const struct ring_news *news, bool tell);

/* comm.c: the same for a failure that ends all calls, told to the others. */
__attribute__((format(printf, 4, 5))) int ring_comm_fail(struct ring_comm *comm, int err,
							 int culprit, const char *format, ...);

/* 0, or the communicator's failure. */
static inline int ring_comm_failed(const struct ring_comm *comm)
{
	return ring_flag_is_raised(&comm->failed) ? comm->failure.err : 0;
}

/*
 * 0, or the failure if it ends call number `call`. A mismatch ends no earlier call: all ranks made
 * those alike, so they complete.
 */
static inline int ring_comm_failed_in(const struct ring_comm *comm, uint64_t call)
{
	int err = ring_comm_failed(comm);
	return err && comm->failed_call <= call ? err : 0;
}

/* Whether calls may work on a device's chip; the first one that they do is the communicator's. */
static inline bool ring_comm_takes(struct ring_comm *comm, const struct ring_device *device,
				   int chip)
{
	if (comm->device &&
	    (comm->device != device || (comm->chip != RING_CHIP_ANY && comm->chip != chip)))
		return false;
	comm->device = device;
	comm->chip = chip;
	return true;
}

/* The time that control lanes have to say why a link broke. */
#define RING_NEWS_GRACE_MS 500

/*
 * comm.c: sleeps until a failure that ends call number `call` is known, at most for the grace; for
 * the one thread that may sleep on the doorbell. returns the failure, or 0
 */
int ring_comm_await_failure(struct ring_comm *comm, uint64_t call);

/* Whether this process made it; else it was the parent's before fork(). */
static inline bool ring_comm_is_mine(const struct ring_comm *comm)
{
	return comm->fork_generation == ring_fork_generation();
}

/* comm.c: whether this process may use it in `call`. returns 0; RING_EINVAL, with the sentence */
int ring_comm_check(const struct ring_comm *comm, const char *call);

/* comm.c: refuses a call: nothing happened, the communicator stays usable. returns err */
__attribute__((format(printf, 3, 4))) int ring_comm_refuse(struct ring_comm *comm, int err,
							   const char *format, ...);

/* comm.c: callbacks for the lookout and the lanes, owner is the communicator. */
void ring_comm_found_out(void *owner, const struct ring_news *news);
void ring_comm_heard(void *owner, const struct ring_news *news);
void ring_comm_neighbour_left(void *owner, int rank);
void ring_comm_neighbour_waits(void *owner, int rank, const struct ring_record *record);

/*
 * comm.c: the neighbour that says it waits in another call of that number, and in which; -1: none
 * does.
 */
int ring_comm_find_other_call(struct ring_comm *comm, const struct ring_record *mine,
			      struct ring_record *theirs);

/* comm.c: true if `peer` (-1: any neighbour) said goodbye at least grace_ms ago. */
bool ring_comm_departed(const struct ring_comm *comm, int peer, int grace_ms);

/* comm.c: adds to the failure's sentence. */
__attribute__((format(printf, 2, 3))) void ring_comm_add(struct ring_comm *comm, const char *format,
							 ...);

/* comm.c: a record of this rank, as ring_record_format() says it, and which device it is on. */
const char *ring_comm_format_record(const struct ring_comm *comm, const struct ring_record *record,
				    char *text);

/* comm.c: adds to it what this rank was doing. */
void ring_comm_note_call(struct ring_comm *comm, const struct ring_record *record, int peer,
			 int step);

/* comm.c: "rank 2 (host h, pid 123)". Returns text. */
#define RING_RANK_TEXT 128
const char *ring_comm_rank_text(const struct ring_comm *comm, int rank, char *text);

/* collective.c: gives a call its number, once nothing can refuse it. */
void ring_call_number(struct ring_comm *comm, struct ring_call *call);

/* An all-gather of bytes that is the library's own, as traces say. */
int ring_all_gather_own(struct ring_comm *comm, const void *send, void *recv, size_t bytes);

/*
 * carry.c: carries out a call, and those together with it, in this thread; one thread at a time.
 * returns their result
 */
int ring_carry(struct ring_comm *comm, struct ring_call *call);

#endif
