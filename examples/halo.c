/* SPDX-License-Identifier: MIT */
/*
 * Heat in a rod, cut into one piece per rank. In every step a cell needs its two neighbours, so
 * each rank has a copy of the first cell beyond either border, its halo, and the ranks exchange
 * these cells before each step.
 *
 *	ring_run -n 4 ./halo
 */
#include <ringccl.h>
#include <stdio.h>

enum { CELLS = 1000, STEPS = 500 };

/* Cells 1..count at two moments; cells 0 and count + 1 are the halo. */
static double mine[2][CELLS + 2], rod[2][CELLS + 2];

/* Stripes of hot and cold; beyond the ends it is always cold. */
static void begin(double *cells, int first, int count)
{
	for (int i = 1; i <= count; i++)
		cells[i] = (first + i) / 100 % 2;
}

static void step(const double *now, double *next, int count)
{
	for (int i = 1; i <= count; i++)
		next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
}

/*
 * Four messages, two for ranks at the ends. In a group they progress at the same time; without it,
 * every rank might wait until its neighbour receives.
 */
static int exchange_halo(struct ring_comm *comm, double *cells, int count)
{
	int left = ring_comm_rank(comm) - 1, right = ring_comm_rank(comm) + 1;

	int err = ring_group_start();
	if (err)
		return err;
	if (left >= 0) {
		ring_send(comm, &cells[1], 1, RING_FLOAT64, left, NULL);
		ring_recv(comm, &cells[0], 1, RING_FLOAT64, left, NULL);
	}
	if (right < ring_comm_size(comm)) {
		ring_send(comm, &cells[count], 1, RING_FLOAT64, right, NULL);
		ring_recv(comm, &cells[count + 1], 1, RING_FLOAT64, right, NULL);
	}
	return ring_group_end(); /* also returns the error of any call in the group */
}

/* Every rank also computes the whole rod by itself, and compares its piece bit for bit. */
static int simulate(struct ring_comm *comm, int64_t *wrong)
{
	int rank = ring_comm_rank(comm), size = ring_comm_size(comm);
	int first = CELLS * rank / size, count = CELLS * (rank + 1) / size - first;

	begin(mine[0], first, count);
	begin(rod[0], 0, CELLS);
	for (int t = 0; t < STEPS; t++) {
		int err = exchange_halo(comm, mine[t % 2], count);
		if (err)
			return err;
		step(mine[t % 2], mine[(t + 1) % 2], count);
		step(rod[t % 2], rod[(t + 1) % 2], CELLS);
	}
	*wrong = 0;
	for (int i = 1; i <= count; i++)
		*wrong += mine[STEPS % 2][i] != rod[STEPS % 2][first + i];
	return ring_all_reduce(comm, wrong, wrong, 1, RING_INT64, RING_SUM, NULL);
}

int main(void)
{
	struct ring_comm *comm;
	int64_t wrong = 0;

	int err = ring_comm_create_from_env(&comm, NULL);
	if (err) {
		fprintf(stderr, "%s\n", ring_comm_error(NULL));
		return 1;
	}
	err = simulate(comm, &wrong);
	if (err)
		fprintf(stderr, "%s: %s\n", ring_strerror(err), ring_comm_error(comm));
	else if (ring_comm_rank(comm) == 0)
		printf("heat in %d cells after %d steps on %d ranks: %d differ from one rank's\n",
		       CELLS, STEPS, ring_comm_size(comm), (int)wrong);
	ring_comm_destroy(comm);
	return err || wrong;
}
