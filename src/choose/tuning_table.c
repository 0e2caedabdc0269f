/* SPDX-License-Identifier: MIT */
/* Finding a row, and rows as text; see tuning_table.h. */
#include "tuning_table.h"

#include <limits.h>
#include <stdio.h>

#include "base/text/number.h"
#include "plan/record.h"

#define ANY RING_TUNING_ANY

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
		if (fits(row, question) && ring_question_fits(row->algorithm, question))
			return row;
	}
	return NULL;
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
		 row->path == ANY ? "any" : ring_path_name((enum ring_path)row->path),
		 row->memory == ANY ? "any" : ring_memory_name((enum ring_memory)row->memory),
		 format_ranks(row, ranks), any_bytes ? "any" : ring_number_write(row->bytes, bytes),
		 ring_algorithm_name(row->algorithm), has_chunk ? " " : "",
		 has_chunk ? ring_number_write(row->chunk_bytes, chunk) : "");
	return text;
}
