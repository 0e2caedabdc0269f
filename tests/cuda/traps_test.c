/* SPDX-License-Identifier: MIT */
/*
 * Each trap of CUDA's driver bites: the program that is written wrongly for it hangs or gets its
 * error, the one that is written rightly gets its result. Over the fake driver; with --real over
 * the machine's own, which says whether the fake one is like it. (A hang takes seconds there, and
 * what the environment asks of the fake one is left out.)
 *
 * Two checks more: that all functions are there, and that nothing is left when a context has ended.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness.h"
#include "tests/holdings.h"
#include "trap.h"

#define PATIENCE "RING_FAKE_CUDA_PATIENCE_MS"
#define FAULTED 98
#define NOTHING 12345
#define DEADLINE_S (10 * HARNESS_ROOM)
#define REAL_HANG_S 5 /* nobody says there that it hangs */

struct trap_stage stage;
static bool is_real;

/* What the real driver compiles; the fake one knows its kernels by their names. */
const char *const trap_image = ".version 6.3\n"
			       ".target sm_75\n"
			       ".address_size 64\n"
			       ".visible .entry trap_store(.param .u64 memory, .param .u32 value)\n"
			       "{\n"
			       "	.reg .b64 at;\n"
			       "	.reg .b32 v;\n"
			       "	ld.param.u64 at, [memory];\n"
			       "	ld.param.u32 v, [value];\n"
			       "	st.u32 [at], v;\n"
			       "	ret;\n"
			       "}\n"
			       ".visible .entry trap_store_wide(.param .u64 memory, "
			       ".param .u32 value)\n"
			       "{\n"
			       "	.reg .b64 at;\n"
			       "	.reg .b32 v;\n"
			       "	ld.param.u64 at, [memory];\n"
			       "	ld.param.u32 v, [value];\n"
			       "	st.v4.u32 [at], {v, v, v, v};\n"
			       "	ret;\n"
			       "}\n";

/* ---- what the programs use ------------------------------------------------------------------- */

static void set_stage(void)
{
	struct CUmod_st *module;
	void *memory[4];
	CUDA_MUST(cuda.init(0));
	CUDA_MUST(cuda.primary_retain(&stage.context, 0));
	CUDA_MUST(cuda.context_set(stage.context));
	CUDA_MUST(cuda.stream_create(&stage.first, RING_CUDA_STREAM_NON_BLOCKING, 0));
	CUDA_MUST(cuda.stream_create(&stage.second, RING_CUDA_STREAM_NON_BLOCKING, 0));
	CUDA_MUST(cuda.event_create(&stage.event, RING_CUDA_EVENT_NO_TIMING));
	CUDA_MUST(cuda.module_load(&module, trap_image));
	CUDA_MUST(cuda.module_function(&stage.store, module, "trap_store"));
	CUDA_MUST(cuda.module_function(&stage.store_wide, module, "trap_store_wide"));
	for (int i = 0; i < 2; i++) {
		CUDA_MUST(cuda.memory_alloc(&memory[i], TRAP_BYTES));
		CUDA_MUST(cuda.memory_set(memory[i], 0, TRAP_BYTES, stage.first));
		CUDA_MUST(cuda.host_alloc(&memory[2 + i], TRAP_BYTES, 0));
		memset(memory[2 + i], 0, TRAP_BYTES);
	}
	CUDA_MUST(cuda.context_synchronize());
	stage.memory = memory[0];
	stage.other = memory[1];
	stage.pinned = memory[2];
	stage.word = memory[3];
}

void trap_hold(struct CUstream_st *stream)
{
	CUDA_MUST(cuda.stream_wait_value(stream, stage.word, 1, RING_CUDA_WAIT_GEQ));
}

void trap_let_go(void)
{
	__atomic_store_n(stage.word, 1, __ATOMIC_RELEASE);
}

int trap_finish(void)
{
	trap_let_go();
	return cuda.context_synchronize();
}

int trap_launch(struct CUfunc_st *kernel, struct CUstream_st *stream, void *memory, uint32_t value)
{
	return cuda.launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&memory, &value}, NULL);
}

uint32_t trap_look(const void *memory)
{
	CUDA_MUST(cuda.memory_copy(stage.pinned, memory, sizeof(uint32_t), stage.second));
	CUDA_MUST(cuda.stream_synchronize(stage.second));
	return *stage.pinned;
}

/* ---- one program ----------------------------------------------------------------------------- */

static void on_fault(int signal)
{
	(void)signal;
	_exit(FAULTED);
}

/* "NAME=VALUE NAME=VALUE" */
static void set_environment(const char *settings)
{
	char copy[256];
	snprintf(copy, sizeof(copy), "%s", settings ? settings : "");
	for (char *one = strtok(copy, " "); one; one = strtok(NULL, " ")) {
		char *value = strchr(one, '=');
		*value = 0;
		setenv(one, value + 1, 1);
	}
}

static int perform(const struct trap *trap, bool wrong)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	signal(SIGSEGV, on_fault);
	setenv(PATIENCE, wrong && trap->comes_to == TRAP_HANGS ? "200" : "60000", 1);
	set_environment(wrong ? trap->wrong_env : trap->right_env);
	if (!cuda_open())
		exit(99);
	set_stage();
	return trap->run(wrong);
}

/* In a child. At its end what the driver has must end as well, so it leaves as programs do. */
static void perform_and_report(const struct trap *trap, bool wrong, int to, FILE *errors)
{
	dup2(fileno(errors), STDERR_FILENO);
	int came_to = perform(trap, wrong);
	if (write(to, &came_to, sizeof(came_to)) != sizeof(came_to))
		exit(99);
	exit(0);
}

/* ---- what came of it ------------------------------------------------------------------------- */

static int reap(pid_t child)
{
	int status;
	double until = harness_clock() + (is_real ? REAL_HANG_S : DEADLINE_S);
	while (waitpid(child, &status, WNOHANG) == 0) {
		if (harness_clock() > until)
			kill(child, SIGABRT);
		usleep(1000);
	}
	return status;
}

static void say(FILE *from)
{
	char line[512];
	rewind(from);
	while (fgets(line, sizeof(line), from))
		printf("# %s", line);
}

/* returns whether it came to what it should */
static bool try(const struct trap *trap, bool wrong)
{
	int pipe_ends[2], came_to = NOTHING;
	FILE *errors = tmpfile();
	if (!errors || pipe(pipe_ends))
		return false;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0)
		perform_and_report(trap, wrong, pipe_ends[1], errors);
	close(pipe_ends[1]);
	int status = reap(child);
	bool told = read(pipe_ends[0], &came_to, sizeof(came_to)) == sizeof(came_to);
	close(pipe_ends[0]);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
		came_to = TRAP_HANGS;
	else if (WIFEXITED(status) && WEXITSTATUS(status) == FAULTED)
		came_to = TRAP_FAULTS;
	else if (!told || status)
		came_to = NOTHING;
	say(errors);
	fclose(errors);
	int should = wrong ? trap->comes_to : 0;
	if (came_to != should)
		printf("# the %s program comes to %d (status 0x%x), not to %d\n",
		       wrong ? "wrong" : "right", came_to, status, should);
	return came_to == should;
}

static bool is_for_the_fake_one(const struct trap *trap)
{
	return trap->is_stricter || (trap->wrong_env && strstr(trap->wrong_env, "RING_FAKE_"));
}

static int verdict(bool good, const char *what)
{
	static int n;
	printf("%s %d - %s\n", good ? "ok" : "not ok", ++n, what);
	return !good;
}

static int try_all(const struct trap *traps)
{
	int failed = 0;
	for (const struct trap *trap = traps; trap->name; trap++) {
		if (is_real && is_for_the_fake_one(trap))
			continue;
		bool bites = try(trap, false), passes = try(trap, true);
		failed += verdict(bites && passes, trap->name);
	}
	return failed;
}

/* ---- what is left ---------------------------------------------------------------------------- */

static void count(int *is)
{
	is[0] = holdings_threads();
	is[1] = holdings_fds();
	is[2] = holdings_shared_maps();
}

/* Work under way, a captured stream, memory of all kinds; and then the context ends. */
static void leave_things_behind(void)
{
	static uint32_t registered[1024];
	set_stage();
	CUDA_MUST(cuda.host_register(registered, sizeof(registered), 0));
	trap_map((size_t)2 << 20);
	CUDA_MUST(cuda.function_load(stage.store_wide));
	CUDA_MUST(cuda.capture_begin(stage.second, CUDA_CAPTURE_RELAXED));
	CUDA_MUST(cuda.memory_set(stage.memory, 1, 1, stage.second));
	trap_hold(stage.first);
	for (int i = 0; i < 100; i++)
		CUDA_MUST(trap_launch(stage.store_wide, stage.first, stage.memory, 1));
	CUDA_MUST(cuda.event_record(stage.event, stage.first));
	CUDA_MUST(cuda.primary_release(0));
}

static bool leaves_nothing(void)
{
	int before[3], after[3];
	bool same = false;
	if (!cuda_open())
		return false;
	leave_things_behind(); /* a sanitizer may need a thread of its own from now on */
	count(before);
	for (int round = 0; round < 20; round++)
		leave_things_behind();
	for (int ms = 0; ms < 1000 * HARNESS_ROOM && !same; ms++) {
		count(after);
		same = memcmp(before, after, sizeof(before)) == 0;
		usleep(1000);
	}
	if (!same)
		printf("# threads, descriptors, shared maps: %d %d %d, then %d %d %d\n", before[0],
		       before[1], before[2], after[0], after[1], after[2]);
	return same;
}

static int count_traps(const struct trap *traps)
{
	int n = 0;
	for (const struct trap *trap = traps; trap->name; trap++)
		n += !is_real || !is_for_the_fake_one(trap);
	return n;
}

int main(int argc, char **argv)
{
	const struct trap *const all[] = {traps_of_waiting, traps_of_memory, traps_of_mapping,
					  traps_of_errors, traps_of_capture};
	const int kinds = sizeof(all) / sizeof(all[0]);
	int failed = 0, planned = 1;
	is_real = argc > 1 && strcmp(argv[1], "--real") == 0;
	if (!is_real)
		cuda_use_fake(argv);
	for (int i = 0; i < kinds; i++)
		planned += count_traps(all[i]);
	printf("1..%d\n", planned);
	for (int i = 0; i < kinds; i++)
		failed += try_all(all[i]);
	failed += verdict(is_real || leaves_nothing(), "nothing is left of a context");
	return failed != 0;
}
