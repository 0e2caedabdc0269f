/* SPDX-License-Identifier: MIT */
/* The bits of a sum: in which order the ring adds each piece, and what that makes of inputs. */
#include <inttypes.h>
#include <stdlib.h>

#include "answer.h"
#include "kernels/convert.h"
#include "ringccl.h"
#include "tools/steps/label.h"

char *EXPORT(page_bits)(int ranks, int type, const char *values);

/* An input is rounded to the type once; a sum in each hop. */
static float rounded(float x, enum ring_datatype type)
{
	if (type == RING_BFLOAT16)
		return ring_bfloat16_unpack(ring_bfloat16_pack(x));
	if (type == RING_FLOAT16)
		return ring_float16_unpack(ring_float16_pack(x));
	return x;
}

static uint32_t bits_of(float x, enum ring_datatype type)
{
	if (type == RING_BFLOAT16)
		return ring_bfloat16_pack(x);
	if (type == RING_FLOAT16)
		return ring_float16_pack(x);
	return ring_float32_bits(x);
}

/* Adds inputs[order[first]], the one at the next position, and so on; each sum is of that type. */
static float add_up(const float *inputs, const int *order, int first, int ranks,
		    enum ring_datatype type)
{
	float sum = inputs[order[first]];
	for (int k = 1; k < ranks; k++)
		sum = rounded(ring_float32_sum(sum, inputs[order[(first + k) % ranks]]), type);
	return sum;
}

/* Reads so many numbers with anything between them; the last one counts for those that miss. */
static void read_inputs(const char *text, int ranks, enum ring_datatype type, float *inputs)
{
	float value = 0;
	for (int rank = 0; rank < ranks; rank++) {
		char *end;
		double read = strtod(text, &end);
		while (end == text && *text)
			read = strtod(++text, &end);
		if (end != text)
			value = (float)read;
		text = end;
		inputs[rank] = rounded(value, type);
	}
}

/* Adds once as the ring does, and once as those do that add all inputs at once. */
static void put_sums(const char *name, const char *said, const float *inputs, const int *order,
		     int first, int ranks, enum ring_datatype type, FILE *out)
{
	float sum = add_up(inputs, order, first, ranks, type);
	float once = rounded(add_up(inputs, order, first, ranks, RING_FLOAT32), type);
	fprintf(out, "%s\t%s\t%.9g\t%0*" PRIx32 "\t%.9g\n", name, said, (double)sum,
		type == RING_FLOAT32 ? 8 : 4, bits_of(sum, type), (double)once);
}

/* The first position whose input is in the complete sum of a piece. */
static int first_of(const struct steps_walk *walk, const struct steps_cells *cells, int cell)
{
	for (size_t e = 0; e < walk->event_count; e++) {
		const struct steps_event *event = &walk->events[e];
		struct steps_value value = {0};
		if (event->count > 0)
			value = walk->values[event->begin];
		if (value.length == walk->choice.ranks && cells->of[value.index] == cell)
			return value.first;
	}
	return 0;
}

static void put_cell(const struct steps_walk *walk, const struct steps_cells *cells, int cell,
		     const float *inputs, enum ring_datatype type, FILE *out)
{
	const struct steps_choice *choice = &walk->choice;
	int first = first_of(walk, cells, cell), have = 0;
	char name[16], order[16 * STEPS_RANKS_MOST];
	steps_cell_name(cell, false, name);
	for (int k = 0; k < choice->ranks; k++)
		have += sprintf(order + have, "%s%s%d", k > 0 ? "+" : "", name,
				choice->order[(first + k) % choice->ranks]);
	put_sums(name, order, inputs, choice->order, first, choice->ranks, type, out);
}

/*
 * A line for each piece of an all-reduce: name, order of the additions, sum, bits, and the sum that
 * is rounded only once. The last line adds in the order of ranks, as a loop would.
 *
 * values   one for each rank, of all its elements
 */
char *page_bits(int ranks, int type, const char *values)
{
	struct answer answer;
	struct steps_choice choice = {.kind = RING_KIND_ALL_REDUCE,
				      .algorithm = STEPS_ANY_ALGORITHM,
				      .ranks = ranks,
				      .chunks_per_round = 2,
				      .depth = 4};
	struct steps_walk walk = {0};
	struct steps_cells cells = {0};
	float inputs[STEPS_RANKS_MOST];
	if (!answer_begin(&answer))
		return NULL;
	steps_choice_order(&choice);
	steps_choice_complete(&choice);
	read_inputs(values, ranks, (enum ring_datatype)type, inputs);
	if (steps_walk_make(&choice, &walk) == 0 && steps_cells_make(&walk, &cells) == 0)
		for (int cell = 0; cell < cells.count; cell++)
			put_cell(&walk, &cells, cell, inputs, (enum ring_datatype)type, answer.out);
	put_sums("a loop", "rank 0, 1, 2 ..", inputs, choice.order, 0, ranks,
		 (enum ring_datatype)type, answer.out);
	steps_cells_free(&cells);
	steps_walk_free(&walk);
	return answer_finish(&answer);
}
