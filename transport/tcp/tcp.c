/* SPDX-License-Identifier: MIT */
/*
 * Links over TCP, for ranks that share nothing else: the socket's settings, opening and closing.
 * send.c and receive.c move the bytes. The two ends have nothing to tell each other, so a
 * link is usable as soon as it is open.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/held.h"
#include "base/log.h"
#include "transport/outage.h"
#include "transport/sealed.h"
#include "transport/slot_fifo.h"
#include "base/status.h"
#include "link.h"

static bool reaches(const struct ring_peer *from, const struct ring_peer *to)
{
	return from->tcp.ss_family != AF_UNIX && to->tcp.ss_family != AF_UNIX; /* a network is up */
}

/*
 * The kernel tells the cause once: the link the other way has the same one, and may be asked first.
 */
static void note_cause(struct ring_tcp_link *link, int cause)
{
	if (!link->base.cause)
		link->base.cause = cause;
	if (link->back && !link->back->base.cause)
		link->back->base.cause = cause;
}

void ring_tcp_lose(struct ring_tcp_link *link, int cause, const char *why)
{
	const struct ring_link *base = &link->base;
	int from = base->outgoing ? base->self : base->peer;
	int to = base->outgoing ? base->peer : base->self;
	ring_log(RING_WARN, "rank %d -> %d tcp: %s", from, to, why);
	note_cause(link, cause);
	link->lost = true;
}

bool ring_tcp_is_ready(struct ring_tcp_link *link, short events)
{
	struct pollfd look = {.fd = link->fd, .events = events};
	if (link->quiet && poll(&look, 1, 0) > 0)
		link->quiet = false;
	return !link->quiet;
}

/* Both ends on this host: 127.0.0.0/8, or equal addresses, which the kernel loops back too. */
static bool loops_back(int fd)
{
	struct sockaddr_storage own = {0}, other = {0};
	socklen_t own_bytes = sizeof(own), other_bytes = sizeof(other);
	if (getsockname(fd, (struct sockaddr *)&own, &own_bytes) < 0 ||
	    getpeername(fd, (struct sockaddr *)&other, &other_bytes) < 0 ||
	    own.ss_family != other.ss_family)
		return false;
	if (own.ss_family == AF_INET) {
		in_addr_t to = ((struct sockaddr_in *)&other)->sin_addr.s_addr;
		return to == ((struct sockaddr_in *)&own)->sin_addr.s_addr ||
		       ntohl(to) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
	}
	return own.ss_family == AF_INET6 &&
	       memcmp(&((struct sockaddr_in6 *)&own)->sin6_addr,
		      &((struct sockaddr_in6 *)&other)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

/*
 * The option's; else reno where packets cannot be lost and others only slow down (over loopback,
 * bbr -> reno: 1.9 -> 3.4 GB/s); else the system's.
 */
static void set_congestion(int fd, bool local, const struct ring_link_params *params)
{
	const char *name = params->congestion;
	if (!name && local)
		name = "reno";
	if (!name || setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, strlen(name)) == 0)
		return;
	ring_log(params->congestion ? RING_WARN : RING_DEBUG,
		 "rank %d with %d tcp: congestion control %s: %s; the system's is used",
		 params->self, params->peer, name, strerror(errno));
}

static void set_int(int fd, int level, int option, int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)) < 0)
		ring_log(RING_DEBUG, "tcp: socket option %d: %s", option, strerror(errno));
}

/*
 * What is under way over loopback lies in memory, and the kernel would let it grow to many MiB.
 * With less of it, more is still in a cache when it is read. (25 MiB on 4 ranks, while others fill
 * the last cache: 18.9 -> 15.4 ms.)
 */
#define LOOPBACK_WINDOW (1 << 20)

static struct ring_tcp_link *make_sender(void)
{
	struct ring_tcp_sender *sender = calloc(1, sizeof(*sender));
	if (!sender)
		return NULL;
	sender->link.base.memory_bytes = sizeof(*sender);
	return &sender->link;
}

/* Whole pages. */
static size_t slots_memory(unsigned depth, size_t slot_bytes)
{
	return ring_sealed_memory(depth * ring_slot_stride(slot_bytes));
}

static struct ring_tcp_link *make_receiver(const struct ring_link_params *params)
{
	struct ring_tcp_receiver *receiver = calloc(1, sizeof(*receiver));
	size_t bytes = slots_memory(params->depth, params->slot_bytes);
	unsigned char *slots = aligned_alloc(ring_sealed_memory(1), bytes);
	if (!receiver || !slots) {
		free(receiver);
		free(slots);
		return NULL;
	}
	receiver->slots = slots;
	receiver->link.base.memory_bytes = sizeof(*receiver); /* slots count once they are used */
	return &receiver->link;
}

static int make_link(const struct ring_link_params *params, struct ring_tcp_link **made)
{
	struct ring_tcp_link *link = params->outgoing ? make_sender() : make_receiver(params);
	if (!link)
		return RING_ENOMEM;
	link->base.transport = &ring_transport_tcp;
	link->base.outgoing = params->outgoing;
	link->base.self = params->self;
	link->base.peer = params->peer;
	link->base.depth = params->depth;
	link->base.slot_bytes = params->slot_bytes;
	link->fd = params->fd;
	*made = link;
	return 0;
}

static int open_link(const struct ring_link_params *params, struct ring_link **opened)
{
	struct ring_tcp_link *link;
	if (ring_fifo_memory(params->depth, params->slot_bytes) == 0)
		return RING_EINVAL;
	int err = make_link(params, &link);
	if (err)
		return err;
	link->local = loops_back(params->fd);
	set_int(link->fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (link->local)
		set_int(link->fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, LOOPBACK_WINDOW);
	set_congestion(link->fd, link->local, params);
	ring_outage_bear(link->fd, params->peer_lost_ms);
	*opened = &link->base;
	return 0;
}

static int finish(struct ring_link *base)
{
	(void)base;
	return 0;
}

/*
 * What one end sends then carries the acknowledgement of what it received, and both links share the
 * kernel's state of the connection in the CPU's cache.
 */
static int reverse(struct ring_link *base, struct ring_link **back)
{
	struct ring_tcp_link *link = (struct ring_tcp_link *)base;
	struct ring_link_params params = {.fd = link->fd,
					  .outgoing = !base->outgoing,
					  .self = base->self,
					  .peer = base->peer,
					  .depth = base->depth,
					  .slot_bytes = base->slot_bytes};
	int err = make_link(&params, &link->back);
	if (err)
		return err;
	link->back->back = link;
	link->back->local = link->local;
	*back = &link->back->base;
	return 0;
}

static int poll_link(struct ring_link *base)
{
	return base->outgoing ? ring_tcp_flush((struct ring_tcp_sender *)base)
			      : ring_tcp_receive((struct ring_tcp_receiver *)base);
}

static void release(struct ring_link *base)
{
	base->released++;
}

/* On loopback the sender's CPU delivers what it sends. */
static bool is_near(const struct ring_link *base)
{
	const struct ring_tcp_link *link = (const struct ring_tcp_link *)base;
	int cpu = -1;
	socklen_t bytes = sizeof(cpu);
	return link->local && getsockopt(link->fd, SOL_SOCKET, SO_INCOMING_CPU, &cpu, &bytes) == 0 &&
	       cpu == sched_getcpu();
}

static size_t slots(const struct ring_link *base, void **memory)
{
	*memory = ((const struct ring_tcp_receiver *)base)->slots;
	return slots_memory(base->depth, base->slot_bytes);
}

static int wait_fd(const struct ring_link *base, short *events)
{
	const struct ring_tcp_link *link = (const struct ring_tcp_link *)base;
	const struct ring_tcp_sender *sender = (const struct ring_tcp_sender *)base;
	*events = 0;
	if (link->lost)
		return -1;
	if (!base->outgoing && ring_tcp_has_slot(base))
		*events = POLLIN;
	else if (base->outgoing && base->sent < sender->posted)
		*events = POLLOUT;
	return *events ? link->fd : -1;
}

static void close_link(struct ring_link *base)
{
	struct ring_tcp_link *link = (struct ring_tcp_link *)base;
	if (!link)
		return;
	if (link->back) {
		link->back->back = NULL;
	} else {
		ring_fd_end(link->fd);
		ring_fd_close(link->fd);
	}
	if (!base->outgoing)
		ring_held_end(((struct ring_tcp_receiver *)base)->slots, 0, ring_held_free);
	free(link);
}

const struct ring_transport ring_transport_tcp = {
	.name = "tcp",
	.lane = RING_LANE_TCP,
	.kind = RING_REACH_SOCKET,
	.reaches = reaches,
	.open = open_link,
	.finish = finish,
	.reverse = reverse,
	.send = ring_tcp_send,
	.poll = poll_link,
	.release = release,
	.expect = ring_tcp_expect,
	.is_near = is_near,
	.slots = slots,
	.wait_fd = wait_fd,
	.close = close_link,
};
