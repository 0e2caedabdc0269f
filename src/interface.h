/* SPDX-License-Identifier: MIT */
/* Which of this host's addresses to listen on. */
#ifndef RING_INTERFACE_H
#define RING_INTERFACE_H

#include <sys/socket.h>

#include "status.h"

#define RING_ADDRESS_TEXT 64

/*
 * Chooses an address of this host.
 *
 * spec     "" or a comma-separated list: interface name prefixes ("eth", "=eth0" for exactly eth0),
 *          networks ("10.0.0.0/8", "fd00::/8"), each with a leading ^ to exclude. First entry that matches wins.
 * towards  where the other ranks are known to be, or NULL: without a spec the kernel's route to it decides;
 *          without either the default route's address, then any that is up, loopback and container bridges last
 * address  port 0
 * returns  0; RING_EINVAL with a sentence that lists the interfaces there are
 */
int ring_interface_choose(const char *spec, const struct sockaddr_storage *towards,
			  struct sockaddr_storage *address, struct ring_failure *failure);

socklen_t ring_address_length(const struct sockaddr_storage *address);

/* "10.0.0.1:4711", "[fe80::1]:4711"; text has RING_ADDRESS_TEXT bytes. Returns text. */
const char *ring_address_format(const struct sockaddr_storage *address, char *text);

#endif
