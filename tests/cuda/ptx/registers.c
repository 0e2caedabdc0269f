/* SPDX-License-Identifier: MIT */
/*
 * Registers that are never needed at the same time become one: compilers name thousands, and each
 * thread would have memory for all of them, of which no cache holds enough.
 *
 * What is needed where is found backwards, until nothing changes. A register takes the place from
 * the first instruction that needs it to the last, as they stand in the text.
 */
#include <stdlib.h>
#include <string.h>

#include "reader.h"

struct span {
	size_t first, last; /* instructions; first > last: none */
};

struct sharing {
	struct ptx_function *function;
	size_t words;       /* of a set of registers */
	uint64_t *needed;   /* before each instruction: a set */
	uint64_t *returned; /* before those that calls go on with */
	struct span *spans;
	uint32_t *places;
};

static uint64_t *needed_before(const struct sharing *sharing, size_t at)
{
	return sharing->needed + at * sharing->words;
}

static void add(uint64_t *set, uint32_t number)
{
	set[number / 64] |= UINT64_C(1) << number % 64;
}

static void add_operand(uint64_t *set, struct ptx_operand operand)
{
	if (operand.bank == PTX_REGISTERS)
		add(set, operand.index);
}

static void join(uint64_t *set, const uint64_t *other, size_t words)
{
	for (size_t k = 0; k < words; k++)
		set[k] |= other[k];
}

/* What is needed before an instruction: what comes behind needs it, or it does itself. */
static void find_needed(const struct sharing *sharing, size_t at, uint64_t *set)
{
	const struct ptx_function *function = sharing->function;
	const struct ptx_instruction *i = &function->code[at];
	const size_t words = sharing->words;
	memset(set, 0, words * sizeof(*set));
	if ((i->flow == PTX_GOES_ON || i->guarded) && at + 1 < function->ncode)
		join(set, needed_before(sharing, at + 1), words);
	if (i->flow == PTX_BRANCHES || i->flow == PTX_CALLS_ANOTHER)
		join(set, needed_before(sharing, i->target), words);
	if (i->flow == PTX_RETURNS)
		join(set, sharing->returned, words);
	for (unsigned k = 0; k < i->nto && !i->guarded; k++)
		set[i->to[k].index / 64] &= ~(UINT64_C(1) << i->to[k].index % 64);
	for (unsigned k = 0; k < i->nfrom; k++)
		add_operand(set, i->from[k]);
	add_operand(set, i->base);
	if (i->guarded)
		add(set, i->guard);
}

/* returns whether there was more to find */
static bool look_back(struct sharing *sharing, uint64_t *set)
{
	const struct ptx_function *function = sharing->function;
	bool more = false;
	for (size_t at = function->ncode; at-- > 0;) {
		uint64_t *before = needed_before(sharing, at);
		find_needed(sharing, at, set);
		more |= memcmp(before, set, sharing->words * sizeof(*set)) != 0;
		memcpy(before, set, sharing->words * sizeof(*set));
		if (at > 0 && function->code[at - 1].flow == PTX_CALLS_ANOTHER)
			join(sharing->returned, set, sharing->words);
	}
	return more;
}

static void extend(struct sharing *sharing, uint32_t number, size_t at)
{
	struct span *span = &sharing->spans[number];
	if (at < span->first)
		span->first = at;
	if (at >= span->last)
		span->last = at;
}

static void find_spans(struct sharing *sharing)
{
	const struct ptx_function *function = sharing->function;
	for (size_t k = 0; k < function->nregisters; k++)
		sharing->spans[k] = (struct span){SIZE_MAX, 0};
	for (size_t at = 0; at < function->ncode; at++) {
		const struct ptx_instruction *i = &function->code[at];
		const uint64_t *before = needed_before(sharing, at);
		for (size_t word = 0; word < sharing->words; word++)
			for (uint64_t bits = before[word]; bits; bits &= bits - 1)
				extend(sharing,
				       (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(bits), at);
		for (unsigned k = 0; k < i->nto; k++)
			extend(sharing, i->to[k].index, at);
	}
}

static int earlier(const void *a, const void *b, void *spans)
{
	const struct span *all = spans;
	const size_t left = all[*(const uint32_t *)a].first, right = all[*(const uint32_t *)b].first;
	return left < right ? -1 : left > right;
}

/* A place is free again behind its register's last instruction. returns how many there are */
static size_t give_places(struct sharing *sharing, size_t *free_from, uint32_t *order)
{
	const size_t nregisters = sharing->function->nregisters;
	size_t places = PTX_FIRST_REGISTER;
	for (uint32_t k = 0; k < nregisters; k++)
		sharing->places[k] = order[k] = k;
	qsort_r(order + places, nregisters - places, sizeof(*order), earlier, sharing->spans);
	for (size_t k = PTX_FIRST_REGISTER; k < nregisters; k++) {
		const struct span span = sharing->spans[order[k]];
		size_t place = PTX_FIRST_REGISTER;
		if (span.first > span.last)
			break; /* nothing needs those */
		while (place < places && free_from[place] > span.first)
			place++;
		places += place == places;
		free_from[place] = span.last + 1;
		sharing->places[order[k]] = (uint32_t)place;
	}
	return places;
}

static void rename_operand(const struct sharing *sharing, struct ptx_operand *operand)
{
	if (operand->bank == PTX_REGISTERS)
		operand->index = sharing->places[operand->index];
}

static void rename_all(struct sharing *sharing)
{
	struct ptx_function *function = sharing->function;
	for (size_t at = 0; at < function->ncode; at++) {
		struct ptx_instruction *i = &function->code[at];
		for (unsigned k = 0; k < i->nto; k++)
			rename_operand(sharing, &i->to[k]);
		for (unsigned k = 0; k < i->nfrom; k++)
			rename_operand(sharing, &i->from[k]);
		rename_operand(sharing, &i->base);
		i->guard = i->guarded ? sharing->places[i->guard] : 0;
	}
}

static void share(struct sharing *sharing, uint64_t *set, size_t *free_from, uint32_t *order)
{
	while (look_back(sharing, set))
		;
	find_spans(sharing);
	const size_t places = give_places(sharing, free_from, order);
	rename_all(sharing);
	sharing->function->nregisters = places;
}

bool ptx_registers_share(struct ptx_function *function)
{
	const size_t words = (function->nregisters + 63) / 64;
	struct sharing sharing = {.function = function, .words = words};
	uint64_t *set = calloc(words, sizeof(*set));
	size_t *free_from = calloc(function->nregisters, sizeof(*free_from));
	uint32_t *order = calloc(function->nregisters, sizeof(*order));
	sharing.needed = calloc(function->ncode * words, sizeof(uint64_t));
	sharing.returned = calloc(words, sizeof(uint64_t));
	sharing.spans = calloc(function->nregisters, sizeof(*sharing.spans));
	sharing.places = calloc(function->nregisters, sizeof(*sharing.places));
	const bool good = set && free_from && order && sharing.needed && sharing.returned &&
			  sharing.spans && sharing.places;
	if (good)
		share(&sharing, set, free_from, order);
	free(set);
	free(free_from);
	free(order);
	free(sharing.needed);
	free(sharing.returned);
	free(sharing.spans);
	free(sharing.places);
	return good;
}
