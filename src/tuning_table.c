/* SPDX-License-Identifier: MIT */
/* The built-in rows, finding one, and what people call things; see tuning_table.h. */
#include "tuning_table.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "number.h"
#include "record.h"

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

static const char *const path_names[] = {
	[RING_PATH_MEMORY] = "memory",
	[RING_PATH_SOCKET] = "socket",
	[RING_PATH_NETWORK] = "network",
	[RING_PATH_MIXED] = "mixed",
};

const char *ring_path_name(enum ring_path path)
{
	return path_names[path];
}

static const char *const memory_names[] = {
	[RING_MEMORY_PRIVATE] = "private",
	[RING_MEMORY_SHARED] = "shared",
};

const char *ring_memory_name(enum ring_memory memory)
{
	return memory_names[memory];
}

/* ---- a row as text ---- */

/* "any", "2", "3-64" or "9-". */
static const char *format_ranks(const struct ring_tuning_row *row, char text[RING_NUMBER_TEXT])
{
	if (row->ranks_from <= 1 && row->ranks_to == INT_MAX)
		snprintf(text, RING_NUMBER_TEXT, "any");
	else if (row->ranks_to == INT_MAX)
		snprintf(text, RING_NUMBER_TEXT, "%d-", row->ranks_from);
	else if (row->ranks_from < row->ranks_to)
		snprintf(text, RING_NUMBER_TEXT, "%d-%d", row->ranks_from, row->ranks_to);
	else
		snprintf(text, RING_NUMBER_TEXT, "%d", row->ranks_to);
	return text;
}

const char *ring_tuning_row_format(const struct ring_tuning_row *row,
				   char text[RING_TUNING_ROW_TEXT])
{
	char ranks[RING_NUMBER_TEXT], bytes[RING_NUMBER_TEXT], chunk[RING_NUMBER_TEXT];
	bool any_bytes = row->bytes == UINT64_MAX, has_chunk = row->chunk_bytes > 0;
	snprintf(text, RING_TUNING_ROW_TEXT, "%s %s %s %s %s %s%s%s",
		 row->kind == ANY ? "any" : ring_kind_name((enum ring_kind)row->kind),
		 row->path == ANY ? "any" : path_names[row->path],
		 row->memory == ANY ? "any" : memory_names[row->memory], format_ranks(row, ranks),
		 any_bytes ? "any" : ring_number_write(row->bytes, bytes),
		 algorithm_names[row->algorithm], has_chunk ? " " : "",
		 has_chunk ? ring_number_write(row->chunk_bytes, chunk) : "");
	return text;
}
