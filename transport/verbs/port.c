/* SPDX-License-Identifier: MIT */
/* Opens ports and keeps those that are in use; see port.h. */
#include "port.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/fork_lock.h"
#include "base/log.h"
#include "base/region.h"
#include "base/status.h"
#include "transport/transport.h"

RING_FORK_LOCK(lock)

static struct ring_verbs_port *ports; /* in use */

/* What was chosen last. Links of a communicator ask one after the other. */
static struct {
	struct sockaddr_storage address;
	struct ring_verbs_wish wish;
	struct ring_verbs_choice choice;
	bool known;
} recent;

/* Whether what was chosen for these is still there, unchanged. Locked. */
static bool choose_again(const struct sockaddr_storage *address, const struct ring_verbs_wish *wish,
			 struct ring_verbs_choice *choice)
{
	char why[RING_ABSENT_TEXT];
	struct ring_verbs_wish narrow = *wish;
	if (!recent.known || memcmp(&recent.address, address, sizeof(*address)) != 0 ||
	    memcmp(&recent.wish, wish, sizeof(*wish)) != 0)
		return false;
	memcpy(narrow.device, recent.choice.device, sizeof(narrow.device));
	narrow.port = recent.choice.port;
	narrow.gid = recent.choice.gid_index;
	if (!ring_verbs_choose(RING_VERBS_DEVICES, &narrow, address, choice, why) ||
	    memcmp(choice->gid, recent.choice.gid, sizeof(choice->gid)) != 0)
		return false;
	*choice = recent.choice; /* also what it says of other ports */
	return true;
}

/* An address is the same whatever the connection's port. */
static struct sockaddr_storage key_of(const struct sockaddr_storage *address)
{
	struct sockaddr_storage key = {0};
	if (address)
		key = *address;
	if (key.ss_family == AF_INET)
		((struct sockaddr_in *)&key)->sin_port = 0;
	if (key.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&key)->sin6_port = 0;
	return key;
}

/* False: why says which of the environment and the device is missing. */
static bool choose(const struct sockaddr_storage *address, struct ring_verbs_wish *wish,
		   struct ring_verbs_choice *choice, char *why)
{
	const struct sockaddr_storage key = key_of(address);
	if (!ring_verbs_wish_read(wish, why))
		return false;
	pthread_mutex_lock(&lock);
	bool found = choose_again(&key, wish, choice);
	if (!found && ring_verbs_choose(RING_VERBS_DEVICES, wish, &key, choice, why)) {
		recent.address = key;
		recent.wish = *wish;
		recent.choice = *choice;
		found = recent.known = true;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

bool ring_verbs_present(char *why)
{
	struct ring_verbs_wish wish;
	struct ring_verbs_choice choice;
	return choose(NULL, &wish, &choice, why) && ring_verbs_library(why);
}

static int mtu_bytes(enum ibv_mtu mtu)
{
	return 128 << mtu;
}

static int fail_system(const struct ring_verbs_port *port, const char *what, char *why)
{
	snprintf(why, RING_ABSENT_TEXT, "%.63s: %s: %s", port->choice.device, what, strerror(errno));
	return errno == ENOMEM ? RING_ENOMEM : RING_ESYSTEM;
}

static int open_device(struct ring_verbs_port *port, char *why)
{
	const struct ring_verbs_library *library = port->library;
	int count = 0;
	struct ibv_device **devices = library->get_device_list(&count);
	if (!devices)
		return fail_system(port, "the list of devices", why);
	errno = ENODEV;
	for (int i = 0; i < count && !port->context; i++)
		if (strcmp(library->get_device_name(devices[i]), port->choice.device) == 0)
			port->context = library->open_device(devices[i]);
	int cause = errno;
	library->free_device_list(devices);
	errno = cause;
	if (port->context) {
		ring_fd_adopt(port->context->cmd_fd);
		ring_fd_adopt(port->context->async_fd);
		return 0;
	}
	return fail_system(port,
			   cause == ENODEV ? "no driver of libibverbs knows it (package "
					     "ibverbs-providers or rdma-core)"
					   : "it cannot be opened; may this user read and write "
					     "/dev/infiniband/uverbs*?",
			   why);
}

static int open_port(struct ring_verbs_port *port, const struct ring_verbs_wish *wish, char *why)
{
	struct ibv_port_attr attr = {0};
	int err = open_device(port, why);
	if (err)
		return err;
	errno = port->library->query_port(port->context, (uint8_t)port->choice.port,
					  (struct _compat_ibv_port_attr *)&attr);
	if (errno)
		return fail_system(port, "its port cannot be asked", why);
	port->lid = attr.lid;
	port->mtu = attr.active_mtu;
	while (wish->mtu > 0 && mtu_bytes(port->mtu) > wish->mtu)
		port->mtu--;
	if (mtu_bytes(port->mtu) < wish->mtu) {
		snprintf(why, RING_ABSENT_TEXT,
			 "RING_VERBS_MTU=%d is more than port %d of %.63s has now, %d", wish->mtu,
			 port->choice.port, port->choice.device, mtu_bytes(port->mtu));
		return RING_EINVAL;
	}
	port->pd = port->library->alloc_pd(port->context);
	return port->pd ? 0 : fail_system(port, "no protection domain", why);
}

static void close_port(struct ring_verbs_port *port)
{
	if (port->pd)
		port->library->dealloc_pd(port->pd);
	if (port->context) {
		ring_fd_release(port->context->cmd_fd);
		ring_fd_release(port->context->async_fd);
		port->library->close_device(port->context);
	}
	free(port);
}

static void tell(const struct ring_verbs_port *port)
{
	const unsigned char *gid = port->choice.gid;
	ring_log(RING_INFO,
		 "verbs: port %d of %s, %g Gbit/s, %s, GID %d (%02x%02x:%02x%02x:%02x%02x:%02x%02x:"
		 "%02x%02x:%02x%02x:%02x%02x:%02x%02x), MTU %d",
		 port->choice.port, port->choice.device, port->choice.rate,
		 port->choice.ethernet ? "RoCE v2" : "InfiniBand", port->choice.gid_index, gid[0],
		 gid[1], gid[2], gid[3], gid[4], gid[5], gid[6], gid[7], gid[8], gid[9], gid[10],
		 gid[11], gid[12], gid[13], gid[14], gid[15], mtu_bytes(port->mtu));
}

/* Once for a process: it is the same for all links. Locked. */
static void tell_faster(const struct ring_verbs_choice *choice)
{
	static bool told;
	if (!choice->faster[0] || told)
		return;
	told = true;
	ring_log(RING_WARN,
		 "verbs: %s, %g Gbit/s, is left aside for port %d of %s, %g Gbit/s, which %s; "
		 "RING_VERBS_DEVICE=%s or RING_INTERFACE chooses it",
		 choice->faster, choice->faster_rate, choice->port, choice->device, choice->rate,
		 choice->of_connection ? "has the address by which ranks meet" : "comes first",
		 choice->faster);
}

static bool is_same(const struct ring_verbs_port *port, const struct ring_verbs_choice *choice,
		    const struct ring_verbs_wish *wish)
{
	return memcmp(&port->wish, wish, sizeof(*wish)) == 0 &&
	       port->generation == ring_fork_generation() && port->choice.port == choice->port &&
	       port->choice.gid_index == choice->gid_index &&
	       memcmp(port->choice.gid, choice->gid, sizeof(choice->gid)) == 0 &&
	       strcmp(port->choice.device, choice->device) == 0;
}

/* Locked. */
static int hold(const struct ring_verbs_wish *wish, const struct ring_verbs_choice *choice,
		const struct ring_verbs_library *library, struct ring_verbs_port **held, char *why)
{
	struct ring_verbs_port *port = ports;
	while (port && !is_same(port, choice, wish))
		port = port->next;
	if (!port) {
		port = calloc(1, sizeof(*port));
		if (!port) {
			snprintf(why, RING_ABSENT_TEXT, "no memory");
			return RING_ENOMEM;
		}
		port->library = library;
		port->choice = *choice;
		port->wish = *wish;
		port->generation = ring_fork_generation();
		int err = open_port(port, wish, why);
		if (err) {
			close_port(port);
			return err;
		}
		tell(port);
		tell_faster(choice);
		port->next = ports;
		ports = port;
	}
	port->users++;
	*held = port;
	return 0;
}

int ring_verbs_port_hold(const struct sockaddr_storage *address, struct ring_verbs_port **port,
			 char *why)
{
	struct ring_verbs_wish wish;
	struct ring_verbs_choice choice;
	const struct ring_verbs_library *library = NULL;
	if (choose(address, &wish, &choice, why))
		library = ring_verbs_library(why);
	if (!library)
		return RING_ENOTSUP;
	pthread_mutex_lock(&lock);
	int err = hold(&wish, &choice, library, port, why);
	pthread_mutex_unlock(&lock);
	return err;
}

void ring_verbs_port_drop(struct ring_verbs_port *port)
{
	if (!port || port->generation != ring_fork_generation())
		return;
	pthread_mutex_lock(&lock);
	bool unused = --port->users == 0;
	struct ring_verbs_port **link = &ports;
	while (unused && *link != port)
		link = &(*link)->next;
	if (unused)
		*link = port->next;
	pthread_mutex_unlock(&lock);
	if (!unused)
		return;
	ring_region_drop_accesses(port);
	close_port(port);
}

const char *ring_verbs_port_state(const struct ring_verbs_port *port)
{
	static const char *const states[] = {"unknown", "down",   "initialising",
					     "armed",   "active", "active, deferred"};
	struct ibv_port_attr attr = {0};
	bool asked = port->library->query_port(port->context, (uint8_t)port->choice.port,
					       (struct _compat_ibv_port_attr *)&attr) == 0;
	return asked && attr.state < sizeof(states) / sizeof(states[0]) ? states[attr.state]
									: "gone";
}
