/* SPDX-License-Identifier: MIT */
/*
 * Makes steps go wrong on purpose, to show what that does to all ranks. A delayed rank sleeps, so
 * that no other rank loses CPU to it.
 */
#ifndef TRAIN_FAULTS_H
#define TRAIN_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

struct train_fault_options {
	const char *slow;   /* "RANK:TIME" or "RANK:PERCENT%"; NULL: no slow rank */
	const char *work;   /* TIME that rank 0 works after each step; NULL: none */
	size_t extra_bytes; /* of a further all-reduce in each step, not for gradients */
	bool extra_fresh;   /* each step allocates and fills its memory */
	bool barrier;       /* after each step */

	/* set by train_faults_parse */
	int slow_rank;     /* -1: none */
	double slow_s;     /* its delay in each step */
	double slow_share; /* the share of its speed that is left; 1: all of it */
	double work_s;
};

/* Reads the texts. returns false, with a sentence on stderr, if they make no sense */
bool train_faults_parse(struct train_fault_options *options);

struct train_faults {
	double delay_s, work_s; /* of this rank, in each step */
	double factor;          /* seconds of sleep per second of computing */
	double since, debt;     /* when computing began; seconds that it has yet to sleep */
	size_t extra_count;     /* elements */
	bool extra_fresh;
	float *extra; /* [extra_count] */
};

/* returns 0; -1 without memory, with a sentence on stderr */
int train_faults_create(struct train_faults *faults, const struct train_fault_options *options,
			int rank);
void train_faults_destroy(struct train_faults *faults);

void train_sleep(double seconds);

/*
 * A slow rank also sleeps while it computes: call these when computing begins, between tensors, at
 * its end.
 */
void train_slow_begin(struct train_faults *faults);
void train_slow_go_on(struct train_faults *faults);
void train_slow_end(struct train_faults *faults);

/* Allocates memory for the extra all-reduce. returns 0; -1 without, with a sentence on stderr */
int train_extra_prepare(struct train_faults *faults);
void train_extra_release(struct train_faults *faults);

#endif
