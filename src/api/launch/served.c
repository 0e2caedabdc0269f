/* SPDX-License-Identifier: MIT */
/* Finding where to meet, listening there as rank 0, and the identity for it. */
#include "served.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "meet/identity.h"
#include "door/interface.h"
#include "meet/root.h"
#include "door/watcher.h"
#include "lookup.h"

/* ---- what people say ---- */

/* The first line of a file. returns false, with errno, or 0 if there is none or it is too long */
static bool read_line(const char *path, char line[RING_SECRET_TEXT])
{
	FILE *file = ring_fd_file(path);
	if (!file)
		return false;
	errno = 0;
	bool whole = fgets(line, RING_SECRET_TEXT, file) != NULL;
	size_t length = whole ? strcspn(line, "\r\n") : 0;
	whole = length > 0 && (line[length] || feof(file));
	line[length] = '\0';
	fclose(file);
	return whole;
}

static int read_secret(struct ring_served *served, struct ring_failure *failure)
{
	const char *secret = ring_launch_variable("RING_SECRET");
	const char *path = ring_launch_variable("RING_SECRET_FILE");
	if (secret && path)
		return ring_fail(failure, RING_EINVAL,
				 "RING_SECRET and RING_SECRET_FILE are both set: unset one");
	if (path && !read_line(path, served->secret))
		return ring_fail(failure, RING_EINVAL, "RING_SECRET_FILE=%.200s has no secret: %s",
				 path,
				 errno ? strerror(errno)
				       : "its first line is empty or longer than 1022 letters");
	if (secret && strlen(secret) >= RING_SECRET_TEXT)
		return ring_fail(failure, RING_EINVAL, "RING_SECRET has more than %d letters",
				 RING_SECRET_TEXT - 1);
	if (secret)
		strcpy(served->secret, secret);
	return 0;
}

int ring_served_choose(struct ring_served *served, const struct ring_launcher *launcher,
		       struct ring_failure *failure)
{
	served->chosen = ring_launch_variable("RING_ROOT_PORT") != NULL;
	int err = served->chosen ? ring_launch_number(launcher, "RING_ROOT_PORT", 1, RING_PORT_MAX,
						      &served->port, failure)
				 : 0;
	return err ? err : read_secret(served, failure);
}

/* ---- where to meet ---- */

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

/* Where rank 0 is to be met, if its name stands for several addresses. */
static int choose(const struct ring_served *served, const struct ring_addresses *found,
		  bool one_host, const struct ring_launch *launch, struct sockaddr_storage *address,
		  struct ring_failure *failure)
{
	char first[RING_ADDRESS_TEXT], last[RING_ADDRESS_TEXT];
	if (found->count == 1 || one_host || launch->rank == 0) {
		*address = *ring_lookup_own(found, one_host);
		return 0;
	}
	if (!ring_lookup_reached(found, launch->deadline_ms, address))
		return 0;
	return ring_fail(
		failure, RING_ETIMEDOUT,
		"rank %d: nobody served the meeting at any address of %s=%.200s, %s to %s, "
		"in time; does rank 0 of this very job still run, and is that port open?",
		launch->rank, served->address_of, served->address,
		ring_address_format(&found->list[0], first),
		ring_address_format(&found->list[found->count - 1], last));
}

static int resolve(const struct ring_served *served, bool one_host, const struct ring_launch *launch,
		   struct sockaddr_storage *address, struct ring_failure *failure)
{
	char why[RING_LOOKUP_WORDS];
	struct ring_addresses found;
	if (ring_lookup(served->address, served->port, launch->deadline_ms, &found, why))
		return ring_fail(failure, RING_ETIMEDOUT,
				 "%s=%.200s is not a host that rank %d can find in time: %s",
				 served->address_of, served->address, launch->rank, why);
	return choose(served, &found, one_host, launch, address, failure);
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
	bool one_host = is_on_one_host(served, launch->size);
	int err = resolve(served, one_host, launch, &address, failure);
	if (err)
		return err;
	bool tells_way = one_host || !ring_address_is_loopback(&address);
	err = ring_watcher_hold(&launch->watcher, config, tells_way ? &address : NULL, failure);
	if (err)
		return err;
	identity->root = address;
	if (launch->rank == 0) {
		if (!served->secret[0])
			warn_without_secret(launch->number, &address, one_host);
		err = serve(served, config, identity, one_host, failure);
		if (!err) /* the shortest way */
			err = ring_watcher_receive(launch->watcher, config,
						   tells_way ? &address : NULL, &identity->root,
						   failure);
	}
	ring_identity_write(identity, &launch->id);
	return err;
}
