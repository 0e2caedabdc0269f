/* SPDX-License-Identifier: MIT */
/* Which of this host's addresses to listen on. */
#ifndef RING_INTERFACE_H
#define RING_INTERFACE_H

#include <net/if.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/status.h"

#define RING_ADDRESS_TEXT 64

/*
 * Chooses an address of this host.
 *
 * spec     "" or a comma-separated list: interface name prefixes ("eth", "=eth0" for exactly eth0),
 *          networks ("10.0.0.0/8", "fd00::/8"), each with a leading ^ to exclude. First entry that
 *          matches wins; with nothing but exclusions, the choice is as without a spec
 * towards  where the other ranks are known to be, or NULL: without a spec the kernel's route to it
 *          decides; without either the default route's address, then any that is up, loopback and
 *          container bridges last
 * address  port 0; a link-local one keeps its scope. Where no interface is up, and none but
 *          loopback is asked for: a local one without a name, for ranks of this host only
 * returns  0; RING_EINVAL with a sentence that lists the interfaces there are; RING_ESYSTEM
 */
int ring_interface_choose(const char *spec, const struct sockaddr_storage *towards,
			  struct sockaddr_storage *address, struct ring_failure *failure);

/* One address of an interface that is up. */
struct ring_interface {
	char name[IF_NAMESIZE];
	struct sockaddr_storage address;
	bool loopback;
	bool routed; /* what the kernel would send from, towards the other ranks or by default */
};

/*
 * The choice alone: the index among interfaces[n]. family is preferred where the route does not
 * decide, AF_UNSPEC prefers IPv4. returns RING_EINVAL or RING_ENOMEM with the sentence
 */
int ring_interface_select(const char *spec, const struct ring_interface *interfaces, int n,
			  int family, struct ring_failure *failure);

socklen_t ring_address_length(const struct sockaddr_storage *address);
/* A name of Unix sockets on this host, as an address. */
const char *ring_address_local(const struct sockaddr_storage *address);
void ring_address_set_local(struct sockaddr_storage *address, const char *name);

/* Only this host reaches it. */
bool ring_address_is_loopback(const struct sockaddr_storage *address);

/* "10.0.0.1:4711", "[fe80::1]:4711"; text has RING_ADDRESS_TEXT bytes. Returns text. */
const char *ring_address_format(const struct sockaddr_storage *address, char *text);

#endif
