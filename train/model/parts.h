/* SPDX-License-Identifier: MIT */
/*
 * Layers with their tensors. They are added to a model in ready order, last layer first; their
 * backward reports final gradients in the same order.
 */
#ifndef TRAIN_PARTS_H
#define TRAIN_PARTS_H

#include "model.h"

/* Adds a tensor, the next in ready order; returns its number. */
__attribute__((format(printf, 6, 7))) int train_tensor_add(struct train_model *model, int rows,
							   int columns, enum train_draw draw,
							   double spread, const char *name, ...);

train_real *train_parameters_of(const struct train_model *model, int tensor);
train_real *train_gradients_of(const struct train_model *model, int tensor);

/* A backward under way. */
struct train_pass {
	struct train_model *model;
	train_ready *ready; /* or NULL */
	void *context;
	int finished; /* tensors whose gradients are final */
};

/* The gradients of the next tensor are final, which must be this one. */
void train_pass_finish(struct train_pass *pass, int tensor);

struct train_linear {
	int inputs, outputs;
	int bias;    /* tensor; -1: none */
	int weight;  /* the first of `weights` tensors */
	int weights; /* the rows of these tensors together are one matrix [outputs][inputs];
			0: they belong to another layer, which finishes them */
};

void train_part_linear(const struct train_model *model, const struct train_linear *linear,
		       train_real *out, const train_real *in, int rows);
/* d_in may be NULL if it is not needed. */
void train_part_linear_backward(struct train_pass *pass, const struct train_linear *linear,
				train_real *d_in, const train_real *d_out, const train_real *in,
				int rows);

struct train_norm {
	int width;
	int weight, bias; /* tensors; bias -1: none */
};

void train_part_norm(const struct train_model *model, const struct train_norm *norm,
		     train_real *out, train_real *statistics, const train_real *in, int rows);
void train_part_norm_backward(struct train_pass *pass, const struct train_norm *norm,
			      train_real *d_in, const train_real *d_out, const train_real *in,
			      const train_real *statistics, int rows);

/*
 * Divides one array into pieces, for activations. With base NULL it only counts, so the same
 * function first finds the size of the array and then divides it.
 */
struct train_pieces {
	train_real *base;
	size_t used;
};

train_real *train_piece(struct train_pieces *pieces, size_t rows, size_t columns);

#endif
