/* SPDX-License-Identifier: MIT */
/* Errors that arrive late and stay, and calls from where none may be made. */
#include "trap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static void break_the_context(void)
{
	CUDA_MUST(trap_launch(stage.store_wide, stage.first, stage.memory + 4, 1));
	cuda.stream_synchronize(stage.first);
}

/* The call that made the mistake says nothing; one that has nothing to do with it does. */
static int meet_the_error_elsewhere(bool wrong)
{
	void *memory;
	if (wrong)
		break_the_context();
	return cuda.memory_alloc(&memory, 100);
}

/* It is for good. */
static int go_on_after_an_error(bool wrong)
{
	if (wrong) {
		break_the_context();
		cuda.context_synchronize();
	}
	int err = cuda.event_query(stage.event);
	return err ? err : cuda.memory_set(stage.memory, 1, 1, stage.second);
}

/* An event that happened before need not say that the GPU has failed since; a new record does. */
static int ask_an_old_event(bool wrong)
{
	CUDA_MUST(cuda.event_record(stage.event, stage.second));
	CUDA_MUST(cuda.event_synchronize(stage.event));
	break_the_context();
	int err = wrong ? 0 : cuda.event_record(stage.event, stage.second);
	if (!err)
		err = cuda.event_query(stage.event);
	return err ? 0 : TRAP_STALE;
}

static void raise_flag(void *flag)
{
	atomic_store((atomic_int *)flag, 1);
}

/* Whoever trusts that a host function comes waits for ever. */
static int wait_for_a_host_function(bool wrong)
{
	static atomic_int flag;
	CUDA_MUST(cuda.function_load(stage.store_wide));
	trap_hold(stage.second);
	CUDA_MUST(cuda.stream_host_function(stage.second, raise_flag, &flag));
	if (wrong)
		break_the_context();
	trap_let_go();
	for (int ms = 0; wrong && ms < 100 && !atomic_load(&flag); ms++)
		usleep(1000);
	if (!wrong)
		CUDA_MUST(cuda.stream_synchronize(stage.second));
	return atomic_load(&flag) ? 0 : TRAP_STALE;
}

static void query(void *result)
{
	*(int *)result = cuda.stream_query(stage.second);
}

static int call_from_a_host_function(bool wrong)
{
	static int result;
	if (wrong)
		CUDA_MUST(cuda.stream_host_function(stage.first, query, &result));
	else
		query(&result);
	CUDA_MUST(trap_finish());
	return result;
}

static void *alloc_in_a_thread(void *is_wrong)
{
	void *memory;
	if (!*(bool *)is_wrong)
		CUDA_MUST(cuda.context_set(stage.context));
	return (void *)(intptr_t)cuda.memory_alloc(&memory, 100);
}

/* A context is current in one thread only. */
static int start_a_thread(bool wrong)
{
	pthread_t thread;
	void *result;
	pthread_create(&thread, NULL, alloc_in_a_thread, &wrong);
	pthread_join(thread, &result);
	return (int)(intptr_t)result;
}

static int destroy_an_event_without(bool wrong)
{
	if (wrong)
		CUDA_MUST(cuda.context_set(NULL));
	return cuda.event_destroy(stage.event);
}

/* Launches want the stream's context to be current, copies do not. */
static int launch_elsewhere(bool wrong)
{
	struct CUctx_st *context;
	CUDA_MUST(cuda.primary_retain(&context, 1));
	if (wrong)
		CUDA_MUST(cuda.context_set(context));
	CUDA_MUST(cuda.memory_copy(stage.pinned, stage.memory, 4, stage.first));
	return trap_launch(stage.store, stage.first, stage.memory, 1);
}

static int use_a_stream_that_is_gone(bool wrong)
{
	if (wrong)
		CUDA_MUST(cuda.stream_destroy(stage.first));
	return cuda.memory_set(stage.memory, 1, 1, stage.first);
}

static int use_a_context_that_is_gone(bool wrong)
{
	if (wrong)
		CUDA_MUST(cuda.primary_release(0));
	return cuda.context_synchronize();
}

static int use_it_in_a_child(bool wrong)
{
	int count, status;
	if (!wrong)
		return cuda.device_count(&count);
	pid_t child = fork();
	if (child == 0)
		_exit(cuda.device_count(&count));
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

static int fail_a_call(bool wrong)
{
	(void)wrong;
	int err = cuda.stream_query(stage.first);
	return err ? TRAP_STALE : cuda.stream_query(stage.first);
}

static int fail_a_job(bool wrong)
{
	(void)wrong;
	for (int i = 0; i < 20; i++)
		if (cuda.memory_set(stage.memory, 1, 1, stage.first))
			break;
	return trap_finish();
}

const struct trap traps_of_errors[] = {
	{.name = "an error arrives at another call",
	 .run = meet_the_error_elsewhere,
	 .comes_to = RING_CUDA_MISALIGNED_ADDRESS},
	{.name = "a broken context stays broken",
	 .run = go_on_after_an_error,
	 .comes_to = RING_CUDA_MISALIGNED_ADDRESS},
	{.name = "an event that has happened tells no error",
	 .run = ask_an_old_event,
	 .comes_to = TRAP_STALE,
	 .is_stricter = true},
	{.name = "no host function runs after an error",
	 .run = wait_for_a_host_function,
	 .comes_to = TRAP_STALE},
	{.name = "a host function calls the driver",
	 .run = call_from_a_host_function,
	 .comes_to = RING_CUDA_NOT_PERMITTED},
	{.name = "a thread has no context",
	 .run = start_a_thread,
	 .comes_to = RING_CUDA_INVALID_CONTEXT},
	{.name = "an event is destroyed without a context",
	 .run = destroy_an_event_without,
	 .comes_to = RING_CUDA_INVALID_CONTEXT,
	 .is_stricter = true},
	{.name = "a launch in another device's stream",
	 .run = launch_elsewhere,
	 .comes_to = RING_CUDA_INVALID_HANDLE,
	 .wrong_env = "RING_FAKE_CUDA_DEVICES=2",
	 .right_env = "RING_FAKE_CUDA_DEVICES=2"},
	{.name = "a stream is used after its end",
	 .run = use_a_stream_that_is_gone,
	 .comes_to = RING_CUDA_INVALID_HANDLE},
	{.name = "a context is used after its end",
	 .run = use_a_context_that_is_gone,
	 .comes_to = RING_CUDA_CONTEXT_DESTROYED},
	{.name = "a forked child uses it",
	 .run = use_it_in_a_child,
	 .comes_to = RING_CUDA_NOT_INITIALIZED},
	{.name = "RING_FAKE_CUDA_FAIL makes a call fail",
	 .run = fail_a_call,
	 .comes_to = RING_CUDA_OUT_OF_MEMORY,
	 .wrong_env = "RING_FAKE_CUDA_FAIL=cuStreamQuery:2=2"},
	{.name = "RING_FAKE_CUDA_BREAK makes a job fail",
	 .run = fail_a_job,
	 .comes_to = RING_CUDA_LAUNCH_FAILED,
	 .wrong_env = "RING_FAKE_CUDA_BREAK=12=719"},
	{.name = NULL},
};
