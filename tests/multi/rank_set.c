/* SPDX-License-Identifier: MIT */
#include "rank_set.h"

#include "comm/comm.h"
#include "tests/harness.h"
#include "tests/multi/choice.h"
#include "tests/place.h"

const enum ring_datatype rank_set_types[RANK_SET_TYPES] = {RING_FLOAT32,     RING_BFLOAT16,
							   RING_FLOAT16,     RING_FLOAT64,
							   RING_FLOAT8_E4M3, RING_FLOAT8_E5M2};
const enum ring_op rank_set_ops[RANK_SET_OPS] = {RING_SUM, RING_AVG, RING_PROD};

/* Of many magnitudes, so that the order of additions shows. */
static double some_value(uint64_t *dice)
{
	uint64_t bits = harness_random(dice);
	double value = 1 + (double)(bits >> 12) / (double)(UINT64_C(1) << 52);
	int power = (int)(bits % 21) - 10;
	for (; power > 0; power--)
		value *= 2;
	for (; power < 0; power++)
		value /= 2;
	return bits >> 8 & 1 ? -value : value;
}

static void make_sums(struct rank_set *set, int type, int size)
{
	const size_t bytes = element_bytes(rank_set_types[type]);
	for (int op = 0; op < RANK_SET_OPS; op++)
		for (size_t k = 0; k < RANK_SET_VALUES; k++) {
			const void *sources[RANK_SET_RANKS];
			for (int rank = 0; rank < size; rank++)
				sources[rank] = &set->inputs[rank][type][k * bytes];
			element_reduce_all(rank_set_types[type], rank_set_ops[op], sources, size,
					   rank_set_ops[op] == RING_AVG ? size : 1,
					   &set->sums[type][op][k * bytes]);
		}
}

void rank_set_make(struct rank_set *set, uint64_t seed, int size)
{
	for (int type = 0; type < RANK_SET_TYPES; type++) {
		const size_t bytes = element_bytes(rank_set_types[type]);
		for (int rank = 0; rank < size; rank++)
			for (size_t k = 0; k < RANK_SET_VALUES; k++)
				element_put(rank_set_types[type],
					    &set->inputs[rank][type][k * bytes], some_value(&seed));
		make_sums(set, type, size);
	}
}

bool rank_set_bytes_are(const struct ring_comm *comm, const struct call *call, int rank,
			const struct ring_stats *before, const struct ring_stats *after)
{
	struct call_way way = choice_of(comm, call, false);
	int position = 0;
	while (way.order[position] != rank)
		position++;
	return after->sent_bytes - before->sent_bytes == call_sent_bytes(call, &way, position) &&
	       after->received_bytes - before->received_bytes ==
		       call_received_bytes(call, &way, position);
}

bool rank_set_is_carried(const char *algorithm)
{
	int found = algorithm ? ring_algorithm_find(algorithm) : RING_ALGORITHM_ONE_SHOT;
	return !place_is_far() ||
	       ring_algorithm_keeps_apart((enum ring_algorithm)found, RING_KIND_ALL_REDUCE);
}
