/* SPDX-License-Identifier: MIT */
/*
 * Element types and operations with kernels, each once: every device expands all pairs from these
 * lists. A new type is a line here and its load and store; a new operation a line here and one
 * function for each way to compute (kernels/cpu/type_loops.h expands them).
 */
#ifndef RING_REDUCE_LIST_H
#define RING_REDUCE_LIST_H

/* X(type, name, bytes of an element, what it is computed in, ...) */
#define RING_REDUCE_TYPES(X, ...)                                                                  \
	X(RING_INT8, int8, 1, int8, __VA_ARGS__)                                                   \
	X(RING_UINT8, uint8, 1, uint8, __VA_ARGS__)                                                \
	X(RING_INT32, int32, 4, int32, __VA_ARGS__)                                                \
	X(RING_UINT32, uint32, 4, uint32, __VA_ARGS__)                                             \
	X(RING_INT64, int64, 8, int64, __VA_ARGS__)                                                \
	X(RING_UINT64, uint64, 8, uint64, __VA_ARGS__)                                             \
	X(RING_FLOAT32, float32, 4, float32, __VA_ARGS__)                                          \
	X(RING_FLOAT64, float64, 8, float64, __VA_ARGS__)                                          \
	X(RING_BFLOAT16, bfloat16, 2, float32, __VA_ARGS__)                                        \
	X(RING_FLOAT16, float16, 2, float32, __VA_ARGS__)                                          \
	X(RING_FLOAT8_E4M3, float8_e4m3, 1, float32, __VA_ARGS__)                                  \
	X(RING_FLOAT8_E5M2, float8_e5m2, 1, float32, __VA_ARGS__)

/* X(op, name, ...); RING_AVG is RING_SUM and a divisor. All commute bit for bit. */
#define RING_REDUCE_OPS(X, ...)                                                                    \
	X(RING_SUM, sum, __VA_ARGS__)                                                              \
	X(RING_PROD, prod, __VA_ARGS__)                                                            \
	X(RING_MAX, max, __VA_ARGS__)                                                              \
	X(RING_MIN, min, __VA_ARGS__)

/*
 * X(op, name, ...): of bits, of integers. Bits do not depend on one another, so all integers are
 * reduced as bytes, and one type has kernels.
 */
#define RING_REDUCE_BIT_OPS(X, ...)                                                                \
	X(RING_BAND, band, __VA_ARGS__)                                                            \
	X(RING_BOR, bor, __VA_ARGS__)                                                              \
	X(RING_BXOR, bxor, __VA_ARGS__)

/* X(op, name, type, name, bytes, what it is computed in, ...): all pairs that have a kernel. */
#define RING_REDUCE_ROW(TYPE, type, bytes, computed, X)                                            \
	RING_REDUCE_OPS(X, TYPE, type, bytes, computed)
#define RING_REDUCE_PAIRS(X)                                                                       \
	RING_REDUCE_TYPES(RING_REDUCE_ROW, X)                                                      \
	RING_REDUCE_BIT_OPS(X, RING_UINT8, uint8, 1, uint8)

/* Places of a table by operation. */
#define RING_OP_PLACE(OP, op, ...) char op[OP + 1];
#define RING_OPS                                                                                   \
	sizeof(union {RING_REDUCE_OPS(RING_OP_PLACE, ) RING_REDUCE_BIT_OPS(RING_OP_PLACE, )})

#endif
