/* SPDX-License-Identifier: MIT */
/* Entry records: checked, and put into words. */
#include "record.h"

#include <stdio.h>

#include "base/datatype.h"

static const char *const kind_names[] = {
	[RING_KIND_ALL_REDUCE] = "all_reduce",
	[RING_KIND_REDUCE_SCATTER] = "reduce_scatter",
	[RING_KIND_ALL_GATHER] = "all_gather",
	[RING_KIND_BROADCAST] = "broadcast",
	[RING_KIND_BARRIER] = "barrier",
	[RING_KIND_REDUCE] = "reduce",
	[RING_KIND_GATHER] = "gather",
	[RING_KIND_SCATTER] = "scatter",
	[RING_KIND_ALL_TO_ALL] = "all_to_all",
	[RING_KIND_SEND] = "send",
	[RING_KIND_RECV] = "recv",
};

#define KINDS ((int)(sizeof(kind_names) / sizeof(kind_names[0])))

_Static_assert(sizeof(struct ring_record) == 32, "the record travels as it lies in memory");

const char *ring_kind_name(enum ring_kind kind)
{
	return (int)kind >= 0 && (int)kind < KINDS ? kind_names[kind] : "?";
}

bool ring_record_is_valid(const struct ring_record *record)
{
	return record->magic == RING_RECORD_MAGIC && record->kind >= 0 && record->kind < KINDS;
}

static const char *op_name(int op)
{
	return op == RING_OP_PREMUL_SUM ? "pre-multiplied sum" : ring_op_name(op);
}

/* Host memory goes without saying. Which device it is differs between ranks, so none tells. */
static void add_memory(const struct ring_record *record, char *text)
{
	size_t have = strlen(text);
	if (record->memory != 0)
		snprintf(text + have, RING_RECORD_TEXT - have, ", in memory of a device");
}

static const char *format_message(const struct ring_record *record, char *text)
{
	snprintf(text, RING_RECORD_TEXT, "%s of %llu %s %s rank %d", ring_kind_name(record->kind),
		 (unsigned long long)record->count, ring_datatype_name(record->type),
		 record->kind == RING_KIND_SEND ? "to" : "from", record->root);
	add_memory(record, text);
	return text;
}

const char *ring_record_format(const struct ring_record *record, char *text)
{
	if (ring_kind_is_message(record->kind))
		return format_message(record, text);
	int have = snprintf(text, RING_RECORD_TEXT, "call %llu: %s",
			    (unsigned long long)record->sequence, ring_kind_name(record->kind));
	if (record->type >= 0)
		have += snprintf(text + have, RING_RECORD_TEXT - have, " of %llu %s",
				 (unsigned long long)record->count,
				 ring_datatype_name(record->type));
	if (record->op >= 0)
		have += snprintf(text + have, RING_RECORD_TEXT - have, ", %s", op_name(record->op));
	if (record->root >= 0)
		snprintf(text + have, RING_RECORD_TEXT - have, ", root %d", record->root);
	add_memory(record, text);
	return text;
}
