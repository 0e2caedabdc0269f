/* SPDX-License-Identifier: MIT */
/*
 * A model: tensors of parameters, a loss, and its gradients. One array has all parameters, another
 * all gradients, both in ready order: the order in which backward finishes the tensors, last layer
 * first. So the ready gradients are one piece of memory that grows from the front, and a bucket is
 * a slice of it.
 *
 *	gradients  | head bias | head weight | ... block 3 ... | ... block 0 ... | embeddings |
 *	            ready first ------------------------------------------------>  ready last
 */
#ifndef TRAIN_MODEL_H
#define TRAIN_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The type of parameters. Tests compile the layers a second time, with double. */
#ifndef TRAIN_REAL
#define TRAIN_REAL float
#endif
typedef TRAIN_REAL train_real;

enum train_model_kind { TRAIN_MLP, TRAIN_GPT };
enum train_activation { TRAIN_GELU, TRAIN_RELU };

/* Everything that decides a model's tensors. */
struct train_shape {
	enum train_model_kind kind;
	enum train_activation activation;
	int layers, width;              /* MLP: weight matrices; GPT: blocks */
	int inputs, outputs;            /* MLP: features and classes */
	int heads, context, vocabulary; /* GPT */
	bool split_heads; /* GPT: each head has its own key, query and value tensors */
	bool tied;        /* GPT: the head is the token embedding */
	bool biases;      /* GPT: in projections, feed-forward, norms and head */
	double dropout;   /* GPT: the share of values that training drops, below 1 */
};

/* What a tensor's elements are drawn from. */
enum train_draw {
	TRAIN_CONSTANT, /* spread itself */
	TRAIN_UNIFORM,  /* -spread..spread */
	TRAIN_NORMAL,   /* mean 0, standard deviation spread */
};

struct train_tensor {
	char name[48];        /* "block 3 feed-forward 1 weight" */
	int rows, columns;    /* [outputs][inputs], as PyTorch; columns 1: a vector */
	size_t offset, count; /* elements, in both arrays */
	bool decays;          /* weight decay applies; not to vectors */
	enum train_draw draw; /* of initial values */
	double spread;
};

/*
 * Examples for a rank: rows of features (MLP) or of tokens (GPT), and their targets. A target of -1
 * does not count. Rows of a GPT may be shorter than its context; they lie one after the other, and
 * do not attend to one another.
 */
struct train_batch {
	int rows;                 /* 0 is allowed */
	const float *features;    /* MLP: [rows][inputs]  */
	const int32_t *tokens;    /* GPT: [rows][context] */
	const int32_t *targets;   /* MLP: [rows], GPT: [rows][context] */
	const int *lengths;       /* GPT: [rows] tokens of each row; NULL: context */
	uint64_t dropout_key;     /* 0: no dropout, as in evaluation; else new in each step */
	const uint64_t *examples; /* [rows] their numbers, equal on every rank; only with a key */
};

struct train_device;
struct train_sequences;

/*
 * Called by backward: the gradients of tensors 0..tensor are final, or will be once the device has
 * done what it was given.
 */
typedef void train_ready(void *context, int tensor);

struct train_model {
	struct train_shape shape;
	int tensor_count;
	struct train_tensor *tensors; /* in ready order */
	size_t parameter_count;
	train_real *parameters, *gradients; /* [parameter_count] */
	int rows;                           /* of the largest batch, of context tokens each */
	void *work;              /* the kind's own: its layers, and where their activations lie */
	train_real *activations; /* of the last forward */
	const struct train_device *device; /* whose memory these arrays are; see device.h */
	struct train_sequences *layout;    /* GPT: of the batch of the last forward */
};

/* "seed000", "lab", "gpt4m", "nanogpt-char", "mlp40". returns false if there is no such preset */
bool train_preset(const char *name, struct train_shape *shape);

/*
 * Allocates a model for batches of up to `rows`; parameters are drawn from `seed`, equal on every
 * machine. returns 0; -1 with a sentence on stderr
 */
int train_model_create(struct train_model **model, const struct train_shape *shape, int rows,
		       uint64_t seed);
/* The same on a device that is open; the first is on the CPU. */
int train_model_create_on(const struct train_device *device, struct train_model **model,
			  const struct train_shape *shape, int rows, uint64_t seed);
void train_model_destroy(struct train_model *model);

/*
 * Sum of the losses (cross-entropy, nats) over all targets that count, whose number goes to
 * *counted. Keeps what backward needs. Dropout depends on dropout_key, example, layer and element
 * alone, not on the other examples of the batch.
 */
double train_model_forward(struct train_model *model, const struct train_batch *batch,
			   long *counted);

/*
 * After that, and before backward, of a GPT: how likely each token is behind this one of the batch.
 *
 * probabilities   room for [vocabulary], the host's
 */
void train_model_probabilities(const struct train_model *model, size_t token,
			       train_real *probabilities);

/*
 * Adds scale * d(sum of losses)/d(parameters) to the gradients, for the batch of the last forward.
 * Calls ready, which may be NULL, with 0, 1, .. tensor_count - 1, each once that gradient is final.
 */
void train_model_backward(struct train_model *model, const struct train_batch *batch,
			  train_real scale, train_ready *ready, void *context);

#endif
