/* SPDX-License-Identifier: MIT */
/*
 * What goes wrong in a step on purpose, so that one can see what it does to all ranks. Who is delayed sleeps, so that
 * no other rank loses CPU to it.
 */
#ifndef TRAIN_FAULTS_H
#define TRAIN_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

struct train_fault_options {
	const char *slow;   /* "RANK:TIME" or "RANK:PERCENT%"; NULL: nobody is */
	const char *work;   /* TIME of rank 0 behind each step; NULL: none */
	size_t extra_bytes; /* of an all-reduce in each step that is not for gradients */
	bool extra_fresh;   /* its memory is new in each step, and filled there */
	bool barrier;       /* all ranks meet behind each step */

	/* as train_faults_parse reads them */
	int slow_rank;     /* -1: nobody */
	double slow_s;     /* that it comes later in each step */
	double slow_share; /* of the speed that it has; 1: all of it */
	double work_s;
};

/* Reads the texts. returns false, with a sentence on stderr, if they make no sense */
bool train_faults_parse(struct train_fault_options *options);

struct train_faults {
	double delay_s, work_s; /* of this rank, in each step */
	double factor;          /* seconds of sleep for each one of computing */
	double since, debt;     /* computes since; has yet to sleep */
	size_t extra_count;     /* elements */
	bool extra_fresh;
	float *extra; /* [extra_count] */
};

/* returns 0; -1 without memory, with a sentence on stderr */
int train_faults_create(struct train_faults *faults, const struct train_fault_options *options,
			int rank);
void train_faults_destroy(struct train_faults *faults);

void train_sleep(double seconds);

/* A slower rank sleeps beside computing: it has begun, it is at it, or it is over. */
void train_slow_begin(struct train_faults *faults);
void train_slow_go_on(struct train_faults *faults);
void train_slow_end(struct train_faults *faults);

/* Memory for the extra all-reduce. returns 0; -1 without, with a sentence on stderr */
int train_extra_prepare(struct train_faults *faults);
void train_extra_release(struct train_faults *faults);

#endif
