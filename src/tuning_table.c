/* SPDX-License-Identifier: MIT */
/* The built-in rows, and finding one; see tuning_table.h. */
#include "tuning_table.h"

#include <string.h>

#define ANY RING_TUNING_ANY

/* What no row fits goes around the ring, or in one shot where there is no ring. */
const struct ring_tuning_table ring_tuning_built_in = {.count = 0};

static bool fits(const struct ring_tuning_row *row, const struct ring_question *question)
{
	return (row->kind == ANY || row->kind == (int)question->kind) &&
	       (row->path == ANY || row->path == (int)question->path) &&
	       (row->memory == ANY || row->memory == (int)question->memory) &&
	       row->ranks_from <= question->ranks && question->ranks <= row->ranks_to &&
	       question->bytes <= row->bytes;
}

const struct ring_tuning_row *ring_tuning_find(const struct ring_tuning_table *table,
					       const struct ring_question *question)
{
	for (int i = 0; i < table->count; i++) {
		const struct ring_tuning_row *row = &table->rows[i];
		if (fits(row, question) && ring_algorithm_can(row->algorithm, question->kind,
							      question->ranks, question->scaled))
			return row;
	}
	return NULL;
}

static const char *const algorithm_names[] = {
#define ALGORITHM_NAME(name, text) [name] = text,
	RING_ALGORITHM_LIST(ALGORITHM_NAME)};

const char *ring_algorithm_name(enum ring_algorithm algorithm)
{
	return algorithm_names[algorithm];
}

/* Sends and receives are pairs, and nothing else is. */
int ring_algorithm_find(const char *name)
{
	for (int algorithm = 0; algorithm < RING_ALGORITHMS; algorithm++)
		if (algorithm != RING_ALGORITHM_PAIR && strcmp(name, algorithm_names[algorithm]) == 0)
			return algorithm;
	return -1;
}
