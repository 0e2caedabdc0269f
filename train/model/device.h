/* SPDX-License-Identifier: MIT */
/*
 * Where a model is trained: whose memory its arrays are, and who computes on them. A row of
 * functions for each: the CPU's, device_cpu.c, and a GPU's, train/cuda/. The kinds of models, the
 * optimizer and the exchange of gradients call these and need not know which it is.
 *
 * What a device is given it does one after the other; it may do it later. read(), wait() and
 * loss_forward() return when all is done. An array is the device's, but for what is said to be the
 * host's.
 */
#ifndef TRAIN_DEVICE_H
#define TRAIN_DEVICE_H

#include "matmul.h"
#include "model.h"
#include "optimizer.h"
#include "sequence.h"

struct train_attention;

/* How a GPT's batch lies: rows one after the other. */
struct train_sequences {
	int rows, tokens;
	double dropout;                      /* the share that is dropped; 0: none */
	struct train_sequence *row;          /* the host's [tokens that a model has room for] */
	int32_t *row_of;                     /* the host's [the same], of each token */
	const struct train_sequence *row_at; /* the device's */
	const int32_t *row_of_at;
};

/* What a device is brought with each batch. */
enum train_brought {
	TRAIN_BRING_TOKENS,
	TRAIN_BRING_TARGETS,
	TRAIN_BRING_ROWS,
	TRAIN_BRING_ROW_OF,
	TRAIN_BRINGS
};

/* One tensor's slices of the arrays, and what its elements have in common. */
struct train_slice {
	train_real *parameters, *first, *second; /* first, second: moments, if there are any */
	const train_real *gradients;
	size_t count;
	train_real scale;                                     /* of gradients */
	train_real rate, decay;                               /* decay: already times rate */
	train_real beta1, beta2, rest1, rest2, epsilon, root; /* AdamW: see optimizer.c */
	train_real momentum;                                  /* SGD */
};

struct train_device {
	bool far;      /* its memory is not the host's */
	bool all_rows; /* attention does all rows and heads at once, and needs scratch for that */

	/* Memory. It begins as zeros; NULL if there is none. */
	void *(*alloc)(size_t bytes);
	void (*free)(void *memory);
	void (*read)(void *host, const void *from, size_t bytes);
	void (*write)(void *to, const void *host, size_t bytes);
	void (*copy)(void *to, const void *from, size_t bytes);
	void (*clear)(void *memory, size_t bytes);
	/* Where the device finds what a batch has, until it is brought the next. */
	const void *(*bring)(enum train_brought what, const void *host, size_t bytes);

	/*
	 * Waits until all is done. returns 0; -1 if anything has failed since the beginning, with a
	 * sentence on stderr
	 */
	int (*wait)(void);

	/* A second stream, for communication: a cudaStream_t; NULL: calls need none. */
	void *(*stream)(void);
	/* What that stream is given from now on waits for all that was given so far. */
	void (*hand_over)(int bucket);
	/* When that was done: CLOCK_MONOTONIC in seconds. After that. */
	double (*handed_over)(int bucket);

	/* Products, and layers: layers.h says what they do. */
	const char *(*matmul_name)(void);
	void (*matmul)(train_real *c, int stride, train_real keep, train_real scale,
		       struct train_matrix a, struct train_matrix b);
	void (*features)(train_real *in, const float *features, size_t count); /* the host's */
	void (*linear_forward)(train_real *out, const train_real *in, const train_real *weight,
			       const train_real *bias, int rows, int inputs, int outputs);
	void (*linear_backward_in)(train_real *d_in, const train_real *d_out,
				   const train_real *weight, int rows, int inputs, int outputs);
	void (*linear_backward_weight)(train_real *d_weight, const train_real *d_out,
				       const train_real *in, int rows, int inputs, int outputs);
	void (*linear_backward_bias)(train_real *d_bias, const train_real *d_out, int rows,
				     int outputs);
	void (*norm_forward)(train_real *out, train_real *statistics, const train_real *in,
			     const train_real *weight, const train_real *bias, int rows, int width);
	void (*norm_backward)(train_real *d_in, train_real *d_weight, train_real *d_bias,
			      const train_real *d_out, const train_real *in,
			      const train_real *statistics, const train_real *weight, int rows,
			      int width);
	void (*activate)(train_real *out, train_real *in, size_t count,
			 enum train_activation activation);
	void (*scale_each)(train_real *values, const train_real *factors, size_t count);
	void (*add_each)(train_real *sum, const train_real *terms, size_t count);
	double (*loss_forward)(train_real *logits, const int32_t *targets, int rows, int classes);
	void (*loss_backward)(train_real *probabilities, const int32_t *targets, train_real scale,
			      int rows, int classes);

	/* Layers that know of rows. */
	void (*embed)(const struct train_sequences *layout, train_real *out, const int32_t *tokens,
		      const train_real *token_table, const train_real *position_table, int width);
	void (*embed_backward_positions)(const struct train_sequences *layout,
					 train_real *d_position_table, const train_real *d_out,
					 int context, int width);
	void (*embed_backward_tokens)(const struct train_sequences *layout,
				      train_real *d_token_table, const train_real *d_out,
				      const int32_t *tokens, int vocabulary, int width);
	/* values [tokens][width]; `place` numbers where in the model they are */
	void (*drop)(const struct train_sequences *layout, train_real *values, int width, int place);
	/* scratch: with all_rows as large as probabilities, else [2][context][context] */
	void (*attention_forward)(const struct train_sequences *layout,
				  const struct train_attention *attention, train_real *out,
				  train_real *probabilities, train_real *scratch,
				  const train_real *qkv, int place);
	void (*attention_backward)(const struct train_sequences *layout,
				   const struct train_attention *attention, train_real *d_qkv,
				   train_real *scratch, const train_real *d_out,
				   const train_real *probabilities, const train_real *qkv,
				   int place);

	/* The optimizer's: the sum of squares, and a step of a tensor. */
	double (*squares)(const train_real *x, size_t count);
	void (*adamw)(const struct train_slice *slice);
	void (*sgd)(const struct train_slice *slice);
};

extern const struct train_device train_cpu;

#endif
