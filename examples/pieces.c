/* SPDX-License-Identifier: MIT */
/*
 * Rank 0 scatters numbers, every rank works on its piece, and rank 0 gathers the results. Then the
 * ranks split into two teams, and each team adds up its members' results.
 *
 * The work is the Collatz sequence, n -> n / 2 or 3 n + 1: how many steps until it reaches 1?
 *
 *	ring_run -n 4 ./pieces
 */
#include <ringccl.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 1000 };

static int64_t count_steps(int64_t n)
{
	int64_t steps = 0;
	for (; n > 1; steps++)
		n = n % 2 ? 3 * n + 1 : n / 2;
	return steps;
}

/*
 * Replaces the numbers in work[size * PIECE], on rank 0, by their steps. piece[PIECE]: this rank's
 * share
 */
static int share_work(struct ring_comm *comm, int64_t *work, int64_t *piece)
{
	int err = ring_scatter(comm, work, piece, PIECE, RING_INT64, 0, NULL);
	if (err)
		return err;
	for (int i = 0; i < PIECE; i++)
		piece[i] = count_steps(piece[i]);
	return ring_gather(comm, piece, work, PIECE, RING_INT64, 0, NULL);
}

/* returns how many of the numbers 1, 2, 3 ... have wrong steps */
static int check_work(const int64_t *work, int size)
{
	int wrong = 0;
	for (int i = 0; i < size * PIECE; i++)
		wrong += work[i] != count_steps(i + 1);
	printf("steps of 1 to %d on %d ranks: %d are wrong\n", size * PIECE, size, wrong);
	return wrong;
}

/* Even ranks and odd ranks: how many steps did each team count? */
static int add_in_team(struct ring_comm *comm, const int64_t *piece, int *wrong)
{
	struct ring_comm *team;
	int rank = ring_comm_rank(comm), size = ring_comm_size(comm), color = rank % 2;
	int64_t total = 0, expected = 0;

	for (int i = 0; i < PIECE; i++)
		total += piece[i];
	int err = ring_comm_split(comm, color, rank, &team);
	if (err)
		return err;
	err = ring_all_reduce(team, &total, &total, 1, RING_INT64, RING_SUM, NULL);
	for (int i = 0; i < size * PIECE; i++)
		expected += i / PIECE % 2 == color ? count_steps(i + 1) : 0;
	if (err)
		fprintf(stderr, "team %d: %s\n", color, ring_comm_error(team));
	else if (ring_comm_rank(team) == 0)
		printf("team %d of %d ranks: %lld steps, expected %lld\n", color,
		       ring_comm_size(team), (long long)total, (long long)expected);
	*wrong += !err && total != expected;
	ring_comm_destroy(team);
	return err;
}

static int run(struct ring_comm *comm, int *wrong)
{
	int rank = ring_comm_rank(comm), size = ring_comm_size(comm);
	int64_t piece[PIECE], *work = NULL;

	if (rank == 0 && !(work = calloc((size_t)size * PIECE, sizeof(*work))))
		return RING_ENOMEM;
	for (int i = 0; work && i < size * PIECE; i++)
		work[i] = i + 1;
	int err = share_work(comm, work, piece);
	if (!err && rank == 0)
		*wrong += check_work(work, size);
	free(work);
	return err ? err : add_in_team(comm, piece, wrong);
}

int main(void)
{
	struct ring_comm *comm;
	int wrong = 0;

	int err = ring_comm_create_from_env(&comm, NULL);
	if (err) {
		fprintf(stderr, "%s\n", ring_comm_error(NULL));
		return 1;
	}
	err = run(comm, &wrong);
	if (err)
		fprintf(stderr, "%s: %s\n", ring_strerror(err), ring_comm_error(comm));
	ring_comm_destroy(comm);
	return err || wrong;
}
