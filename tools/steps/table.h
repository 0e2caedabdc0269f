/* SPDX-License-Identifier: MIT */
/* A table of short texts whose columns are as wide as they need to be. */
#ifndef STEPS_TABLE_H
#define STEPS_TABLE_H

#include <stdbool.h>
#include <stdio.h>

struct steps_table {
	int columns, rows, room;
	int right;    /* columns from this one on are aligned right; 0: none */
	char **cells; /* [room * columns]; NULL: empty */
	bool failed;  /* out of memory; texts are missing */
};

/* Begins a row. */
void steps_table_add_row(struct steps_table *table);

/* Puts text into a row. */
void steps_table_put(struct steps_table *table, int row, int column, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Prints all rows, with two spaces between columns. */
void steps_table_print(struct steps_table *table, FILE *out);
void steps_table_free(struct steps_table *table);

#endif
