/* SPDX-License-Identifier: MIT */
/*
 * The options of ring_train.
 */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/data/batches.h"
#include "ddp.h"
#include "faults.h"
#include "train/data/lengths.h"
#include "train/model/model.h"
#include "train/model/optimizer.h"
#include "tools/statuses.h"

enum train_sharing { TRAIN_SHARED_OUT, TRAIN_NOT_SHARED };
enum train_scaling { TRAIN_WEAK_SCALING, TRAIN_STRONG_SCALING };

#define TRAIN_RECORDS 16
#define TRAIN_ANY_GPU 1000000

struct train_options {
	int ranks; /* to start here; 0: the environment says, or one */

	const char *preset;
	struct train_shape shape; /* the preset's, changed by options */
	int sample;               /* characters that a GPT writes now and then; 0: none */
	bool print_model;         /* list the tensors and end */
	bool plan_only;           /* list the buckets and end */

	const char *text; /* as train_text_load */
	int batch;        /* examples of a rank and micro-batch; 0 until settled */
	int global_batch; /* examples of a step, all ranks together; 0 until settled */
	int usual_batch;  /* per rank, for this preset */
	int accumulate;   /* micro-batches per step */
	int scaling; /* enum train_scaling: which of the two batches stays when ranks are added */
	const char *lengths;        /* as train_lengths_parse; NULL */
	struct train_lengths drawn; /* `lengths`, parsed */
	int batching;               /* enum train_batching */
	int token_budget;           /* tokens of a micro-batch; 0: train_feed_budget decides */
	int sampler;    /* enum train_sharing: ranks share the examples, or all have the same */
	bool drop_last; /* an epoch ends with the last whole step, else with a padded one */
	int uneven;     /* in each epoch rank r has r * uneven steps less than rank 0 */
	long steps;     /* 0: as epochs say */
	int epochs;     /* 0: as steps say */
	uint64_t seed;
	struct train_optimizer_options optimizer;

	struct train_ddp_options ddp;
	struct train_fault_options faults;
	bool sync_every_micro; /* average after each micro-batch, as without no_sync */
	int hash_every;        /* steps between comparisons of all ranks' parameters; 0: never */
	const char *transport; /* as in struct ring_options; NULL */
	const char *device;    /* "cpu", "cuda", "cuda:1" */
	int gpu;               /* of `device`: -1: none; TRAIN_ANY_GPU: the rank's place decides */
	int products;          /* enum train_products of train/cuda/ */
	double timeout_s;      /* of creation and of each call; 0 leaves the defaults */

	const char *checkpoint; /* folder; NULL: none */
	int every;              /* steps between checkpoints */
	bool resume, resume_if_any;

	int evaluate;       /* held-out examples at the end; 0: none */
	const char *export; /* file for repeating the training; NULL: none */
	const char *json, *trace, *profile, *plot, *model;
	const char *references[TRAIN_RECORDS]; /* records of other runs */
	int reference_count;
	bool with_reference;      /* first run the same on one rank */
	const char *as_reference; /* this is that run: writes only this record */
	bool with_control;        /* first run the same without communication */
	const char *as_control;   /* this is that run */
	const char *sweep;        /* "OPTION=VALUE,VALUE": run once for each; NULL */
	bool quiet;               /* print nothing; only files */
};

/*
 * Reads the command line. Complaints go to stderr.
 * returns   true to go on; else *status is the exit status
 */
bool train_options_parse(struct train_options *options, int argc, char **argv, int *status);

/*
 * Decides what depends on the number of ranks: batch from global_batch, or the other way round.
 * returns false after a complaint
 */
bool train_options_settle(struct train_options *options, int ranks);

#endif
