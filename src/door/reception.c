/* SPDX-License-Identifier: MIT */
/*
 * The watcher's front door; see reception.h. A guest is a connection that has not proved itself: it
 * has five seconds, and there are never more than GUESTS_MAX. While the house is full nobody is let
 * in, unless the oldest guest has had its fair time and is told to come again. So strangers who say
 * nothing cannot shut the ranks out, and a rank that was sent away from a crowd is back in a
 * moment.
 */
#include "reception.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "dial.h"
#include "base/fd.h"
#include "interface.h"
#include "base/log.h"
#include "base/waits.h"

#define GUESTS_MAX 64
#define ACCEPTS_AT_ONCE 16

struct listener {
	struct ring_watch watch;
	struct ring_reception *reception;
	bool local;
	bool known; /* at a port known beforehand; ranks may come before their meeting */
	struct sockaddr_storage address;
	struct listener *next; /* another one beside the first */
};

struct guest {
	struct ring_watch watch;
	struct ring_reception *reception;
	struct ring_greeting greeting;
	bool early_is_fine; /* came through a known listener */
	uint64_t since_ms;
	struct guest *next; /* an older one */
};

/* A proved connection that waits to be fetched. */
struct visitor {
	struct ring_hello hello;
	int fd;
	struct visitor *next;
};

struct ring_reception {
	struct ring_watcher *watcher;
	struct listener tcp, local, *others;
	char local_name[32];
	struct guest *guests; /* newest first */
	int guest_count;
	bool paused;
	bool starved;            /* the last accept failed for want of descriptors */
	char why[RING_FD_WORDS]; /* the same in words */
	unsigned warned;         /* bit of each enum ring_stranger that was logged loudly */
	struct ring_port *ports;
	struct visitor *visitors;
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
static void forget_guest(struct guest *guest)
{
	struct ring_reception *reception = guest->reception;
	struct guest **link = &reception->guests;
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

static void show_out(struct guest *guest, enum ring_stranger stranger, const char *reason)
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
	struct visitor *visitor = malloc(sizeof(*visitor));
	if (!visitor) {
		ring_fd_close(fd);
		return;
	}
	*visitor = (struct visitor){.hello = *hello, .fd = fd, .next = reception->visitors};
	reception->visitors = visitor;
	uint64_t one = 1;
	if (port->wake >= 0 && write(port->wake, &one, sizeof(one)) < 0)
		ring_log(RING_DEBUG, "rank %d: not woken: %m", port->rank);
}

/* The guest proved who it is: the port it came for takes over, if it is still open. */
static void hand_over(struct guest *guest)
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
static bool greet(struct guest *guest)
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
	greet((struct guest *)watch);
	(void)events;
}

/*
 * Its time is over. What it has said meanwhile is heard first: on a busy machine this process may
 * have been the slow one. A rank comes again.
 */
static void dismiss(struct guest *guest, const char *reason)
{
	if (!greet(guest))
		show_out(guest, RING_STRANGER_SLOW, reason);
}

static void guest_is_slow(void *owner)
{
	dismiss(owner, "it did not greet in time");
}

/* ---- listeners ---- */

static void welcome(const struct listener *listener, int fd)
{
	int yes = 1;
	bool local = listener->local;
	struct ring_reception *reception = listener->reception;
	struct guest *guest = local && !ring_local_is_own_user(fd) ? NULL
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
	struct guest *oldest = reception->guests;
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

static void accept_guests(struct ring_watch *watch, uint32_t events)
{
	struct listener *listener = (struct listener *)watch;
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
	for (struct listener *other = reception->others; other; other = other->next)
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

/* sockaddr_in6 has its port at the same place. */
static void set_port(struct sockaddr_storage *address, int port)
{
	((struct sockaddr_in *)address)->sin_port = htons((uint16_t)port);
}

/* returns the listening socket; -1 and errno */
static int listen_at(const struct sockaddr *address, socklen_t length)
{
	int yes = 1;
	int fd = ring_fd_socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (address->sa_family != AF_UNIX)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *six = (const void *)address;
		int only = !IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr);
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
	}
	if (bind(fd, address, length) || listen(fd, SOMAXCONN)) {
		int cause = errno;
		ring_fd_close(fd);
		errno = cause;
		return -1;
	}
	return fd;
}

/* At a port of the range that the options give, else at any. The address gets the port. */
static int listen_tcp(struct listener *listener, const struct ring_config *config,
		      struct ring_failure *failure)
{
	struct sockaddr_storage *address = &listener->address;
	socklen_t length = ring_address_length(address);
	char text[RING_ADDRESS_TEXT], words[RING_FD_WORDS];
	int fd = -1;
	for (int port = config->port_first; fd < 0 && port <= config->port_last; port++) {
		set_port(address, port);
		fd = listen_at((struct sockaddr *)address, length);
	}
	if (fd < 0 && config->port_first == config->port_last)
		return ring_fail(failure, RING_ESYSTEM, "cannot listen at %s: %s",
				 ring_address_format(address, text), ring_fd_words(errno, words));
	if (fd < 0) {
		int cause = errno;
		set_port(address, 0);
		return ring_fail(
			failure, RING_ESYSTEM,
			"cannot listen at %s on any port of RING_PORT_RANGE %d-%d: %s; each "
			"process of a host needs one, and so does what starts ranks",
			ring_address_format(address, text), config->port_first, config->port_last,
			strerror(cause));
	}
	listener->watch.fd = fd;
	length = sizeof(*address);
	getsockname(fd, (struct sockaddr *)address, &length);
	return 0;
}

static int listen_local(struct ring_reception *reception, struct ring_failure *failure)
{
	char words[RING_FD_WORDS];
	uint64_t number;
	ring_random(&number, sizeof(number));
	snprintf(reception->local_name, sizeof(reception->local_name), "ringccl-%016llx",
		 (unsigned long long)number);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(reception->local_name);
	memcpy(address.sun_path + 1, reception->local_name, length);
	int fd = listen_at((struct sockaddr *)&address,
			   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
	if (fd < 0)
		return ring_fail(failure, RING_ESYSTEM, "cannot listen for local ranks: %s",
				 ring_fd_words(errno, words));
	reception->local.watch.fd = fd;
	return 0;
}

int ring_reception_open(struct ring_reception **opened, struct ring_watcher *watcher,
			const struct ring_config *config, const struct sockaddr_storage *towards,
			struct ring_failure *failure)
{
	struct ring_reception *reception = calloc(1, sizeof(*reception));
	if (!reception)
		return ring_fail(failure, RING_ENOMEM, "no memory for the listeners");
	reception->watcher = watcher;
	reception->tcp.watch =
		(struct ring_watch){.fd = -1, .events = EPOLLIN, .ready = accept_guests};
	reception->tcp.reception = reception;
	reception->local = reception->tcp;
	reception->local.local = true;
	int err = ring_interface_choose(config->interface, towards, &reception->tcp.address,
					failure);
	bool isolated = !err && reception->tcp.address.ss_family == AF_UNIX; /* no network is up */
	if (!err && !isolated)
		err = listen_tcp(&reception->tcp, config, failure);
	if (!err)
		err = listen_local(reception, failure);
	if (isolated)
		ring_address_set_local(&reception->tcp.address, reception->local_name);
	if (!err && ((!isolated && ring_watcher_add(watcher, &reception->tcp.watch)) ||
		     ring_watcher_add(watcher, &reception->local.watch)))
		err = ring_fail(failure, RING_ESYSTEM, "cannot watch the listeners: %m");
	if (err) {
		ring_fd_close(reception->tcp.watch.fd);
		ring_fd_close(reception->local.watch.fd);
		free(reception);
		return err;
	}
	char text[RING_ADDRESS_TEXT];
	ring_log(RING_INFO, "listening at %s", ring_address_format(&reception->tcp.address, text));
	*opened = reception;
	return 0;
}

static bool is_same_listener(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return a->ss_family == b->ss_family && memcmp(a, b, ring_address_length(a)) == 0;
}

static bool listens_at(const struct ring_reception *reception,
		       const struct sockaddr_storage *address)
{
	const struct listener *other = reception->others;
	while (other && !is_same_listener(&other->address, address))
		other = other->next;
	return other || is_same_listener(&reception->tcp.address, address);
}

/* Takes a listener with a socket in, or frees it. returns 0; RING_ESYSTEM */
static int take_in(struct ring_reception *reception, struct listener *listener,
		   struct ring_failure *failure)
{
	char text[RING_ADDRESS_TEXT], words[RING_FD_WORDS];
	const char *there = ring_address_format(&listener->address, text);
	if (listener->watch.fd < 0 || ring_watcher_add(reception->watcher, &listener->watch)) {
		ring_fail(failure, RING_ESYSTEM, "cannot listen at %s: %s", there,
			  ring_fd_words(errno, words));
		ring_fd_close(listener->watch.fd);
		free(listener);
		return RING_ESYSTEM;
	}
	listener->next = reception->others;
	reception->others = listener;
	ring_log(RING_INFO, "listening at %s as well", there);
	return 0;
}

static struct listener *make_listener(struct ring_reception *reception,
				      const struct sockaddr_storage *address)
{
	struct listener *listener = calloc(1, sizeof(*listener));
	if (!listener)
		return NULL;
	listener->watch = (struct ring_watch){.fd = -1,
					      .events = reception->tcp.watch.events,
					      .ready = accept_guests};
	listener->reception = reception;
	listener->address = *address;
	return listener;
}

static int listen_as_well(struct ring_reception *reception, const struct sockaddr_storage *address,
			  struct ring_failure *failure)
{
	struct listener *known = make_listener(reception, address);
	if (!known)
		return ring_fail(failure, RING_ENOMEM, "no memory for a listener");
	known->known = true;
	known->watch.fd = listen_at((const struct sockaddr *)address, ring_address_length(address));
	return take_in(reception, known, failure);
}

int ring_watcher_listen(struct ring_watcher *watcher, const struct sockaddr_storage *address,
			struct ring_failure *failure)
{
	ring_watcher_lock(watcher);
	struct ring_reception *reception = ring_watcher_reception(watcher);
	int err = listens_at(reception, address) ? 0 : listen_as_well(reception, address, failure);
	ring_watcher_unlock(watcher);
	return err;
}

/* ---- where a communicator is reached ---- */

/* Whether it receives there, at a port that the options allow. */
static bool serves(const struct listener *listener, const struct sockaddr_storage *wanted,
		   const struct ring_config *config)
{
	struct sockaddr_storage host = listener->address;
	struct sockaddr_in four; /* sockaddr_in6 has its port at the same place */
	memcpy(&four, &host, sizeof(four));
	int port = ntohs(four.sin_port);
	bool allowed = !config->port_last ||
		       (port >= config->port_first && port <= config->port_last);
	four.sin_port = 0;
	memcpy(&host, &four, sizeof(four));
	return !listener->known && allowed && is_same_listener(&host, wanted);
}

static const struct listener *find_serving(const struct ring_reception *reception,
					   const struct sockaddr_storage *wanted,
					   const struct ring_config *config)
{
	const struct listener *other = reception->others;
	if (serves(&reception->tcp, wanted, config))
		return &reception->tcp;
	while (other && !serves(other, wanted, config))
		other = other->next;
	return other;
}

static int receive_at(struct ring_reception *reception, const struct ring_config *config,
		      struct sockaddr_storage *address, struct ring_failure *failure)
{
	const struct listener *found = find_serving(reception, address, config);
	if (found) {
		*address = found->address;
		return 0;
	}
	struct listener *made = make_listener(reception, address);
	if (!made)
		return ring_fail(failure, RING_ENOMEM, "no memory for a listener");
	int err = listen_tcp(made, config, failure);
	if (err) {
		free(made);
		return err;
	}
	*address = made->address;
	return take_in(reception, made, failure);
}

int ring_watcher_receive(struct ring_watcher *watcher, const struct ring_config *config,
			 const struct sockaddr_storage *towards, struct sockaddr_storage *address,
			 struct ring_failure *failure)
{
	ring_watcher_lock(watcher);
	struct ring_reception *reception = ring_watcher_reception(watcher);
	struct sockaddr_storage wanted;
	int err = ring_interface_choose(config->interface, towards, &wanted, failure);
	bool isolated = reception->tcp.address.ss_family == AF_UNIX; /* no network was up */
	if (!err && !isolated && wanted.ss_family != AF_UNIX)
		err = receive_at(reception, config, &wanted, failure);
	else if (!err)
		wanted = reception->tcp.address;
	if (!err)
		*address = wanted;
	ring_watcher_unlock(watcher);
	return err;
}

static void close_listener(struct ring_reception *reception, struct listener *listener)
{
	ring_watcher_remove(reception->watcher, &listener->watch);
	ring_fd_close(listener->watch.fd);
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
	close_listener(reception, &reception->tcp);
	close_listener(reception, &reception->local);
	while (reception->others) {
		struct listener *other = reception->others;
		reception->others = other->next;
		close_listener(reception, other);
		free(other);
	}
	free(reception);
}

const struct sockaddr_storage *ring_watcher_address(const struct ring_watcher *watcher)
{
	return &ring_watcher_reception(watcher)->tcp.address;
}

const char *ring_watcher_local_name(const struct ring_watcher *watcher)
{
	return ring_watcher_reception(watcher)->local_name;
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
	for (struct visitor **place = &reception->visitors; *place;) {
		struct visitor *visitor = *place;
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
	struct visitor **place = &reception->visitors;
	while (*place && !is_same_hello(&(*place)->hello, hello))
		place = &(*place)->next;
	struct visitor *visitor = *place;
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
