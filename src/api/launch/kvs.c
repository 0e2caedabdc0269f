/* SPDX-License-Identifier: MIT */
/*
 * One exchange per communicator. Its key is the exchange's number, the same on all ranks, as all
 * make the same calls in the same order. If rank 0 cannot serve, it says so instead of an id, so
 * that nobody waits for it.
 */
#include "kvs.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/fork_lock.h"
#include "hex.h"
#include "meet/identity.h"

#define NO_ID "none" /* what rank 0 puts if it has none */

/* ---- the connection: one thread at a time, of one process ---- */

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static const struct ring_kvs *connected;
static long owner = -1; /* fork generation of the process that has the connection */

RING_FORK_LOCK(owning)

/* The first process that asks has it. */
static bool is_mine(void)
{
	long mine = (long)ring_fork_generation();
	owning_take();
	if (owner < 0)
		owner = mine;
	bool is = owner == mine;
	owning_give();
	return is;
}

/*
 * By this goodbye launchers tell a failed rank, whose status they pass on, from a lost one. Not if
 * another thread is using the connection.
 */
static void leave(void)
{
	if (!is_mine() || pthread_mutex_trylock(&busy))
		return;
	connected->leave();
	pthread_mutex_unlock(&busy);
}

static int connect_once(const struct ring_kvs *kvs, uint64_t deadline_ms,
			struct ring_failure *failure)
{
	int err = connected ? 0 : kvs->connect(deadline_ms, failure);
	if (err || connected)
		return err;
	connected = kvs;
	atexit(leave);
	return 0;
}

/* ---- the exchange ---- */

/* Puts the id of a meeting that this process serves, or that there is none. */
static int put_id(const struct ring_kvs *kvs, const char *key, const struct ring_config *config,
		  bool one_host, uint64_t deadline_ms, struct ring_failure *failure)
{
	struct ring_identity identity;
	struct ring_unique_id id;
	char text[RING_ID_TEXT];
	struct sockaddr_storage here = {.ss_family = AF_INET};
	((struct sockaddr_in *)&here)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);

	int err = ring_identity_serve(&identity, config, one_host ? &here : NULL, failure);
	if (!err) {
		ring_identity_write(&identity, &id);
		ring_id_to_hex(&id, text);
	}
	int put = kvs->put(key, err ? NO_ID : text, deadline_ms, failure);
	return err ? err : put;
}

static int get_id(const struct ring_kvs *kvs, const char *key, uint64_t deadline_ms,
		  struct ring_launch *launch, struct ring_failure *failure)
{
	char text[RING_ID_TEXT];
	int err = kvs->get(key, text, sizeof(text), deadline_ms, failure);
	if (err || ring_id_from_hex(text, &launch->id))
		return err;
	return ring_fail(
		failure, RING_EPEER,
		strcmp(text, NO_ID) == 0
			? "rank %d: rank 0 cannot serve the meeting; its own message says why"
			: "rank %d: what rank 0 put is not an id: do all ranks use the same "
			  "library?",
		launch->rank);
}

/* Rank 0 takes part to the end even without an id: the others wait for it. */
static int exchange(const struct ring_kvs *kvs, const struct ring_config *config,
		    struct ring_launch *launch, struct ring_failure *failure)
{
	static unsigned exchanges;
	char key[32];
	uint64_t deadline_ms = launch->deadline_ms;
	int err = connect_once(kvs, deadline_ms, failure);
	if (err)
		return err;
	snprintf(key, sizeof(key), "ringccl.%u", exchanges++);
	if (launch->rank == 0)
		err = put_id(kvs, key, config, launch->one_host, deadline_ms, failure);
	int fence = kvs->fence(deadline_ms, failure);
	if (!err)
		err = fence;
	return err ? err : get_id(kvs, key, deadline_ms, launch, failure);
}

static int take(struct ring_failure *failure)
{
	if (!is_mine())
		return ring_fail(failure, RING_EINVAL,
				 "the connection to the launcher is that of the process which this "
				 "one was forked from: create communicators there");
	pthread_mutex_lock(&busy);
	return 0;
}

int ring_kvs_connect(const struct ring_kvs *kvs, uint64_t deadline_ms, struct ring_failure *failure)
{
	int err = take(failure);
	if (err)
		return err;
	err = connect_once(kvs, deadline_ms, failure);
	pthread_mutex_unlock(&busy);
	return err;
}

int ring_kvs_hand_out(const struct ring_kvs *kvs, const struct ring_config *config,
		      struct ring_launch *launch, struct ring_failure *failure)
{
	int err = take(failure);
	if (err)
		return err;
	err = exchange(kvs, config, launch, failure);
	pthread_mutex_unlock(&busy);
	return err;
}
