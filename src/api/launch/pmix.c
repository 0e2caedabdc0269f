/* SPDX-License-Identifier: MIT */
/*
 * Ranks whose launcher serves PMIx: mpirun of Open MPI 4 and 5, prterun, srun --mpi=pmix. Its
 * client library is looked for when it is needed, first where the launcher has it mapped: that one
 * is of the same release, and some packages of Open MPI have it nowhere else. A process connects
 * once, and leaves as it exits: by that PMIx tells a failed rank from a lost one.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/thread.h"
#include "base/waits.h"
#include "hex.h"
#include "kvs.h"
#include "meet/describe.h"

#define SONAME "libpmix.so.2"
#define ANCESTORS_MAX 16 /* wrappers between the launcher and this process */

/* ---- the used part of pmix.h; the standard fixes these names and numbers ---- */

#define PMIX_SUCCESS 0
#define PMIX_OPERATION_SUCCEEDED (-157)
#define PMIX_STRING 3
#define PMIX_UINT32 14
#define PMIX_GLOBAL 3
#define PMIX_RANK_WILDCARD (UINT32_MAX - 1)
#define PMIX_JOB_SIZE "pmix.job.size"
#define PMIX_LOCAL_SIZE "pmix.local.size"

struct pmix_proc {
	char nspace[256];
	uint32_t rank;
};

struct pmix_value {
	uint16_t type;
	union {
		const char *string;
		uint32_t uint32;
		uint64_t room[4]; /* at least as large as the library's */
	} data;
};

static struct {
	int (*init)(struct pmix_proc *self, void *info, size_t ninfo);
	int (*finalize)(const void *info, size_t ninfo);
	int (*put)(uint8_t scope, const char *key, struct pmix_value *value);
	int (*commit)(void);
	int (*fence)(const struct pmix_proc *procs, size_t nprocs, const void *info, size_t ninfo,
		     void (*done)(int status, void *context), void *context);
	int (*get)(const struct pmix_proc *proc, const char *key, const void *info, size_t ninfo,
		   struct pmix_value **value);
	const char *(*explain)(int status);
} pmix;

static struct pmix_proc self;

static int fail_call(const char *doing, int status, struct ring_failure *failure)
{
	return ring_fail(failure, RING_ESYSTEM,
			 "PMIx: %s fails with %d, %s: does the launcher still run?", doing, status,
			 pmix.explain(status));
}

/* ---- the library ---- */

static pid_t parent_of(pid_t pid)
{
	char path[64], line[512];
	int parent = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *file = ring_fd_file(path);
	if (!file)
		return 0;
	char *behind_name = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	if (!behind_name || sscanf(behind_name, ") %*c %d", &parent) != 1)
		parent = 0;
	fclose(file);
	return parent;
}

/* The client library that a process has mapped. */
static bool find_mapped(pid_t pid, char path[PATH_MAX])
{
	char maps[64], line[PATH_MAX + 128];
	bool found = false;
	snprintf(maps, sizeof(maps), "/proc/%d/maps", (int)pid);
	FILE *file = ring_fd_file(maps);
	while (file && !found && fgets(line, sizeof(line), file)) {
		char *begin = strchr(line, '/');
		found = begin && strstr(begin, "/" SONAME) && !strstr(begin, " (deleted)");
		if (found)
			snprintf(path, PATH_MAX, "%.*s", (int)strcspn(begin, "\n"), begin);
	}
	if (file)
		fclose(file);
	return found;
}

/* The program's own comes first: it may use MPI, which is connected already. */
static void *open_library(void)
{
	char path[PATH_MAX];
	pid_t pid = getppid();
	void *library = dlopen(SONAME, RTLD_NOW | RTLD_NOLOAD);
	for (int i = 0; !library && pid > 1 && i < ANCESTORS_MAX; i++, pid = parent_of(pid))
		if (find_mapped(pid, path))
			library = dlopen(path, RTLD_NOW);
	return library ? library : dlopen(SONAME, RTLD_NOW);
}

static int load(struct ring_failure *failure)
{
	const struct {
		const char *name;
		void *place;
	} calls[] = {
		{"PMIx_Init", &pmix.init},
		{"PMIx_Finalize", &pmix.finalize},
		{"PMIx_Put", &pmix.put},
		{"PMIx_Commit", &pmix.commit},
		{"PMIx_Fence_nb", &pmix.fence},
		{"PMIx_Get", &pmix.get},
		{"PMIx_Error_string", &pmix.explain},
	};
	void *library = open_library();
	if (!library)
		return ring_fail(
			failure, RING_ENOTSUP,
			"the launcher serves PMIx, but its client library cannot be had: "
			"%.200s: install it (libpmix2 of Debian, pmix of Fedora), or name its "
			"folder in LD_LIBRARY_PATH",
			dlerror());
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *call = dlsym(library, calls[i].name);
		if (!call)
			return ring_fail(failure, RING_ENOTSUP, "PMIx: " SONAME " has no %s",
					 calls[i].name);
		memcpy(calls[i].place, &call, sizeof(call));
	}
	return 0;
}

/* ---- calls: each may hang with the server, whatever time-out it is given ---- */

struct call {
	void (*make)(struct call *call);
	struct pmix_proc proc;
	char key[64], text[RING_ID_TEXT];
	struct pmix_value *value; /* what get found: the caller's, or left with the call */
	uintptr_t fence;
	int status;
};

static bool is_stuck; /* a call hangs inside the library, perhaps with its locks: none follows */

static void make_call(void *context)
{
	struct call *call = context;
	call->make(call);
}

/* Makes the call in a thread, and frees it, or leaves it to that. returns 0, with *done */
static int run_call(struct call *call, struct call *done, const char *doing, uint64_t deadline_ms,
		    struct ring_failure *failure)
{
	if (!call)
		return ring_fail(failure, RING_ENOMEM, "PMIx: no memory for a call");
	if (is_stuck || ring_thread_await(make_call, free, call, deadline_ms)) {
		if (is_stuck)
			free(call);
		is_stuck = true;
		return ring_fail(failure, RING_ETIMEDOUT,
				 "PMIx: the launcher's server did not answer in time, %s: is it "
				 "stopped, or gone?",
				 doing);
	}
	*done = *call;
	free(call);
	return 0;
}

static struct call *new_call(void (*make)(struct call *call))
{
	struct call *call = calloc(1, sizeof(*call));
	if (call)
		call->make = make;
	return call;
}

/* As a call that cannot fail on its own. */
static int run_to_success(struct call *call, struct call *done, const char *doing,
			  uint64_t deadline_ms, struct ring_failure *failure)
{
	int err = run_call(call, done, doing, deadline_ms, failure);
	if (!err && done->status != PMIX_SUCCESS)
		err = fail_call(doing, done->status, failure);
	return err;
}

/* ---- the exchange ---- */

static void init(struct call *call)
{
	call->status = pmix.init(&call->proc, NULL, 0);
}

static int connect_pmix(uint64_t deadline_ms, struct ring_failure *failure)
{
	struct call done;
	int err = load(failure);
	if (!err)
		err = run_to_success(new_call(init), &done, "joining the job", deadline_ms, failure);
	if (!err)
		self = done.proc;
	return err;
}

static void put_and_commit(struct call *call)
{
	struct pmix_value value = {.type = PMIX_STRING, .data.string = call->text};
	call->status = pmix.put(PMIX_GLOBAL, call->key, &value);
	if (call->status == PMIX_SUCCESS)
		call->status = pmix.commit();
}

static int put(const char *key, const char *text, uint64_t deadline_ms, struct ring_failure *failure)
{
	struct call *call = new_call(put_and_commit), done;
	if (call) {
		snprintf(call->key, sizeof(call->key), "%s", key);
		snprintf(call->text, sizeof(call->text), "%s", text);
	}
	return run_to_success(call, &done, "putting the id", deadline_ms, failure);
}

/* A fence may end after its waiter gave up: each has a number. */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t ended;
	uintptr_t begun, done; /* numbers of fences */
	int status;
} fences = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void fence_ended(int status, void *number)
{
	pthread_mutex_lock(&fences.mutex);
	if ((uintptr_t)number == fences.begun) {
		fences.done = fences.begun;
		fences.status = status;
		pthread_cond_signal(&fences.ended);
	}
	pthread_mutex_unlock(&fences.mutex);
}

/* Returns whether it has ended, with its status. */
static bool await_fence(uint64_t deadline_ms, int *status)
{
	struct timespec until = {.tv_sec = (time_t)(deadline_ms / 1000),
				 .tv_nsec = (long)(deadline_ms % 1000) * 1000000};
	int late = 0;
	pthread_mutex_lock(&fences.mutex);
	while (fences.done != fences.begun && !late)
		late = pthread_cond_clockwait(&fences.ended, &fences.mutex, CLOCK_MONOTONIC, &until);
	bool ended = fences.done == fences.begun;
	*status = fences.status;
	pthread_mutex_unlock(&fences.mutex);
	return ended;
}

static void begin_fence(struct call *call)
{
	call->status = pmix.fence(NULL, 0, NULL, 0, fence_ended, (void *)call->fence);
}

static int fence(uint64_t deadline_ms, struct ring_failure *failure)
{
	struct call *call = new_call(begin_fence), done;
	int status;
	pthread_mutex_lock(&fences.mutex);
	uintptr_t number = ++fences.begun;
	pthread_mutex_unlock(&fences.mutex);
	if (call)
		call->fence = number;
	int err = run_call(call, &done, "waiting for the other ranks", deadline_ms, failure);
	if (err)
		return err;
	if (done.status == PMIX_OPERATION_SUCCEEDED)
		fence_ended(PMIX_SUCCESS, (void *)number);
	else if (done.status != PMIX_SUCCESS)
		return fail_call("waiting for the other ranks", done.status, failure);
	if (!await_fence(deadline_ms, &status))
		return ring_fail(
			failure, RING_ETIMEDOUT,
			"PMIx: not all ranks of the job have come to create the communicator "
			"in time");
	return status == PMIX_SUCCESS ? 0
				      : fail_call("waiting for the other ranks", status, failure);
}

static void ask(struct call *call)
{
	call->status = pmix.get(&call->proc, call->key, NULL, 0, &call->value);
}

/*
 * The caller frees *value, and reads only the member that its type names: it may be no larger than
 * that.
 */
static int get_value(uint32_t rank, const char *key, struct pmix_value **value,
		     uint64_t deadline_ms, struct ring_failure *failure)
{
	char doing[64];
	struct call *call = new_call(ask), done;
	if (call) {
		call->proc = self;
		call->proc.rank = rank;
		snprintf(call->key, sizeof(call->key), "%s", key);
	}
	snprintf(doing, sizeof(doing), "asking for %s", key);
	int err = run_call(call, &done, doing, deadline_ms, failure);
	if (!err && (done.status != PMIX_SUCCESS || !done.value))
		err = fail_call(doing, done.status, failure);
	*value = err ? NULL : done.value;
	return err;
}

static int get(const char *key, char *text, size_t room, uint64_t deadline_ms,
	       struct ring_failure *failure)
{
	struct pmix_value *value;
	int err = get_value(0, key, &value, deadline_ms, failure);
	if (err)
		return err;
	bool is_text = value->type == PMIX_STRING;
	snprintf(text, room, "%s", is_text && value->data.string ? value->data.string : "");
	if (is_text)
		free((char *)value->data.string);
	free(value);
	return 0;
}

static void finalize(struct call *call)
{
	call->status = pmix.finalize(NULL, 0);
}

static void leave(void)
{
	struct call done;
	run_call(new_call(finalize), &done, "leaving", ring_clock_ms() + RING_LAUNCHER_LEAVE_MS,
		 NULL);
}

static const struct ring_kvs kvs = {
	.connect = connect_pmix,
	.put = put,
	.fence = fence,
	.get = get,
	.leave = leave,
};

/* ---- the launcher ---- */

static int get_number(const char *key, int *number, uint64_t deadline_ms,
		      struct ring_failure *failure)
{
	struct pmix_value *value;
	int err = get_value(PMIX_RANK_WILDCARD, key, &value, deadline_ms, failure);
	if (err)
		return err;
	if (value->type == PMIX_UINT32 && value->data.uint32 <= RING_SIZE_MAX)
		*number = (int)value->data.uint32;
	else
		err = ring_fail(failure, RING_EINVAL, "PMIx: %s is not a number of ranks", key);
	free(value);
	return err;
}

/* Only the server tells how many ranks there are. */
static int find_place(const struct ring_launcher *launcher, struct ring_launch *launch,
		      struct ring_failure *failure)
{
	int here = 0;
	(void)launcher;
	int err = ring_kvs_connect(&kvs, launch->deadline_ms, failure);
	if (!err)
		err = get_number(PMIX_JOB_SIZE, &launch->size, launch->deadline_ms, failure);
	if (!err && self.rank >= (uint32_t)launch->size)
		err = ring_fail(failure, RING_EINVAL,
				"PMIx: the launcher calls this process rank %u of %d, from 0 on",
				self.rank, launch->size);
	if (err)
		return err;
	launch->rank = (int)self.rank;
	launch->one_host = !get_number(PMIX_LOCAL_SIZE, &here, launch->deadline_ms, NULL) &&
			   here == launch->size;
	return 0;
}

const struct ring_launcher ring_launcher_pmix = {
	.name = "mpirun (PMIx)",
	.marker = "PMIX_RANK",
	.variables = "PMIX_RANK, PMIX_NAMESPACE, PMIX_SERVER_URI...",
	.find_place = find_place,
	.kvs = &kvs,
};
