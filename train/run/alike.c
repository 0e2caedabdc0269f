/* SPDX-License-Identifier: MIT */
#include "alike.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/agree.h"
#include "loop.h"
#include "train/step/option_rows.h"

static int compare(struct train_team *team, const struct agree_item *items, size_t count)
{
	int err = agree("ring_train", team->aside, items, count);
	if (err == RING_EMISMATCH && ring_comm_status(team->aside) == 0)
		return STATUS_USAGE;
	return train_exit_of(train_team_failed(team, err, "comparing options"));
}

static struct agree_item item_of(const struct train_options *options, const struct option_row *row)
{
	const void *field = (const char *)options + row->offset;
	char name[24];
	snprintf(name, sizeof(name), "--%s", row->name);
	switch (row->kind) {
	case OPTION_FLAG:
		return agree_text(name, *(const bool *)field ? "given" : NULL);
	case OPTION_UNFLAG:
		return agree_text(name, *(const bool *)field ? NULL : "given");
	case OPTION_INT:
		return agree_number(name, *(const int *)field);
	case OPTION_CHOICE:
		return agree_text(name, option_word(row->choices, *(const int *)field));
	case OPTION_LONG:
		return agree_number(name, *(const long *)field);
	case OPTION_NUMBER:
		return agree_number(name, (int64_t) * (const uint64_t *)field);
	case OPTION_REAL:
		return agree_real(name, *(const double *)field);
	case OPTION_MEGABYTES:
		return agree_real(name, (double)*(const size_t *)field / (1 << 20));
	default:
		return agree_text(name, *(const char *const *)field);
	}
}

int train_alike_options(struct train_team *team, const struct train_options *options)
{
	struct agree_item *items = calloc((size_t)train_option_table.count, sizeof(*items));
	size_t count = 0;
	if (!items)
		return train_exit_of(train_team_failed(team, RING_ENOMEM, "comparing options"));
	for (int i = 0; i < train_option_table.count; i++) {
		const struct option_row *row = &train_option_table.rows[i];
		if (row->sameness == TRAIN_OWN || row->kind == OPTION_HEADING)
			continue;
		items[count] = item_of(options, row);
		if (row->sameness == TRAIN_ALL_OR_NONE)
			items[count].value = *(const char *const *)((const char *)options +
								    row->offset) != NULL;
		count++;
	}
	int status = compare(team, items, count);
	free(items);
	return status;
}

int train_alike_examples(struct train_team *team, const struct train_source *source)
{
	char described[192];
	struct agree_item item = agree_number("--text", 0);
	train_source_describe(source, described, sizeof(described));
	item.value = train_source_fingerprint(source);
	snprintf(item.shown, sizeof(item.shown), "%016" PRIx64 " (%.48s)", item.value, described);
	return compare(team, &item, 1);
}
