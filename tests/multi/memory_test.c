/* SPDX-License-Identifier: MIT */
/*
 * The memory of a communicator: what ring_comm_stats() says, beside what the processes of its ranks
 * really grew by. The first communicator warms the processes and stays, so that the second one cannot
 * live on what the first has freed; of the second, every link and every scratch is then used.
 *
 * Grown is the sum over all ranks of the proportional set sizes of anonymous and shared memory:
 * there, a page that several processes map counts once. Timing has no influence on either number.
 * Huge pages would, as they are taken whole for a few bytes, so there are none.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "comm/comm.h"
#include "tests/harness.h"

#define TOLERANCE 0.10
#define FULL_BYTES (4 << 20)    /* received from all others together, it fills every slot */
#define CHUNK_BYTES (256 << 10) /* a block is cut into chunks of that at most, but for two ranks */
#define PAGE_BYTES 4096

/*
 * Until it is used, shared memory has been taken from the machine, but is in no process; and of so
 * little, what creation took and gave back is much.
 */
enum phase { CREATED, REDUCED, SCATTERED, MESHED, PHASES };
static const char *const phase_names[PHASES] = {"created", "all_reduce", "and reduce_scatter",
						"and all_to_all"};

struct board {
	uint64_t counted[PHASES][HARNESS_RANKS], grown[PHASES][HARNESS_RANKS];
};

/* What all ranks send and receive, for it does not matter: zeros, in memory that all share. */
struct buffers {
	char *send, *recv;
};

/* FULL_BYTES from all other ranks together: what each of them must send, in whole pieces. */
static size_t share(size_t size, size_t piece)
{
	return (FULL_BYTES / (size - 1) + piece - 1) / piece * piece;
}

/* "Pss_Anon:   112 kB" */
static uint64_t field(const char *text, const char *name)
{
	const char *line = strstr(text, name);
	return line ? strtoull(line + strlen(name), NULL, 10) << 10 : 0;
}

static uint64_t process_bytes(void)
{
	static char text[8192];
	int fd = open("/proc/self/smaps_rollup", O_RDONLY);
	ssize_t got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = 0;
	return field(text, "Pss_Anon:") + field(text, "Pss_Shmem:");
}

/* All ranks stand still meanwhile. What was freed goes back to the kernel: how much is left to chance. */
static uint64_t measure(struct harness_rank *self)
{
	malloc_trim(0);
	harness_barrier(self);
	uint64_t bytes = process_bytes();
	harness_barrier(self);
	return bytes;
}

static int use(struct ring_comm *comm, enum phase phase, const struct buffers *buffers)
{
	size_t size = (size_t)ring_comm_size(comm);
	size_t block = share(size, CHUNK_BYTES) / sizeof(float);
	switch (phase) {
	case REDUCED:
		return ring_all_reduce(comm, buffers->send, buffers->recv, size * block,
				       RING_FLOAT32, RING_SUM, NULL);
	case SCATTERED:
		return ring_reduce_scatter(comm, buffers->send, buffers->recv, block, RING_FLOAT32,
					   RING_SUM, NULL);
	case MESHED:
		return ring_all_to_all(comm, buffers->send, buffers->recv, share(size, PAGE_BYTES),
				       RING_UINT8, NULL);
	default:
		return 0;
	}
}

/*
 * Around the ring: slots that ranks do without when they reach one another's memory would be counted,
 * but never touched.
 */
static int join(struct harness_rank *self, struct ring_comm **comm)
{
	struct ring_options options;
	harness_options(self, &options);
	options.algorithm = "ring";
	return harness_join(self, &options, comm);
}

static int warm(struct harness_rank *self, const struct buffers *buffers, struct ring_comm **comm)
{
	struct ring_stats stats = {.size = sizeof(stats)};
	size_t bytes = (size_t)self->size * share((size_t)self->size, CHUNK_BYTES);
	memset(buffers->send, 0, bytes);
	memset(buffers->recv, 0, bytes);
	if (join(self, comm))
		return 1;
	for (int phase = 0; phase < PHASES; phase++)
		if (use(*comm, phase, buffers))
			return harness_fail(self, "warming: %s", ring_comm_error(*comm));
	ring_comm_stats(*comm, &stats);
	measure(self);
	return 0;
}

static int be_rank(struct harness_rank *self)
{
	struct board *board = self->shared;
	struct ring_stats stats = {.size = sizeof(stats)};
	struct ring_comm *first, *second;
	struct buffers buffers = {.send = (char *)(board + 1)};
	buffers.recv = buffers.send + (size_t)self->size * share((size_t)self->size, CHUNK_BYTES);
	if (warm(self, &buffers, &first))
		return 1;
	uint64_t before = measure(self);
	if (join(self, &second))
		return 1;
	for (int phase = 0; phase < PHASES; phase++) {
		if (use(second, phase, &buffers) || ring_comm_stats(second, &stats))
			return harness_fail(self, "%s: %s", phase_names[phase],
					    ring_comm_error(second));
		board->grown[phase][self->rank] = measure(self) - before;
		board->counted[phase][self->rank] = stats.memory_bytes;
	}
	ring_comm_destroy(second);
	ring_comm_destroy(first);
	return 0;
}

/* In KiB per rank. returns 0 if it is close enough */
static int report(const struct harness *team, enum phase phase)
{
	const struct board *board = team->shared;
	double counted = 0, grown = 0;
	for (int rank = 0; rank < team->size; rank++) {
		counted += (double)board->counted[phase][rank] / 1024 / team->size;
		grown += (double)(int64_t)board->grown[phase][rank] / 1024 / team->size;
	}
	double off = counted / grown - 1;
	printf("#   %5d %-9s %-18s %12.1f %12.1f %+11.1f %%\n", team->size, team->world->name,
	       phase_names[phase], counted, grown, 100 * off);
	return off > TOLERANCE || off < -TOLERANCE;
}

static int check(const struct harness_world *world, int size)
{
	struct harness team = {
		.world = world,
		.size = size,
		.body = be_rank,
		.shared_bytes = sizeof(struct board) +
				2 * (size_t)size * share((size_t)size, CHUNK_BYTES),
		.seconds = 100,
	};
	bool failed = harness_start(&team) || harness_wait(&team), bad = failed;
	for (int phase = CREATED; phase < PHASES && !failed; phase++)
		bad |= report(&team, phase) && phase != CREATED;
	harness_end(&team);
	return bad;
}

int main(int argc, char **argv)
{
	int many = harness_is_long(argc, argv) ? 64 : 24;
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	int bad = 0;
	if (process_bytes() == 0) {
		printf("this kernel does not tell how much memory a process has of its own\n");
		return 77;
	}
	printf("#   per rank:\n"
	       "#   ranks transport used for           counted KiB    grown KiB    difference\n");
	bad |= check(&harness_worlds[1], 2);
	bad |= check(&harness_worlds[2], 2);
	for (int w = 1; w < HARNESS_WORLDS; w++)
		bad |= check(&harness_worlds[w], 8);
	bad |= check(&harness_worlds[1], many);
	bad |= check(&harness_worlds[2], many);
	return bad;
}
