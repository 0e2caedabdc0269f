/* SPDX-License-Identifier: MIT */
/*
 * The summary of a run. Every metric is a row of one list, which defines its name in files, its
 * unit and its formula. The summary is a pure function of all ranks' steps and some facts.
 */
#ifndef TRAIN_SUMMARY_H
#define TRAIN_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/step/measured.h"

/*
 * T(N) is the mean over steps of the slowest rank's time, without the first TRAIN_SKIPPED, which
 * warm up. X(N) is what all ranks together train on per second of it. C is the number of CPUs, S
 * the bytes of all gradients as they travel. Means are over steps and ranks, unless the formula
 * says otherwise. Metrics that a run cannot know, or that would compare different runs, are NAN.
 */
#define TRAIN_METRIC_LIST(X)                                                                       \
	X(STEP, "step_ms", "T(N): mean over steps of the slowest rank")                            \
	X(MEDIAN, "step_median_ms", "median over steps of the slowest rank")                       \
	X(P95, "step_p95_ms", "95th percentile likewise")                                          \
	X(SPREAD, "rank_spread_ms", "slowest minus fastest rank, mean over steps")                 \
	X(SAMPLES, "samples_per_s", "X(N): examples of all ranks / T(N)")                          \
	X(TOKENS, "tokens_per_s", "targets of all ranks / T(N)")                                   \
	X(COULD, "tokens_per_s_at_most", "rate of matrix products / (6 parameters)")               \
	X(DATA, "data_ms", "fetching examples")                                                    \
	X(FORWARD, "forward_ms", "")                                                               \
	X(BACKWARD, "backward_ms", "with launching communication")                                 \
	X(OPTIMIZER, "optimizer_ms", "")                                                           \
	X(AGREE, "agree_ms", "adding up losses and tokens")                                        \
	X(WAITING, "waiting_ms", "blocked until the last rank came")                               \
	X(EXPOSED, "exposed_ms", "blocked from then on: communication that nothing hides")         \
	X(EXTRA, "extra_ms", "part of exposed_ms in calls not for gradients")                      \
	X(HOST, "host_ms", "work beside the training")                                             \
	X(OVERHEAD, "overhead_percent", "exposed_ms / step_ms")                                    \
	X(BUSY, "busy_ms", "an all-reduce runs, from when the last rank has joined it")            \
	X(HIDDEN_MS, "hidden_ms", "part of busy_ms before the last backward is over")              \
	X(HIDDEN, "hidden_percent", "hidden_ms / busy_ms")                                         \
	X(ALONE, "comm_alone_ms", "the same all-reduces alone, median")                            \
	X(CONTROL, "exposed_by_control_ms", "T(N) - T(N) of the --mode off reference")             \
	X(BUS, "bus_gb_per_s", "2(N-1)/N * S / comm_alone")                                        \
	X(PAYLOAD, "payload_bytes", "sent per step, all ranks together")                           \
	X(FORMULA, "formula_bytes", "2(N-1) * S; small buckets up to N(N-1) * S")                  \
	X(CALLS, "calls", "all-reduces per rank and step")                                         \
	X(WEAK, "weak_efficiency", "X(N) / (N X(1)) = T(1) / T(N), batch per rank fixed")          \
	X(STRONG, "strong_efficiency", "X(N) / (N X(1)) = T(1) / (N T(N)), global batch fixed")    \
	X(CORES, "core_limited_efficiency", "X(N) / (min(N,C) X(1)), of the same reference")       \
	X(IMBALANCE, "imbalance",                                                                  \
	  "tokens computed by the busiest rank / the mean one, mean over steps")                   \
	X(PADDING, "padding_percent", "computed tokens that are no targets / all computed")        \
	X(LOSS, "loss", "of the last step, nats per target")                                       \
	X(HELD_OUT, "held_out_loss", "nats per target, on held-out examples")                      \
	X(SOURCE, "source_loss", "the true source's loss on the same targets")                     \
	X(SOURCE_ERROR, "source_loss_error", "its standard error")

enum train_metric {
#define TRAIN_METRIC_ENUM(id, name, formula) TRAIN_##id,
	TRAIN_METRIC_LIST(TRAIN_METRIC_ENUM)
#undef TRAIN_METRIC_ENUM
		TRAIN_METRICS
};

extern const char *const train_metric_names[TRAIN_METRICS];
extern const char *const train_metric_formulas[TRAIN_METRICS];

#define TRAIN_SKIPPED 2

/* What is known of a run beside its steps; decides also which runs can be compared. */
struct train_facts {
	char preset[32], mode[16], scaling[8], optimizer[8];
	char transports[64], text[192], matmul[64];
	char host[64], cpu[64];              /* of rank 0: its name, and the model of its CPU */
	char link[48];                       /* RING_LINK, which slows links down; "" */
	int ranks, hosts, cpus;              /* cpus: usable by the ranks, on all hosts together */
	int host_cpus;                       /* of rank 0's host, usable or not */
	int batch, accumulate, global_batch; /* batch: examples of a rank and micro-batch */
	int syncs;                           /* averagings of a step */
	int buckets;
	bool compressed, uneven;

	/* The faults on purpose, and how ranks shared the examples. */
	char sampler[16], lengths[48], batching[16]; /* lengths "": all as long as the context */
	int slow_rank;                               /* -1: none */
	double slow_ms, slow_share, rank0_ms;
	uint64_t extra_bytes;
	bool extra_fresh, barrier;

	uint64_t parameters, seed;
	uint64_t gradient_bytes; /* S, of one averaging */
	uint64_t promised_bytes; /* what all ranks together must send for one averaging */

	double load;       /* of rank 0's host as the run began: threads that ran or were ready */
	double other_cpus; /* CPUs that other programs used during the steps */

	/* Measured beside the steps; NAN if not measured. */
	double alone_ms, held_out_loss, own_loss, own_error;
	double products; /* operations per second of all ranks, multiplying matrices */
};

struct train_summary {
	struct train_facts facts;
	double values[TRAIN_METRICS];
	bool payload_is_exact; /* in each step, to the byte */
	bool busy;             /* the machine was busy, so times say little */
};

/* The smallest value that `share` of all do not exceed; sorts them. */
double train_quantile(double *values, size_t count, double share);

/*
 * steps   of all ranks, rank after rank; all have the same numbers
 * each    how many a rank has
 */
void train_summary_make(struct train_summary *summary, const struct train_facts *facts,
			const struct train_step *steps, size_t each);

/*
 * Fills in what follows from other runs, efficiencies and exposed time. Ignores runs that differ
 * too much.
 */
void train_summary_compare(struct train_summary *summary, const struct train_summary *others,
			   int count);

#endif
