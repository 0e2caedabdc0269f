/* SPDX-License-Identifier: MIT */
/*
 * Where the watcher listens: at one address of TCP and a local name from the beginning, and at
 * others as communicators and meetings ask for them. What watcher.h says of addresses is here.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>

#include "base/log.h"
#include "interface.h"
#include "reception_parts.h"

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
static int listen_tcp(struct ring_listener *listener, const struct ring_config *config,
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
		(struct ring_watch){.fd = -1, .events = EPOLLIN, .ready = ring_reception_accept};
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
	const struct ring_listener *other = reception->others;
	while (other && !is_same_listener(&other->address, address))
		other = other->next;
	return other || is_same_listener(&reception->tcp.address, address);
}

/* Takes a listener with a socket in, or frees it. returns 0; RING_ESYSTEM */
static int take_in(struct ring_reception *reception, struct ring_listener *listener,
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

static struct ring_listener *make_listener(struct ring_reception *reception,
					   const struct sockaddr_storage *address)
{
	struct ring_listener *listener = calloc(1, sizeof(*listener));
	if (!listener)
		return NULL;
	listener->watch = (struct ring_watch){.fd = -1,
					      .events = reception->tcp.watch.events,
					      .ready = ring_reception_accept};
	listener->reception = reception;
	listener->address = *address;
	return listener;
}

static int listen_as_well(struct ring_reception *reception, const struct sockaddr_storage *address,
			  struct ring_failure *failure)
{
	struct ring_listener *known = make_listener(reception, address);
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
static bool serves(const struct ring_listener *listener, const struct sockaddr_storage *wanted,
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

static const struct ring_listener *find_serving(const struct ring_reception *reception,
						const struct sockaddr_storage *wanted,
						const struct ring_config *config)
{
	const struct ring_listener *other = reception->others;
	if (serves(&reception->tcp, wanted, config))
		return &reception->tcp;
	while (other && !serves(other, wanted, config))
		other = other->next;
	return other;
}

static int receive_at(struct ring_reception *reception, const struct ring_config *config,
		      struct sockaddr_storage *address, struct ring_failure *failure)
{
	const struct ring_listener *found = find_serving(reception, address, config);
	if (found) {
		*address = found->address;
		return 0;
	}
	struct ring_listener *made = make_listener(reception, address);
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

/* ---- ending ---- */

static void close_listener(struct ring_reception *reception, struct ring_listener *listener)
{
	ring_watcher_remove(reception->watcher, &listener->watch);
	ring_fd_close(listener->watch.fd);
}

void ring_listeners_close(struct ring_reception *reception)
{
	close_listener(reception, &reception->tcp);
	close_listener(reception, &reception->local);
	while (reception->others) {
		struct ring_listener *other = reception->others;
		reception->others = other->next;
		close_listener(reception, other);
		free(other);
	}
}

/* ---- where ---- */

const struct sockaddr_storage *ring_watcher_address(const struct ring_watcher *watcher)
{
	return &ring_watcher_reception(watcher)->tcp.address;
}

const char *ring_watcher_local_name(const struct ring_watcher *watcher)
{
	return ring_watcher_reception(watcher)->local_name;
}
