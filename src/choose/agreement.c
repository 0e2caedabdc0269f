/* SPDX-License-Identifier: MIT */
#include "agreement.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "option_rows.h"

#define VALUE_TEXT 64

static void wire_row(struct ring_wire *wire, const struct ring_option_row *row,
		     struct ring_config *config)
{
	void *field = (char *)config + row->config_offset;
	uint64_t bytes;
	switch (row->setting.kind) {
	case RING_SETTING_TEXT:
		ring_wire_text(wire, field, (size_t)row->setting.most + 1);
		break;
	case RING_SETTING_NUMBER:
		ring_wire_int(wire, field);
		break;
	case RING_SETTING_BYTES:
		bytes = *(size_t *)field;
		ring_wire_u64(wire, &bytes);
		*(size_t *)field = (size_t)bytes;
		break;
	}
}

void ring_config_wire(struct ring_wire *wire, struct ring_config *config)
{
	for (int i = 0; i < ring_option_row_count; i++) {
		if (ring_option_rows[i].agreement == RING_ALIKE)
			wire_row(wire, &ring_option_rows[i], config);
		else if (ring_option_rows[i].agreement == RING_ALIKE_INSIDE)
			ring_wire_u64(wire, &config->tuning_hash);
	}
}

/*
 * A value as people read it, "" if it is unset. Files may lie anywhere and be commented, as long as
 * their rows are the same.
 */
static const char *show(const struct ring_option_row *row, const struct ring_config *config,
			char text[VALUE_TEXT])
{
	const void *field = (const char *)config + row->config_offset;
	text[0] = '\0';
	if (row->agreement == RING_ALIKE_INSIDE && config->tuning_hash)
		snprintf(text, VALUE_TEXT, "a file of rows with hash %016" PRIx64,
			 config->tuning_hash);
	if (row->agreement == RING_ALIKE_INSIDE)
		return text;
	if (row->setting.kind == RING_SETTING_TEXT)
		return field;
	long long number = row->setting.kind == RING_SETTING_NUMBER
				   ? *(const int *)field
				   : (long long)*(const size_t *)field;
	if (number)
		snprintf(text, VALUE_TEXT, "%lld", number);
	return text;
}

int ring_config_compare(const struct ring_config *config, int rank,
			const struct ring_config *of_rank_0, struct ring_failure *failure)
{
	for (int i = 0; i < ring_option_row_count; i++) {
		const struct ring_option_row *row = &ring_option_rows[i];
		char texts[2][VALUE_TEXT];
		if (row->agreement == RING_OWN)
			continue;
		const char *mine = show(row, config, texts[0]);
		const char *first = show(row, of_rank_0, texts[1]);
		if (strcmp(mine, first) != 0)
			return ring_fail(
				failure, RING_EMISMATCH,
				"%s is %s on rank %d but %s on rank 0; it must be alike on "
				"all ranks",
				row->setting.variable, *mine ? mine : "unset", rank,
				*first ? first : "unset");
	}
	return 0;
}
