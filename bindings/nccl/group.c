/* SPDX-License-Identifier: MIT */
/* Groups and jobs; see group.h. */
#include "group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "error.h"

/* The thread's group. */
static _Thread_local struct {
	int depth;
	int result;             /* the first error of its calls */
	bool calls;             /* the library's group is open */
	struct ncclComm **kept; /* [kept_count], with room for a power of two */
	int kept_count;
	struct nccl_job *jobs[2]; /* those that make, and those that end */
} group;

bool nccl_group_is_open(void)
{
	return group.depth > 0;
}

int nccl_group_note(int result)
{
	if (nccl_group_is_open() && !group.result)
		group.result = result;
	return result;
}

int nccl_group_open_calls(void)
{
	if (!nccl_group_is_open() || group.calls)
		return NCCL_SUCCESS;
	group.calls = true;
	return nccl_result_of(ring_group_start(), NULL);
}

int nccl_group_keep(struct ncclComm *comm)
{
	int count = group.kept_count;
	bool keeps = nccl_group_is_open();
	for (int i = 0; i < count; i++)
		keeps = keeps && group.kept[i] != comm;
	if (!keeps)
		return NCCL_SUCCESS;
	struct ncclComm **kept = group.kept;
	if ((count & (count - 1)) == 0)
		kept = realloc(kept, (count ? 2 * (size_t)count : 1) * sizeof(*kept));
	if (!kept)
		return nccl_refuse(NCCL_SYSTEM_ERROR, "no memory to note a call in the group");
	group.kept = kept;
	group.kept[group.kept_count++] = comm;
	nccl_comm_hold(comm);
	return NCCL_SUCCESS;
}

static void let_go_of_kept(void)
{
	for (int i = 0; i < group.kept_count; i++)
		nccl_comm_leave(group.kept[i]);
	free(group.kept);
	group.kept = NULL;
	group.kept_count = 0;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static int make(struct nccl_job *job)
{
	int result = nccl_device_enter(job->comm->context);
	if (result)
		return result;
	result = job->run(job);
	nccl_device_leave();
	return result;
}

/* Runs it to its end. One that ends a communicator leaves nothing to be left. */
static int carry_out(struct nccl_job *job)
{
	struct ncclComm *comm = job->comm;
	if (job->ends)
		return job->run(job);
	int result = make(job);
	nccl_comm_end(comm, result);
	return result;
}

static void free_job(struct nccl_job *job)
{
	free(job->excluded);
	free(job);
}

static void *serve(void *argument)
{
	struct nccl_job *job = argument;
	job->result = carry_out(job);
	if (job->result)
		snprintf(job->sentence, sizeof(job->sentence), "%s", nccl_last_sentence());
	return NULL;
}

static void *serve_alone(void *job)
{
	carry_out(job);
	free_job(job);
	return NULL;
}

/* Whether the caller waits for it; its thread frees it else. */
static bool is_awaited(const struct nccl_job *job)
{
	return job->ends || job->comm->blocking;
}

/* In a thread of its own. returns an error: it did not start */
static int start(struct nccl_job *job)
{
	bool awaited = is_awaited(job);
	pthread_t thread; /* whoever is not awaited may have freed the job by now */
	int err = pthread_create(&thread, NULL, awaited ? serve : serve_alone, job);
	if (err)
		return nccl_refuse(NCCL_SYSTEM_ERROR, "no thread for a communicator: %s",
				   strerror(err));
	if (awaited)
		job->thread = thread;
	else
		pthread_detach(thread);
	return NCCL_SUCCESS;
}

static int first_of(int result, int later)
{
	return result ? result : later;
}

/* Without a thread a communicator can be freed, but not be made: the others of the group wait. */
static int run_without_thread(struct nccl_job *job, int why)
{
	int result = why;
	if (job->ends)
		result = job->run(job);
	else
		nccl_comm_end(job->comm, why);
	free_job(job);
	return result;
}

/* returns the first error of those that are awaited, or NCCL_IN_PROGRESS if some are not */
static int run_side_by_side(struct nccl_job *jobs)
{
	struct nccl_job *awaited = NULL;
	int result = NCCL_SUCCESS, others = NCCL_SUCCESS;
	for (struct nccl_job *job = jobs, *rest; job; job = rest) {
		rest = job->next;
		bool waits = is_awaited(job);
		int err = start(job);
		if (err) {
			result = first_of(result, run_without_thread(job, err));
		} else if (waits) {
			job->next = awaited;
			awaited = job;
		} else {
			others = NCCL_IN_PROGRESS;
		}
	}
	for (struct nccl_job *job = awaited, *rest; job; job = rest) {
		rest = job->next;
		pthread_join(job->thread, NULL);
		if (job->result && !result)
			result = nccl_refuse(job->result, "%s", job->sentence);
		free_job(job);
	}
	return first_of(result, others);
}

static int run_alone(struct nccl_job *job)
{
	if (!is_awaited(job))
		return run_side_by_side(job);
	int result = carry_out(job);
	free_job(job);
	return result;
}

int nccl_job_submit(const struct nccl_job *job)
{
	struct nccl_job *copy = malloc(sizeof(*copy));
	if (!copy) {
		int result = nccl_refuse(NCCL_SYSTEM_ERROR, "no memory for a communicator");
		free(job->excluded);
		if (!job->ends)
			nccl_comm_end(job->comm, result);
		return result;
	}
	*copy = *job;
	copy->next = NULL;
	if (!nccl_group_is_open())
		return run_alone(copy);
	copy->next = group.jobs[copy->ends];
	group.jobs[copy->ends] = copy;
	return NCCL_SUCCESS;
}

/* ---- beginning and ending -------------------------------------------------------------------- */

NCCL_CALL(int, ncclGroupStart, void)
{
	group.depth++;
	return NCCL_SUCCESS;
}

/* Whoever of the group's communicators has something to say. */
static int explain(int err)
{
	for (int i = 0; i < group.kept_count; i++)
		if (*ring_comm_error(group.kept[i]->ring))
			return nccl_result_of(err, group.kept[i]->ring);
	return nccl_result_of(err, NULL);
}

/* Runs the calls, or drops them if one of them was refused. returns a result */
static int run_calls(int refused)
{
	if (!group.calls)
		return refused;
	group.calls = false;
	if (refused)
		ring_barrier(NULL, NULL); /* is refused as well: then none of them is made */
	int err = ring_group_end();
	return refused || !err ? refused : explain(err);
}

/* Behind the calls, as it may free their communicators. */
static int end_group(void)
{
	struct nccl_job *makers = group.jobs[false], *enders = group.jobs[true];
	int refused = group.result;
	group.jobs[false] = group.jobs[true] = NULL;
	group.result = NCCL_SUCCESS;
	int made = run_side_by_side(makers);
	int result = run_calls(refused);
	let_go_of_kept();
	int ended = run_side_by_side(enders);
	return first_of(result, first_of(made, ended));
}

NCCL_CALL(int, ncclGroupEnd, void)
{
	if (group.depth == 0)
		return nccl_refuse(NCCL_INVALID_USAGE,
				   "ncclGroupEnd: this thread has no group open");
	return --group.depth > 0 ? NCCL_SUCCESS : end_group();
}

/* Ends the group, without its calls. */
NCCL_CALL(int, ncclGroupSimulateEnd, void *info)
{
	(void)info;
	int result = nccl_refuse(NCCL_INVALID_USAGE,
				 "ncclGroupSimulateEnd: calls are not timed in advance here");
	nccl_group_note(result);
	return pncclGroupEnd();
}
