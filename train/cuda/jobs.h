/* SPDX-License-Identifier: MIT */
/*
 * What the kernels are told. Each has one parameter, a struct train_NAME_job, and as many threads
 * as there are items, of which each does its own: so all sums are in a fixed order. Addresses are
 * the device's.
 */
#ifndef TRAIN_CUDA_JOBS_H
#define TRAIN_CUDA_JOBS_H

#include <stddef.h>
#include <stdint.h>

/* X(kernel) */
#define TRAIN_KERNELS(X)                                                                           \
	X(product)                                                                                 \
	X(spread)                                                                                  \
	X(column)                                                                                  \
	X(norm)                                                                                    \
	X(norm_column)                                                                             \
	X(norm_row)                                                                                \
	X(activate)                                                                                \
	X(pair)                                                                                    \
	X(loss)                                                                                    \
	X(loss_slope)                                                                              \
	X(embed)                                                                                   \
	X(embed_positions)                                                                         \
	X(embed_tokens)                                                                            \
	X(drop)                                                                                    \
	X(scores)                                                                                  \
	X(values)                                                                                  \
	X(score_slopes)                                                                            \
	X(query_slopes)                                                                            \
	X(key_slopes)                                                                              \
	X(squares)                                                                                 \
	X(adamw)                                                                                   \
	X(sgd)

/* c = keep * c + scale * a * b; an item is an element of c [rows][columns]. */
struct train_product_job {
	float *c;
	const float *a, *b;
	int32_t rows, columns, depth, stride;
	int32_t a_row, a_step;    /* elements from row to row, and along the depth */
	int32_t b_step, b_column; /* along the depth, and from column to column */
	float keep, scale;
};

/* out [items / columns][columns] = bias; an item is an element. */
struct train_spread_job {
	float *out;
	const float *bias;
	int32_t columns;
};

/* sums[columns] += those of values [rows][columns]; an item is a column. */
struct train_column_job {
	float *sums;
	const float *values;
	int32_t rows, columns;
};

/* Normalisation, as layers.h has it. An item is a row. */
struct train_norm_job {
	float *out, *statistics;
	const float *in, *weight, *bias; /* bias: or NULL */
	int32_t width;
};

/* Its gradients of parameters; an item is a column. */
struct train_norm_column_job {
	float *d_weight, *d_bias; /* d_bias: or NULL */
	const float *d_out, *in, *statistics;
	int32_t rows, width;
};

/* Its gradient of the input; an item is a row. */
struct train_norm_row_job {
	float *d_in;
	const float *d_out, *in, *statistics, *weight;
	int32_t width;
};

/* An item is an element. */
struct train_activate_job {
	float *out, *in;
	int32_t is_relu;
};

/* values *= others, or += ; an item is an element. */
struct train_pair_job {
	float *values;
	const float *others;
	int32_t adds;
};

/* Logits become probabilities; an item is a row. */
struct train_loss_job {
	float *logits;
	double *losses; /* [rows] */
	const int32_t *targets;
	int32_t classes;
};

/* Probabilities become gradients; an item is an element. */
struct train_loss_slope_job {
	float *probabilities;
	const int32_t *targets;
	float scale;
	int32_t classes;
};

/* Rows of a batch, as train/model/device.h has them. */
struct train_rows_job {
	const struct train_sequence *row;
	const int32_t *row_of;
	int32_t rows, tokens;
};

/* Which values are dropped; limit 0: none. */
struct train_drop_rule {
	uint64_t place, limit;
	float scale; /* of those that stay */
};

/* An item is an element of out [tokens][width]. */
struct train_embed_job {
	struct train_rows_job at;
	float *out;
	const int32_t *tokens;
	const float *token_table, *position_table;
	int32_t width;
};

/* An item is an element of d_table [context][width]. */
struct train_embed_positions_job {
	struct train_rows_job at;
	float *d_table;
	const float *d_out;
	int32_t width;
};

/* An item is an element of d_table [vocabulary][width]. */
struct train_embed_tokens_job {
	float *d_table;
	const float *d_out;
	const int32_t *tokens;
	int32_t count, width;
};

/* An item is an element of values [tokens][width]. */
struct train_drop_job {
	struct train_rows_job at;
	struct train_drop_rule rule;
	float *values;
	int32_t width;
};

/* Attention, forward and backward, has one: each kernel uses what it needs. */
struct train_attend_job {
	struct train_rows_job at;
	struct train_drop_rule rule;
	float *out;           /* [tokens][width] */
	float *probabilities; /* of each row [heads][length][length] */
	float *scores;        /* the same, their gradients */
	float *d_qkv;         /* [tokens][3 * width] */
	const float *qkv, *d_out;
	int32_t width, heads, split; /* split: as struct train_attention */
	float scale;
};

/* An item is a token's head in scores and score_slopes, else a token's column. */
#define train_scores_job train_attend_job
#define train_values_job train_attend_job
#define train_score_slopes_job train_attend_job
#define train_query_slopes_job train_attend_job
#define train_key_slopes_job train_attend_job

/* sums[parts]: part p adds the squares of elements p, p + parts, ..; an item is a part. */
struct train_squares_job {
	double *sums;
	const float *values;
	uint64_t count, parts;
};

/* A step of a tensor; an item is an element. */
struct train_step_job {
	float *parameters, *first, *second; /* first: or NULL */
	const float *gradients;
	float scale, rate, decay, beta1, beta2, rest1, rest2, epsilon, root, momentum;
};
#define train_adamw_job train_step_job
#define train_sgd_job train_step_job

#endif
