/* SPDX-License-Identifier: MIT */
#include "agree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct agree_item make(const char *name)
{
	struct agree_item item = {.value = 0};
	snprintf(item.name, sizeof(item.name), "%s", name);
	return item;
}

struct agree_item agree_number(const char *name, int64_t number)
{
	struct agree_item item = make(name);
	snprintf(item.shown, sizeof(item.shown), "%" PRId64, number);
	item.value = (uint64_t)number;
	return item;
}

struct agree_item agree_real(const char *name, double number)
{
	struct agree_item item = make(name);
	snprintf(item.shown, sizeof(item.shown), "%.15g", number);
	memcpy(&item.value, &number, sizeof(item.value));
	return item;
}

struct agree_item agree_text(const char *name, const char *text)
{
	struct agree_item item = make(name);
	snprintf(item.shown, sizeof(item.shown), "%s", text ? text : "not given");
	item.value = 0xcbf29ce484222325; /* FNV-1a */
	for (const char *at = text ? text : ""; *at; at++)
		item.value = (item.value ^ (unsigned char)*at) * 0x100000001b3;
	return item;
}

/* The first rank whose value differs from rank 0's; 0 if there is none. */
static int find_odd_rank(const struct agree_item *all, int size, size_t count, size_t index)
{
	for (int rank = 1; rank < size; rank++)
		if (all[(size_t)rank * count + index].value != all[index].value)
			return rank;
	return 0;
}

static int compare(const char *program, const struct agree_item *all, int size, size_t count)
{
	int err = 0;
	for (size_t i = 0; i < count; i++) {
		int odd = find_odd_rank(all, size, count, i);
		if (odd == 0)
			continue;
		fprintf(stderr, "%s: ranks differ: %s is %s on rank %d, but %s on rank 0\n",
			program, all[i].name, all[(size_t)odd * count + i].shown, odd, all[i].shown);
		err = RING_EMISMATCH;
	}
	return err;
}

int agree(const char *program, struct ring_comm *comm, const struct agree_item *items, size_t count)
{
	int size = ring_comm_size(comm);
	struct agree_item *all = calloc((size_t)size * count, sizeof(*all));
	if (!all)
		return RING_ENOMEM;
	int err = ring_all_gather(comm, items, all, count * sizeof(*all), RING_UINT8, NULL);
	if (!err)
		err = compare(program, all, size, count);
	free(all);
	return err;
}
