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
	[RING_KIND_REDUCE_SCATTERV] = "reduce_scatterv",
	[RING_KIND_ALL_GATHERV] = "all_gatherv",
	[RING_KIND_GATHERV] = "gatherv",
	[RING_KIND_SCATTERV] = "scatterv",
	[RING_KIND_ALL_TO_ALLV] = "all_to_allv",
};

#define KINDS ((int)(sizeof(kind_names) / sizeof(kind_names[0])))

_Static_assert(sizeof(struct ring_record) == 32, "the record travels as it lies in memory");
_Static_assert(sizeof(struct ring_whereabouts) <= RING_OPENING_BYTES, "they travel with a record");

const char *ring_kind_name(enum ring_kind kind)
{
	return (int)kind >= 0 && (int)kind < KINDS ? kind_names[kind] : "?";
}

#define MEMORY                                                                                     \
	(RING_RECORD_DEVICE | RING_RECORD_KERNEL | RING_RECORD_GRAPH | RING_RECORD_MIXED |         \
	 RING_RECORD_LINKS)

bool ring_record_is_valid(const struct ring_record *record)
{
	return record->magic == RING_RECORD_MAGIC && record->kind >= 0 && record->kind < KINDS &&
	       (record->memory & ~MEMORY) == 0;
}

static const char *op_name(int op)
{
	if (op == RING_OP_FUNCTION)
		return "function of the program";
	return op == RING_OP_PREMUL_SUM ? "pre-multiplied sum" : ring_op_name(op);
}

/* Host memory goes without saying. Which device it is differs between ranks, so none tells. */
static void add_memory(const struct ring_record *record, char *text)
{
	size_t have = strlen(text);
	if (record->memory != 0 && !(record->memory & RING_RECORD_LINKS))
		snprintf(text + have, RING_RECORD_TEXT - have, ", in memory of a device%s",
			 ring_record_by_kernel(record));
}

static const char *format_message(const struct ring_record *record, char *text)
{
	snprintf(text, RING_RECORD_TEXT, "%s of %llu %s %s rank %d", ring_kind_name(record->kind),
		 (unsigned long long)record->count, ring_datatype_name(record->type),
		 record->kind == RING_KIND_SEND ? "to" : "from", record->root);
	add_memory(record, text);
	return text;
}

/* " of 1024 float"; where only two ranks know how many, no number. Returns the length. */
static int format_elements(const struct ring_record *record, char *text, size_t room)
{
	if (ring_kind_has_own_parts(record->kind))
		return snprintf(text, room, " of %s", ring_datatype_name(record->type));
	return snprintf(text, room, " of %llu %s", (unsigned long long)record->count,
			ring_datatype_name(record->type));
}

static bool tells_parts(const struct ring_record *record)
{
	return ring_kind_is_uneven(record->kind) && !ring_kind_has_own_parts(record->kind);
}

const char *ring_record_format(const struct ring_record *record, char *text)
{
	if (ring_kind_is_message(record->kind))
		return format_message(record, text);
	const bool links = record->memory & RING_RECORD_LINKS;
	int have = snprintf(text, RING_RECORD_TEXT, "call %llu: %s",
			    (unsigned long long)record->sequence,
			    links ? "stream_from_cuda" : ring_kind_name(record->kind));
	if (record->type >= 0)
		have += format_elements(record, text + have, RING_RECORD_TEXT - have);
	if (record->op >= 0)
		have += snprintf(text + have, RING_RECORD_TEXT - have, ", %s", op_name(record->op));
	if (tells_parts(record))
		snprintf(text + have, RING_RECORD_TEXT - have, ", in parts #%x",
			 (unsigned)record->root);
	else if (record->root >= 0)
		snprintf(text + have, RING_RECORD_TEXT - have, ", root %d", record->root);
	add_memory(record, text);
	return text;
}

void ring_record_add_parts(const struct ring_record *record, int peer, char *text)
{
	size_t have = strlen(text);
	snprintf(text + have, RING_RECORD_TEXT - have, ", %llu elements with rank %d",
		 (unsigned long long)record->count, peer);
}

int32_t ring_record_parts(const uint64_t counts[], int size)
{
	uint64_t mixed = 0;
	for (int rank = 0; rank < size; rank++) {
		mixed = (mixed ^ counts[rank]) * UINT64_C(0x9e3779b97f4a7c15);
		mixed ^= mixed >> 29;
	}
	return (int32_t)(mixed >> 33);
}
