/* SPDX-License-Identifier: MIT */
/*
 * The memory model. A block has stores that others have not seen (pending), and sectors that it has
 * seen (stale). Both are of one grid: memory itself is what all grids, the host and other processes
 * share, and what of them is stale is what was looked at before.
 *
 *	store    -> pending -> in any order, one at an address after the other -> memory
 *	release     drains what its thread must have seen before it is pending itself
 *	weak load   a sector that was seen, if that was after the thread's last acquire; if not,
 *	            what is in memory now, or was at some time since then
 *	acquire     moves the thread's view to now; a barrier all views to the newest of the block
 */
#include "machine.h"

/* ---- memory, in which others may be at the same time ----------------------------------------- */

#define WORDS(X)                                                                                   \
	X(1, uint8_t)                                                                              \
	X(2, uint16_t)                                                                             \
	X(4, uint32_t)                                                                             \
	X(8, uint64_t)

static void write_word(char *place, const void *from, unsigned bytes)
{
	switch (bytes) {
#define WRITE(size, type)                                                                          \
	case size: {                                                                               \
		type word;                                                                         \
		memcpy(&word, from, size);                                                         \
		__atomic_store_n((type *)place, word, __ATOMIC_RELEASE);                           \
		return;                                                                            \
	}
		WORDS(WRITE)
	}
}

static void read_word(const char *place, void *to, unsigned bytes)
{
	switch (bytes) {
#define READ(size, type)                                                                           \
	case size: {                                                                               \
		const type word = __atomic_load_n((const type *)place, __ATOMIC_ACQUIRE);          \
		memcpy(to, &word, size);                                                           \
		return;                                                                            \
	}
		WORDS(READ)
	}
}

/*
 * More than was asked for, and so also what somebody writes meanwhile: nobody looks at that, as
 * whoever does without an acquire may find anything.
 */
__attribute__((no_sanitize("thread"))) static void read_around(const struct ptx_range *range,
							       uint64_t address, unsigned char *to)
{
	const uint64_t first = address - range->address;
	if (first < range->bytes && range->bytes - first >= PTX_SECTOR) {
		const volatile uint64_t *words = (const volatile uint64_t *)(range->place + first);
		for (unsigned k = 0; k < PTX_SECTOR / 8; k++) {
			const uint64_t word = words[k];
			memcpy(to + k * 8, &word, sizeof(word));
		}
		return;
	}
	for (unsigned k = 0; k < PTX_SECTOR; k++)
		to[k] = first + k < range->bytes
				? ((const volatile unsigned char *)range->place)[first + k]
				: 0;
}

/* ---- what overlaps --------------------------------------------------------------------------- */

static bool overlap(uint64_t a, unsigned a_bytes, uint64_t b, unsigned b_bytes)
{
	return a < b + b_bytes && b < a + a_bytes;
}

/* Copies what two ranges have in common. */
static void lay_over(unsigned char *to, uint64_t to_at, unsigned to_bytes,
		     const unsigned char *from, uint64_t from_at, unsigned from_bytes)
{
	const uint64_t first = to_at > from_at ? to_at : from_at;
	const uint64_t to_end = to_at + to_bytes, from_end = from_at + from_bytes;
	const uint64_t end = to_end < from_end ? to_end : from_end;
	if (first < end)
		memcpy(to + (first - to_at), from + (first - from_at), (size_t)(end - first));
}

/* ---- sectors --------------------------------------------------------------------------------- */

static struct ptx_sector *sector_of(const struct ptx_block *block, uint64_t address)
{
	/* Buffers are often apart by a power of two. */
	return &block->sectors[address / PTX_SECTOR * 0x9e3779b97f4a7c15 >> 32 & (PTX_SECTORS - 1)];
}

static bool is_of(const struct ptx_sector *sector, uint64_t address)
{
	return sector->address == address / PTX_SECTOR * PTX_SECTOR;
}

static bool is_new_enough(const struct ptx_sector *sector, struct ptx_view view)
{
	return sector->seen.stores >= view.stores && sector->seen.looks >= view.looks;
}

/* After how many stores what is seen was so: mostly after all. */
static uint64_t choose_time(struct ptx_grid *grid, uint64_t least)
{
	const uint64_t kept = grid->stores >= PTX_HISTORY ? grid->stores - PTX_HISTORY + 1 : 0;
	const uint64_t dice = ptx_random(grid);
	least = least > kept ? least : kept;
	return dice % 4 ? grid->stores : grid->stores - dice / 4 % (grid->stores - least + 1);
}

/* Undoes the last stores, down to this many; those of the block itself were seen by it. */
static uint64_t go_back(const struct ptx_block *block, uint64_t address, uint64_t to,
			unsigned char *data)
{
	const struct ptx_grid *grid = block->grid;
	uint64_t time = grid->stores;
	for (; time > to; time--) {
		const struct ptx_past *past = &grid->past[time % PTX_HISTORY];
		if (!overlap(past->address, past->bytes, address, PTX_SECTOR))
			continue;
		if (past->block == block)
			break;
		lay_over(data, address, PTX_SECTOR, past->data, past->address, past->bytes);
	}
	return time;
}

static void see(struct ptx_thread *t, struct ptx_sector *sector, const struct ptx_place *place)
{
	struct ptx_grid *grid = t->block->grid;
	const uint64_t address = place->address / PTX_SECTOR * PTX_SECTOR;
	uint64_t least = t->view.stores;
	if (sector->address == address && sector->seen.stores > least)
		least = sector->seen.stores;
	read_around(place->range, address, sector->data);
	sector->address = address;
	sector->seen.stores = go_back(t->block, address, choose_time(grid, least), sector->data);
	sector->seen.looks = grid->looks;
}

/* ---- stores ---------------------------------------------------------------------------------- */

static uint8_t *pending_at(struct ptx_block *block, uint64_t address)
{
	return &block->pending_at[address / 16 % 256];
}

/* Counts a store that is seen from now on, of which the block has seen all there was before. */
static void note(struct ptx_block *block, uint64_t address, unsigned bytes, const void *before,
		 const void *after)
{
	struct ptx_grid *grid = block->grid;
	struct ptx_past *past = &grid->past[++grid->stores % PTX_HISTORY];
	struct ptx_sector *sector = sector_of(block, address);
	*past = (struct ptx_past){.address = address, .block = block, .bytes = bytes};
	memcpy(past->data, before, bytes);
	if (is_of(sector, address))
		memcpy(sector->data + address % PTX_SECTOR, after, bytes);
}

static void drain_this(struct ptx_block *block, unsigned index)
{
	const struct ptx_pending store = block->pending[index];
	unsigned char before[8];
	block->npending--;
	memmove(&block->pending[index], &block->pending[index + 1],
		(block->npending - index) * sizeof(store));
	--*pending_at(block, store.address);
	read_word(store.place, before, store.bytes);
	write_word(store.place, store.data, store.bytes);
	note(block, store.address, store.bytes, before, store.data);
}

/* The oldest that overlaps with this one. */
static unsigned first_at(const struct ptx_block *block, unsigned index)
{
	const struct ptx_pending *store = &block->pending[index];
	for (unsigned k = 0; k < index; k++) {
		const struct ptx_pending *other = &block->pending[k];
		if (overlap(other->address, other->bytes, store->address, store->bytes))
			return k;
	}
	return index;
}

void ptx_memory_drain_one(struct ptx_block *block)
{
	if (block->npending)
		drain_this(block,
			   first_at(block, (unsigned)(ptx_random(block->grid) % block->npending)));
}

void ptx_memory_drain(struct ptx_block *block)
{
	while (block->npending)
		ptx_memory_drain_one(block);
}

static bool has_seen(const struct ptx_thread *t, const struct ptx_pending *store)
{
	return store->thread == t->number || store->seen_by >> t->number / PTX_WARP & 1;
}

/* All that the thread has seen. What others did before at such an address goes with it. */
static void drain_seen(struct ptx_thread *t)
{
	struct ptx_block *block = t->block;
	for (unsigned k = 0; k < block->npending;) {
		if (has_seen(t, &block->pending[k])) {
			drain_this(block, first_at(block, k));
			k = 0;
		} else {
			k++;
		}
	}
}

void ptx_memory_store(struct ptx_thread *t, const struct ptx_place *place, const void *from)
{
	struct ptx_block *block = t->block;
	if (block->npending == PTX_PENDING)
		ptx_memory_drain_one(block);
	struct ptx_pending *store = &block->pending[block->npending++];
	*store =
		(struct ptx_pending){place->address, place->place, place->bytes, t->number, 0, {0}};
	memcpy(store->data, from, place->bytes);
	++*pending_at(block, place->address);
}

/* ---- loads ----------------------------------------------------------------------------------- */

void ptx_memory_load(struct ptx_thread *t, const struct ptx_place *place, enum ptx_order order,
		     bool stale, void *to)
{
	struct ptx_block *block = t->block;
	struct ptx_sector *sector = sector_of(block, place->address);
	if (order != PTX_WEAK) {
		read_word(place->place, to, place->bytes);
	} else {
		if (!is_of(sector, place->address) || (!stale && !is_new_enough(sector, t->view)))
			see(t, sector, place);
		memcpy(to, sector->data + place->address % PTX_SECTOR, place->bytes);
	}
	if (!*pending_at(block, place->address))
		return;
	for (unsigned k = 0; k < block->npending; k++) {
		const struct ptx_pending *store = &block->pending[k];
		if (has_seen(t, store))
			lay_over(to, place->address, place->bytes, store->data, store->address,
				 store->bytes);
	}
}

/* ---- order ----------------------------------------------------------------------------------- */

static void advance(struct ptx_view *view, struct ptx_view to)
{
	if (to.stores > view->stores)
		view->stores = to.stores;
	if (to.looks > view->looks)
		view->looks = to.looks;
}

void ptx_memory_acquire(struct ptx_thread *t, enum ptx_scope scope)
{
	struct ptx_grid *grid = t->block->grid;
	const struct ptx_view now = {grid->stores, ++grid->looks};
	if (scope != PTX_CTA)
		advance(&t->block->view, now);
	advance(&t->view, t->block->view);
}

void ptx_memory_release(struct ptx_thread *t, enum ptx_scope scope)
{
	struct ptx_block *block = t->block;
	if (scope != PTX_CTA) {
		drain_seen(t);
		return;
	}
	for (unsigned k = 0; k < block->npending; k++)
		if (has_seen(t, &block->pending[k]))
			block->pending[k].seen_by = UINT32_MAX;
}

void ptx_memory_join(struct ptx_block *block, uint32_t warps)
{
	struct ptx_view newest = {0, 0};
	const unsigned threads = block->grid->launch->threads;
	for (unsigned k = 0; k < threads; k++)
		if (warps >> k / PTX_WARP & 1)
			advance(&newest, block->threads[k].view);
	for (unsigned k = 0; k < threads; k++)
		if (warps >> k / PTX_WARP & 1)
			advance(&block->threads[k].view, newest);
	for (unsigned k = 0; k < block->npending; k++) {
		struct ptx_pending *store = &block->pending[k];
		const uint32_t seen_by = store->seen_by | UINT32_C(1) << store->thread / PTX_WARP;
		if (seen_by & warps)
			store->seen_by |= warps;
	}
}

void ptx_memory_settle(struct ptx_thread *t, const struct ptx_place *place)
{
	struct ptx_block *block = t->block;
	for (unsigned k = 0; k < block->npending;) {
		const struct ptx_pending *store = &block->pending[k];
		if (overlap(store->address, store->bytes, place->address, place->bytes)) {
			drain_this(block, first_at(block, k));
			k = 0;
		} else {
			k++;
		}
	}
}

void ptx_memory_changed(struct ptx_thread *t, const struct ptx_place *place, const void *before,
			const void *after)
{
	note(t->block, place->address, place->bytes, before, after);
}
