/* SPDX-License-Identifier: MIT */
/* What an instruction is: its step, its operands, what stands between the points of its name. */
#ifndef PTX_INSTRUCTION_H
#define PTX_INSTRUCTION_H

#include "ptx.h"

/* X(type, its name, bits, kind) */
#define PTX_TYPES(X)                                                                               \
	X(PRED, "pred", 1, BITS)                                                                   \
	X(B8, "b8", 8, BITS)                                                                       \
	X(B16, "b16", 16, BITS)                                                                    \
	X(B32, "b32", 32, BITS)                                                                    \
	X(B64, "b64", 64, BITS)                                                                    \
	X(U8, "u8", 8, UNSIGNED)                                                                   \
	X(U16, "u16", 16, UNSIGNED)                                                                \
	X(U32, "u32", 32, UNSIGNED)                                                                \
	X(U64, "u64", 64, UNSIGNED)                                                                \
	X(S8, "s8", 8, SIGNED)                                                                     \
	X(S16, "s16", 16, SIGNED)                                                                  \
	X(S32, "s32", 32, SIGNED)                                                                  \
	X(S64, "s64", 64, SIGNED)                                                                  \
	X(F16, "f16", 16, FLOAT)                                                                   \
	X(BF16, "bf16", 16, FLOAT)                                                                 \
	X(F32, "f32", 32, FLOAT)                                                                   \
	X(F64, "f64", 64, FLOAT)                                                                   \
	X(F16X2, "f16x2", 32, PAIR)                                                                \
	X(BF16X2, "bf16x2", 32, PAIR)                                                              \
	X(E4M3X2, "e4m3x2", 16, PAIR)                                                              \
	X(E5M2X2, "e5m2x2", 16, PAIR)

enum ptx_kind { PTX_BITS, PTX_UNSIGNED, PTX_SIGNED, PTX_FLOAT, PTX_PAIR };

enum ptx_type {
	PTX_UNTYPED,
#define PTX_ENUMERATOR(type, ...) PTX_##type,
	PTX_TYPES(PTX_ENUMERATOR)
#undef PTX_ENUMERATOR
		PTX_TYPE_COUNT
};

struct ptx_type_traits {
	const char *name;
	unsigned bits;
	enum ptx_kind kind;
};

extern const struct ptx_type_traits ptx_types[PTX_TYPE_COUNT];

/* What the parts of a name are about: each says one thing at most, and 0 is that none did. */
enum ptx_group {
	PTX_TYPE, /* add.TYPE; cvt.TYPE.FROM */
	PTX_FROM,
	PTX_SPACE,
	PTX_ORDER,
	PTX_SCOPE,
	PTX_VECTOR,   /* elements */
	PTX_RELATION, /* a sum of enum ptx_relation, for which it holds */
	PTX_COMBINE,
	PTX_PART, /* of a product */
	PTX_ROUND,
	PTX_CLAMP,
	PTX_LANES,
	PTX_SIDE,  /* shf.l and .r */
	PTX_NAN,   /* min.NaN */
	PTX_STALE, /* ld.nc */
	PTX_TO,    /* cvta.to */
	PTX_HINT,  /* what changes no result */
	PTX_GROUPS
};

#define PTX_IN(group) (UINT32_C(1) << (group))

enum ptx_space { PTX_GENERIC, PTX_GLOBAL, PTX_PARAM, PTX_SHARED, PTX_LOCAL };
enum ptx_order { PTX_WEAK, PTX_RELAXED, PTX_ACQUIRE, PTX_RELEASE, PTX_ACQ_REL, PTX_SC };
enum ptx_scope { PTX_NO_SCOPE, PTX_CTA, PTX_GPU, PTX_SYS };
enum ptx_relation { PTX_LESS = 1, PTX_EQUAL = 2, PTX_GREATER = 4, PTX_UNORDERED = 8 };
enum ptx_part { PTX_LOW = 1, PTX_HIGH, PTX_WIDE };
enum ptx_round {
	PTX_NEAREST = 1,
	PTX_ZERO,
	PTX_INT_NEAREST,
	PTX_INT_ZERO,
	PTX_INT_DOWN,
	PTX_INT_UP
};
enum ptx_clamp { PTX_SATFINITE = 1, PTX_TO_WIDTH, PTX_MODULO };
enum ptx_lanes { PTX_UP = 1, PTX_DOWN, PTX_BUTTERFLY, PTX_INDEX, PTX_ANY, PTX_ALL, PTX_BALLOT };
enum ptx_side { PTX_LEFT = 1, PTX_RIGHT };
enum ptx_combine {
	PTX_AND = 1,
	PTX_OR,
	PTX_XOR,
	PTX_ADD,
	PTX_MIN,
	PTX_MAX,
	PTX_EXCHANGE,
	PTX_COMPARE, /* and exchange */
	PTX_POPULATION,
};

/* A register of the thread, or a constant of the function. */
struct ptx_operand {
	uint32_t bank : 1, index : 31;
};

enum { PTX_REGISTERS, PTX_CONSTANTS, PTX_BANKS };

struct ptx_thread;
struct ptx_instruction;

/* What it does for one thread, whose `next` is already the one behind it. */
typedef void ptx_step(struct ptx_thread *t, const struct ptx_instruction *i);

/* What comes next; if it is guarded, perhaps the next instruction after all. */
enum ptx_flow { PTX_GOES_ON, PTX_BRANCHES, PTX_CALLS_ANOTHER, PTX_RETURNS };

#define PTX_DESTINATIONS 4
#define PTX_SOURCES 5

struct ptx_instruction {
	ptx_step *step;
	bool guarded, unless; /* @guard, @!guard */
	uint32_t guard;
	uint8_t is[PTX_GROUPS];
	uint8_t nto, nfrom;
	bool inverted; /* the predicate among its sources */
	bool moves;    /* mov: registers get another name */
	uint8_t flow;  /* of enum ptx_flow */
	uint8_t bits;  /* of the register to[0] */
	struct ptx_operand to[PTX_DESTINATIONS], from[PTX_SOURCES];
	struct ptx_operand base; /* an address: base + offset */
	int64_t offset;
	uint32_t target; /* a branch's */
	uint32_t line;
};

/*
 * A word of PTX. Its operands, in order: d a register, D one or several in braces, q one and
 * perhaps a second behind |; s a source, S one or several, p a predicate that may be inverted; m an
 * address, l a label; those behind ? may be missing.
 */
struct ptx_opcode {
	const char *name, *operands;
	uint32_t groups;                                      /* that its name may have */
	ptx_step *const *steps;                               /* by type, or NULL: */
	ptx_step *(*choose)(const struct ptx_instruction *i); /* NULL: unknown */
};

/* The subjects' words; the last of each has no name. */
extern const struct ptx_opcode ptx_arithmetic[], ptx_bits[], ptx_conversions[], ptx_accesses[],
	ptx_atomics[], ptx_calls[], ptx_controls[];

/* Registers that every thread has: X(name, value of thread t) */
#define PTX_SPECIALS(X)                                                                            \
	X("%tid.x", t->number)                                                                     \
	X("%tid.y", 0)                                                                             \
	X("%tid.z", 0)                                                                             \
	X("%ntid.x", t->block->grid->launch->threads)                                              \
	X("%ntid.y", 1)                                                                            \
	X("%ntid.z", 1)                                                                            \
	X("%ctaid.x", t->block->number)                                                            \
	X("%ctaid.y", 0)                                                                           \
	X("%ctaid.z", 0)                                                                           \
	X("%nctaid.x", t->block->grid->launch->blocks)                                             \
	X("%nctaid.y", 1)                                                                          \
	X("%nctaid.z", 1)                                                                          \
	X("%laneid", t->number % PTX_WARP)                                                         \
	X("%warpid", t->number / PTX_WARP)                                                         \
	X("%nwarpid", (t->block->grid->launch->threads + PTX_WARP - 1) / PTX_WARP)                 \
	X("%smid", t->block->number)                                                               \
	X("%lanemask_lt", (UINT32_C(1) << t->number % PTX_WARP) - 1)                               \
	X("%lanemask_eq", UINT32_C(1) << t->number % PTX_WARP)

#define PTX_WARP 32

/* Those that change while it runs: mov reads them. */
enum ptx_clock { PTX_GLOBALTIMER, PTX_CLOCK, PTX_CLOCKS };

enum ptx_special {
#define PTX_COUNT_ONE(...) +1
	PTX_SPECIAL_COUNT = 0 PTX_SPECIALS(PTX_COUNT_ONE),
#undef PTX_COUNT_ONE
	PTX_FIRST_CLOCK = PTX_SPECIAL_COUNT,
	PTX_NOWHERE = PTX_FIRST_CLOCK + PTX_CLOCKS, /* _: what is written there nobody reads */
	PTX_FIRST_REGISTER
};

#define PTX_PARAMETERS 32

/* Where arguments of calls lie in the space of parameters: from here on it is the thread's own. */
#define PTX_ARGUMENTS (UINT64_C(1) << 40)

struct ptx_function {
	const char *name;
	size_t name_length;
	struct ptx_instruction *code;
	size_t ncode;
	uint64_t *constants;
	size_t nconstants;
	size_t nregisters;
	size_t parameter_offsets[PTX_PARAMETERS], parameter_sizes[PTX_PARAMETERS];
	int nparameters;
	size_t parameter_bytes, shared_bytes, local_bytes;
	unsigned threads_most; /* of a block; 0: not said */
	struct ptx_function *next;
};

#endif
