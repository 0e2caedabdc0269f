/* SPDX-License-Identifier: MIT */
/*
 * Data parallelism: the gradients of all ranks become their average, while backward still runs.
 * Buckets are slices of the gradient array in ready order, see buckets.h; each is one all-reduce.
 * Bucket k is launched when it is ready and k-1 was launched, so all ranks launch alike, and calls
 * follow one another on one stream.
 *
 *	backward   |-- head --|-- block 3 --|-- block 2 --|-- block 1 --|-- block 0 --|
 *	bucket 0               |== launched ==|
 *	bucket 1                                           |===== launched =====|
 *	bucket 2                                                                |=====|=======|
 *	finish                                                                        waited
 *
 * A step of the program, on every rank:
 *
 *	forward, backward with train_ddp_ready, adding to gradients of zero
 *	train_ddp_finish
 *	the optimizer, which leaves zeros
 *
 * Bits: all ranks get the same ones. With two ranks they depend neither on the mode nor on caps, as
 * a + b is b + a. With three or more, the caps decide where an all-reduce cuts its blocks, and so
 * the order of additions: other caps may change the last bit of an element.
 */
#ifndef TRAIN_DDP_H
#define TRAIN_DDP_H

#include "buckets.h"
#include "train/model/model.h"
#include "ringccl.h"

struct train_ddp;

enum train_ddp_mode {
	TRAIN_DDP_OFF,     /* no gradients are exchanged: the control run */
	TRAIN_DDP_NAIVE,   /* after backward, one call per tensor, one after the other */
	TRAIN_DDP_FLAT,    /* after backward, one call for everything */
	TRAIN_DDP_OVERLAP, /* buckets during backward, on a stream */
};

/* Equal on all ranks. */
struct train_ddp_options {
	enum train_ddp_mode mode;
	size_t first_bucket_bytes, bucket_bytes; /* OVERLAP: the caps, as in buckets.h */
	bool compressed; /* gradients travel as bfloat16, with error feedback; see compress.h */
};

/* One bucket of a step, as this rank saw it; seconds on CLOCK_MONOTONIC. */
struct train_ddp_span {
	double ready; /* its gradients were final */
	/* On a device: from when to when this thread made the call, ahead of both; else 0. */
	double launch, launched;
	double begin; /* its call began to run, and perhaps to wait for other ranks */
	double end;   /* the call was complete */
};

/* The communication of a step on this rank. Two buckets' calls never run at the same time. */
struct train_ddp_times {
	double waited; /* seconds in train_ddp_finish */
	double busy;   /* seconds during which a call ran, or waited for other ranks */
	uint64_t calls, payload_bytes;      /* of gradients; payload as sent by this rank */
	int span_count;                     /* one per bucket */
	const struct train_ddp_span *spans; /* the ddp's, until the next step */
};

/*
 * Checks that all ranks have the same tensors and options, broadcasts rank 0's parameters, plans
 * buckets, and averages each once: gradients must be zero. A difference is named with its rank,
 * tensor and both shapes. Collective. Communicator and model stay the caller's, and must outlive
 * the ddp.
 *
 * returns   0; a RING_E code, the sentence on stderr; RING_EMISMATCH if the ranks differ
 */
int train_ddp_create(struct train_ddp **ddp, struct ring_comm *comm, struct train_model *model,
		     const struct train_ddp_options *options);

/* Waits for calls that are under way; NULL is allowed. */
void train_ddp_destroy(struct train_ddp *ddp);

/* The plan: *buckets is the ddp's. returns how many buckets there are; none if OFF */
int train_ddp_buckets(const struct train_ddp *ddp, const struct train_bucket **buckets);

/*
 * The bytes that all ranks together send to average gradients once, by the formulas of ringccl.h:
 * 2(N-1) * S. A bucket carried in one shot is sent (N-1) * N times; one carried by a tree, N-1
 * times and once more for each bit of each position's number.
 */
uint64_t train_ddp_promise(const struct train_ddp *ddp);

/*
 * For a step of several micro-batches: only the last one's backward synchronises (no_sync).
 * Gradients add up locally until then; train_ddp_finish is called only after the last one.
 */
void train_ddp_synchronise(struct train_ddp *ddp, bool on);

/*
 * Holds buckets back until backward is over, and then launches them one by one: a control for
 * overlap.
 */
void train_ddp_hold_back(struct train_ddp *ddp, bool on);

/* train_ready for train_model_backward; context is the ddp. */
void train_ddp_ready(void *ddp, int tensor);

/*
 * Takes part in a step without data: stands for backward, with gradients of zero. A rank that ran
 * out of examples makes such steps, with finish and optimizer, until all ranks have run out, so its
 * parameters stay equal to the others'. The average is over all ranks; the optimizer's scale turns
 * it into an average over examples.
 */
void train_ddp_shadow(struct train_ddp *ddp);

/*
 * After backward: waits until the gradients are the average over ranks. Collective.
 * returns 0 or a RING_E code, the sentence on stderr; then the gradients are undefined
 */
int train_ddp_finish(struct train_ddp *ddp, struct train_ddp_times *times);

/*
 * Compares the parameters of all ranks, bit for bit. Collective; every rank gets the same answer.
 * returns 0; RING_EMISMATCH: stderr names the ranks and tensors that differ; another RING_E code
 */
int train_ddp_compare(struct train_ddp *ddp);

#endif
