/* SPDX-License-Identifier: MIT */
/* Ranks that write down what they see, and the counting of what they leave behind; see scene.h. */
#include "scene.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/holdings.h"
#include "tests/place.h"

static const struct harness_world processes = {.name = "fault"};

void scene_sleep(double seconds)
{
	struct timespec rest = {.tv_sec = (time_t)seconds};
	rest.tv_nsec = (long)(1e9 * (seconds - (double)rest.tv_sec));
	while (nanosleep(&rest, &rest) && errno == EINTR)
		;
}

double scene_random(uint64_t *state, double below)
{
	return below * (double)(harness_random(state) >> 11) / (double)(1ull << 53);
}

/* ---- what a process holds ----------------------------------------------------------------- */

#define FDS_MAX 1024

/* Things that must be as many after as before. */
struct holdings {
	bool fds[FDS_MAX];
	int threads, shared_maps;
};

static struct holdings take_stock(void)
{
	struct holdings holdings = {.threads = holdings_threads(),
				    .shared_maps = holdings_shared_maps()};
	DIR *dir = opendir("/proc/self/fd");
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		int fd = isdigit(entry->d_name[0]) ? atoi(entry->d_name) : -1;
		if (fd >= 0 && fd < FDS_MAX && fd != dirfd(dir))
			holdings.fds[fd] = true;
	}
	if (dir)
		closedir(dir);
	return holdings;
}

/* Names what `now` has and `then` had not. */
static void compare_stock(const struct holdings *then, const struct holdings *now, char *text,
			  size_t room)
{
	size_t have = 0;
	text[0] = '\0';
	for (int fd = 0; fd < FDS_MAX && have < room; fd++) {
		char link[64], target[64] = "";
		if (then->fds[fd] || !now->fds[fd])
			continue;
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		if (readlink(link, target, sizeof(target) - 1) < 0)
			continue;
		have += (size_t)snprintf(text + have, room - have, "fd %d -> %s; ", fd, target);
	}
	if (now->threads > then->threads && have < room)
		have += (size_t)snprintf(text + have, room - have, "%d threads; ",
					 now->threads - then->threads);
	if (now->shared_maps > then->shared_maps && have < room)
		snprintf(text + have, room - have, "%d mappings; ",
			 now->shared_maps - then->shared_maps);
}

/* What a service thread gives back may come a little later, above all from a served meeting. */
static void look_for_leaks(const struct holdings *before, struct scene_report *report)
{
	double deadline = harness_clock() + 3 * HARNESS_ROOM;
	do {
		struct holdings now = take_stock();
		compare_stock(before, &now, report->leaks, sizeof(report->leaks));
		if (report->leaks[0])
			usleep(1000);
	} while (report->leaks[0] && harness_clock() < deadline);
}

/* ---- ranks -------------------------------------------------------------------------------- */

void scene_reach(struct scene_actor *actor, enum scene_stage stage)
{
	atomic_store(&actor->report->stage, stage);
}

int scene_note(struct scene_actor *actor, int err)
{
	struct scene_report *report = actor->report;
	if (!err || report->err)
		return err;
	report->failed_at = harness_clock();
	snprintf(report->sentence, sizeof(report->sentence), "%s", ring_comm_error(actor->comm));
	report->err = err;
	return err;
}

int scene_all_reduce(struct scene_actor *actor, size_t count, int calls)
{
	float *send = malloc(count * sizeof(*send)), *recv = malloc(count * sizeof(*recv));
	float sum = 0.5f * (float)(actor->size * (actor->size + 1));
	int err = send && recv ? 0 : RING_ENOMEM;
	for (size_t i = 0; !err && i < count; i++)
		send[i] = (float)(actor->rank + 1);
	place_make(send, count * sizeof(*send));
	place_make(recv, count * sizeof(*recv));
	place_put(send, count * sizeof(*send));
	for (int call = 0; !err && call < calls; call++) {
		memset(recv, 0, count * sizeof(*recv));
		place_put(recv, count * sizeof(*recv));
		actor->report->began_at = harness_clock();
		err = ring_all_reduce(actor->comm, place_of(send), place_of(recv), count,
				      RING_FLOAT32, RING_SUM, NULL);
		if (err)
			break;
		place_get(recv, count * sizeof(*recv));
		actor->report->calls++;
		for (size_t i = 0; i < count; i++)
			actor->report->wrong += recv[i] != sum;
	}
	scene_note(actor, err);
	place_drop(send);
	place_drop(recv);
	free(send);
	free(recv);
	return err;
}

static int meet(struct scene_actor *actor, bool serves)
{
	struct scene_memory *memory = actor->scene->memory;
	if (serves) {
		int err = ring_unique_id_create(&memory->id);
		atomic_store(&memory->id_is_made, err ? err : 1);
	}
	while (!atomic_load(&memory->id_is_made))
		usleep(100);
	while (actor->scene->gated && !serves && !atomic_load(&memory->gate))
		usleep(100);
	return memory->id_is_made < 0 ? memory->id_is_made : 0;
}

static void await_curtain(const struct scene *scene)
{
	while (!atomic_load(&scene->memory->curtain))
		usleep(1000);
}

static void serve_only(struct scene_actor *actor)
{
	scene_note(actor, meet(actor, true));
	scene_reach(actor, SCENE_ACTING);
	await_curtain(actor->scene);
}

static void join(struct scene_actor *actor)
{
	struct scene *scene = actor->scene;
	double start = harness_clock();
	int err = meet(actor, actor->rank == scene->server);
	if (err && actor->rank != scene->server)
		return;
	scene_reach(actor, SCENE_MEETING);
	if (!err)
		err = ring_comm_create(&actor->comm, actor->size, actor->rank, &scene->memory->id,
				       &scene->options);
	actor->report->created_s = harness_clock() - start;
	scene_note(actor, err);
	if (err)
		return;
	scene_reach(actor, SCENE_CREATED);
	scene_note(actor, scene->act ? scene->act(actor) : 0);

	start = harness_clock();
	ring_comm_destroy(actor->comm);
	actor->comm = NULL;
	actor->report->destroy_s = harness_clock() - start;
}

static int play(struct harness_rank *self)
{
	struct scene *scene = self->context;
	char host[16];
	scene->memory = self->shared;
	struct scene_actor actor = {.scene = scene,
				    .rank = self->rank,
				    .size = scene->size,
				    .report = &scene->memory->reports[self->rank]};
	scene_reach(&actor, SCENE_STARTED);
	if (self->rank < scene->size && scene->absent >> self->rank & 1)
		return 0;
	if (scene->hosts) {
		snprintf(host, sizeof(host), "host%d", self->rank % scene->hosts);
		scene->options.host = host;
	}
	struct holdings before = take_stock();
	if (scene->prepare)
		scene->prepare(&actor);
	if (self->rank == scene->size)
		serve_only(&actor);
	else
		join(&actor);
	if (scene->finish)
		scene->finish(&actor);
	/* A meeting that failed for its server may go on: it is there for the others. */
	if (self->rank != scene->server || actor.report->stage >= SCENE_CREATED)
		look_for_leaks(&before, actor.report);
	scene_reach(&actor, SCENE_OVER);
	if (self->rank == scene->server)
		await_curtain(scene); /* late ranks still want to know why */
	return 0;
}

/* ---- the test ----------------------------------------------------------------------------- */

void scene_init(struct scene *scene, int size)
{
	*scene = (struct scene){.size = size, .seconds = 20};
	setenv("RING_INTERFACE", "lo", 0);
	ring_options_init(&scene->options);
}

int scene_start(struct scene *scene)
{
	struct harness *team = &scene->team;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	*team = (struct harness){.world = &processes,
				 .size = scene->size + (scene->server == scene->size),
				 .body = play,
				 .context = scene,
				 .shared_bytes = sizeof(struct scene_memory),
				 .seconds = scene->seconds};
	snprintf(team->label, sizeof(team->label), "%s", scene->label ? scene->label : "");
	int err = harness_start(team);
	scene->memory = team->shared;
	return err;
}

bool scene_await(struct scene *scene, enum scene_stage stage, int ms)
{
	double deadline = harness_clock() + 1e-3 * ms * HARNESS_ROOM;
	for (int rank = 0; rank < scene->size; rank++) {
		struct scene_report *report = &scene->memory->reports[rank];
		if (scene->absent >> rank & 1)
			continue;
		while (atomic_load(&report->stage) < (int)stage) {
			if (harness_clock() > deadline)
				return false;
			usleep(100);
		}
	}
	return true;
}

bool scene_await_id(const struct scene *scene, int ms)
{
	double deadline = harness_clock() + 1e-3 * ms * HARNESS_ROOM;
	while (!atomic_load(&scene->memory->id_is_made) && harness_clock() < deadline)
		usleep(100);
	return atomic_load(&scene->memory->id_is_made) > 0;
}

void scene_open_gate(struct scene *scene)
{
	atomic_store(&scene->memory->gate, true);
}

pid_t scene_pid(const struct scene *scene, int rank)
{
	return scene->team.pids[rank];
}

double scene_kill(struct scene *scene, int rank)
{
	double now = harness_clock();
	scene->team.doomed |= 1ull << rank;
	kill(scene->team.pids[rank], SIGKILL);
	return now;
}

/* Children of ranks come to the test when their parents end. */
static int reap_orphans(struct scene *scene)
{
	double deadline = harness_clock() + 2 * HARNESS_ROOM;
	pid_t pid;
	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0 && harness_clock() < deadline)
		usleep(pid == 0 ? 1000 : 0);
	if (pid < 0)
		return 0;
	for (int rank = 0; rank < scene->size; rank++)
		if (scene->memory->reports[rank].child > 0)
			kill(scene->memory->reports[rank].child, SIGKILL);
	while (waitpid(-1, NULL, 0) >= 0)
		;
	return scene_fail(scene, -1, "processes were left behind");
}

static bool all_are_over(const struct scene *scene)
{
	for (int rank = 0; rank < scene->size; rank++)
		if (!((scene->team.doomed | scene->absent) >> rank & 1) &&
		    atomic_load(&scene->memory->reports[rank].stage) != SCENE_OVER)
			return false;
	return true;
}

int scene_wait(struct scene *scene)
{
	double deadline = harness_clock() + scene->seconds * HARNESS_ROOM;
	while (!all_are_over(scene) && harness_clock() < deadline)
		usleep(200);
	atomic_store(&scene->memory->curtain, true);
	scene->team.seconds = 1;
	int wrong = harness_wait(&scene->team);
	return wrong + reap_orphans(scene);
}

void scene_end(struct scene *scene)
{
	harness_end(&scene->team);
	scene->memory = NULL;
}

int scene_fail(const struct scene *scene, int rank, const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("# ");
	if (rank >= 0)
		printf("rank %d of %d: ", rank, scene->size);
	printf("%s%s%s\n", text, scene->label ? "  -- " : "", scene->label ? scene->label : "");
	return 1;
}

static bool has_number_after(const char *text, const char *word, long number)
{
	size_t length = strlen(word);
	for (const char *at = text; (at = strstr(at, word)); at += length) {
		char *end;
		if (isdigit((unsigned char)at[length]) && strtol(at + length, &end, 10) == number)
			return true;
	}
	return false;
}

bool scene_names(const char *sentence, int rank, pid_t pid)
{
	return has_number_after(sentence, "rank ", rank) &&
	       (pid == 0 || has_number_after(sentence, "pid ", pid));
}

int scene_check_report(const struct scene *scene, int rank)
{
	const struct scene_report *report = &scene->memory->reports[rank];
	int wrong = 0;
	if (report->stage != SCENE_OVER)
		wrong += scene_fail(scene, rank, "did not come to its end (stage %d)",
				    report->stage);
	if (report->wrong)
		wrong += scene_fail(scene, rank, "%d results were wrong", report->wrong);
	if (report->leaks[0])
		wrong += scene_fail(scene, rank, "was left with %s", report->leaks);
	if (report->err && !report->sentence[0])
		wrong += scene_fail(scene, rank, "%s, without a sentence",
				    ring_strerror(report->err));
	if (report->destroy_s > SCENE_DESTROY_S)
		wrong += scene_fail(scene, rank, "ring_comm_destroy took %.0f ms",
				    1e3 * report->destroy_s);
	return wrong;
}

/* Mounts must not travel to the machine; in a changed root only /dev/shm is a mount of its own. */
bool scene_own_dev_shm(bool writable)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 ||
		mount(NULL, "/dev/shm", NULL, MS_PRIVATE, NULL) == 0) &&
	       mount("tmpfs", "/dev/shm", "tmpfs", writable ? 0 : MS_RDONLY, NULL) == 0;
}

/* ---- cases -------------------------------------------------------------------------------- */

static int cases, cases_failed;

void scene_case(int wrong, const char *format, ...)
{
	va_list args;
	printf("%s %d - ", wrong ? "not ok" : "ok", ++cases);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	cases_failed += wrong != 0;
}

void scene_skip(const char *name, const char *reason)
{
	printf("ok %d - %s # SKIP %s\n", ++cases, name, reason);
}

int scene_cases_end(void)
{
	printf("1..%d\n", cases);
	return cases_failed != 0;
}
