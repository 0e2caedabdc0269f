/* SPDX-License-Identifier: MIT */
/* A CSV beside a table. It grows in memory, and is written once it is complete. */
#ifndef MODEL_CSV_H
#define MODEL_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct model_csv {
	const char *path;
	FILE *out; /* NULL if there is no path */
	char *text;
	size_t bytes;
};

/*
 * Both return false with a sentence on stderr. End what was begun; it writes the file if the table
 * is complete.
 */
bool model_csv_begin(struct model_csv *csv, const char *path);
bool model_csv_end(struct model_csv *csv, bool is_complete);

#endif
