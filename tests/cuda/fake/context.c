/* SPDX-License-Identifier: MIT */
/*
 * Primary contexts: one for each device, counted. A thread has a stack of current ones. What breaks
 * one, breaks it for good: nothing that it was given runs any more, and all calls return the error.
 * Whoever waits for all of it may have its lock.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

#define STACK 16

struct CUctx_st fake_contexts[FAKE_DEVICES];

static _Thread_local struct CUctx_st *stack[STACK];
static _Thread_local int depth;

struct CUctx_st *fake_current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

void fake_context_break(struct CUctx_st *context, int error)
{
	if (!context->error)
		context->error = error;
	pthread_cond_broadcast(&fake_changed);
}

bool fake_context_is_over(const struct CUctx_st *context)
{
	pthread_mutex_lock(&fake_lock);
	bool over = context->error || context->ending;
	pthread_mutex_unlock(&fake_lock);
	return over;
}

/* ---- waiting for all of it ------------------------------------------------------------------- */

void fake_context_pass(struct CUctx_st *context, const char *function)
{
	char what[128];
	for (unsigned waited_ms = 0;
	     context->held_in && !pthread_equal(context->holder, pthread_self());) {
		snprintf(what, sizeof(what), "the context's lock, which another thread has in %s",
			 context->held_in);
		fake_wait(function, what, &waited_ms);
	}
}

bool fake_context_lock(struct CUctx_st *context, const char *function)
{
	if (!fake_settings.locks)
		return false;
	fake_context_pass(context, function);
	if (context->held_in)
		return false;
	context->held_in = function;
	context->holder = pthread_self();
	return true;
}

void fake_context_unlock(struct CUctx_st *context, bool took)
{
	if (!took)
		return;
	context->held_in = NULL;
	pthread_cond_broadcast(&fake_changed);
}

static int await(struct CUctx_st *context, const char *function)
{
	struct fake_job *lasts[FAKE_QUEUES];
	for (int i = 0; i < FAKE_QUEUES; i++) {
		struct fake_queue *queue = context->queues[i];
		lasts[i] = queue ? fake_job_hold(fake_queue_last(queue)) : NULL;
	}
	int err = context->error;
	for (int i = 0; i < FAKE_QUEUES; i++) {
		if (!err)
			err = fake_job_await(lasts[i], context, function);
		fake_job_drop(lasts[i]);
	}
	return err;
}

int fake_context_await(struct CUctx_st *context, const char *function)
{
	bool took = fake_context_lock(context, function);
	int err = await(context, function);
	fake_context_unlock(context, took);
	return err;
}

/* ---- from the first reference to the last ---------------------------------------------------- */

static bool none_is_left(void)
{
	for (int device = 0; device < FAKE_DEVICES; device++)
		if (fake_contexts[device].retained)
			return false;
	return true;
}

void fake_context_end(struct CUctx_st *context)
{
	context->ending = true;
	context->retained = 0;
	pthread_cond_broadcast(&fake_changed);
	pthread_mutex_unlock(&fake_lock);
	for (int i = 0; i < FAKE_QUEUES; i++)
		if (context->queues[i])
			fake_queue_end(context->queues[i]);
	pthread_mutex_lock(&fake_lock);
	if (none_is_left())
		fake_host_functions_end();
	fake_events_end(context);
	fake_streams_end(context);
	fake_modules_end(context);
	fake_ipc_end(context);
	if (none_is_left())
		fake_mappings_end();
	fake_memory_end(context);
	*context = (struct CUctx_st){.device = context->device};
	pthread_cond_broadcast(&fake_changed);
}

int cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	if (device < 0 || device >= fake_settings.devices)
		return fake_end(RING_CUDA_INVALID_DEVICE);
	struct CUctx_st *it = &fake_contexts[device];
	for (unsigned waited_ms = 0; it->ending;)
		fake_wait(__func__, "another thread to end it", &waited_ms);
	if (!it->retained) {
		it->device = device;
		it->reaches[device] = true;
		it->legacy = fake_stream_start(it, true, 0);
		err = it->legacy ? 0 : RING_CUDA_OUT_OF_MEMORY;
	}
	if (!err) {
		it->retained++;
		*context = it;
	}
	return fake_end(err);
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	if (device < 0 || device >= fake_settings.devices)
		return fake_end(RING_CUDA_INVALID_DEVICE);
	struct CUctx_st *context = &fake_contexts[device];
	if (!context->retained)
		return fake_end(RING_CUDA_INVALID_CONTEXT);
	if (context->retained > 1)
		context->retained--;
	else
		fake_context_end(context);
	return fake_end(0);
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	if (device < 0 || device >= fake_settings.devices)
		return fake_end(RING_CUDA_INVALID_DEVICE);
	*flags = 0;
	*active = fake_contexts[device].retained > 0;
	return fake_end(0);
}

/* ---- the thread's current one ---------------------------------------------------------------- */

int cuCtxPushCurrent_v2(struct CUctx_st *context)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	if (!context || depth == STACK)
		return fake_end(RING_CUDA_INVALID_CONTEXT);
	stack[depth++] = context;
	return fake_end(0);
}

int cuCtxPopCurrent_v2(struct CUctx_st **context)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	if (!depth)
		return fake_end(RING_CUDA_INVALID_CONTEXT);
	if (context)
		*context = stack[depth - 1];
	depth--;
	return fake_end(0);
}

int cuCtxSetCurrent(struct CUctx_st *context)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	if (depth)
		depth--;
	if (context)
		stack[depth++] = context;
	return fake_end(0);
}

int cuCtxGetCurrent(struct CUctx_st **context)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	*context = fake_current();
	return fake_end(0);
}

int cuCtxGetDevice(int *device)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	struct CUctx_st *context = fake_current();
	if (!context)
		return fake_end(RING_CUDA_INVALID_CONTEXT);
	*device = context->device;
	return fake_end(0);
}

int cuCtxSynchronize(void)
{
	int err = fake_begin(__func__, FAKE_CONTEXT | FAKE_SAFE);
	if (err)
		return err;
	err = fake_capture_forbids_all(fake_current());
	return fake_end(err ? err : await(fake_current(), __func__));
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = 1 - FAKE_PRIORITIES;
	return fake_end(0);
}

int cuCtxEnablePeerAccess(struct CUctx_st *peer, unsigned flags)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	struct CUctx_st *context = fake_current();
	if (flags)
		return fake_end(RING_CUDA_INVALID_VALUE);
	if (!peer || peer == context || !peer->retained)
		return fake_end(RING_CUDA_INVALID_CONTEXT);
	if (!fake_peers(fake_settings.visible[context->device], fake_settings.visible[peer->device]))
		return fake_end(CUDA_PEER_ACCESS_UNSUPPORTED);
	if (context->reaches[peer->device])
		return fake_end(RING_CUDA_PEER_ALREADY_ENABLED);
	err = fake_context_await(context, __func__);
	context->reaches[peer->device] = !err;
	return fake_end(err);
}
