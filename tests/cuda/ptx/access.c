/* SPDX-License-Identifier: MIT */
/*
 * Loads, stores and fences: where an address lies, whether a kernel may go there, and in which
 * order it is seen, which is memory.c's. Memory that is a block's or a thread's alone has no order.
 */
#include "machine.h"

/* ---- addresses ------------------------------------------------------------------------------- */

/* Generic addresses of the spaces that are not global: none that memory has. */
uint64_t ptx_access_window(enum ptx_space space)
{
	return space == PTX_GLOBAL || space == PTX_GENERIC ? 0 : (uint64_t)space << 56;
}

static enum ptx_space space_of(const struct ptx_instruction *i, uint64_t address)
{
	if (i->is[PTX_SPACE] != PTX_GENERIC)
		return i->is[PTX_SPACE];
	return address >> 56 ? (enum ptx_space)(address >> 56) : PTX_GLOBAL;
}

static const struct ptx_range *find_range(struct ptx_grid *grid, uint64_t address)
{
	const struct ptx_host *host = grid->launch->host;
	for (unsigned k = 0; k < PTX_RANGES; k++)
		if (address - grid->ranges[k].address < grid->ranges[k].bytes)
			return &grid->ranges[k];
	struct ptx_range *range = &grid->ranges[grid->nranges++ % PTX_RANGES];
	if (host->find(host->context, address, range))
		return range;
	range->bytes = 0;
	return NULL;
}

static bool is_aligned(struct ptx_thread *t, const struct ptx_instruction *i, uint64_t address,
		       unsigned bytes)
{
	if (address % bytes == 0)
		return true;
	ptx_trap(t, i, PTX_MISALIGNED_ADDRESS, "%u bytes at %#jx", bytes, (uintmax_t)address);
	return false;
}

bool ptx_access_find(struct ptx_thread *t, const struct ptx_instruction *i, uint64_t address,
		     unsigned bytes, struct ptx_place *place)
{
	if (!is_aligned(t, i, address, bytes))
		return false;
	const struct ptx_range *range = find_range(t->block->grid, address);
	const uint64_t offset = range ? address - range->address : 0;
	if (!range || bytes > range->bytes - offset) {
		ptx_trap(t, i, PTX_ILLEGAL_ADDRESS, "%u bytes at %#jx", bytes, (uintmax_t)address);
		return false;
	}
	*place = (struct ptx_place){address, range->place + offset, bytes, range};
	return true;
}

/* Memory that is no other block's. returns NULL: a trap */
static char *own_place(struct ptx_thread *t, const struct ptx_instruction *i, enum ptx_space space,
		       uint64_t address, unsigned bytes)
{
	const struct ptx_block *block = t->block;
	const struct ptx_function *function = block->grid->function;
	const struct ptx_launch *launch = block->grid->launch;
	uint64_t at = ptx_cut(address, 56);
	if (space == PTX_PARAM && at >= PTX_ARGUMENTS) {
		space = PTX_LOCAL;
		at -= PTX_ARGUMENTS;
	}
	char *memory = space == PTX_SHARED  ? block->shared
		       : space == PTX_LOCAL ? block->local + t->number * function->local_bytes
					    : (char *)(uintptr_t)launch->parameters;
	const size_t room = space == PTX_SHARED  ? function->shared_bytes + launch->shared_bytes
			    : space == PTX_LOCAL ? function->local_bytes
			    : space == PTX_PARAM ? function->parameter_bytes
						 : 0;
	if (!is_aligned(t, i, at, bytes))
		return NULL;
	if (at + bytes <= room)
		return memory + at;
	ptx_trap(t, i, PTX_ILLEGAL_ADDRESS, "%u bytes at %ju of %zu", bytes, (uintmax_t)at, room);
	return NULL;
}

static uint64_t address_of(const struct ptx_thread *t, const struct ptx_instruction *i)
{
	return ptx_value(t, i->base) + (uint64_t)i->offset;
}

static void count(uint64_t counts[5], unsigned bytes)
{
	counts[bytes > 8 ? 4 : bytes > 4 ? 3 : bytes > 2 ? 2 : bytes - 1]++;
}

/* ---- loads ----------------------------------------------------------------------------------- */

static bool acquires(const struct ptx_instruction *i)
{
	return i->is[PTX_ORDER] == PTX_ACQUIRE;
}

/* Of one element; what is signed fills its register. */
static void take(struct ptx_thread *t, const struct ptx_instruction *i, unsigned element,
		 const void *from)
{
	const unsigned bits = ptx_type_bits(i);
	uint64_t value = 0;
	memcpy(&value, from, bits / 8);
	if (ptx_types[i->is[PTX_TYPE]].kind == PTX_SIGNED)
		value = ptx_cut((uint64_t)ptx_extended(value, bits), i->bits);
	ptx_set(t, i->to[element], value);
}

static void load_own(struct ptx_thread *t, const struct ptx_instruction *i, enum ptx_space space)
{
	const unsigned bytes = ptx_type_bits(i) / 8;
	const char *place = own_place(t, i, space, address_of(t, i), bytes * i->nto);
	for (unsigned k = 0; place && k < i->nto; k++)
		take(t, i, k, place + k * bytes);
}

static void load_global(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const unsigned bytes = ptx_type_bits(i) / 8;
	struct ptx_counts *counts = t->block->grid->launch->counts;
	struct ptx_place whole;
	if (!ptx_access_find(t, i, address_of(t, i), bytes * i->nto, &whole))
		return;
	if (counts)
		count(counts->loads, whole.bytes);
	if (whole.range->loaded)
		*whole.range->loaded += whole.bytes;
	for (unsigned k = 0; k < i->nto; k++) {
		const struct ptx_place place = {whole.address + k * bytes, whole.place + k * bytes,
						bytes, whole.range};
		unsigned char data[8];
		ptx_memory_load(t, &place, i->is[PTX_ORDER], i->is[PTX_STALE], data);
		take(t, i, k, data);
	}
	if (acquires(i))
		ptx_memory_acquire(t, i->is[PTX_SCOPE]);
}

static void load(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const enum ptx_space space = space_of(i, address_of(t, i));
	if (space == PTX_GLOBAL)
		load_global(t, i);
	else
		load_own(t, i, space);
}

/* ---- stores ---------------------------------------------------------------------------------- */

static void store_own(struct ptx_thread *t, const struct ptx_instruction *i, enum ptx_space space)
{
	const unsigned bytes = ptx_type_bits(i) / 8;
	const uint64_t address = address_of(t, i);
	if (space == PTX_PARAM && ptx_cut(address, 56) < PTX_ARGUMENTS) {
		ptx_trap(t, i, PTX_ILLEGAL_ADDRESS, "a kernel's parameters cannot be written");
		return;
	}
	char *place = own_place(t, i, space, address, bytes * i->nfrom);
	for (unsigned k = 0; place && k < i->nfrom; k++) {
		const uint64_t value = ptx_value(t, i->from[k]);
		memcpy(place + k * bytes, &value, bytes);
	}
}

static void store_global(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const unsigned bytes = ptx_type_bits(i) / 8;
	struct ptx_counts *counts = t->block->grid->launch->counts;
	struct ptx_place whole;
	if (!ptx_access_find(t, i, address_of(t, i), bytes * i->nfrom, &whole))
		return;
	if (counts)
		count(counts->stores, whole.bytes);
	if (whole.range->stored)
		*whole.range->stored += whole.bytes;
	if (i->is[PTX_ORDER] == PTX_RELEASE)
		ptx_memory_release(t, i->is[PTX_SCOPE]);
	for (unsigned k = 0; k < i->nfrom; k++) {
		const struct ptx_place place = {whole.address + k * bytes, whole.place + k * bytes,
						bytes, whole.range};
		const uint64_t value = ptx_value(t, i->from[k]);
		ptx_memory_store(t, &place, &value);
	}
}

static void store(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const enum ptx_space space = space_of(i, address_of(t, i));
	if (space == PTX_GLOBAL)
		store_global(t, i);
	else
		store_own(t, i, space);
}

/* ---- fences and addresses -------------------------------------------------------------------- */

static void fence(struct ptx_thread *t, const struct ptx_instruction *i)
{
	ptx_memory_release(t, i->is[PTX_SCOPE]);
	ptx_memory_acquire(t, i->is[PTX_SCOPE]);
}

static void cvta(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const uint64_t window = ptx_access_window(i->is[PTX_SPACE]),
		       address = ptx_value(t, i->from[0]);
	ptx_set(t, i->to[0], i->is[PTX_TO] ? address - window : address + window);
}

/* ---- the words ------------------------------------------------------------------------------- */

static bool is_access(const struct ptx_instruction *i, unsigned elements)
{
	const unsigned named = i->is[PTX_VECTOR] ? i->is[PTX_VECTOR] : 1;
	const bool ordered = i->is[PTX_ORDER] >= PTX_RELAXED;
	return ptx_type_bits(i) >= 8 && ptx_types[i->is[PTX_TYPE]].kind != PTX_PAIR &&
	       named == elements && named * ptx_type_bits(i) <= 128 &&
	       (!ordered || i->is[PTX_SPACE] != PTX_PARAM);
}

static ptx_step *choose_ld(const struct ptx_instruction *i)
{
	return is_access(i, i->nto) && i->is[PTX_ORDER] <= PTX_ACQUIRE ? load : NULL;
}

static ptx_step *choose_st(const struct ptx_instruction *i)
{
	const bool orders = i->is[PTX_ORDER] != PTX_ACQUIRE && i->is[PTX_ORDER] <= PTX_RELEASE;
	return is_access(i, i->nfrom) && orders ? store : NULL;
}

static ptx_step *choose_fence(const struct ptx_instruction *i)
{
	return i->is[PTX_SCOPE] ? fence : NULL;
}

static ptx_step *choose_cvta(const struct ptx_instruction *i)
{
	return i->is[PTX_SPACE] ? cvta : NULL;
}

#define ACCESS                                                                                     \
	(PTX_IN(PTX_TYPE) | PTX_IN(PTX_SPACE) | PTX_IN(PTX_ORDER) | PTX_IN(PTX_SCOPE) |            \
	 PTX_IN(PTX_VECTOR) | PTX_IN(PTX_HINT))

const struct ptx_opcode ptx_accesses[] = {
	{"ld", "Dm", ACCESS | PTX_IN(PTX_STALE), NULL, choose_ld},
	{"st", "mS", ACCESS, NULL, choose_st},
	{"fence", "", PTX_IN(PTX_ORDER) | PTX_IN(PTX_SCOPE), NULL, choose_fence},
	{"membar", "", PTX_IN(PTX_SCOPE), NULL, choose_fence},
	{"cvta", "ds", PTX_IN(PTX_TYPE) | PTX_IN(PTX_SPACE) | PTX_IN(PTX_TO), NULL, choose_cvta},
	{NULL, NULL, 0, NULL, NULL},
};
