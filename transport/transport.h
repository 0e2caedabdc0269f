/* SPDX-License-Identifier: MIT */
/*
 * What a transport promises: one-way links between two ranks, with messages whole and in order.
 *
 * A link starts as a proved connection (a stream socket whose other end is the right rank of the
 * right communicator); the transport grows its own way of moving bytes from that. It never sees a
 * plan or a communicator, never blocks, and is used by one thread at a time.
 *
 * Message k, counted from 0 for life, waits at the receiver in slot k % depth until it is released:
 *
 *	sender      sent      messages whose source may change again
 *	receiver    arrived   messages that are here, whole
 *	            released  messages whose slot was given back
 */
#ifndef RING_TRANSPORT_H
#define RING_TRANSPORT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "doorbell.h"

#define RING_DEPTH_MAX 8
#define RING_HOST_NAME 64
#define RING_CPU_WORDS 16 /* affinity masks up to 1024 CPUs */

/* What a rank tells the others about itself. Both ends decide from two of these, so alike. */
struct ring_peer {
	int rank;
	int pid;
	uint32_t uid;
	uint64_t process; /* random number of the process: equal means same address space */
	unsigned char boot_id[16]; /* the running kernel; all zero if unknown */
	bool unshared;  /* it has no memory, or no doorbell, that it could pass on to others */
	uint64_t netns; /* its network namespace; Unix sockets are reachable within it only */
	char host[RING_HOST_NAME];     /* options' host, else the host name */
	struct sockaddr_storage tcp;   /* its listener */
	char local[32];                /* its Unix listener, abstract name without the first NUL */
	int numa;                      /* NUMA node it runs on, -1 if on several */
	int core;                      /* first core it may run on, logical order */
	uint64_t cpus[RING_CPU_WORDS]; /* its affinity mask */
	int cpu_quota;                 /* whole CPUs its control group allows, 0 if unlimited */
};

/* What a link's connection is. */
enum ring_lane { RING_LANE_TCP, RING_LANE_LOCAL /* Unix socket: passes descriptors */ };

struct ring_link_params {
	int fd;        /* proved connection, non-blocking; the link owns it once open() succeeded */
	bool outgoing; /* this end sends */
	int self, peer;    /* ranks of this end and of the other, for messages */
	unsigned depth;    /* 1..RING_DEPTH_MAX */
	size_t slot_bytes; /* largest message */
	/* this rank's doorbell, which the other end rings; outlives the link */
	struct ring_bell *bell;
	/* TCP congestion control, NULL leaves the choice to the transport */
	const char *congestion;
	int peer_lost_ms; /* an unreachable peer is an error after this */
};

/* A message that is here. */
struct ring_arrival {
	const void *data;
	size_t bytes;
};

/* First member of every transport's own link. The counters only grow. */
struct ring_link {
	const struct ring_transport *transport;
	bool outgoing;
	int self, peer;
	unsigned depth;
	size_t slot_bytes;
	/* after RING_EPEER: errno by which the connection ended; 0: the other end closed it, ... */
	int cause;
	uint64_t sent; /* ... or sent nonsense */
	uint64_t arrived, released;
	/* receiver: message k at k % RING_DEPTH_MAX */
	struct ring_arrival arrivals[RING_DEPTH_MAX];
	size_t memory_bytes; /* what this end holds: shared memory counts at the receiver */
};

/* Receiver: message k, while released <= k < arrived. */
static inline struct ring_arrival *ring_link_arrival(struct ring_link *link, uint64_t k)
{
	return &link->arrivals[k % RING_DEPTH_MAX];
}

/*
 * Memory that a rank got from ring_mem_alloc(), which others on its host may map. A message that
 * names a place in it carries the region's number and an offset.
 */
struct ring_shared_memory {
	uint64_t region; /* from 1; a process never uses a number again */
	void *memory;    /* where it lies at its owner */
	size_t bytes;    /* whole pages */
	int fd;          /* sealed memory of that size, the owner's */
	int lenders;     /* the owner's communicators that have let peers map it; regions.c's */
};

struct ring_transport {
	const char *name;
	enum ring_lane lane;

	/* Choosing: looks only at the two descriptions. */
	bool (*reaches)(const struct ring_peer *from, const struct ring_peer *to);

	/*
	 * Connecting. open() makes this end out of params and takes over params->fd (on failure it
	 * stays the caller's). finish() drives whatever the two ends must tell each other: 0 when
	 * the link is usable, RING_EAGAIN: call again once wait_fd() is readable, or after 1 ms.
	 * It checks every size and descriptor it receives before it trusts it.
	 */
	int (*open)(const struct ring_link_params *params, struct ring_link **link);
	int (*finish)(struct ring_link *link);

	/*
	 * Optional: the link that goes the other way over a finished link's connection, finished as
	 * well; once per link, at both ends. Either may be used first, and closed first: the
	 * connection ends with the last of them. returns 0; RING_ENOMEM
	 */
	int (*reverse)(struct ring_link *link, struct ring_link **back);

	/*
	 * Sending. send() takes the next message: RING_EAGAIN means no room, call again after
	 * poll(). It may keep it and move it during later poll()s, so source must not change until
	 * `sent` has passed it. bytes is 1..slot_bytes. RING_EPEER: the connection is lost; the
	 * link never recovers.
	 */
	int (*send)(struct ring_link *link, const void *source, size_t bytes);

	/*
	 * Moves what can be moved without blocking and updates the counters. RING_EPEER when the
	 * other end is gone and everything that had arrived is in `arrived`. A sender's poll()
	 * flushes what send() kept.
	 */
	int (*poll)(struct ring_link *link);

	/* Gives the oldest unreleased message's slot back: `released` grows by one. */
	void (*release)(struct ring_link *link);

	/*
	 * Optional, receiver: the next message not yet announced has this size and may land in
	 * `landing` instead of its slot. Called in message order, at most depth ahead of
	 * `released`, at the latest before the message is used; too late is harmless (it lies in
	 * its slot then). After the announced message arrived, its data say where it is. landing
	 * must stay valid until then.
	 */
	void (*expect)(struct ring_link *link, size_t bytes, void *landing);

	/*
	 * What a sleeper must wait for: a descriptor for poll(2) with *events set to what would
	 * make progress, or -1 if the doorbell rings: at the receiver when a message came, at a
	 * sender that had no room when it has some. To be asked after
	 * the last poll(), which may have changed the answer, but not between -1 and a descriptor
	 * unless a counter moved.
	 */
	int (*wait_fd)(const struct ring_link *link, short *events);

	/*
	 * Optional, receiver: whether the other end was last seen on the CPU that the caller is on.
	 */
	bool (*is_near)(const struct ring_link *link);

	/*
	 * Optional: the other end's doorbell, for the sender to ring, with its board (board.h), for
	 * the receiver to read. Once the link is finished, and until it is closed. What the other
	 * end sent before it wrote on its board is found by the next poll().
	 */
	const struct ring_bell *(*bell)(const struct ring_link *link);

	/*
	 * Reaching the other end's memory, for links within one host. All of these are there or
	 * none (NULL), and none blocks. The owner of memory is the sending end of the link that its
	 * descriptors travel on, and the receiving end of the link whose gate guards it.
	 *
	 * Mapped memory. share(), sender: lets the other end map `memory`. To be called before each
	 * message that names the region; only the first call does anything. RING_EAGAIN: too many
	 * descriptors are under way, call again, no bell rings; RING_ENOTSUP: too many regions are
	 * shared already; RING_ENOMEM; RING_EPEER. forget(), sender: the memory is about to be
	 * freed, and the other end shall let it go; harmless for regions that were never shared.
	 */
	int (*share)(struct ring_link *link, const struct ring_shared_memory *memory);
	void (*forget)(struct ring_link *link, uint64_t region);

	/*
	 * Receiver: where `bytes` bytes at `offset` of the other end's region lie here, as a
	 * message named them. A region is mapped once. RING_EPEER: it was not shared, is not what
	 * it should be, or not that large; RING_ESYSTEM. The address holds until tidy(), which lets
	 * go what the other end forgot: for when no such address is in use, after each call. It is
	 * cheap. That of a mapped region that is kept holds until close(): whoever forgets it all
	 * the same, or has done so already, is broken, RING_EPEER.
	 */
	int (*map)(struct ring_link *link, uint64_t region, uint64_t offset, size_t bytes,
		   void **address);
	int (*keep)(struct ring_link *link, uint64_t region);
	int (*tidy)(struct ring_link *link);

	/*
	 * Copied memory, either end: reads or writes `bytes` bytes of the other process at
	 * `address`, as a message said it. 0 bytes only try whether it works. RING_ENOTSUP: this
	 * system does not let us, and never will on this link; RING_EPEER: the process is gone, or
	 * has no memory there; RING_ENOMEM.
	 */
	int (*get)(struct ring_link *link, uint64_t address, void *local, size_t bytes);
	int (*put)(struct ring_link *link, uint64_t address, const void *local, size_t bytes);

	/*
	 * The gate against late writes. The sender writes into the receiver's memory, mapped or by
	 * put(), only between enter() and leave(). enter(): RING_EPEER once the receiver has
	 * revoked, then nothing may be written. revoke(), receiver: no enter() succeeds from now
	 * on, for good. 0: the sender is outside, or its process is dead, and what it wrote is
	 * visible here; RING_EAGAIN: it is still inside, call again, no bell rings. A sender that
	 * is stopped inside finds out later: put() is RING_EPEER then, and leave(): what was read
	 * there may be anything.
	 */
	int (*enter)(struct ring_link *link);
	int (*leave)(struct ring_link *link);
	int (*revoke)(struct ring_link *link);

	/* Frees this end, also half-open ones. Never blocks; what was sent is still delivered. */
	void (*close)(struct ring_link *link);
};

/* The ordered table, best first: loopback, shm, tcp. Index order is part of the wire protocol. */
extern const struct ring_transport *const ring_transports[];
extern const int ring_transport_count;

/*
 * The first transport that reaches from -> to, is named in `allowed` (comma-separated, NULL: all)
 * and whose bit is not set in `masked`. Returns its index, or -1.
 */
int ring_transport_choose(const struct ring_peer *from, const struct ring_peer *to,
			  const char *allowed, uint32_t masked);

/* True if every name of a comma-separated list is a transport; else unknown is the first other. */
bool ring_transport_names_valid(const char *names, char unknown[32]);

extern const struct ring_transport ring_transport_loopback; /* ranks of one process */
extern const struct ring_transport ring_transport_shm;      /* processes of one host and user */
extern const struct ring_transport ring_transport_tcp;      /* anywhere */

#endif
