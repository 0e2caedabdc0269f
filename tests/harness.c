/* SPDX-License-Identifier: MIT */
/* Ranks of a test: started, met, awaited, killed when they are late, always reaped. */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const struct harness_world harness_worlds[HARNESS_WORLDS] = {
	{"loopback", true, "loopback", 0},
	{"shm", false, "shm", 0},
	{"tcp", false, "tcp", 0},
	{"mixed", false, NULL, 2},
};

/* What the ranks share apart from the test's own memory. */
struct harness_meeting {
	pthread_barrier_t barrier;
	struct ring_unique_id id;
	int id_err;
};

int harness_report(const char *name, int failed)
{
	static int tests;
	printf("%sok %d - %s\n", failed ? "not " : "", ++tests, name);
	fflush(stdout);
	return failed;
}

double harness_clock(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

uint64_t harness_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

char *harness_read(const char *name, size_t *bytes)
{
	FILE *file = fopen(name, "r");
	char *text = NULL;
	size_t room = 0;
	*bytes = 0;
	if (!file)
		return NULL;
	const ssize_t n = getdelim(&text, &room, '\0', file);
	*bytes = n > 0 ? (size_t)n : 0;
	fclose(file);
	return text;
}

bool harness_is_long(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--long") == 0)
			return true;
	const char *asked = getenv("RING_TEST_LONG");
	return asked && *asked && strcmp(asked, "0") != 0;
}

bool harness_is_quick(void)
{
	const char *asked = getenv("RING_TEST_QUICK");
	return asked && *asked && strcmp(asked, "0") != 0;
}

uint64_t harness_seed(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], "--seed") == 0)
			return strtoull(argv[i + 1], NULL, 0);
	uint64_t state = (uint64_t)time(NULL) << 20 ^ (uint64_t)getpid();
	return harness_random(&state) >> 32;
}

int harness_fail(const struct harness_rank *self, const char *format, ...)
{
	char text[2048];
	int have = snprintf(text, sizeof(text), "[%s, rank %d of %d%s%s] ", self->team->world->name,
			    self->rank, self->size, self->team->label[0] ? ", " : "",
			    self->team->label);
	va_list args;
	va_start(args, format);
	vsnprintf(text + have, sizeof(text) - (size_t)have, format, args);
	va_end(args);
	fprintf(stderr, "%s\n", text);
	return 1;
}

/* ---- for ranks ------------------------------------------------------------------------------- */

void harness_barrier(struct harness_rank *self)
{
	pthread_barrier_wait(&self->team->meeting->barrier);
}

int harness_identity(struct harness_rank *self, struct ring_unique_id *id)
{
	struct harness_meeting *meeting = self->team->meeting;
	if (self->rank == 0)
		meeting->id_err = ring_unique_id_create(&meeting->id);
	harness_barrier(self);
	int err = meeting->id_err;
	*id = meeting->id;
	harness_barrier(self); /* nobody makes the next one before all have read this one */
	if (err && self->rank == 0)
		harness_fail(self, "ring_unique_id_create: %s: %s", ring_strerror(err),
			     ring_comm_error(NULL));
	return err;
}

static bool is_tcp(const struct harness_world *world)
{
	return world->transport && strcmp(world->transport, "tcp") == 0;
}

void harness_options(const struct harness_rank *self, struct ring_options *options)
{
	static const char *const hosts[] = {"host0", "host1", "host2", "host3",
					    "host4", "host5", "host6", "host7"};
	const struct harness_world *world = self->team->world;
	ring_options_init(options);
	options->transport = world->transport;
	if (getenv("RING_TEST_WIRE") && is_tcp(world))
		options->transport = getenv("RING_TEST_WIRE");
	if (world->hosts)
		options->host = hosts[self->rank % world->hosts % 8];
}

int harness_join(struct harness_rank *self, const struct ring_options *options,
		 struct ring_comm **comm)
{
	struct ring_options defaults;
	struct ring_unique_id id;
	harness_options(self, &defaults);
	int err = harness_identity(self, &id);
	if (err)
		return err;
	err = ring_comm_create(comm, self->size, self->rank, &id, options ? options : &defaults);
	if (err)
		harness_fail(self, "ring_comm_create: %s: %s", ring_strerror(err),
			     ring_comm_error(NULL));
	return err;
}

/* ---- for the test ---------------------------------------------------------------------------- */

static void *share(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory != MAP_FAILED)
		return memory;
	perror("mmap");
	return NULL;
}

static struct harness_rank rank_of(struct harness *team, int rank)
{
	return (struct harness_rank){.team = team,
				     .rank = rank,
				     .size = team->size,
				     .context = team->context,
				     .shared = team->shared};
}

static void *be_thread(void *argument)
{
	struct harness_rank *self = argument;
	return (void *)(intptr_t)self->team->body(self);
}

/* Ranks of a process; the last one may have fewer. */
static int ranks_together(const struct harness *team)
{
	if (!team->world->threads)
		return 1;
	return team->together ? team->together : team->size;
}

static int be_threads(struct harness *team, int first)
{
	pthread_t threads[HARNESS_RANKS];
	struct harness_rank ranks[HARNESS_RANKS];
	const int behind = first + ranks_together(team);
	const int end = behind < team->size ? behind : team->size;
	int bad = 0;
	for (int r = first; r < end; r++) {
		ranks[r] = rank_of(team, r);
		if (pthread_create(&threads[r], NULL, be_thread, &ranks[r]))
			return 1;
	}
	for (int r = first; r < end; r++) {
		void *result;
		pthread_join(threads[r], &result);
		bad |= result != NULL;
	}
	return bad;
}

/* Never returns: this process is rank `rank` of a team, or several from that on. */
__attribute__((noreturn)) static void be_child(struct harness *team, int rank, pid_t parent)
{
	const struct rlimit no_core = {0, 0};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	setrlimit(RLIMIT_CORE, &no_core);
	struct harness_rank self = rank_of(team, rank);
	exit(team->world->threads ? be_threads(team, rank) : team->body(&self));
}

int harness_start(struct harness *team)
{
	pthread_barrierattr_t between_processes;
	setenv("RING_INTERFACE", "lo", 0);
	if (!team->shared)
		team->shared = share(team->shared_bytes ? team->shared_bytes : 1);
	if (!team->meeting)
		team->meeting = share(sizeof(*team->meeting));
	if (!team->shared || !team->meeting)
		return -1;
	pthread_barrierattr_init(&between_processes);
	pthread_barrierattr_setpshared(&between_processes, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&team->meeting->barrier, &between_processes, (unsigned)team->size);

	pid_t parent = getpid();
	team->children = 0;
	memset(team->status, 0, sizeof(team->status));
	fflush(NULL);
	for (int r = 0; r < team->size; r += ranks_together(team)) {
		pid_t pid = fork();
		if (pid == 0)
			be_child(team, r, parent);
		if (pid < 0) {
			perror("fork");
			team->seconds = -1;
			harness_wait(team);
			return -1;
		}
		team->pids[team->children++] = pid;
	}
	return 0;
}

static void tell_end(const struct harness *team, int child)
{
	int status = team->status[child];
	if (WIFSIGNALED(status))
		fprintf(stderr, "[%s, child %d of %d%s%s] ended by signal %d (%s)\n",
			team->world->name, child, team->children, team->label[0] ? ", " : "",
			team->label, WTERMSIG(status), strsignal(WTERMSIG(status)));
}

/* Reaps who has ended. returns how many are left */
static int reap(struct harness *team, int options)
{
	int left = 0;
	for (int c = 0; c < team->children; c++) {
		if (team->pids[c] <= 0)
			continue;
		pid_t pid = waitpid(team->pids[c], &team->status[c], options);
		if (pid == team->pids[c] || (pid < 0 && errno == ECHILD))
			team->pids[c] = 0;
		else
			left++;
	}
	return left;
}

static bool failed(const struct harness *team, int child)
{
	bool ended = team->pids[child] <= 0;
	bool doomed = child < 64 && team->doomed >> child & 1;
	return ended && team->status[child] != 0 && !doomed;
}

static int count_failed(const struct harness *team)
{
	int count = 0;
	for (int c = 0; c < team->children; c++)
		count += failed(team, c);
	return count;
}

/* Until all have ended, or the deadline; once one has failed, the others get a moment only. */
static void await_all(struct harness *team)
{
	int seconds = team->seconds ? team->seconds : 60;
	double deadline = harness_clock() + seconds * HARNESS_ROOM;
	useconds_t nap_us = 200;
	bool any_failed = false;
	while (reap(team, WNOHANG) > 0 && harness_clock() < deadline) {
		usleep(nap_us);
		nap_us = nap_us < 5000 ? nap_us * 2 : nap_us;
		if (!any_failed && count_failed(team) > 0) {
			any_failed = true;
			deadline = harness_clock() + 5 * HARNESS_ROOM;
		}
	}
}

int harness_wait(struct harness *team)
{
	await_all(team);
	for (int c = 0; c < team->children; c++) {
		if (team->pids[c] <= 0)
			continue;
		fprintf(stderr, "[%s, child %d of %d, %s] is late and will be killed\n",
			team->world->name, c, team->children, team->label);
		kill(team->pids[c], SIGKILL);
	}
	reap(team, 0);
	for (int c = 0; c < team->children; c++)
		if (failed(team, c))
			tell_end(team, c);
	return count_failed(team);
}

void harness_end(struct harness *team)
{
	if (team->shared)
		munmap(team->shared, team->shared_bytes ? team->shared_bytes : 1);
	if (team->meeting)
		munmap(team->meeting, sizeof(*team->meeting));
	team->shared = team->meeting = NULL;
}

bool harness_is_wanted(const struct harness_world *world)
{
	return !getenv("RING_TEST_WIRE") || !world->transport || is_tcp(world);
}

int harness_run(struct harness *team)
{
	if (!harness_is_wanted(team->world))
		return 0;
	int bad = harness_start(team);
	if (!bad)
		bad = harness_wait(team);
	harness_end(team);
	return bad;
}
