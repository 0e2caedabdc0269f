/* SPDX-License-Identifier: MIT */
/*
 * A system that has, or allows, less than this library would use: containers that filter system calls, old kernels, limits of
 * batch systems. What a user would have seen: no communicator at all, a rank ended by SIGXFSZ, or a link that was said to be
 * broken. Now the next best path carries everything, and one line at level info says why.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/forbid.h"
#include "scene.h"

#define SIZE 3
#define COUNT (1 << 20)
#define MEMFD_FLAGS 3 /* MFD_CLOEXEC | MFD_ALLOW_SEALING */

struct ban {
	const char *name;
	struct forbidden_call call;
	const char *transport; /* of links between processes, if all ranks are concerned */
	const char *words;     /* of the line that says why; NULL: there is no need for one */
	bool limits_files;     /* instead of the call: to so many bytes */
	rlim_t bytes;
};

#define NO_MEMORY "no memory that can be passed on"

static const struct ban bans[] = {
	{"memfd_create is forbidden",
	 {SYS_memfd_create, EPERM, 0, 0, false},
	 "tcp",
	 NO_MEMORY,
	 false,
	 0},
	{"memfd_create is unknown", {SYS_memfd_create, ENOSYS, 0, 0, false}, "tcp", NO_MEMORY, false, 0},
	{"memory may not hold programs",
	 {SYS_memfd_create, EACCES, 1, MEMFD_FLAGS, true},
	 "shm",
	 NULL,
	 false,
	 0},
	{"fallocate is forbidden", {SYS_fallocate, EPERM, 0, 0, false}, "tcp", NO_MEMORY, false, 0},
	{"seals are forbidden", {SYS_fcntl, EPERM, 1, F_ADD_SEALS, true}, "tcp", NO_MEMORY, false, 0},
	{"seals cannot be seen", {SYS_fcntl, EPERM, 1, F_GET_SEALS, true}, "tcp", NO_MEMORY, false, 0},
	{"eventfd is unknown", {SYS_eventfd2, ENOSYS, 0, 0, false}, "tcp", "no eventfd", false, 0},
	{"membarrier is forbidden", {SYS_membarrier, EPERM, 0, 0, false}, "shm", NULL, false, 0},
	{"others' memory cannot be read",
	 {SYS_process_vm_readv, EPERM, 0, 0, false},
	 "shm",
	 "memory of process",
	 false,
	 0},
	{"others' memory cannot be written",
	 {SYS_process_vm_writev, EPERM, 0, 0, false},
	 "shm",
	 "memory of process",
	 false,
	 0},
	{"no files", {0}, "tcp", NO_MEMORY, true, 0},
	{"files of 256 KiB", {0}, "tcp", "ulimit -f", true, 256 << 10},
};

/* What is concerned: everybody, or rank 1 alone. */
struct setting {
	const struct ban *ban;
	bool one;
};

/* ---- ranks ----------------------------------------------------------------------------------- */

static int line_fds[2], stderr_fd; /* of this process: what it says */

static bool is_concerned(const struct scene_actor *actor)
{
	const struct setting *setting = actor->scene->material;
	return !setting->one || actor->rank == 1;
}

static void prepare(struct scene_actor *actor)
{
	const struct ban *ban = ((const struct setting *)actor->scene->material)->ban;
	stderr_fd = dup(2);
	bool listens = pipe2(line_fds, O_CLOEXEC | O_NONBLOCK) == 0 && dup2(line_fds[1], 2) == 2;
	bool done = listens;
	if (is_concerned(actor) && ban->limits_files)
		done = !setrlimit(RLIMIT_FSIZE, &(struct rlimit){ban->bytes, ban->bytes});
	else if (is_concerned(actor))
		done = forbid(&ban->call, 1);
	actor->report->wrong += !listens || !done;
}

/* returns whether a line that this rank wrote has these words */
static bool said(const char *words)
{
	static char text[1 << 16];
	ssize_t got = read(line_fds[0], text, sizeof(text) - 1);
	text[got > 0 ? got : 0] = '\0';
	return strstr(text, words);
}

static void finish(struct scene_actor *actor)
{
	const struct ban *ban = ((const struct setting *)actor->scene->material)->ban;
	dup2(stderr_fd, 2);
	close(stderr_fd);
	if (is_concerned(actor) && ban->words && !said(ban->words)) {
		actor->report->wrong++;
		scene_fail(actor->scene, actor->rank, "did not say \"%s\"", ban->words);
	}
	close(line_fds[0]);
	close(line_fds[1]);
}

/* A sum in memory that ranks could share. */
static int sum_shared(struct ring_comm *comm, int *wrong)
{
	void *memory;
	int err = ring_mem_alloc(comm, COUNT * sizeof(int32_t), &memory);
	if (err)
		return err;
	int32_t *numbers = memory;
	for (int i = 0; i < COUNT; i++)
		numbers[i] = i;
	err = ring_all_reduce(comm, numbers, numbers, COUNT, RING_INT32, RING_SUM, NULL);
	for (int i = 0; i < COUNT; i++)
		*wrong += !err && numbers[i] != SIZE * i;
	int freed = ring_mem_free(comm, memory);
	return err ? err : freed;
}

static bool uses(const struct ring_stats *stats, const char *transport)
{
	for (int i = 0; i < stats->link_count; i++)
		if (strcmp(stats->links[i].transport, transport) != 0)
			return false;
	return stats->link_count > 0;
}

static int act(struct scene_actor *actor)
{
	const struct setting *setting = actor->scene->material;
	struct ring_stats stats = {.size = sizeof(stats)};
	char send[SIZE] = {1, 2, 3}, recv[SIZE];
	int err = scene_all_reduce(actor, COUNT, 2);
	if (!err)
		err = ring_all_to_all(actor->comm, send, recv, 1, RING_INT8, NULL);
	for (int i = 0; i < SIZE && !err; i++)
		actor->report->wrong += recv[i] != actor->rank + 1;
	if (!err)
		err = sum_shared(actor->comm, &actor->report->wrong);
	if (!err)
		err = ring_comm_stats(actor->comm, &stats);
	if (!err && !setting->one && !uses(&stats, setting->ban->transport)) {
		actor->report->wrong++;
		scene_fail(actor->scene, actor->rank, "uses other links than %s",
			   setting->ban->transport);
	}
	return scene_note(actor, err);
}

/* ---- the test -------------------------------------------------------------------------------- */

static int run(const struct ban *ban, bool one)
{
	struct scene scene;
	struct setting setting = {ban, one};
	scene_init(&scene, SIZE);
	scene.options.algorithm = "direct";
	scene.options.create_timeout_ms = 10000;
	scene.label = ban->name;
	scene.material = &setting;
	scene.prepare = prepare;
	scene.act = act;
	scene.finish = finish;
	if (scene_start(&scene))
		return 1;
	int wrong = scene_wait(&scene);
	for (int rank = 0; rank < SIZE; rank++) {
		const struct scene_report *report = &scene.memory->reports[rank];
		wrong += scene_check_report(&scene, rank);
		if (report->err)
			wrong += scene_fail(&scene, rank, "%s: %s", ring_strerror(report->err),
					    report->sentence);
	}
	scene_end(&scene);
	return wrong;
}

int main(void)
{
	setenv("RING_LOG", "info", 1);
	for (size_t i = 0; i < sizeof(bans) / sizeof(bans[0]); i++)
		for (int one = 0; one < 2; one++)
			scene_case(run(&bans[i], one), "%s%s", bans[i].name,
				   one ? ", for one rank" : "");
	return scene_cases_end();
}
