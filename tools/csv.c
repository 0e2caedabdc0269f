/* SPDX-License-Identifier: MIT */
#include "csv.h"

#include <stdlib.h>

#include "whole_file.h"

bool model_csv_begin(struct model_csv *csv, const char *path)
{
	*csv = (struct model_csv){.path = path};
	if (!path)
		return true;
	csv->out = open_memstream(&csv->text, &csv->bytes);
	if (!csv->out)
		fputs("ring_model: out of memory\n", stderr);
	return csv->out != NULL;
}

bool model_csv_end(struct model_csv *csv, bool is_complete)
{
	bool whole = !csv->out || fclose(csv->out) == 0;
	if (!whole)
		fputs("ring_model: out of memory\n", stderr);
	if (whole && is_complete && csv->path)
		whole = whole_file_put("ring_model", csv->path, csv->text, csv->bytes);
	free(csv->text);
	return whole && is_complete;
}
