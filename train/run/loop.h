/* SPDX-License-Identifier: MIT */
/*
 * Training, as one rank does it.
 *
 *	data -> forward -> backward              -> blocked     -> agree     -> optimizer -> host
 *	                   buckets are launched     until they     on loss
 *	                   as they get ready        are done       and tokens
 */
#ifndef TRAIN_LOOP_H
#define TRAIN_LOOP_H

#include "checkpoint.h"
#include "train/step/ddp.h"
#include "train/step/faults.h"
#include "train/step/feed.h"
#include "journal.h"
#include "train/data/markov.h"
#include "train/step/options.h"
#include "train/report/profile.h"
#include "train/data/source.h"
#include "train/step/measured.h"
#include "train/step/team.h"
#include "train/report/trace.h"
#include "train/step/waits.h"
#include "tools/progress.h"

struct train_run {
	const struct train_options *options;
	struct train_team *team;
	struct train_source source;
	struct train_loaded loaded;
	const struct train_device *device;
	struct train_model *model;
	struct train_optimizer optimizer;
	struct train_ddp *ddp;
	struct train_state state;
	struct train_feed feed;
	struct train_faults faults;

	struct train_waits waits;
	struct train_steps done;
	struct train_steps controls; /* with buckets held back, for a profile when overlapping */
	struct train_trace trace;
	struct train_profile profile;
	struct train_journal journal;

	int stop;       /* the signal that asked all ranks to stop after this step; 0: none */
	bool due;       /* rank 0 wants all ranks' steps after this step */
	uint64_t saved; /* the step of the last checkpoint, as rank 0 knows */
	int folder;     /* rank 0's lock of the checkpoints; -1 */

	struct progress progress;

	double others; /* CPUs that other programs used during the steps; NAN: not known */

	/* Measured after the steps; NAN if not measured. */
	double alone;         /* seconds of a step's communication alone */
	double held_out_loss; /* nats per target */
	double products;      /* operations per second of all ranks, multiplying matrices */
	struct train_markov_loss own;
};

/*
 * All of these are collective and return an exit status: STATUS_OK, or another one with a
 * sentence on stderr. The options are settled.
 */
int train_run_create(struct train_run *run, const struct train_options *options,
		     struct train_team *team);
void train_run_destroy(struct train_run *run);

/*
 * Makes one step. Fills in *step, except for what waits.h divides. returns 0; a RING_E code with
 * its sentence on stderr
 */
int train_run_step(struct train_run *run, struct train_step *step);

/* Adds the time since *since to *part, and to the trace as `name`. */
void train_run_account(struct train_run *run, enum train_row row, const char *name, double *since,
		       double *part);

/*
 * Makes all steps, with checkpoints and comparisons between them; after a signal, only until all
 * ranks have made the same one.
 */
int train_run_steps(struct train_run *run);

/* Measures the averaging of gradients alone, a few times. */
int train_run_alone(struct train_run *run);

/* Computes the loss on held-out examples, which the ranks share. */
int train_run_evaluate(struct train_run *run);
int train_run_products(struct train_run *run); /* products.c */

/*
 * After a failure, on each rank by itself: keeps what was learned, in a checkpoint, and what was
 * measured. Rank 0 does, or a rank of its host after its death.
 */
void train_run_rescue(struct train_run *run, int status);

/* returns 0; -1 without memory, with a sentence on stderr */
int train_steps_keep(struct train_steps *kept, const struct train_step *step);

/* The exit status of a RING_E code. */
int train_exit_of(int err);

#endif
