/* SPDX-License-Identifier: MIT */
/*
 * What waits for what while a stream is stopped: calls of other threads for a call that waits for
 * the GPU, jobs for those that share a queue of the hardware; and who is told of a fault.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "gpu.h"

#define BYTES 65536
#define HELD_S 0.3   /* that the stream is stopped for, at least where others wait */
#define BEGUN_S 0.02 /* that a call has to come to rest */
#define LOOK_S 0.001
#define DEEP 1100 /* launches: more than a queue takes */

/* ---- a stopped stream ------------------------------------------------------------------------ */

/* Thread A makes a call that may wait for the GPU, thread B calls that never should. */
struct scene {
	struct gpu gpu;
	struct scene *other; /* that of B's device, of which it has the rest; itself: it is A's */
	struct CUstream_st *held, *beside, *own; /* stopped; A's; B's, of the greatest priority */
	struct CUevent_st *event;
	struct CUfunc_st *fresh; /* a kernel that was never loaded */
	uint32_t *word;          /* pinned; 1 lets the stream go */
	char *far, *spare, *near;
	void *existing; /* memory of the host */
	bool done[2];
	double took[2];    /* seconds, from when it began */
	double held_s;     /* for which the stream was stopped */
	const char *where; /* the call that B is in */
};

struct action {
	const char *name;
	int (*act)(struct scene *scene);
	bool must_not_block; /* others, where kernels are loaded with their modules */
};

static int do_nothing(struct scene *scene)
{
	(void)scene;
	return 0;
}

static int launch_fresh(struct scene *scene)
{
	return gpu_store(scene->fresh, scene->beside, scene->far, 1);
}

static int free_memory(struct scene *scene)
{
	return cuda.memory_free(scene->spare);
}

static int allocate(struct scene *scene)
{
	void *memory;
	(void)scene;
	return cuda.memory_alloc(&memory, BYTES);
}

static int allocate_pinned(struct scene *scene)
{
	void *memory;
	(void)scene;
	return cuda.host_alloc(&memory, BYTES, 0);
}

static int pin(struct scene *scene)
{
	return cuda.host_register(scene->existing, BYTES, RING_CUDA_HOST_PORTABLE);
}

static int launch_deep(struct scene *scene)
{
	int result = 0;
	for (int i = 0; i < DEEP && !result; i++)
		result = gpu_store(scene->gpu.store, scene->held, scene->far, 1);
	return result;
}

static int launch_behind(struct scene *scene)
{
	return gpu_store(scene->gpu.store, scene->held, scene->far, 1);
}

static const struct action actions[] = {
	{"nothing", do_nothing, true},
	{"first launch", launch_fresh, true},
	{"cuMemFree", free_memory, false},
	{"cuMemAlloc", allocate, false},
	{"cuMemHostAlloc", allocate_pinned, false},
	{"cuMemHostRegister", pin, false},
	{"1,100 launches behind it", launch_deep, false},
};

static const struct action launch_blocking = {"a launch behind it", launch_behind, false};

static void set_scene(struct scene *scene, int device)
{
	struct CUmod_st *module;
	gpu_open(&scene->gpu, device);
	scene->other = scene;
	scene->held = gpu_stream(0);
	scene->beside = gpu_stream(0);
	scene->own = gpu_stream(scene->gpu.greatest);
	scene->event = gpu_event();
	scene->word = gpu_pinned(BYTES);
	scene->near = gpu_pinned(BYTES);
	scene->far = gpu_memory(BYTES);
	scene->spare = gpu_memory(BYTES);
	scene->existing = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			       0);
	CUDA_MUST(cuda.module_load(&module, gpu_image));
	CUDA_MUST(cuda.module_function(&scene->fresh, module, "gpu_store"));
}

struct part {
	struct scene *scene;
	const struct action *action; /* NULL: thread B */
};

/* What the library does to let a stream go, or with a call of another rank. */
static void help(struct scene *scene)
{
	const struct scene *own = scene->other;
	scene->where = "cuLaunchKernel";
	CUDA_MUST(gpu_store(own->gpu.store, own->own, own->far + 64, 1));
	scene->where = "cuMemcpyAsync";
	CUDA_MUST(cuda.memory_copy(own->near, own->far, 64, own->own));
	scene->where = "cuEventRecord";
	CUDA_MUST(cuda.event_record(own->event, own->own));
	scene->where = "cuEventQuery";
	cuda.event_query(own->event);
	scene->where = "no call";
}

static void *act(void *argument)
{
	const struct part *part = argument;
	struct scene *scene = part->scene;
	const int who = part->action ? 0 : 1;
	double began = gpu_clock();
	CUDA_MUST(cuda.context_set((part->action ? scene : scene->other)->gpu.context));
	if (part->action)
		CUDA_MUST(part->action->act(scene));
	else
		help(scene);
	scene->took[who] = gpu_clock() - began;
	__atomic_store_n(&scene->done[who], true, __ATOMIC_RELEASE);
	return NULL;
}

static bool is_done(struct scene *scene, int who)
{
	return __atomic_load_n(&scene->done[who], __ATOMIC_ACQUIRE);
}

/* Waits for both, then for B alone, as others may keep the CPUs from it. */
static void await_both(struct scene *scene)
{
	const double begun = gpu_clock();
	while (gpu_clock() < begun + HELD_S && !(is_done(scene, 0) && is_done(scene, 1)))
		gpu_sleep(LOOK_S);
	while (gpu_clock() < begun + HELD_S * check_room() && !is_done(scene, 1))
		gpu_sleep(LOOK_S);
}

/* Whether B's calls wait as long as the stream is stopped. */
static bool blocks_others(struct scene *scene, const struct action *action, const char *mode)
{
	pthread_t threads[2];
	struct part parts[2] = {{scene, action}, {scene, NULL}};
	scene->done[0] = scene->done[1] = false;
	scene->held_s = -gpu_clock();
	__atomic_store_n(scene->word, 0, __ATOMIC_RELEASE);
	CUDA_MUST(cuda.stream_wait_value(scene->held, scene->word, 1, RING_CUDA_WAIT_GEQ));
	pthread_create(&threads[0], NULL, act, &parts[0]);
	gpu_sleep(BEGUN_S);
	pthread_create(&threads[1], NULL, act, &parts[1]);
	await_both(scene);
	const bool waits = !is_done(scene, 0), blocked = !is_done(scene, 1);
	const char *where = blocked ? scene->where : "";
	scene->held_s += gpu_clock();
	__atomic_store_n(scene->word, 1, __ATOMIC_RELEASE);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	CUDA_MUST(cuda.context_synchronize());
	check_note("%s, %s: the call %s (%.0f us), others' %s%s (%.0f us)", mode, action->name,
		   waits ? "waits for the stream" : "goes on", scene->took[0] * 1e6,
		   blocked ? "wait in " : "go on", where, scene->took[1] * 1e6);
	return blocked;
}

/* Tells which actions keep others out. returns whether some do, or of those that must not */
static bool try_all(struct scene *scene, const char *mode, bool none_may)
{
	char text[256] = "";
	bool wrong = false;
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
		if (!blocks_others(scene, &actions[i], mode))
			continue;
		wrong |= none_may ||
			 (actions[i].must_not_block && (i == 0 || strcmp(mode, "EAGER") == 0));
		size_t length = strlen(text);
		snprintf(text + length, sizeof(text) - length, "%s%s", *text ? ", " : "",
			 actions[i].name);
	}
	check_fact("%s: others wait for %s", mode, *text ? text : "none");
	return wrong;
}

static int run_mode(void *context)
{
	const char *mode = context;
	struct scene scene = {0};
	setenv("CUDA_MODULE_LOADING", mode, 1);
	if (!gpu_driver())
		return CHECK_NOT_OK;
	set_scene(&scene, 0);
	return try_all(&scene, mode, false) ? CHECK_NOT_OK : CHECK_OK;
}

static int run_stopped(void)
{
	int eager = check_apart(run_mode, "EAGER"), lazy = check_apart(run_mode, "LAZY");
	return eager ? eager : lazy;
}

const struct check check_stopped = {
	"calls that keep other threads out while a stream is stopped", run_stopped, 20,
	"calls on streams hang although kernels were loaded before: with RING_CUDA_ENGINE=host "
	"none "
	"can be made while the program calls the driver, and the kernel engine must take them all"};

/* As ranks that are threads: each has a device, and they reach one another's memory, if they can. */
static int run_threads(void)
{
	struct scene scene = {0}, other = {0};
	const char *why;
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	if (gpu_find(&why) < 2) {
		check_fact("it wants two devices");
		return CHECK_SKIP;
	}
	set_scene(&other, 1);
	set_scene(&scene, 0);
	scene.other = &other;
	int result = cuda.context_enable_peer(other.gpu.context, 0);
	CUDA_MUST(cuda.context_set(other.gpu.context));
	int back = cuda.context_enable_peer(scene.gpu.context, 0);
	CUDA_MUST(cuda.context_set(scene.gpu.context));
	check_fact("access to one another: %s, %s", gpu_name(result), gpu_name(back));
	return try_all(&scene, "EAGER", true) ? CHECK_NOT_OK : CHECK_OK;
}

const struct check check_threads = {
	"calls that keep threads of other devices out while a stream is stopped", run_threads, 20,
	"ranks that are threads of one process may hang with RING_CUDA_ENGINE=kernel where one of "
	"them makes such a call while another is yet to make its own: they must be processes, or "
	"make these calls at other times"};

static int run_blocking(void)
{
	struct scene scene = {0};
	setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	if (!gpu_driver())
		return CHECK_NOT_OK;
	set_scene(&scene, 0);
	bool blocked = blocks_others(&scene, &launch_blocking, "CUDA_LAUNCH_BLOCKING=1");
	check_fact("the launch takes %.0f us with the stream stopped for %.0f, others %s",
		   scene.took[0] * 1e6, scene.held_s * 1e6, blocked ? "wait" : "go on");
	return CHECK_OK;
}

const struct check check_blocking = {
	"CUDA_LAUNCH_BLOCKING=1", run_blocking, 8,
	"a launch behind a stopped stream never returns although the stream is let go: programs "
	"under "
	"sanitizers and serialising profilers hang, so streams must be refused there"};

/* ---- queues of the hardware ------------------------------------------------------------------ */

#define STREAMS 32

enum kind { KERNEL, TO_DEVICE, FROM_DEVICE, KINDS };
static const char *const kinds[] = {"kernels", "copies to it", "copies from it"};

static void submit(struct scene *scene, struct CUstream_st *stream, enum kind kind)
{
	if (kind == KERNEL)
		CUDA_MUST(gpu_store(scene->gpu.store, stream, scene->far, 1));
	else if (kind == TO_DEVICE)
		CUDA_MUST(cuda.memory_copy(scene->far, scene->near, 64, stream));
	else
		CUDA_MUST(cuda.memory_copy(scene->near, scene->far, 64, stream));
}

/* Until all are done, or none more has been for long. returns how many are */
static int await_done(struct CUevent_st *const events[STREAMS])
{
	int done = 0;
	for (double until = gpu_clock() + HELD_S * check_room();
	     done < STREAMS && gpu_clock() < until; gpu_sleep(LOOK_S)) {
		int now = 0;
		for (int i = 0; i < STREAMS; i++)
			now += cuda.event_query(events[i]) == 0;
		if (now > done)
			until = gpu_clock() + HELD_S * check_room();
		done = now;
	}
	return done;
}

/* How many of these streams do a job while one is stopped, with a job of each kind behind. */
static int count_running(struct scene *scene, enum kind kind, int priority)
{
	struct CUstream_st *streams[STREAMS];
	struct CUevent_st *events[STREAMS];
	for (int i = 0; i < STREAMS; i++) {
		streams[i] = gpu_stream(priority);
		events[i] = gpu_event();
	}
	*scene->word = 0;
	CUDA_MUST(cuda.stream_wait_value(scene->held, scene->word, 1, RING_CUDA_WAIT_GEQ));
	for (enum kind behind = 0; behind < KINDS; behind++)
		submit(scene, scene->held, behind);
	for (int i = 0; i < STREAMS; i++) {
		submit(scene, streams[i], kind);
		CUDA_MUST(cuda.event_record(events[i], streams[i]));
	}
	const int running = await_done(events);
	__atomic_store_n(scene->word, 1, __ATOMIC_RELEASE);
	CUDA_MUST(cuda.context_synchronize());
	for (int i = 0; i < STREAMS; i++) {
		CUDA_MUST(cuda.event_destroy(events[i]));
		CUDA_MUST(cuda.stream_destroy(streams[i]));
	}
	return running;
}

static int run_queues(void)
{
	struct scene scene = {0};
	int running[KINDS][2];
	if (!gpu_driver())
		return CHECK_NOT_OK;
	set_scene(&scene, 0);
	for (enum kind kind = 0; kind < KINDS; kind++) {
		running[kind][0] = count_running(&scene, kind, 0);
		running[kind][1] = count_running(&scene, kind, scene.gpu.greatest);
		check_fact("%s of %d streams go on for %d of least and %d of greatest priority",
			   kinds[kind], STREAMS, running[kind][0], running[kind][1]);
	}
	return running[KERNEL][1] == STREAMS ? CHECK_OK : CHECK_NOT_OK;
}

const struct check check_queues = {
	"streams that share a queue of the hardware with a stopped one", run_queues, 12,
	"the library's own streams, of the greatest priority, share a queue with the program's: a "
	"call "
	"on a stream may wait for ever for the very stream that it is to let go"};

/* ---- who is told of a fault ------------------------------------------------------------------ */

struct witness {
	const char *name;
	int result;
	double after; /* seconds */
};

/* A kernel of the program's goes where no memory is. */
static void fault(struct scene *scene)
{
	gpu_store(scene->gpu.store, scene->beside, (void *)16, 1);
}

static int ask_again(struct scene *scene)
{
	int result = cuda.event_query(scene->event);
	return result ? result : cuda.event_record(scene->event, scene->own);
}

static int run_fault(void)
{
	struct scene scene = {0};
	struct witness witnesses[] = {{"an event that was never recorded", 0, 0},
				      {"an idle stream", 0, 0},
				      {"an event recorded again and again on an idle stream", 0, 0}};
	if (!gpu_driver())
		return CHECK_NOT_OK;
	set_scene(&scene, 0);
	struct CUevent_st *never = gpu_event();
	struct CUstream_st *idle = gpu_stream(scene.gpu.greatest);
	CUDA_MUST(cuda.event_query(never));
	CUDA_MUST(cuda.stream_query(idle));
	CUDA_MUST(cuda.event_record(scene.event, scene.own));
	double began = gpu_clock();
	fault(&scene);
	for (; gpu_clock() < began + 2; gpu_sleep(LOOK_S)) {
		const int is[] = {cuda.event_query(never), cuda.stream_query(idle),
				  ask_again(&scene)};
		for (int i = 0; i < 3; i++)
			if (!witnesses[i].result && is[i] && is[i] != RING_CUDA_NOT_READY) {
				witnesses[i].result = is[i];
				witnesses[i].after = gpu_clock() - began;
			}
	}
	for (int i = 0; i < 3; i++)
		if (witnesses[i].result)
			check_fact("%s says %s after %.1f ms", witnesses[i].name,
				   gpu_name(witnesses[i].result), witnesses[i].after * 1e3);
		else
			check_fact("%s says nothing", witnesses[i].name);
	return witnesses[2].result ? CHECK_OK : CHECK_NOT_OK;
}

const struct check check_fault = {
	"who is told of a fault elsewhere on the device", run_fault, 8,
	"the library does not notice that a device has failed, so a call waits for its timeout "
	"instead of ending with the driver's error"};
