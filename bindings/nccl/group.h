/* SPDX-License-Identifier: MIT */
/*
 * Groups, and what takes its time: making communicators and freeing them. Each of these is a job,
 * which runs at once, or when the calling thread's group ends; several run side by side, in threads
 * of their own, as do those of communicators that do not block.
 */
#ifndef NCCL_GROUP_H
#define NCCL_GROUP_H

#include <pthread.h>

#include "abi.h"
#include "comm.h"
#include "error.h"

struct nccl_job {
	/* Does it, without a group. returns a result, with the sentence */
	int (*run)(struct nccl_job *job);
	struct ncclComm *comm;  /* which it is about, and holds; it leaves unless `ends` */
	bool ends;              /* behind the group's calls, as it frees comm */
	struct ncclComm **made; /* where the caller expects the new one; may be comm itself */

	/* what it needs to know, each as far as it is concerned */
	struct ring_unique_id id;
	int size, rank; /* of the new one */
	int color, key;
	bool blocking; /* so will the new one be */
	bool knows_id; /* the others do not */
	int *excluded; /* ranks, malloc'd */
	int excluded_count;

	int result;
	char sentence[NCCL_SENTENCE_BYTES]; /* of its thread, if it failed */
	pthread_t thread;
	struct nccl_job *next;
};

/* NCCL's own, for calls that are several. */
int pncclGroupStart(void);
int pncclGroupEnd(void);

bool nccl_group_is_open(void);

/*
 * Takes a copy of a job whose communicator was entered for it. returns what it came to;
 * NCCL_IN_PROGRESS if nobody waits for it; in a group NCCL_SUCCESS
 */
int nccl_job_submit(const struct nccl_job *job);

/* The communicator stays until the thread's group, if there is one, ends. The caller is inside. */
int nccl_group_keep(struct ncclComm *comm);

/* What a call of an open group came to: if it is an error the group will end with it. returns it */
int nccl_group_note(int result);

/* The library's group is open as well, for the calls of this one. */
int nccl_group_open_calls(void);

#endif
