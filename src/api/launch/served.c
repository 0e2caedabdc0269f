/* SPDX-License-Identifier: MIT */
/* Finding where to meet, listening there as rank 0, and the identity for it. */
#include "served.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "meet/identity.h"
#include "meet/interface.h"
#include "meet/root.h"
#include "meet/watcher.h"

int ring_served_choose_port(struct ring_served *served, const struct ring_launcher *launcher,
			    struct ring_failure *failure)
{
	served->chosen = ring_launch_variable("RING_ROOT_PORT") != NULL;
	return served->chosen ? ring_launch_number(launcher, "RING_ROOT_PORT", 1, RING_PORT_MAX,
						   &served->port, failure)
			      : 0;
}

const char *ring_served_secret(void)
{
	const char *secret = ring_launch_variable("RING_SECRET");
	return secret ? secret : "";
}

/* ---- where to meet ---- */

/* All ranks of a host get the same answer; the resolver puts addresses that cannot work last. */
static int resolve(const struct ring_served *served, int rank, struct sockaddr_storage *address,
		   struct ring_failure *failure)
{
	char port[16];
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found;
	snprintf(port, sizeof(port), "%d", served->port);
	int cause = getaddrinfo(served->address, port, &hints, &found);
	if (cause) {
		bool passing = cause == EAI_AGAIN || cause == EAI_SYSTEM || cause == EAI_MEMORY;
		return ring_fail(failure, passing ? RING_ESYSTEM : RING_EINVAL,
				 "%s=%.200s is no host that rank %d can find: %s",
				 served->address_of, served->address, rank,
				 cause == EAI_SYSTEM ? strerror(errno) : gai_strerror(cause));
	}
	*address = (struct sockaddr_storage){0};
	memcpy(address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}

/*
 * True for loopback on every host; other names, as on Debian, may mean it on their own host only.
 */
static bool says_loopback(const char *address)
{
	struct in_addr four;
	struct in6_addr six;
	return strcmp(address, "localhost") == 0 ||
	       (inet_pton(AF_INET, address, &four) == 1 && ntohl(four.s_addr) >> 24 == 127) ||
	       (inet_pton(AF_INET6, address, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six));
}

static bool is_on_one_host(const struct ring_served *served, int size)
{
	return served->local_size ? served->local_size == size : says_loopback(served->address);
}

static int listen_at(struct ring_watcher *watcher, const struct ring_served *served,
		     const struct sockaddr_storage *address, struct ring_failure *failure)
{
	struct ring_failure refused = {0};
	int err = ring_watcher_listen(watcher, address, &refused);
	if (err)
		ring_fail(failure, err,
			  "rank 0 %s; ranks meet there, at the port %s: %s another one, alike on "
			  "all ranks",
			  refused.text, served->chosen ? "RING_ROOT_PORT" : served->port_of,
			  served->chosen ? "choose" : "let RING_ROOT_PORT be");
	return err;
}

/* A name may mean different addresses on different hosts: rank 0 listens at every address. */
static int listen_everywhere(struct ring_watcher *watcher, const struct ring_served *served,
			     struct ring_failure *failure)
{
	struct sockaddr_storage any = {.ss_family = AF_INET6};
	((struct sockaddr_in6 *)&any)->sin6_port = htons((uint16_t)served->port);
	int probe = ring_fd_socket(AF_INET6, SOCK_STREAM, 0);
	if (probe >= 0)
		ring_fd_close(probe);
	else
		any.ss_family = AF_INET; /* the port lies at the same place */
	return listen_at(watcher, served, &any, failure);
}

/* ---- meeting ---- */

static int serve(const struct ring_served *served, const struct ring_config *config,
		 const struct ring_identity *identity, bool one_host, struct ring_failure *failure)
{
	struct ring_watcher *watcher;
	uint32_t first_attempt;
	int err = ring_watcher_hold(&watcher, config, NULL, failure);
	if (err)
		return err;
	err = one_host ? listen_at(watcher, served, &identity->root, failure)
		       : listen_everywhere(watcher, served, failure);
	ring_random(&first_attempt, sizeof(first_attempt));
	first_attempt /= 2; /* leaves room to grow */
	if (!err && ring_root_start(watcher, identity, first_attempt))
		err = ring_fail(failure, RING_ENOMEM, "rank 0: no memory for the meeting");
	if (err)
		ring_watcher_drop(watcher); /* else the root holds it */
	return err;
}

/* Once per job. Loud if other hosts may reach it: nobody asked for that. */
static void warn_without_secret(unsigned number, const struct sockaddr_storage *root, bool one_host)
{
	char text[RING_ADDRESS_TEXT];
	bool reached = !one_host || !ring_address_is_loopback(root);
	if (number == 0)
		ring_log(reached ? RING_LOUD : RING_WARN,
			 "RING_SECRET is not set: %s that reaches %s and guesses this job's name "
			 "may join it; set a secret, alike on all ranks: openssl rand -hex 16 "
			 "makes one",
			 reached ? "any host" : "any user of this host",
			 ring_address_format(root, text));
}

/*
 * On several hosts a name that means loopback here means another address elsewhere: it does not
 * tell which interface leads to the other ranks.
 */
int ring_served_enter(const struct ring_served *served, struct ring_identity *identity,
		      const struct ring_config *config, struct ring_launch *launch,
		      struct ring_failure *failure)
{
	struct sockaddr_storage address;
	int err = resolve(served, launch->rank, &address, failure);
	if (err)
		return err;
	bool one_host = is_on_one_host(served, launch->size);
	bool tells_way = one_host || !ring_address_is_loopback(&address);
	err = ring_watcher_hold(&launch->watcher, config, tells_way ? &address : NULL, failure);
	if (err)
		return err;
	identity->root = address;
	if (launch->rank == 0) {
		if (!ring_served_secret()[0])
			warn_without_secret(launch->number, &address, one_host);
		err = serve(served, config, identity, one_host, failure);
		identity->root = *ring_watcher_address(launch->watcher); /* the shortest way */
	}
	ring_identity_write(identity, &launch->id);
	return err;
}
