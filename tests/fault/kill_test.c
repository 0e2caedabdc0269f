/* SPDX-License-Identifier: MIT */
/*
 * kill -9, in every situation a rank can be in. Each survivor has the named error within a second
 * of the death, and nothing is left behind: no descriptor, thread or mapping in a survivor, no
 * process, no name in /dev/shm.
 *
 *	kill_test [--long | --rounds K] [--seed N] [--only NAME]
 *
 * Round k has the seed N + k; a failure tells it.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scene.h"

#define NOTICE_S 1.0  /* from a death to everybody's error */
#define CREATE_MS 600 /* create_timeout_ms where creation is what is disturbed */
#define ROUNDS_MAX 1000

/* Who dies, how and among whom; the same for all rounds. */
struct situation {
	const char *name;
	int size;
	const char *transport;
	int hosts;           /* as struct scene: with several, neighbours talk TCP */
	enum scene_stage at; /* the kill comes when all have reached this ... */
	double within_s;     /* ... at a random moment of so long after it */
	int deaths;
	bool server_dies; /* a process of its own serves the meeting, and is the victim */
	bool has_child;   /* victims have forked */
	bool may_succeed; /* a survivor may be done without noticing */
	int (*act)(struct scene_actor *actor);
};

/* One round, as ranks see it. */
struct round {
	const struct situation *situation;
	uint64_t victims; /* bits of ranks */
	size_t count;     /* elements of a call */
	uint64_t seed;
};

struct tally {
	int rounds, wrong, errors;
	double worst_s, seconds[ROUNDS_MAX * HARNESS_RANKS];
};

static const struct round *round_of(const struct scene_actor *actor)
{
	return actor->scene->material;
}

static bool is_victim(const struct scene_actor *actor)
{
	return round_of(actor)->victims >> actor->rank & 1;
}

/* ---- what ranks do ------------------------------------------------------------------------ */

/* A child that does nothing but live on; it has copies of whatever the victim had open. */
static void fork_sleeper(struct scene_actor *actor)
{
	pid_t child = fork();
	if (child != 0) {
		actor->report->child = child;
		return;
	}
	while (!atomic_load(&actor->scene->memory->curtain))
		usleep(1000);
	_exit(0);
}

static void begin(struct scene_actor *actor)
{
	if (is_victim(actor) && round_of(actor)->situation->has_child)
		fork_sleeper(actor);
	scene_reach(actor, SCENE_ACTING);
}

static int act_call(struct scene_actor *actor)
{
	begin(actor);
	return scene_all_reduce(actor, round_of(actor)->count, 1000000);
}

/* Nobody calls anything; the next call must fail as the status said. */
static int act_idle(struct scene_actor *actor)
{
	int err = 0;
	begin(actor);
	while (!err) {
		usleep(500);
		err = ring_comm_status(actor->comm);
	}
	scene_note(actor, err);
	if (ring_barrier(actor->comm, NULL) != err)
		actor->report->wrong++;
	return err;
}

static int act_late(struct scene_actor *actor)
{
	begin(actor);
	if (is_victim(actor))
		pause();
	return scene_all_reduce(actor, round_of(actor)->count, 1);
}

/* The calls are the library's thread's; this one computes and only looks at the status. */
static int act_stream(struct scene_actor *actor)
{
	size_t count = round_of(actor)->count;
	float *data = calloc(count, sizeof(*data));
	struct ring_stream *stream = NULL;
	int err = data ? ring_stream_create(actor->comm, &stream) : RING_ENOMEM;
	double until = harness_clock() + (harness_is_long(0, NULL) ? 5 : 2);
	begin(actor);
	if (is_victim(actor) && round_of(actor)->seed % 2)
		pause(); /* half of the victims let the others wait, half die in the middle */
	while (!err && harness_clock() < until) {
		if (ring_stream_test(stream, ring_stream_position(stream)) == 0)
			ring_all_reduce(actor->comm, data, data, count, RING_FLOAT32, RING_MAX,
					stream);
		for (volatile int i = 0; i < 20000; i++)
			;
		err = ring_comm_status(actor->comm);
	}
	scene_note(actor, err);
	if (stream && err) { /* the next call fails so, when it is made or when it is awaited */
		int next = ring_barrier(actor->comm, stream);
		if (!next)
			next = ring_stream_wait(stream, ring_stream_position(stream));
		actor->report->wrong += next != err;
	}
	ring_stream_destroy(stream);
	free(data);
	return err;
}

/* All leave at slightly different times. */
static int act_destroy(struct scene_actor *actor)
{
	uint64_t state = round_of(actor)->seed + (uint64_t)actor->rank;
	int err = ring_barrier(actor->comm, NULL);
	begin(actor);
	scene_sleep(scene_random(&state, 0.01));
	return err;
}

/* Whoever was created in spite of the death must notice it now. */
static int act_after_creation(struct scene_actor *actor)
{
	return scene_all_reduce(actor, 1000, 1000000);
}

/* ---- the situations ----------------------------------------------------------------------- */

static const struct situation situations[] = {
	{"create", 4, NULL, 0, SCENE_MEETING, .06, 1, .act = act_after_creation},
	{"create, 8 ranks", 8, NULL, 0, SCENE_MEETING, .12, 1, .act = act_after_creation},
	{"create, mixed", 8, NULL, 2, SCENE_MEETING, .12, 1, .act = act_after_creation},
	{"create, server", 4, NULL, 0, SCENE_MEETING, .06, 1, .server_dies = true,
	 .may_succeed = true, .act = NULL},
	{"idle", 4, NULL, 0, SCENE_ACTING, .05, 1, .act = act_idle},
	{"idle, mixed", 8, NULL, 2, SCENE_ACTING, .05, 1, .act = act_idle},
	{"idle, child lives", 4, NULL, 0, SCENE_ACTING, .05, 1, .has_child = true, .act = act_idle},
	{"call, shm", 4, "shm", 0, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, shm, 8 ranks", 8, "shm", 0, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, tcp", 4, "tcp", 0, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, mixed", 8, NULL, 3, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, two at once", 8, NULL, 2, SCENE_ACTING, .1, 2, .act = act_call},
	{"call, shm, child lives", 4, "shm", 0, SCENE_ACTING, .1, 1, .has_child = true,
	 .act = act_call},
	{"call, tcp, child lives", 4, "tcp", 0, SCENE_ACTING, .1, 1, .has_child = true,
	 .act = act_call},
	{"asleep, shm", 4, "shm", 0, SCENE_ACTING, .2, 1, .act = act_late},
	{"asleep, mixed", 8, NULL, 2, SCENE_ACTING, .2, 1, .act = act_late},
	{"computing", 4, NULL, 2, SCENE_ACTING, .2, 1, .act = act_stream},
	{"destroy", 4, NULL, 0, SCENE_ACTING, .01, 1, .may_succeed = true, .act = act_destroy},
	{"destroy, mixed", 8, NULL, 2, SCENE_ACTING, .01, 1, .may_succeed = true, .act = act_destroy},
};

/* ---- judging ------------------------------------------------------------------------------ */

/* A rank that died before it could say who it was is one that never came. */
static bool is_named(const struct scene *scene, const struct round *round,
		     const struct scene_report *report, const pid_t *pids)
{
	bool creating = round->situation->at == SCENE_MEETING;
	if (report->err != RING_EPEER && !(creating && report->err == RING_ETIMEDOUT))
		return false;
	if (round->situation->server_dies)
		return strstr(report->sentence, "meeting") != NULL;
	for (int rank = 0; rank < scene->size; rank++) {
		if (!(round->victims >> rank & 1))
			continue;
		if (scene_names(report->sentence, rank, creating ? 0 : pids[rank]))
			return true;
		if (creating && rank == scene->server && strstr(report->sentence, "meeting"))
			return true;
	}
	return false;
}

static int judge_survivor(const struct scene *scene, const struct round *round, int rank,
			  double death, const pid_t *pids, struct tally *tally)
{
	const struct scene_report *report = &scene->memory->reports[rank];
	int wrong = scene_check_report(scene, rank);
	if (!report->err && round->situation->may_succeed)
		return wrong;
	if (!report->err)
		return wrong + scene_fail(scene, rank, "did not notice");
	if (!is_named(scene, round, report, pids))
		wrong += scene_fail(scene, rank, "%s: %s", ring_strerror(report->err),
				    report->sentence);
	double took = report->failed_at - death;
	if (took < 0)
		return wrong + scene_fail(scene, rank, "failed before: %s", report->sentence);
	if (took > NOTICE_S)
		wrong += scene_fail(scene, rank, "noticed after %.0f ms: %s", 1e3 * took,
				    report->sentence);
	if (took > tally->worst_s)
		tally->worst_s = took;
	tally->seconds[tally->errors++] = took;
	return wrong;
}

static int judge(const struct scene *scene, const struct round *round, double death,
		 const pid_t *pids, struct tally *tally)
{
	int wrong = 0;
	for (int rank = 0; rank < scene->size; rank++)
		if (!(round->victims >> rank & 1))
			wrong += judge_survivor(scene, round, rank, death, pids, tally);
	return wrong;
}

/* ---- rounds ------------------------------------------------------------------------------- */

/* In every other round rank 0, which serves the meeting, is among them. */
static uint64_t choose_victims(const struct situation *situation, uint64_t seed, uint64_t *state)
{
	uint64_t victims = 0;
	if (situation->server_dies)
		return 1ull << situation->size;
	if (seed % 2 == 0)
		victims = 1;
	while (__builtin_popcountll(victims) < situation->deaths)
		victims |= 1ull << (int)scene_random(state, situation->size);
	return victims;
}

static void set_scene(struct scene *scene, const struct round *round, const char *label)
{
	const struct situation *situation = round->situation;
	scene_init(scene, situation->size);
	scene->server = situation->server_dies ? situation->size : 0;
	scene->hosts = situation->hosts;
	scene->options.transport = situation->transport;
	if (situation->at == SCENE_MEETING)
		scene->options.create_timeout_ms = CREATE_MS;
	scene->act = situation->act;
	scene->material = round;
	scene->label = label;
}

/* returns when the first of them died */
static double kill_victims(struct scene *scene, const struct round *round)
{
	double death = 0;
	for (int rank = 0; rank <= scene->size; rank++) {
		if (!(round->victims >> rank & 1))
			continue;
		double now = scene_kill(scene, rank);
		death = death > 0 ? death : now;
	}
	return death;
}

static int play_round(const struct situation *situation, uint64_t seed, struct tally *tally)
{
	uint64_t state = seed;
	char label[96];
	pid_t pids[HARNESS_RANKS];
	struct scene scene;
	struct round round = {.situation = situation,
			      .victims = choose_victims(situation, seed, &state),
			      .seed = harness_random(&state),
			      .count = (size_t)(1 << 14) << (int)scene_random(&state, 8)};
	double delay = scene_random(&state, situation->within_s);
	snprintf(label, sizeof(label), "%s, seed %llu, victims %#llx after %.2f ms", situation->name,
		 (unsigned long long)seed, (unsigned long long)round.victims, 1e3 * delay);
	set_scene(&scene, &round, label);
	if (scene_start(&scene))
		return 1;
	memcpy(pids, scene.team.pids, sizeof(pids)); /* reaping forgets them */
	int wrong = 0;
	if (!scene_await(&scene, situation->at, 8000))
		wrong += scene_fail(&scene, -1, "not all got as far as to be disturbed");
	scene_sleep(delay);
	double death = kill_victims(&scene, &round);
	wrong += scene_wait(&scene);
	wrong += judge(&scene, &round, death, pids, tally);
	scene_end(&scene);
	return wrong;
}

static int compare_seconds(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void play_situation(const struct situation *situation, int rounds, uint64_t seed)
{
	static struct tally tally;
	memset(&tally, 0, sizeof(tally));
	for (int number = 0; number < rounds; number++)
		tally.wrong += play_round(situation, seed + (uint64_t)number, &tally);
	qsort(tally.seconds, (size_t)tally.errors, sizeof(double), compare_seconds);
	double median = tally.errors ? tally.seconds[tally.errors / 2] : 0;
	scene_case(tally.wrong, "%-24s %6d %6d %10.1f %9.1f %8d", situation->name, situation->size,
		   rounds, 1e3 * median, 1e3 * tally.worst_s, tally.wrong);
}

/* How many names /dev/shm has. */
static int count_shm(void)
{
	int count = 0;
	DIR *dir = opendir("/dev/shm");
	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

static const char *argument(int argc, char **argv, const char *name)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	return NULL;
}

int main(int argc, char **argv)
{
	const char *asked = argument(argc, argv, "--rounds"), *only = argument(argc, argv, "--only");
	int rounds = asked ? atoi(asked) : harness_is_long(argc, argv) ? 20 : 2;
	uint64_t seed = harness_seed(argc, argv);
	int names = count_shm();
	printf("# seed %llu\n# %-24s %6s %6s %10s %9s %8s\n", (unsigned long long)seed, "situation",
	       "ranks", "rounds", "median ms", "worst ms", "failures");
	for (size_t s = 0; s < sizeof(situations) / sizeof(situations[0]); s++)
		if (!only || strcmp(only, situations[s].name) == 0)
			play_situation(&situations[s], rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX,
				       seed);
	scene_case(count_shm() != names, "/dev/shm is as it was");
	return scene_cases_end();
}
