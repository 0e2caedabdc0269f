/* SPDX-License-Identifier: MIT */
/*
 * Sorts ranks by host, NUMA node and core, so that the ring crosses each border as rarely as it
 * can. Hosts come in the order of their lowest ranks, not of their random boot ids, so that a job
 * adds in the same order after a reboot.
 */
#include "order.h"

#include <stdlib.h>
#include <string.h>

#include "transport/transport.h"
#include "ringccl.h"

struct place {
	const struct ring_peer *peer;
	int host; /* the lowest rank on it */
};

static int compare_hosts(const struct ring_peer *a, const struct ring_peer *b)
{
	int by_boot = memcmp(a->boot_id, b->boot_id, sizeof(a->boot_id));
	return by_boot ? by_boot : strncmp(a->host, b->host, sizeof(a->host));
}

static int compare_numbers(int a, int b)
{
	return (a > b) - (a < b);
}

static int by_identity(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	int order = compare_hosts(a->peer, b->peer);
	return order ? order : compare_numbers(a->peer->rank, b->peer->rank);
}

static int by_locality(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	int order = compare_numbers(a->host, b->host);
	if (!order)
		order = compare_numbers(a->peer->numa, b->peer->numa);
	if (!order)
		order = compare_numbers(a->peer->core, b->peer->core);
	return order ? order : compare_numbers(a->peer->rank, b->peer->rank);
}

bool ring_same_host(const struct ring_peer *a, const struct ring_peer *b)
{
	return compare_hosts(a, b) == 0;
}

bool ring_same_machine(const struct ring_peer *a, const struct ring_peer *b)
{
	static const unsigned char unknown[sizeof(a->boot_id)];
	return memcmp(a->boot_id, unknown, sizeof(unknown)) != 0 &&
	       memcmp(a->boot_id, b->boot_id, sizeof(unknown)) == 0;
}

static void name_hosts(struct place *places, int n)
{
	qsort(places, (size_t)n, sizeof(*places), by_identity);
	for (int i = 0; i < n; i++) {
		bool known = i > 0 && ring_same_host(places[i - 1].peer, places[i].peer);
		places[i].host = known ? places[i - 1].host : places[i].peer->rank;
	}
}

int ring_order_compute(const struct ring_peer *peers, int n, int *order)
{
	struct place *places = calloc((size_t)n, sizeof(*places));
	if (!places)
		return RING_ENOMEM;
	for (int i = 0; i < n; i++)
		places[i].peer = &peers[i];
	name_hosts(places, n);
	qsort(places, (size_t)n, sizeof(*places), by_locality);

	/* Turning the ring so that rank 0 is first changes no neighbours. */
	int first = 0;
	while (places[first].peer->rank != 0)
		first++;
	for (int position = 0; position < n; position++)
		order[position] = places[(first + position) % n].peer->rank;
	free(places);
	return 0;
}

static const struct ring_peer *find_rank(const struct ring_peer *peers, int rank)
{
	while (peers->rank != rank)
		peers++;
	return peers;
}

/*
 * Hosts may be containers, which share their machine's CPUs and have quotas of their own. Control
 * groups have no names here. If ranks of a host tell different quotas, the smallest counts:
 * sleeping too early costs less than spinning on a CPU that others need.
 */
int ring_order_turns(const struct ring_peer *peers, int n, int rank)
{
	const struct ring_peer *self = find_rank(peers, rank);
	uint64_t cpus[RING_CPU_WORDS] = {0};
	int on_machine = 0, on_host = 0, usable = 0, quota = 0;
	for (const struct ring_peer *peer = peers; peer < peers + n; peer++) {
		bool same_host = ring_same_host(self, peer);
		if (!same_host && !ring_same_machine(self, peer))
			continue;
		on_machine++;
		on_host += same_host;
		for (int i = 0; i < RING_CPU_WORDS; i++)
			cpus[i] |= peer->cpus[i];
		if (same_host && peer->cpu_quota > 0 && (quota == 0 || peer->cpu_quota < quota))
			quota = peer->cpu_quota;
	}
	for (int i = 0; i < RING_CPU_WORDS; i++)
		usable += __builtin_popcountll(cpus[i]);
	int by_cpus = on_machine * RING_TURNS_NONE / (usable > 0 ? usable : 1);
	int by_quota = quota > 0 ? on_host * RING_TURNS_NONE / quota : 0;
	return by_cpus > by_quota ? by_cpus : by_quota;
}
