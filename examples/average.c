/* SPDX-License-Identifier: MIT */
/*
 * A small model of data-parallel training. Every rank computes the gradients of its own data, layer
 * by layer from the last to the first. While it computes one layer, the layers before that are
 * averaged over all ranks: calls on a stream return at once, and a thread of the library runs them
 * in order.
 *
 *	ring_run -n 4 ./average
 */
#include <ringccl.h>
#include <stdio.h>

enum { LAYERS = 8, PARAMETERS = 100000 };

static float gradients[LAYERS][PARAMETERS];

/* Stands for backpropagation: numbers whose average we know. */
static void compute_gradient(int layer, int rank)
{
	for (int i = 0; i < PARAMETERS; i++)
		gradients[layer][i] = (float)(layer + i % 10 + 2 * rank);
}

/* Stands for an optimizer. The ranks added 0, 2, 4 ..., on average size - 1. */
static int count_wrong(int layer, int size)
{
	int wrong = 0;
	for (int i = 0; i < PARAMETERS; i++)
		wrong += gradients[layer][i] != (float)(layer + i % 10 + size - 1);
	return wrong;
}

/*
 * Begins to average each layer as soon as its gradient is ready, and uses it as soon as it is
 * averaged.
 */
static int train(struct ring_comm *comm, struct ring_stream *stream, int *wrong)
{
	uint64_t positions[LAYERS];

	for (int layer = LAYERS - 1; layer >= 0; layer--) {
		compute_gradient(layer, ring_comm_rank(comm));
		int err = ring_all_reduce(comm, gradients[layer], gradients[layer], PARAMETERS,
					  RING_FLOAT32, RING_AVG, stream);
		if (err)
			return err;
		positions[layer] = ring_stream_position(stream);
	}
	*wrong = 0;
	for (int layer = LAYERS - 1; layer >= 0; layer--) {
		int err = ring_stream_wait(stream, positions[layer]);
		if (err)
			return err;
		*wrong += count_wrong(layer, ring_comm_size(comm));
	}
	return 0;
}

int main(void)
{
	struct ring_comm *comm;
	struct ring_stream *stream;
	int wrong = 0;

	int err = ring_comm_create_from_env(&comm, NULL);
	if (err) {
		fprintf(stderr, "%s\n", ring_comm_error(NULL));
		return 1;
	}
	err = ring_stream_create(comm, &stream);
	if (!err) {
		err = train(comm, stream, &wrong);
		ring_stream_destroy(stream);
	}
	if (err)
		fprintf(stderr, "%s: %s\n", ring_strerror(err), ring_comm_error(comm));
	else if (ring_comm_rank(comm) == 0)
		printf("average of %d layers over %d ranks: %d of %d numbers are wrong\n", LAYERS,
		       ring_comm_size(comm), wrong, LAYERS * PARAMETERS);
	ring_comm_destroy(comm);
	return err || wrong;
}
