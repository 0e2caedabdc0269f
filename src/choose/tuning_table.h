/* SPDX-License-Identifier: MIT */
/* What people write to choose by: rows, the first that fits a call counts, and numbers. */
#ifndef RING_TUNING_TABLE_H
#define RING_TUNING_TABLE_H

#include "section.h"

#define RING_TUNING_ANY (-1)

struct ring_tuning_row {
	int kind, path, memory; /* or RING_TUNING_ANY */
	int ranks_from, ranks_to;
	uint64_t bytes; /* at most; UINT64_MAX: any */
	enum ring_algorithm algorithm;
	uint64_t chunk_bytes; /* largest message; 0: as large as the links allow */
	int line;             /* of the file */
};

#define RING_TUNING_ROWS 128

struct ring_tuning_table {
	const char *file; /* whose rows these are */
	int count;
	struct ring_tuning_row rows[RING_TUNING_ROWS];
	bool has_model[RING_SECTIONS];           /* all its numbers are in the file */
	struct ring_model models[RING_SECTIONS]; /* they replace the built-in ones */
};

/* The first row that fits and whose algorithm has a plan for the call, or NULL. */
const struct ring_tuning_row *ring_tuning_find(const struct ring_tuning_table *table,
					       const struct ring_question *question);

/* "all_reduce memory private 3-64 16K oneshot". Returns text. */
#define RING_TUNING_ROW_TEXT 128
const char *ring_tuning_row_format(const struct ring_tuning_row *row,
				   char text[RING_TUNING_ROW_TEXT]);

#endif
