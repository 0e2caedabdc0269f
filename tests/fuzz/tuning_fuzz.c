/* SPDX-License-Identifier: MIT */
/*
 * Tables out of any bytes: one that is accepted is written and read again, and is the same; one that is
 * not is refused in a sentence.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose/tuning_file.h"

static int read_text(const char *text, size_t bytes, struct ring_tuning_table *table)
{
	struct ring_failure failure = {0};
	char *copy = malloc(bytes + 1); /* its end is watched */
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	int err = ring_tuning_text_read("table", copy, bytes, table, &failure);
	free(copy);
	if ((err != 0) != (failure.text[0] != '\0'))
		abort();
	return err;
}

/* What a table has been read from, as it might be written: numbers have their digits cut. */
static size_t write_text(const struct ring_tuning_table *table, char *text)
{
	char row[RING_TUNING_ROW_TEXT], value[RING_MODEL_TEXT];
	size_t length = 0;
	for (int i = 0; i < table->count; i++)
		length += (size_t)sprintf(text + length, "%s\n",
					  ring_tuning_row_format(&table->rows[i], row));
	for (int section = 0; section < RING_SECTIONS; section++)
		for (int number = 0; table->has_model[section] && number < RING_MODEL_COUNT;
		     number++)
			length += (size_t)sprintf(
				text + length, "model %s %s %s\n", ring_section_name(section),
				ring_model_numbers[number].name,
				ring_model_write(number,
						 ring_model_get(&table->models[section], number),
						 value));
	return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ring_tuning_table table, again;
	static char text[RING_TUNING_ROWS * RING_TUNING_ROW_TEXT +
			 RING_SECTIONS * RING_MODEL_COUNT * 80];
	if (read_text((const char *)data, size, &table))
		return 0;
	size_t length = write_text(&table, text);
	if (read_text(text, length, &again) || again.count != table.count ||
	    memcmp(again.has_model, table.has_model, sizeof(table.has_model)) != 0)
		abort();
	memcpy(again.models, table.models, sizeof(table.models));
	if (ring_tuning_hash(&again) != ring_tuning_hash(&table))
		abort();
	return 0;
}
