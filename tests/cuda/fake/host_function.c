/* SPDX-License-Identifier: MIT */
/*
 * Host functions of all streams of all devices run in one thread, one after the other: one that
 * waits for another waits for ever. The stream's queue waits meanwhile. None runs once its context
 * is broken.
 */
#include "fake.h"

struct call {
	struct CUctx_st *context;
	void (*function)(void *);
	void *argument;
	bool over;
	struct call *next;
};

static pthread_t thread;
static bool running, ending;
static const struct call *under_way;
static struct call *first, **end = &first;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER;

static void run(struct call *call)
{
	under_way = call;
	pthread_mutex_unlock(&fake_lock);
	call->function(call->argument);
	pthread_mutex_lock(&fake_lock);
	under_way = NULL;
}

static void *serve(void *argument)
{
	(void)argument;
	fake_inside_host_function = true;
	pthread_mutex_lock(&fake_lock);
	for (;;) {
		while (!first && !ending)
			pthread_cond_wait(&asked, &fake_lock);
		struct call *call = first;
		if (!call)
			break;
		first = call->next;
		if (!first)
			end = &first;
		if (!call->context->error && !call->context->ending)
			run(call);
		call->over = true;
		pthread_cond_broadcast(&fake_changed);
	}
	pthread_mutex_unlock(&fake_lock);
	return NULL;
}

static void run_host_function(struct call *call)
{
	while (ending)
		pthread_cond_wait(&fake_changed, &fake_lock);
	if (!running && pthread_create(&thread, NULL, serve, NULL))
		return;
	running = true;
	*end = call;
	end = &call->next;
	pthread_cond_signal(&asked);
	while (!call->over)
		pthread_cond_wait(&fake_changed, &fake_lock);
}

static int ask(struct CUctx_st *context, struct fake_work *work)
{
	struct call call = {context, work->host.function, work->host.context, false, NULL};
	pthread_mutex_lock(&fake_lock);
	run_host_function(&call);
	pthread_mutex_unlock(&fake_lock);
	return call.over ? 0 : RING_CUDA_OUT_OF_MEMORY;
}

bool fake_host_function_is_under_way(void)
{
	return under_way;
}

void fake_host_functions_end(void)
{
	if (!running || ending)
		return;
	ending = true;
	pthread_cond_signal(&asked);
	pthread_mutex_unlock(&fake_lock);
	pthread_join(thread, NULL);
	pthread_mutex_lock(&fake_lock);
	running = ending = false;
	pthread_cond_broadcast(&fake_changed);
}

int cuLaunchHostFunc(struct CUstream_st *handle, void (*function)(void *), void *context)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	struct CUstream_st *stream;
	err = function ? fake_stream_find(handle, &stream) : RING_CUDA_INVALID_VALUE;
	struct fake_work work = {
		.name = "host function", .run = ask, .waits = true, .host = {function, context}};
	if (!err)
		err = fake_submit(__func__, stream, &work, NULL);
	return fake_end(err);
}
