/* SPDX-License-Identifier: MIT */
/* A grid while it runs: its blocks, their threads, and what each of the files does for them. */
#ifndef PTX_MACHINE_H
#define PTX_MACHINE_H

#include <string.h>

#include "instruction.h"

#define PTX_SECTOR 32    /* bytes that are seen at one time */
#define PTX_SECTORS 2048 /* that a block keeps */
#define PTX_PENDING 64   /* stores of a block that others have not seen */
#define PTX_HISTORY 256  /* stores of which is known what was there before */
#define PTX_RANGES 8
#define PTX_CALLS 8 /* that a thread is in */
#define PTX_BARRIERS 16

enum ptx_state {
	PTX_RUNS,
	PTX_YIELDS, /* sleeps: others go first      */
	PTX_WAITS,  /* for threads of its block     */
	PTX_ENDED,
};

/* Which stores a weak load must not miss: those before an acquire. */
struct ptx_view {
	uint64_t stores; /* this many of the grid       */
	uint64_t looks;  /* sectors seen since that one */
};

struct ptx_thread {
	uint64_t *bank[PTX_BANKS];
	const struct ptx_instruction *next;
	const struct ptx_instruction *callers[PTX_CALLS];
	unsigned depth;
	enum ptx_state state;
	unsigned number; /* in its block */
	struct ptx_block *block;
	struct ptx_view view;
	size_t place;          /* among those that run */
	uint8_t barrier;       /* that it waits for; PTX_BARRIERS: lanes of its warp */
	unsigned nflying;      /* loads under way; for counts.c */
	unsigned char *flying; /* by register: it is being loaded */
};

/* A store that others may not have seen yet. */
struct ptx_pending {
	uint64_t address;
	char *place;
	unsigned bytes;
	unsigned thread;  /* whose it is */
	uint32_t seen_by; /* warps of its block, by barriers */
	unsigned char data[8];
};

/* What a block has seen of memory. */
struct ptx_sector {
	uint64_t address; /* 0: nothing */
	struct ptx_view seen;
	unsigned char data[PTX_SECTOR];
};

struct ptx_barrier {
	unsigned arrived, wanted;      /* threads; 0 wanted: all */
	uint32_t warps;                /* of those that arrived  */
	uint64_t population, any, all; /* of the predicates of a reduction */
};

struct ptx_block {
	struct ptx_grid *grid;
	unsigned number, alive;
	struct ptx_thread *threads;
	uint64_t *registers;
	char *shared, *local;
	unsigned char *flying;
	struct ptx_barrier barriers[PTX_BARRIERS];
	struct ptx_view view; /* the newest of its threads' */
	struct ptx_pending pending[PTX_PENDING];
	unsigned npending;
	uint8_t pending_at[256]; /* how many in places like this, mostly none */
	struct ptx_sector *sectors;
	struct ptx_block *next;
};

/* What was there before a store. */
struct ptx_past {
	uint64_t address;
	const struct ptx_block *block;
	unsigned bytes;
	unsigned char data[8];
};

struct ptx_grid {
	const struct ptx_launch *launch;
	const struct ptx_function *function;
	uint64_t random, instructions;
	struct ptx_block *blocks; /* that have begun and not ended */
	unsigned begun, ended, resident;
	struct ptx_thread **runs; /* their threads that wait for nobody */
	size_t nruns, room;
	size_t idle; /* times in turn that one of them slept */
	unsigned lagging;

	uint64_t stores, looks, stores_seen;
	struct ptx_past past[PTX_HISTORY];
	struct ptx_range ranges[PTX_RANGES];
	unsigned nranges;

	int result; /* of the first that went wrong */
	struct ptx_error *error;
};

/* Where an access goes: `range` is what it lies in. */
struct ptx_place {
	uint64_t address;
	char *place;
	unsigned bytes;
	const struct ptx_range *range;
};

/* ---- values ---------------------------------------------------------------------------------- */

/* Registers hold as many bits as they have, and zeros above them. */
static inline uint64_t ptx_value(const struct ptx_thread *t, struct ptx_operand operand)
{
	return t->bank[operand.bank][operand.index];
}

static inline void ptx_set(struct ptx_thread *t, struct ptx_operand operand, uint64_t value)
{
	t->bank[PTX_REGISTERS][operand.index] = value;
}

static inline uint64_t ptx_cut(uint64_t value, unsigned bits)
{
	return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static inline int64_t ptx_extended(uint64_t value, unsigned bits)
{
	uint64_t sign = UINT64_C(1) << (bits - 1);
	return (int64_t)((ptx_cut(value, bits) ^ sign) - sign);
}

static inline float ptx_float(uint64_t value)
{
	uint32_t bits = (uint32_t)value;
	float x;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Every NaN that is computed is the same. */
static inline uint64_t ptx_float_bits(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof(bits));
	return x != x ? 0x7fffffff : bits;
}

static inline double ptx_double(uint64_t bits)
{
	double x;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

static inline uint64_t ptx_double_bits(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof(bits));
	return x != x ? UINT64_C(0x7ff8000000000000) : bits;
}

static inline unsigned ptx_type_bits(const struct ptx_instruction *i)
{
	return ptx_types[i->is[PTX_TYPE]].bits;
}

/* ---- half.c ---------------------------------------------------------------------------------- */

/* Floats of at most 16 bits. */
double ptx_narrow_value(enum ptx_type type, uint64_t bits);
uint64_t ptx_narrow_bits(enum ptx_type type, double x, bool finite);

/* Arithmetic on those of 16 bits, and on pairs of them. */
ptx_step ptx_half_add, ptx_half_sub, ptx_half_mul, ptx_half_fma, ptx_half_min, ptx_half_max,
	ptx_half_neg, ptx_half_abs;

/* ---- arithmetic.c ---------------------------------------------------------------------------- */

/* Of a number and a NaN the number, unless the instruction says .NaN; +0 is above -0. */
double ptx_least(const struct ptx_instruction *i, double a, double b);

/* ---- memory.c -------------------------------------------------------------------------------- */

/* Words of up to 8 bytes. */
void ptx_memory_load(struct ptx_thread *t, const struct ptx_place *place, enum ptx_order order,
		     bool stale, void *to);
void ptx_memory_store(struct ptx_thread *t, const struct ptx_place *place, const void *from);

void ptx_memory_acquire(struct ptx_thread *t, enum ptx_scope scope);
void ptx_memory_release(struct ptx_thread *t, enum ptx_scope scope);

/* Before and after a change in place: what the block has pending there is seen first. */
void ptx_memory_settle(struct ptx_thread *t, const struct ptx_place *place);
void ptx_memory_changed(struct ptx_thread *t, const struct ptx_place *place, const void *before,
			const void *after);

/* These warps of a block have met: each has seen what all have. */
void ptx_memory_join(struct ptx_block *block, uint32_t warps);

/* Some store or all are seen. */
void ptx_memory_drain_one(struct ptx_block *block);
void ptx_memory_drain(struct ptx_block *block);

/* ---- access.c -------------------------------------------------------------------------------- */

/* Where an address of global memory lies. returns false: a trap */
bool ptx_access_find(struct ptx_thread *t, const struct ptx_instruction *i, uint64_t address,
		     unsigned bytes, struct ptx_place *place);

/* Generic addresses of the other spaces. */
uint64_t ptx_access_window(enum ptx_space space);

/* ---- control.c ------------------------------------------------------------------------------- */

/* A thread is gone: others may have waited for it alone. */
void ptx_control_left(struct ptx_thread *t);

/* ---- counts.c -------------------------------------------------------------------------------- */

/* As ptx_grid's own, and counts. */
void ptx_counts_turn(struct ptx_thread *t, unsigned instructions);

/* ---- grid.c ---------------------------------------------------------------------------------- */

uint64_t ptx_random(struct ptx_grid *grid);

/* Ends the grid with this result; the first counts. */
__attribute__((format(printf, 4, 5))) void ptx_trap(struct ptx_thread *t,
						    const struct ptx_instruction *i, int result,
						    const char *format, ...);

/* Lets a thread go on that waits. */
void ptx_wake(struct ptx_thread *t);

static inline bool ptx_is_guarded_off(const struct ptx_thread *t, const struct ptx_instruction *i)
{
	return i->guarded && t->bank[PTX_REGISTERS][i->guard] == i->unless;
}

#endif
