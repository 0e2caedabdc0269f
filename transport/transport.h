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
 *	sender      sent      messages whose source may change again, and that arrive from here
 *	                      on without anybody's poll at this end
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

#include "base/region.h"
#include "base/setting.h"
#include "base/slot_place.h"
#include "base/status.h"
#include "doorbell.h"

#define RING_HOST_NAME 64
#define RING_ABSENT_TEXT 256
#define RING_CPU_WORDS 16 /* affinity masks up to 1024 CPUs */

/* What a rank tells the others about itself. Both ends decide from two of these, so alike. */
struct ring_peer {
	int rank;
	int pid;
	uint32_t uid;
	uint64_t process; /* random number of the process: equal means same address space */
	unsigned char boot_id[16]; /* the running kernel; all zero if unknown */
	bool unshared;             /* it has no memory, or no doorbell, to pass on to others */
	uint64_t netns; /* its network namespace; Unix sockets are reachable within it only */
	char host[RING_HOST_NAME];     /* options' host, else the host name */
	struct sockaddr_storage tcp;   /* its listener; AF_UNIX: no network is up */
	char local[32];                /* its Unix listener, abstract name without the first NUL */
	int numa;                      /* NUMA node it runs on, -1 if on several */
	int core;                      /* first core it may run on, logical order */
	uint64_t cpus[RING_CPU_WORDS]; /* its affinity mask */
	int cpu_quota;                 /* whole CPUs its control group allows, 0 if unlimited */
	uint32_t transports; /* what its process has: bit i for row i of the table of transports */
};

/* What a link's connection is. The control lanes of src/health/ are something else. */
enum ring_lane { RING_LANE_TCP, RING_LANE_LOCAL /* Unix socket: passes descriptors */ };

/*
 * How messages reach the other end. Choices depend on this, not on a transport's name. Reaching
 * into the other end's memory is ring_reach_ops'.
 */
enum ring_reach_kind {
	RING_REACH_MEMORY,
	RING_REACH_SOCKET,
	RING_REACH_WIRE /* a network card takes them from memory to memory */
};

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
	/*
	 * After RING_EPEER: errno by which the connection ended; 0: the other end closed it, or
	 * sent nonsense. And a sentence, if the link knows more, or NULL.
	 */
	int cause;
	const char *why;
	uint64_t sent;
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
 * Reaching the other end's memory, for links within one host: all of it or nothing. None of these
 * blocks. The owner of memory is the sending end of the link that its descriptors travel on, and
 * the receiving end of the link whose gate guards it. ring_link_share() and the others below say
 * what each does.
 */
struct ring_reach_ops {
	int (*share)(struct ring_link *link, const struct ring_region *region);
	void (*forget)(struct ring_link *link, uint64_t region);
	int (*map)(struct ring_link *link, uint64_t region, uint64_t offset, size_t bytes,
		   void **address);
	int (*open)(struct ring_link *link, uint64_t region, uint64_t offset, size_t bytes,
		    const struct ring_opener *opener, void **address);
	bool (*lends)(struct ring_link *link, uint64_t region);
	bool (*part)(struct ring_link *link);
	int (*keep)(struct ring_link *link, uint64_t region);
	int (*tidy)(struct ring_link *link);
	int (*get)(struct ring_link *link, uint64_t address, void *local, size_t bytes);
	int (*put)(struct ring_link *link, uint64_t address, const void *local, size_t bytes);
	int (*enter)(struct ring_link *link);
	int (*leave)(struct ring_link *link);
	int (*revoke)(struct ring_link *link);
};

/* A row of the table of transports. ring_link_send() and the others below say what each does. */
struct ring_transport {
	const char *name;
	enum ring_lane lane;
	enum ring_reach_kind kind;

	/* Choosing: looks only at the two descriptions. */
	bool (*reaches)(const struct ring_peer *from, const struct ring_peer *to);

	/*
	 * Makes this end out of params and takes over params->fd; on failure it stays the caller's.
	 */
	int (*open)(const struct ring_link_params *params, struct ring_link **link);
	int (*finish)(struct ring_link *link);
	int (*send)(struct ring_link *link, const void *source, size_t bytes);
	int (*poll)(struct ring_link *link);
	void (*release)(struct ring_link *link);
	int (*wait_fd)(const struct ring_link *link, short *events);
	void (*close)(struct ring_link *link);
	size_t (*slots)(const struct ring_link *link, void **memory);

	/* Optional, NULL: it has none. */
	bool (*present)(char why[RING_ABSENT_TEXT]);
	void (*arm)(struct ring_link *link);
	int (*reverse)(struct ring_link *link, struct ring_link **back);
	void (*expect)(struct ring_link *link, size_t bytes, void *landing);
	void (*withdraw)(struct ring_link *link);
	bool (*is_near)(const struct ring_link *link);
	const struct ring_bell *(*bell)(const struct ring_link *link);
	const struct ring_reach_ops *reach;
	const struct ring_setting *settings; /* RING_* variables of its own; the last has no name */
};

/* ---- connecting ---- */

/*
 * Goes on with what the two ends must tell each other. It checks every size and descriptor before
 * it trusts it. returns 0 when the link is usable; RING_EAGAIN: call again once ring_link_wait_fd()
 * is readable, or after 1 ms
 */
static inline int ring_link_finish(struct ring_link *link)
{
	return link->transport->finish(link);
}

/*
 * Where the transport has it: the link that goes the other way over a finished link's connection,
 * finished as well; once per link, at both ends. Either may be used first, and closed first: the
 * connection ends with the last of them. returns 0; RING_ENOMEM
 */
static inline int ring_link_reverse(struct ring_link *link, struct ring_link **back)
{
	return link->transport->reverse(link, back);
}

/* Frees this end, also half-open ones. Never blocks; what was sent is still delivered. */
static inline void ring_link_close(struct ring_link *link)
{
	link->transport->close(link);
}

/* ---- moving messages ---- */

/*
 * Sender: takes the next message, of 1..slot_bytes bytes. It may keep it and move it during later
 * polls, so source must not change until `sent` has passed it. returns 0; RING_EAGAIN: no room,
 * call again after a poll; RING_EPEER: the connection is lost, the link never recovers
 */
static inline int ring_link_send(struct ring_link *link, const void *source, size_t bytes)
{
	return link->transport->send(link, source, bytes);
}

/*
 * Moves what can be moved without blocking and updates the counters; a sender's flushes what
 * ring_link_send() kept. returns 0; RING_EPEER when the other end is gone and everything that had
 * arrived is in `arrived`
 */
static inline int ring_link_poll(struct ring_link *link)
{
	return link->transport->poll(link);
}

/* Receiver: gives the oldest unreleased message's slot back, `released` grows by one. */
static inline void ring_link_release(struct ring_link *link)
{
	link->transport->release(link);
}

/*
 * Receiver, where the transport has it: the next message not yet announced has this size and may
 * land in `landing` instead of its slot. Called in message order, at most depth ahead of
 * `released`, at the latest before the message is used; too late is harmless (it lies in its slot
 * then). After the announced message arrived, its data say where it is. landing must stay valid
 * until then, or until ring_link_withdraw().
 */
static inline void ring_link_expect(struct ring_link *link, size_t bytes, void *landing)
{
	link->transport->expect(link, bytes, landing);
}

/*
 * Receiver, after a failure: nothing lands any more where ring_link_expect() said, from now on. The
 * link may be of no use behind this. Transports that move messages in polls only have none.
 */
static inline void ring_link_withdraw(struct ring_link *link)
{
	if (link->transport->withdraw)
		link->transport->withdraw(link);
}

/*
 * What a sleeper must wait for: a descriptor for poll(2) with *events set to what would make
 * progress, or -1 if the doorbell rings: at the receiver when a message came, at a sender that had
 * no room when it has some. To be asked after the last poll, which may have changed the answer, but
 * not between -1 and a descriptor unless a counter moved.
 */
static inline int ring_link_wait_fd(const struct ring_link *link, short *events)
{
	return link->transport->wait_fd(link, events);
}

/*
 * Before the last look of a caller that then sleeps on the link's descriptor: from now on what
 * comes makes it readable. Links whose descriptors always do so have none.
 */
static inline void ring_link_arm(struct ring_link *link)
{
	if (link->transport->arm)
		link->transport->arm(link);
}

/*
 * Receiver: whether the other end was last seen on the CPU that the caller is on; false: not known.
 */
static inline bool ring_link_is_near(const struct ring_link *link)
{
	return link->transport->is_near && link->transport->is_near(link);
}

/*
 * Receiver: the memory of its slots, whole pages with nothing else in them, until the link is
 * closed. For devices, whose jobs read what arrived: they pin it, so close() gives it back by
 * ring_held_end() (base/held.h). Returns bytes; 0: a link that wraps another one has none.
 */
static inline size_t ring_link_slots(const struct ring_link *link, void **memory)
{
	return link->transport->slots ? link->transport->slots(link, memory) : 0;
}

/*
 * The other end's doorbell, for the sender to ring, with its board (board.h), for the receiver to
 * read; NULL: it has none. Once the link is finished, and until it is closed. What the other end
 * sent before it wrote on its board is found by the next poll.
 */
static inline const struct ring_bell *ring_link_bell(const struct ring_link *link)
{
	return link->transport->bell ? link->transport->bell(link) : NULL;
}

/* ---- reaching memory, where the transport has it ---- */

static inline bool ring_link_can_reach(const struct ring_link *link)
{
	return link->transport->reach;
}

/*
 * Sender: lets the other end map the region. To be called before each message that names it; only
 * the first call does anything. returns 0; RING_EAGAIN: too many descriptors are under way,
 * call again, no bell rings; RING_ENOTSUP: too many regions are shared already, or it reaches none;
 * RING_ENOMEM; RING_EPEER
 */
static inline int ring_link_share(struct ring_link *link, const struct ring_region *region)
{
	return ring_link_can_reach(link) ? link->transport->reach->share(link, region)
					 : RING_ENOTSUP;
}

/*
 * Sender: the memory is about to be freed, and the other end must let it go; harmless for regions
 * that were never shared.
 */
static inline void ring_link_forget(struct ring_link *link, uint64_t region)
{
	if (ring_link_can_reach(link))
		link->transport->reach->forget(link, region);
}

/*
 * Receiver: where `bytes` bytes at `offset` of the other end's region lie here, as a message named
 * them. A region is mapped once. The address holds until ring_link_tidy(), that of a region that is
 * kept until the link is closed. returns 0; RING_EPEER: it was not shared, is not what it should
 * be, or not that large; RING_ESYSTEM
 */
static inline int ring_link_map(struct ring_link *link, uint64_t region, uint64_t offset,
				size_t bytes, void **address)
{
	return link->transport->reach->map(link, region, offset, bytes, address);
}

/*
 * The same of a region that is a device's memory: where the opener's jobs find it. It is opened
 * once; the opener outlives the link. returns as ring_link_map(); what open() returned
 */
static inline int ring_link_open(struct ring_link *link, uint64_t region, uint64_t offset,
				 size_t bytes, const struct ring_opener *opener, void **address)
{
	return link->transport->reach->open(link, region, offset, bytes, opener, address);
}

/*
 * Sender: whether the other end may still have a device's memory open that it was told to forget:
 * it has not tidied since, and neither its end of the link nor its process is gone. Another process
 * only: what lies in one needs no opening.
 */
static inline bool ring_link_lends(struct ring_link *link, uint64_t region)
{
	return ring_link_can_reach(link) && link->transport->reach->lends(link, region);
}

/*
 * Receiver: lets go of all regions, for good; nothing may be mapped or opened after this. returns
 * whether they are closed; if not, call again, as the other end is not told before
 */
static inline bool ring_link_part(struct ring_link *link)
{
	return !ring_link_can_reach(link) || link->transport->reach->part(link);
}

/* Receiver: a mapped region stays. returns 0; RING_EPEER: the other end forgot it all the same */
static inline int ring_link_keep(struct ring_link *link, uint64_t region)
{
	return link->transport->reach->keep(link, region);
}

/* Receiver: lets go of what the other end forgot; call when no such address is in use. Cheap. */
static inline int ring_link_tidy(struct ring_link *link)
{
	return link->transport->reach->tidy(link);
}

/*
 * Either end: reads `bytes` bytes of the other process at `address`, as a message said it, or
 * writes them (put). 0 bytes only test whether it works. returns 0; RING_ENOTSUP: this system does
 * not let us, and never will on this link; RING_EPEER: the process is gone, or has no memory there;
 * RING_ENOMEM
 */
static inline int ring_link_get(struct ring_link *link, uint64_t address, void *local, size_t bytes)
{
	return link->transport->reach->get(link, address, local, bytes);
}

static inline int ring_link_put(struct ring_link *link, uint64_t address, const void *local,
				size_t bytes)
{
	return link->transport->reach->put(link, address, local, bytes);
}

/*
 * The gate against late writes. The sender writes into the receiver's memory, mapped or by
 * ring_link_put(), only between enter and leave. returns 0; RING_EPEER once the receiver has
 * revoked: nothing may be written. A sender that is stopped inside finds out later: put and leave
 * return RING_EPEER then, and what was read there may be anything.
 */
static inline int ring_link_enter(struct ring_link *link)
{
	return link->transport->reach->enter(link);
}

static inline int ring_link_leave(struct ring_link *link)
{
	return link->transport->reach->leave(link);
}

/*
 * Receiver: nobody enters from now on, for good. returns 0: the sender is outside, or its process
 * is dead, and what it wrote is visible here; RING_EAGAIN: it is still inside, call again, no bell
 * rings
 */
static inline int ring_link_revoke(struct ring_link *link)
{
	return link->transport->reach->revoke(link);
}

/*
 * The ordered table, best first: loopback, shm, verbs, tcp. Index order is part of the wire
 * protocol.
 */
extern const struct ring_transport *const ring_transports[];
extern const int ring_transport_count;

/*
 * What this process has of the transports named in `allowed` (comma-separated, NULL: all): bit i
 * for row i, as others are told in struct ring_peer. If it has none of them, why says what the last
 * one lacks; else it is empty.
 */
uint32_t ring_transports_present(const char *allowed, char why[RING_ABSENT_TEXT]);

/*
 * Notes that links over these transports (bits) failed to or from this host. For RING_SHUN_MS from
 * then on those that may be absent count as that, wherever TCP is allowed as well. Any thread.
 */
void ring_transports_shun(uint32_t transports, uint64_t now_ms);
uint32_t ring_transports_shunned(uint64_t now_ms);

/*
 * The first transport that both ends have, that reaches from -> to, is named in `allowed` (as
 * above) and whose bit is not set in `masked`. Returns its index, or -1.
 */
int ring_transport_choose(const struct ring_peer *from, const struct ring_peer *to,
			  const char *allowed, uint32_t masked);

/* True if every name of a comma-separated list is a transport; else unknown is the first other. */
bool ring_transport_names_valid(const char *names, char unknown[32]);

extern const struct ring_transport ring_transport_loopback; /* ranks of one process */
extern const struct ring_transport ring_transport_shm;      /* processes of one host and user */
extern const struct ring_transport ring_transport_verbs;    /* RDMA devices: RoCE, InfiniBand */
extern const struct ring_transport ring_transport_tcp;      /* anywhere */
extern const struct ring_setting ring_verbs_settings[];     /* also known without verbs */

#endif
