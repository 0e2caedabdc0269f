/* SPDX-License-Identifier: MIT */
/*
 * Ranks that torchrun started, or anybody who sets the variables of torch.distributed. Nobody hands
 * them an id: all compute the same one, rank 0 serves its meeting, and the others look for it at
 * MASTER_ADDR, at the port after MASTER_PORT, where torchrun's own store listens.
 *
 * Not part of the id are TORCHELASTIC_RESTART_COUNT, which every host counts for itself (a host that
 * restarts because another one failed does not count), and the text of MASTER_ADDR, which may be a
 * name on one host and an address on another. What keeps a restarted job apart from the one before:
 * its meeting is served by another process, and whoever met there links only with those who did.
 */
#include "torchrun.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "meet/identity.h"
#include "meet/interface.h"
#include "base/log.h"
#include "meet/root.h"
#include "meet/watcher.h"

#define PORT_MAX 65535

/* ---- what is said ---- */

static int read_port(struct ring_torchrun *job, int store, struct ring_failure *failure)
{
	job->chosen = ring_launch_variable("RING_ROOT_PORT") != NULL;
	if (job->chosen)
		return ring_launch_number(&ring_launcher_torchrun, "RING_ROOT_PORT", 1, PORT_MAX,
					  &job->port, failure);
	if (store == PORT_MAX)
		return ring_fail(
			failure, RING_EINVAL,
			"MASTER_PORT=%d leaves no port after it for the ranks to meet: set "
			"RING_ROOT_PORT to one that is free on rank 0's host",
			store);
	job->port = store + 1;
	return 0;
}

int ring_torchrun_read(struct ring_torchrun *job, struct ring_failure *failure)
{
	const struct ring_launcher *launcher = &ring_launcher_torchrun;
	int store = 0;
	*job = (struct ring_torchrun){0};
	int err = ring_launch_number(launcher, "WORLD_SIZE", 1, RING_SIZE_MAX, &job->size, failure);
	if (!err)
		err = ring_launch_number(launcher, "RANK", 0, job->size - 1, &job->rank, failure);
	if (!err && ring_launch_variable("LOCAL_WORLD_SIZE"))
		err = ring_launch_number(launcher, "LOCAL_WORLD_SIZE", 1, job->size,
					 &job->local_size, failure);
	if (!err)
		err = ring_launch_text(launcher, "MASTER_ADDR", &job->address, failure);
	if (!err)
		err = ring_launch_text(launcher, "MASTER_PORT", &job->store, failure);
	if (!err)
		err = ring_launch_number(launcher, "MASTER_PORT", 1, PORT_MAX, &store, failure);
	if (!err)
		err = read_port(job, store, failure);
	job->run = ring_launch_variable("TORCHELASTIC_RUN_ID");
	if (!job->run)
		job->run = "";
	return err;
}

void ring_torchrun_identify(const struct ring_torchrun *job, unsigned call, const char *secret,
			    struct ring_identity *identity)
{
	char size[16], number[16];
	snprintf(size, sizeof(size), "%d", job->size);
	snprintf(number, sizeof(number), "%u", call);
	const char *const facts[] = {"torchrun", job->store, job->run, size, number};
	ring_identity_derive(identity, secret, facts, sizeof(facts) / sizeof(facts[0]));
}

/* ---- where to meet ---- */

/* All ranks of a host get the same answer: the resolver puts addresses that cannot work last. */
static int resolve(const struct ring_torchrun *job, struct sockaddr_storage *address,
		   struct ring_failure *failure)
{
	char port[16];
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found;
	snprintf(port, sizeof(port), "%d", job->port);
	int cause = getaddrinfo(job->address, port, &hints, &found);
	if (cause) {
		bool passing = cause == EAI_AGAIN || cause == EAI_SYSTEM || cause == EAI_MEMORY;
		return ring_fail(failure, passing ? RING_ESYSTEM : RING_EINVAL,
				 "MASTER_ADDR=%.200s is no host that rank %d can find: %s",
				 job->address, job->rank,
				 cause == EAI_SYSTEM ? strerror(errno) : gai_strerror(cause));
	}
	*address = (struct sockaddr_storage){0};
	memcpy(address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}

static bool is_on_one_host(const struct ring_torchrun *job, const struct sockaddr_storage *address)
{
	return job->local_size ? job->local_size == job->size : ring_address_is_loopback(address);
}

static int listen_at(struct ring_watcher *watcher, const struct ring_torchrun *job,
		     const struct sockaddr_storage *address, struct ring_failure *failure)
{
	struct ring_failure refused = {0};
	int err = ring_watcher_listen(watcher, address, &refused);
	if (err)
		ring_fail(failure, err,
			  "rank 0 %s; ranks meet there, at the port %s: %s another one, alike on "
			  "all ranks",
			  refused.text, job->chosen ? "RING_ROOT_PORT" : "after MASTER_PORT",
			  job->chosen ? "choose" : "let RING_ROOT_PORT be");
	return err;
}

/* What a name stands for differs between hosts: rank 0 hears its other names at every address. */
static int listen_everywhere(struct ring_watcher *watcher, const struct ring_torchrun *job,
			     struct ring_failure *failure)
{
	struct sockaddr_storage any = {.ss_family = AF_INET6};
	((struct sockaddr_in6 *)&any)->sin6_port = htons((uint16_t)job->port);
	int probe = ring_fd_socket(AF_INET6, SOCK_STREAM, 0);
	if (probe >= 0)
		ring_fd_close(probe);
	else
		any.ss_family = AF_INET; /* the port lies at the same place */
	return listen_at(watcher, job, &any, failure);
}

/* ---- meeting ---- */

static int serve(const struct ring_torchrun *job, const struct ring_config *config,
		 const struct ring_identity *identity, bool one_host, struct ring_failure *failure)
{
	struct ring_watcher *watcher;
	uint32_t first_attempt;
	int err = ring_watcher_hold(&watcher, config, NULL, failure);
	if (err)
		return err;
	err = one_host ? listen_at(watcher, job, &identity->root, failure)
		       : listen_everywhere(watcher, job, failure);
	ring_random(&first_attempt, sizeof(first_attempt));
	first_attempt /= 2; /* there is room to grow */
	if (!err && ring_root_start(watcher, identity, first_attempt))
		err = ring_fail(failure, RING_ENOMEM, "rank 0: no memory for the meeting");
	if (err)
		ring_watcher_drop(watcher); /* else the root has it */
	return err;
}

/* Once per job. Loud where other hosts may reach it: nobody asked for that. */
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
 * On several hosts a name that stands for loopback here stands for another address elsewhere: it
 * does not tell which interface leads to the other ranks.
 */
static int find_place(const struct ring_launcher *launcher, struct ring_launch *launch,
		      struct ring_failure *failure)
{
	int err = ring_launch_number(launcher, "WORLD_SIZE", 1, RING_SIZE_MAX, &launch->size,
				     failure);
	return err ? err
		   : ring_launch_number(launcher, "RANK", 0, launch->size - 1, &launch->rank,
					failure);
}

static int enter(const struct ring_launcher *launcher, const struct ring_config *config,
		 struct ring_launch *launch, struct ring_failure *failure)
{
	struct ring_torchrun job;
	struct ring_identity identity;
	struct sockaddr_storage address;
	(void)launcher;
	int err = ring_torchrun_read(&job, failure);
	if (!err)
		err = resolve(&job, &address, failure);
	if (err)
		return err;
	bool one_host = is_on_one_host(&job, &address);
	bool tells_way = one_host || !ring_address_is_loopback(&address);
	err = ring_watcher_hold(&launch->watcher, config, tells_way ? &address : NULL, failure);
	if (err)
		return err;

	const char *secret = ring_launch_variable("RING_SECRET");
	ring_torchrun_identify(&job, launch->number, secret ? secret : "", &identity);
	identity.root = address;
	if (job.rank == 0) {
		if (!secret)
			warn_without_secret(launch->number, &address, one_host);
		err = serve(&job, config, &identity, one_host, failure);
		identity.root = *ring_watcher_address(launch->watcher); /* the shortest way */
	}
	launch->size = job.size;
	launch->rank = job.rank;
	ring_identity_write(&identity, &launch->id);
	return err;
}

const struct ring_launcher ring_launcher_torchrun = {
	.name = "torchrun",
	.marker = "RANK",
	.variables = "RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT",
	.find_place = find_place,
	.enter = enter,
};
