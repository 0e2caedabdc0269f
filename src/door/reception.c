/* SPDX-License-Identifier: MIT */
/*
 * The watcher's front door; see reception.h. A guest is a connection that has not proved itself: it
 * has five seconds, and there are never more than GUESTS_MAX. While the house is full nobody is let
 * in, unless the oldest guest has had its fair time and is told to come again. So strangers who say
 * nothing cannot shut the ranks out, and a rank that was sent away from a crowd is back in a
 * moment.
 */
#include "reception_parts.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "dial.h"
#include "base/fd.h"
#include "interface.h"
#include "base/log.h"
#include "base/waits.h"

#define GUESTS_MAX 64
#define ACCEPTS_AT_ONCE 16

struct ring_guest {
	struct ring_watch watch;
	struct ring_reception *reception;
	struct ring_greeting greeting;
	bool early_is_fine; /* came through a known listener */
	uint64_t since_ms;
	struct ring_guest *next; /* an older one */
};

/* A proved connection that waits to be fetched. */
struct ring_visitor {
	struct ring_hello hello;
	int fd;
	struct ring_visitor *next;
};

/* ---- guests ---- */

static void pause_accepting(struct ring_reception *reception, int ms);
static void resume_accepting(void *owner);

struct ring_port *ring_watcher_find_port(struct ring_watcher *watcher, uint64_t job, int rank)
{
	struct ring_port *port = ring_watcher_reception(watcher)->ports;
	while (port && (port->job != job || port->rank != rank))
		port = port->next;
	return port;
}

static bool find_secret(void *context, const struct ring_hello *hello, unsigned char *secret)
{
	struct ring_port *port = ring_watcher_find_port(context, hello->job, hello->to);
	if (port)
		memcpy(secret, port->secret, RING_SECRET_BYTES);
	return port != NULL;
}

/* Forgets the guest without closing its connection. */
static void forget_guest(struct ring_guest *guest)
{
	struct ring_reception *reception = guest->reception;
	struct ring_guest **link = &reception->guests;
	while (*link != guest)
		link = &(*link)->next;
	*link = guest->next;
	reception->guest_count--;
	ring_watcher_alarm(reception->watcher, guest, NULL, -1);
	ring_watcher_remove(reception->watcher, &guest->watch);
	free(guest);
	if (reception->paused)
		resume_accepting(reception);
}

static void show_out(struct ring_guest *guest, enum ring_stranger stranger, const char *reason)
{
	struct ring_reception *reception = guest->reception;
	struct sockaddr_storage from = {0};
	socklen_t length = sizeof(from);
	char text[RING_ADDRESS_TEXT] = "this host";
	int fd = guest->watch.fd;
	if (!getpeername(fd, (struct sockaddr *)&from, &length) && from.ss_family != AF_UNIX)
		ring_address_format(&from, text);
	bool early = guest->early_is_fine && stranger == RING_STRANGER_JOB;
	bool rank = stranger == RING_STRANGER_SLOW &&
		    guest->greeting.step > 0; /* or it looks like one */
	bool loud = !early && !rank && !(reception->warned & 1u << stranger);
	if (loud)
		reception->warned |= 1u << stranger;
	ring_log(loud ? RING_WARN : RING_DEBUG, "refused %s from %s: %s",
		 rank ? "what seems to be a rank" : "a stranger", text, reason);
	if (stranger == RING_STRANGER_SLOW)
		ring_greeting_postpone(&guest->greeting);
	forget_guest(guest);
	ring_fd_close(fd);
}

static void keep_visitor(struct ring_reception *reception, const struct ring_port *port,
			 const struct ring_hello *hello, int fd)
{
	struct ring_visitor *visitor = malloc(sizeof(*visitor));
	if (!visitor) {
		ring_fd_close(fd);
		return;
	}
	*visitor = (struct ring_visitor){.hello = *hello, .fd = fd, .next = reception->visitors};
	reception->visitors = visitor;
	uint64_t one = 1;
	if (port->wake >= 0 && write(port->wake, &one, sizeof(one)) < 0)
		ring_log(RING_DEBUG, "rank %d: not woken: %m", port->rank);
}

/* The guest proved who it is: the port it came for takes over, if it is still open. */
static void hand_over(struct ring_guest *guest)
{
	struct ring_reception *reception = guest->reception;
	struct ring_hello hello = guest->greeting.hello;
	struct ring_port *port = ring_watcher_find_port(reception->watcher, hello.job, hello.to);
	int fd = guest->watch.fd;
	forget_guest(guest);
	if (!port || hello.attempt < port->attempt)
		ring_fd_close(fd);
	else if (port->arrived)
		port->arrived(port, &hello, fd);
	else
		keep_visitor(reception, port, &hello, fd);
}

/* Goes on with the greeting. returns whether the guest is one no longer */
static bool greet(struct ring_guest *guest)
{
	struct ring_failure refused = {0};
	short wanted = 0;
	int err = ring_greeting_step(&guest->greeting, &wanted, &refused);
	if (err == RING_EAGAIN)
		ring_watcher_change(guest->reception->watcher, &guest->watch,
				    wanted == POLLOUT ? EPOLLOUT : EPOLLIN);
	else if (err)
		show_out(guest, guest->greeting.stranger, refused.text);
	else
		hand_over(guest);
	return err != RING_EAGAIN;
}

static void guest_moved(struct ring_watch *watch, uint32_t events)
{
	greet((struct ring_guest *)watch);
	(void)events;
}

/*
 * Its time is over. What it has said meanwhile is heard first: on a busy machine this process may
 * have been the slow one. A rank comes again.
 */
static void dismiss(struct ring_guest *guest, const char *reason)
{
	if (!greet(guest))
		show_out(guest, RING_STRANGER_SLOW, reason);
}

static void guest_is_slow(void *owner)
{
	dismiss(owner, "it did not greet in time");
}

/* ---- letting them in ---- */

static void welcome(const struct ring_listener *listener, int fd)
{
	int yes = 1;
	bool local = listener->local;
	struct ring_reception *reception = listener->reception;
	struct ring_guest *guest = local && !ring_local_is_own_user(fd) ? NULL
									: calloc(1, sizeof(*guest));
	if (!guest) {
		ring_fd_close(fd);
		return;
	}
	if (!local)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	guest->watch = (struct ring_watch){.fd = fd, .events = EPOLLIN, .ready = guest_moved};
	guest->reception = reception;
	guest->early_is_fine = listener->known;
	guest->since_ms = ring_clock_ms();
	ring_greeting_listening(&guest->greeting, fd, find_secret, reception->watcher);
	if (ring_watcher_add(reception->watcher, &guest->watch)) {
		ring_fd_close(fd);
		free(guest);
		return;
	}
	ring_watcher_alarm(reception->watcher, guest, guest_is_slow, RING_GUEST_MS);
	guest->next = reception->guests;
	reception->guests = guest;
	reception->guest_count++;
}

/* True if one more guest may come in; the oldest one makes room once it had its fair time. */
static bool is_room(struct ring_reception *reception)
{
	if (reception->guest_count < GUESTS_MAX)
		return true;
	struct ring_guest *oldest = reception->guests;
	while (oldest->next)
		oldest = oldest->next;
	if (ring_clock_ms() - oldest->since_ms < RING_GUEST_FAIR_MS)
		return false;
	dismiss(oldest, "it did not greet while others waited");
	return true;
}

static bool is_shortage(int cause)
{
	return cause == EMFILE || cause == ENFILE || cause == ENOBUFS || cause == ENOMEM;
}

/*
 * Newcomers wait in the kernel's queue. If guests hold descriptors, some will be free soon; else
 * all ports hear that nobody can come in.
 */
static void starve(struct ring_reception *reception, int cause)
{
	uint64_t one = 1;
	ring_fd_words(cause, reception->why);
	ring_log(RING_WARN, "cannot accept connections: %s", reception->why);
	reception->starved = ring_fd_ran_out(cause) && reception->guest_count == 0;
	struct ring_port *port = reception->starved ? reception->ports : NULL;
	while (port) {
		struct ring_port *next = port->next;
		if (port->starved)
			port->starved(port, reception->why);
		else if (port->wake >= 0 && write(port->wake, &one, sizeof(one)) < 0)
			ring_log(RING_DEBUG, "rank %d: not woken: %m", port->rank);
		port = next;
	}
}

void ring_reception_accept(struct ring_watch *watch, uint32_t events)
{
	struct ring_listener *listener = (struct ring_listener *)watch;
	struct ring_reception *reception = listener->reception;
	(void)events;
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		if (!is_room(reception)) {
			pause_accepting(reception, RING_GUEST_LOOK_MS);
			return;
		}
		int fd = ring_fd_accept(watch->fd);
		if (fd < 0 && is_shortage(errno)) {
			starve(reception, errno);
			pause_accepting(reception, RING_SHORTAGE_MS);
			return;
		}
		if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (fd >= 0)
			welcome(listener, fd);
	}
}

static void listen_for(struct ring_reception *reception, uint32_t events)
{
	ring_watcher_change(reception->watcher, &reception->tcp.watch, events);
	ring_watcher_change(reception->watcher, &reception->local.watch, events);
	for (struct ring_listener *other = reception->others; other; other = other->next)
		ring_watcher_change(reception->watcher, &other->watch, events);
}

/* Newcomers wait in the kernel's queue. */
static void pause_accepting(struct ring_reception *reception, int ms)
{
	reception->paused = true;
	listen_for(reception, 0);
	ring_watcher_alarm(reception->watcher, reception, resume_accepting, ms);
}

static void resume_accepting(void *owner)
{
	struct ring_reception *reception = owner;
	reception->paused = reception->starved = false;
	listen_for(reception, EPOLLIN);
}

/* For ports with something to do then; all others were closed before. */
static void end_ports(struct ring_reception *reception)
{
	struct ring_port *port = reception->ports;
	while (port) {
		struct ring_port *next = port->next;
		if (port->ended)
			port->ended(port);
		port = next;
	}
}

void ring_reception_close(struct ring_reception *reception)
{
	if (!reception)
		return;
	reception->paused = false;
	while (reception->guests) {
		int fd = reception->guests->watch.fd;
		forget_guest(reception->guests);
		ring_fd_close(fd);
	}
	end_ports(reception);
	ring_watcher_alarm(reception->watcher, reception, NULL, -1);
	ring_listeners_close(reception);
	free(reception);
}

/* ---- ports and visitors ---- */

void ring_watcher_open_port(struct ring_watcher *watcher, struct ring_port *port)
{
	ring_watcher_lock(watcher);
	struct ring_reception *reception = ring_watcher_reception(watcher);
	port->next = reception->ports;
	reception->ports = port;
	ring_watcher_unlock(watcher);
}

/* Closes what was kept for the port from attempts below `attempt`. */
static void turn_away(struct ring_reception *reception, const struct ring_port *port,
		      uint64_t attempt)
{
	for (struct ring_visitor **place = &reception->visitors; *place;) {
		struct ring_visitor *visitor = *place;
		const struct ring_hello *hello = &visitor->hello;
		if (hello->job != port->job || hello->to != port->rank || hello->attempt >= attempt) {
			place = &visitor->next;
			continue;
		}
		*place = visitor->next;
		ring_fd_close(visitor->fd);
		free(visitor);
	}
}

void ring_watcher_close_port(struct ring_watcher *watcher, struct ring_port *port)
{
	ring_watcher_lock(watcher);
	struct ring_reception *reception = ring_watcher_reception(watcher);
	struct ring_port **link = &reception->ports;
	while (*link && *link != port)
		link = &(*link)->next;
	if (*link)
		*link = port->next;
	turn_away(reception, port, UINT64_MAX);
	ring_watcher_unlock(watcher);
}

void ring_watcher_renew_port(struct ring_watcher *watcher, struct ring_port *port, uint32_t attempt)
{
	ring_watcher_lock(watcher);
	port->attempt = attempt;
	turn_away(ring_watcher_reception(watcher), port, attempt);
	ring_watcher_unlock(watcher);
}

static bool is_same_hello(const struct ring_hello *a, const struct ring_hello *b)
{
	return a->job == b->job && a->role == b->role && a->from == b->from && a->to == b->to &&
	       a->channel == b->channel && a->attempt == b->attempt;
}

int ring_watcher_fetch(struct ring_watcher *watcher, const struct ring_hello *hello, int *fd)
{
	ring_watcher_lock(watcher);
	struct ring_reception *reception = ring_watcher_reception(watcher);
	struct ring_visitor **place = &reception->visitors;
	while (*place && !is_same_hello(&(*place)->hello, hello))
		place = &(*place)->next;
	struct ring_visitor *visitor = *place;
	int err = visitor ? 0 : reception->starved ? RING_ESYSTEM : RING_EAGAIN;
	if (visitor) {
		*place = visitor->next;
		*fd = visitor->fd;
		free(visitor);
	}
	ring_watcher_unlock(watcher);
	return err;
}

const char *ring_watcher_starved(const struct ring_watcher *watcher)
{
	return ring_watcher_reception(watcher)->why;
}
