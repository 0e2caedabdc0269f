/* SPDX-License-Identifier: MIT */
/*
 * The order around the ring: by hand, and for up to 8 hosts of 8 ranks on machines that hwloc makes
 * up, with ranks dealt out in many ways. RING_TEST_SEED repeats a failure.
 */
#include "meet/order.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "comm/comm.h"
#include "meet/meeting.h"
#include "ringccl.h"
#include "meet/topology.h"
#include "transport/transport.h"

#define HOSTS 8
#define RANKS_OF_HOST 8
#define RANKS (HOSTS * RANKS_OF_HOST)
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static unsigned long seed;
static uint64_t random_state;

static int random_below(int limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (int)((random_state >> 33) % (uint64_t)limit);
}

static void shuffle(int *numbers, int n)
{
	for (int i = n - 1; i > 0; i--) {
		int j = random_below(i + 1), kept = numbers[i];
		numbers[i] = numbers[j];
		numbers[j] = kept;
	}
}

static struct ring_peer peer_at(int rank, const char *host, int numa, int core)
{
	struct ring_peer peer = {.rank = rank, .numa = numa, .core = core};
	snprintf(peer.host, sizeof(peer.host), "%s", host);
	return peer;
}

static void assert_order(const struct ring_peer *peers, int n, const int *expected)
{
	int order[RANKS];
	assert_int_equal(ring_order_compute(peers, n, order), 0);
	assert_memory_equal(order, expected, (size_t)n * sizeof(*order));
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void one_rank(void **state)
{
	(void)state;
	struct ring_peer alone = peer_at(0, "a", -1, -1);
	assert_order(&alone, 1, (int[]){0});
}

static void round_robin_over_hosts(void **state)
{
	(void)state;
	struct ring_peer peers[] = {peer_at(0, "z", 0, 0), peer_at(1, "a", 0, 0),
				    peer_at(2, "z", 0, 1), peer_at(3, "a", 0, 1)};
	assert_order(peers, 4, (int[]){0, 2, 1, 3});
}

static void nodes_and_cores_before_numbers(void **state)
{
	(void)state;
	struct ring_peer peers[] = {peer_at(0, "a", 0, 0), peer_at(1, "a", 1, 4),
				    peer_at(2, "a", 0, 2), peer_at(3, "a", 1, 5),
				    peer_at(4, "a", 0, 1)};
	assert_order(peers, 5, (int[]){0, 4, 2, 1, 3});
}

/* Rank 0 in the middle: the ring is turned, not broken. */
static void rank_0_comes_first(void **state)
{
	(void)state;
	struct ring_peer peers[] = {peer_at(0, "a", 1, 5), peer_at(1, "a", 0, 0),
				    peer_at(2, "a", 1, 4), peer_at(3, "b", 0, 0)};
	assert_order(peers, 4, (int[]){0, 3, 1, 2});
}

static void boot_id_tells_hosts_of_one_name_apart(void **state)
{
	(void)state;
	struct ring_peer a = peer_at(0, "localhost", 0, 0), b = a;
	assert_true(ring_same_host(&a, &b));
	b.boot_id[15] = 1;
	assert_false(ring_same_host(&a, &b));
	b = peer_at(0, "elsewhere", 0, 0);
	assert_false(ring_same_host(&a, &b));
}

/* ---- machines that hwloc makes up ------------------------------------------------------------ */

/* All have 8 CPUs. */
static const char *const machines[] = {"numa:1 core:4 pu:2", "numa:2 core:4 pu:1",
				       "pack:2 numa:2 core:2 pu:2", "numa:4 core:2 pu:1",
				       "core:8 pu:1"};

enum deal { IN_BLOCKS, IN_TURN, AT_RANDOM, DEALS };

struct job {
	int hosts, n;
	int counts[HOSTS]; /* ranks of each host; its peers follow one another */
	struct ring_peer peers[RANKS];
};

/* Each rank on one CPU, or on two that may belong to different nodes. */
static void place_rank(struct ring_peer *peer, const char *machine)
{
	peer->cpus[0] = random_below(3) ? UINT64_C(1) << random_below(8)
					: UINT64_C(3) << random_below(7);
	assert_int_equal(ring_topology_place(machine, peer->cpus, &peer->numa, &peer->core), 0);
}

static void add_host(struct job *job, int host)
{
	const char *machine = machines[random_below((int)LENGTH(machines))];
	char name[16];
	snprintf(name, sizeof(name), "host%d", random_below(1000) * HOSTS + host);
	job->counts[host] = 1 + random_below(RANKS_OF_HOST);
	for (int i = 0; i < job->counts[host]; i++) {
		struct ring_peer *peer = &job->peers[job->n++];
		*peer = peer_at(-1, name, -1, -1);
		place_rank(peer, machine);
	}
}

static void number_ranks(struct job *job, enum deal deal)
{
	int ranks[RANKS], next = 0;
	for (int i = 0; i < job->n; i++)
		ranks[i] = i;
	if (deal == AT_RANDOM)
		shuffle(ranks, job->n);
	for (int i = 0; i < job->n; i++)
		job->peers[i].rank = ranks[i];
	for (int i = 0; deal == IN_TURN && i < RANKS_OF_HOST; i++) {
		for (int host = 0, first = 0; host < job->hosts; first += job->counts[host++]) {
			if (i < job->counts[host])
				job->peers[first + i].rank = next++;
		}
	}
}

static const struct ring_peer *find(const struct job *job, int rank)
{
	const struct ring_peer *peer = job->peers;
	while (peer < job->peers + job->n && peer->rank != rank)
		peer++;
	assert_true(peer < job->peers + job->n);
	return peer;
}

static bool same_host(const struct ring_peer *a, const struct ring_peer *b)
{
	return strcmp(a->host, b->host) == 0;
}

static bool same_node(const struct ring_peer *a, const struct ring_peer *b)
{
	return same_host(a, b) && a->numa == b->numa;
}

/* Groups that are entered and left once are as many as the borders between them. */
static void assert_entered_once(const struct job *job, const int *order,
				bool (*same)(const struct ring_peer *, const struct ring_peer *))
{
	int groups = 0, borders = 0;
	for (int i = 0; i < job->n; i++) {
		int earlier = 0;
		while (earlier < i && !same(&job->peers[earlier], &job->peers[i]))
			earlier++;
		groups += earlier == i;
		borders += !same(find(job, order[i]), find(job, order[(i + 1) % job->n]));
	}
	if (borders != (groups > 1 ? groups : 0))
		fail_msg("%d borders between %d groups of %d ranks; RING_TEST_SEED=%lu", borders,
			 groups, job->n, seed);
}

/* Within a node, cores go up; the last hop to rank 0 closes the ring and may go down. */
static void assert_cores_go_up(const struct job *job, const int *order)
{
	int first_core = find(job, order[0])->core;
	for (int i = 0; i + 1 < job->n; i++) {
		const struct ring_peer *a = find(job, order[i]), *b = find(job, order[i + 1]);
		bool passes_start = same_node(b, find(job, 0)) && b->core <= first_core;
		if (same_node(a, b) && a->core > b->core && !passes_start)
			fail_msg("rank %d on core %d before rank %d on core %d; RING_TEST_SEED=%lu",
				 a->rank, a->core, b->rank, b->core, seed);
	}
}

static void check_job(int hosts, enum deal deal)
{
	static struct job job;
	int order[RANKS], again[RANKS], met[RANKS] = {0}, shuffled[RANKS];
	static struct ring_peer peers[RANKS];
	job.hosts = hosts;
	job.n = 0;
	for (int host = 0; host < hosts; host++)
		add_host(&job, host);
	number_ranks(&job, deal);

	assert_int_equal(ring_order_compute(job.peers, job.n, order), 0);
	assert_int_equal(order[0], 0);
	for (int i = 0; i < job.n; i++)
		assert_int_equal(met[order[i]]++, 0);
	assert_entered_once(&job, order, same_host);
	assert_entered_once(&job, order, same_node);
	assert_cores_go_up(&job, order);

	for (int i = 0; i < job.n; i++)
		shuffled[i] = i;
	shuffle(shuffled, job.n);
	for (int i = 0; i < job.n; i++)
		peers[i] = job.peers[shuffled[i]];
	assert_int_equal(ring_order_compute(peers, job.n, again), 0);
	assert_memory_equal(order, again, (size_t)job.n * sizeof(*order));
}

static void jobs_of_many_hosts(void **state)
{
	(void)state;
	for (int hosts = 1; hosts <= HOSTS; hosts++) {
		for (int i = 0; i < 2; i++) {
			for (enum deal deal = IN_BLOCKS; deal < DEALS; deal++)
				check_job(hosts, deal);
		}
	}
}

static void places(void **state)
{
	(void)state;
	static const struct {
		const char *machine;
		uint64_t cpus;
		int numa, core;
	} cases[] = {
		{"numa:2 core:4 pu:1", 0x01, 0, 0},
		{"numa:2 core:4 pu:1", 0x08, 0, 3},
		{"numa:2 core:4 pu:1", 0x10, 1, 4},
		{"numa:2 core:4 pu:1", 0xe0, 1, 5},
		{"numa:2 core:4 pu:1", 0x18, -1, 3},
		{"pack:2 numa:1 core:2 pu:2", 0x80, 1, 3},
		{"pack:1 core:2 pu:2", 0x0c, 0, 1},
		{"numa:2 core:4 pu:1", 0x00, -1, -1},
		{"pu:4", 0x04, 0, 2},
	};
	for (size_t i = 0; i < LENGTH(cases); i++) {
		uint64_t cpus[RING_CPU_WORDS] = {cases[i].cpus};
		int numa, core;
		assert_int_equal(ring_topology_place(cases[i].machine, cpus, &numa, &core), 0);
		if (numa != cases[i].numa || core != cases[i].core)
			fail_msg("case %zu: node %d, core %d", i, numa, core);
	}
	uint64_t cpus[RING_CPU_WORDS] = {1};
	int numa, core;
	assert_int_equal(ring_topology_place("no machine", cpus, &numa, &core), RING_ESYSTEM);
}

static void this_machine(void **state)
{
	(void)state;
	struct ring_peer self = {0};
	ring_topology_describe(&self);
	uint64_t any = 0;
	for (int i = 0; i < RING_CPU_WORDS; i++)
		any |= self.cpus[i];
	assert_true(any != 0);
	assert_true(self.core >= 0 && self.numa >= -1 && self.cpu_quota >= 0);
}

/* ---- crowds ---------------------------------------------------------------------------------- */

static void crowded_beyond_the_union_of_masks(void **state)
{
	(void)state;
	struct ring_peer peers[4];
	for (int i = 0; i < 4; i++)
		peers[i] = peer_at(3 - i, "a", 0, 0);
	peers[0].cpus[0] = 0x1;
	peers[1].cpus[0] = 0x3;
	peers[2].cpus[RING_CPU_WORDS - 1] = 0x1;
	assert_int_equal(ring_order_turns(peers, 3, 3), RING_TURNS_NONE);
	peers[3].cpus[0] = 0x2;
	assert_int_equal(ring_order_turns(peers, 4, 0), 4 * RING_TURNS_NONE / 3);
	peers[3] = peer_at(0, "b", 0, 0);
	peers[3].cpus[0] = 0x1;
	assert_true(ring_order_turns(peers, 4, 0) <= RING_TURNS_NONE);
	assert_true(ring_order_turns(peers, 4, 3) <= RING_TURNS_NONE);
}

/* Containers: their names differ, their CPUs are the machine's, their quotas their own. */
static void hosts_of_one_machine_share_its_cpus(void **state)
{
	(void)state;
	struct ring_peer peers[] = {peer_at(0, "a", 0, 0), peer_at(1, "b", 0, 0),
				    peer_at(2, "c", 0, 0)};
	for (int i = 0; i < 3; i++)
		peers[i].cpus[0] = 0x3;
	assert_true(ring_order_turns(peers, 3, 1) <= RING_TURNS_NONE); /* who knows where they are */
	for (int i = 0; i < 3; i++)
		peers[i].boot_id[0] = 7;
	assert_true(ring_order_turns(peers, 3, 1) > RING_TURNS_NONE);
	assert_true(ring_order_turns(peers, 2, 1) <= RING_TURNS_NONE);
	peers[0].cpu_quota = peers[1].cpu_quota = 1;
	assert_true(ring_order_turns(peers, 2, 1) <= RING_TURNS_NONE);
}

static void crowded_beyond_the_quota(void **state)
{
	(void)state;
	struct ring_peer peers[3];
	for (int i = 0; i < 3; i++) {
		peers[i] = peer_at(i, "a", 0, 0);
		peers[i].cpus[0] = 0xff;
	}
	assert_true(ring_order_turns(peers, 3, 0) <= RING_TURNS_NONE);
	peers[0].cpu_quota = 3;
	assert_true(ring_order_turns(peers, 3, 2) <= RING_TURNS_NONE);
	peers[1].cpu_quota = 2;
	assert_true(ring_order_turns(peers, 3, 2) > RING_TURNS_NONE);
	peers[1].cpu_quota = 9;
	assert_true(ring_order_turns(peers, 3, 2) <= RING_TURNS_NONE);
}

/* Behind root, which may be anywhere. */
static void workers_are_the_first_on_their_cpus(void **state)
{
	(void)state;
	static const struct {
		int size, root;
		uint32_t cpus[5]; /* by rank */
		uint64_t workers;
	} cases[] = {
		{4, 0, {0, 1, 0, 1}, 0x5}, {4, 3, {0, 1, 0, 1}, 0x3}, {4, 1, {7, 7, 7, 7}, 0x1},
		{3, 1, {0, 1, 0}, 0x3},    {3, 1, {0, 1, 2}, 0x0},    {5, 0, {4, 3, 3, 4, 0}, 0x15},
	};
	int orders[][5] = {[3] = {0, 2, 1}, [4] = {0, 2, 1, 3}, [5] = {0, 3, 1, 2, 4}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ring_whereabouts where[5];
		for (int rank = 0; rank < cases[i].size; rank++)
			where[rank].cpu = cases[i].cpus[rank];
		struct ring_team team = {.size = cases[i].size, .order = orders[cases[i].size]};
		struct ring_partners partners = {.team = &team, .reached.where = where};
		assert_int_equal(ring_partners_workers(&partners, cases[i].root), cases[i].workers);
	}
}

static bool is_roomy(const struct ring_peer *peers, int n)
{
	const struct ring_config schedule = {0};
	struct ring_arrangement arrangement;
	assert_int_equal(ring_arrangement_make(&arrangement, peers, n, &schedule), 0);
	assert_int_equal(ring_arrangement_link(&arrangement, peers, n, &schedule, 0, NULL), 0);
	bool roomy = arrangement.tuning.turns <= RING_TURNS_NONE;
	ring_arrangement_free(&arrangement);
	return roomy;
}

static void ranks_in_order_if_sums_are(void **state)
{
	(void)state;
	struct ring_peer peers[] = {peer_at(0, "a", 1, 5), peer_at(1, "b", 0, 0),
				    peer_at(2, "a", 0, 0), peer_at(3, "b", 0, 1)};
	struct ring_config schedule = {0};
	struct ring_arrangement arrangement;
	const int near[] = {0, 1, 3, 2}, in_order[] = {0, 1, 2, 3};
	for (int by_rank = 0; by_rank < 2; by_rank++) {
		strcpy(schedule.order, by_rank ? "rank" : "");
		assert_int_equal(ring_arrangement_make(&arrangement, peers, 4, &schedule), 0);
		assert_memory_equal(arrangement.order, by_rank ? in_order : near, sizeof(near));
		ring_arrangement_free(&arrangement);
	}
}

/* All ranks choose alike, so who is crowded somewhere counts everywhere. */
static void one_crowd_is_everybodys(void **state)
{
	(void)state;
	struct ring_peer peers[3];
	for (int i = 0; i < 3; i++) {
		peers[i] = peer_at(i, i < 2 ? "a" : "b", 0, 0);
		peers[i].cpus[0] = 0x3;
	}
	assert_true(is_roomy(peers, 3));
	peers[0].cpu_quota = 1;
	assert_false(is_roomy(peers, 3));
	assert_false(is_roomy(peers, 2));
}

/* A quota that the kernel accepts was a negative one, and refused by the root. */
static void quotas(void **state)
{
	(void)state;
	assert_int_equal(ring_topology_quota(-1, 100000), 0);
	assert_int_equal(ring_topology_quota(50000, 100000), 1);
	assert_int_equal(ring_topology_quota(250000, 100000), 2);
	assert_int_equal(ring_topology_quota(4000000000000, 1000), INT_MAX);
}

int main(void)
{
	const char *wanted = getenv("RING_TEST_SEED");
	seed = wanted ? strtoul(wanted, NULL, 10) : 1;
	random_state = seed;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_rank),
		cmocka_unit_test(round_robin_over_hosts),
		cmocka_unit_test(nodes_and_cores_before_numbers),
		cmocka_unit_test(rank_0_comes_first),
		cmocka_unit_test(ranks_in_order_if_sums_are),
		cmocka_unit_test(boot_id_tells_hosts_of_one_name_apart),
		cmocka_unit_test(jobs_of_many_hosts),
		cmocka_unit_test(places),
		cmocka_unit_test(this_machine),
		cmocka_unit_test(crowded_beyond_the_union_of_masks),
		cmocka_unit_test(hosts_of_one_machine_share_its_cpus),
		cmocka_unit_test(crowded_beyond_the_quota),
		cmocka_unit_test(one_crowd_is_everybodys),
		cmocka_unit_test(workers_are_the_first_on_their_cpus),
		cmocka_unit_test(quotas),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
