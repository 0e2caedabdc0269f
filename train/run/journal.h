/* SPDX-License-Identifier: MIT */
/*
 * The steps of all ranks on rank 0, and the record as it grows: whatever ends the run, the steps
 * until then are in a file. The whole record replaces that in the end.
 *
 *	FILE        if there was no record, or with --resume, behind the earlier ones
 *	FILE.part   if FILE is the record of another run, which stays until this one is whole
 *
 * Once a second rank 0 gathers the steps and appends them. It holds a lock on the file; after its
 * death a rank of its host gets the lock, and appends what it knows.
 */
#ifndef TRAIN_JOURNAL_H
#define TRAIN_JOURNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/step/measured.h"

struct train_run;

/* The file that grows, as rank 0 tells the others. */
struct train_growing {
	char path[PATH_MAX]; /* "": none */
	uint64_t device, inode;
	int64_t began; /* bytes that were there before */
	bool apart;    /* it is FILE.part */
};

struct train_journal {
	struct train_growing file;
	int fd;        /* of the file, on rank 0, which has it locked; -1 */
	bool full;     /* it could not be written, as was said */
	char *earlier; /* on rank 0: records of the runs that this one goes on from; NULL */
	size_t earlier_bytes;

	struct train_steps *all; /* [ranks] steps that are known here */
	size_t *listed;          /* [ranks] how many of them are in the file */
	size_t taken;            /* how many of this rank's steps are in `all`, here or on rank 0 */
	double at;               /* when steps were gathered last */
};

/* Collective. returns an exit status */
int train_journal_open(struct train_run *run);
void train_journal_close(struct train_journal *journal, int ranks);

/* Whether rank 0 wants steps now. */
bool train_journal_is_due(const struct train_run *run);

/*
 * Takes the steps of all ranks, or only this rank's own, and appends them to the file. Collective
 * if together. returns an exit status
 */
int train_journal_take(struct train_run *run, bool together);

/*
 * The steps of all ranks, rank after rank, of those that all have made.
 *
 * each      how many a rank has
 * returns   to be freed; NULL without memory, with a sentence on stderr
 */
struct train_step *train_journal_steps(const struct train_run *run, size_t *each);

/*
 * After a failure, on each rank by itself: appends this rank's last steps, and how the run ended.
 * returns whether this rank speaks for all: it is rank 0, or the first one after rank 0's death
 */
bool train_journal_end(struct train_run *run, int status);

/* After the whole record was written: FILE.part is of no more use. */
void train_journal_forget(struct train_journal *journal);

#endif
