/* SPDX-License-Identifier: MIT */
/* Keeps all texts until the widths of columns are known. */
#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void steps_table_add_row(struct steps_table *table)
{
	size_t columns = (size_t)table->columns;
	if (table->rows == table->room) {
		int room = 2 * table->room + 16;
		char **grown = realloc(table->cells, (size_t)room * columns * sizeof(*grown));
		if (!grown) {
			table->failed = true;
			return;
		}
		table->cells = grown;
		table->room = room;
	}
	memset(&table->cells[(size_t)table->rows * columns], 0, columns * sizeof(*table->cells));
	table->rows++;
}

void steps_table_put(struct steps_table *table, int row, int column, const char *format, ...)
{
	va_list arguments;
	if (row >= table->rows)
		return;
	char **cell = &table->cells[row * table->columns + column];
	free(*cell);
	va_start(arguments, format);
	if (vasprintf(cell, format, arguments) < 0) {
		*cell = NULL;
		table->failed = true;
	}
	va_end(arguments);
}

static int width_of(const struct steps_table *table, int column)
{
	int width = 0;
	for (int row = 0; row < table->rows; row++) {
		const char *cell = table->cells[row * table->columns + column];
		if (cell && (int)strlen(cell) > width)
			width = (int)strlen(cell);
	}
	return width;
}

/* Prints spaces only before a text, not at the end of a line. */
static void print_row(char *const *cells, const struct steps_table *table, const int *widths,
		      FILE *out)
{
	int due = 0, at = 0;
	for (int column = 0; column < table->columns; column++) {
		const char *cell = cells[column];
		bool right = table->right > 0 && column >= table->right;
		if (cell && *cell) {
			int before = due - at + (right ? widths[column] - (int)strlen(cell) : 0);
			at += fprintf(out, "%*s%s", before, "", cell);
		}
		due += widths[column] > 0 ? widths[column] + 2 : 0;
	}
	fputc('\n', out);
}

void steps_table_print(struct steps_table *table, FILE *out)
{
	int *widths = calloc((size_t)table->columns, sizeof(*widths));
	if (!widths) {
		table->failed = true;
		return;
	}
	for (int column = 0; column < table->columns; column++)
		widths[column] = width_of(table, column);
	for (int row = 0; row < table->rows; row++)
		print_row(&table->cells[row * table->columns], table, widths, out);
	free(widths);
}

void steps_table_free(struct steps_table *table)
{
	for (int i = 0; i < table->rows * table->columns; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct steps_table){0};
}
