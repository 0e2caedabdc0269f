/* SPDX-License-Identifier: MIT */
/* Rounds of killing: who is chosen, when, and what survivors must have seen; see kill.h. */
#include "kill.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/holdings.h"

#define NOTICE_S 1.0   /* from a death to everybody's error */
#define CREATE_MS 1500 /* create_timeout_ms where creation is what is disturbed */
#define ROUNDS_MAX 1000

struct tally {
	int rounds, wrong, errors;
	double worst_s, seconds[ROUNDS_MAX * HARNESS_RANKS];
};

const struct kill_round *kill_round_of(const struct scene_actor *actor)
{
	return actor->scene->material;
}

bool kill_is_victim(const struct scene_actor *actor)
{
	return kill_round_of(actor)->victims >> actor->rank & 1;
}

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

void kill_begin(struct scene_actor *actor)
{
	if (kill_is_victim(actor) && kill_round_of(actor)->situation->has_child)
		fork_sleeper(actor);
	scene_reach(actor, SCENE_ACTING);
}

/* ---- judging ------------------------------------------------------------------------------ */

/* A rank that died before it could say who it was is one that never came. */
static bool is_named(const struct scene *scene, const struct kill_round *round,
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

/* Who died before it could say who it was is waited for. */
static double notice_s(const struct kill_situation *situation)
{
	return NOTICE_S + (situation->at == SCENE_MEETING ? 1e-3 * CREATE_MS : 0);
}

static int judge_survivor(const struct scene *scene, const struct kill_round *round, int rank,
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
	if (took > notice_s(round->situation) * HARNESS_ROOM)
		wrong += scene_fail(scene, rank, "noticed after %.0f ms: %s", 1e3 * took,
				    report->sentence);
	if (took > tally->worst_s)
		tally->worst_s = took;
	tally->seconds[tally->errors++] = took;
	return wrong;
}

static int judge(const struct scene *scene, const struct kill_round *round, double death,
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
static uint64_t choose_victims(const struct kill_situation *situation, uint64_t seed,
			       uint64_t *state)
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

static void set_scene(struct scene *scene, const struct kill_round *round, const char *label)
{
	const struct kill_situation *situation = round->situation;
	scene_init(scene, situation->size);
	scene->server = situation->server_dies ? situation->size : 0;
	scene->hosts = situation->hosts;
	scene->options.transport = situation->transport;
	scene->options.link = situation->link;
	scene->options.algorithm = situation->algorithm;
	if (situation->at == SCENE_MEETING)
		scene->options.create_timeout_ms = CREATE_MS;
	scene->act = situation->act;
	scene->material = round;
	scene->label = label;
}

/* returns when the first of them died */
static double kill_victims(struct scene *scene, const struct kill_round *round)
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

static int play_round(const struct kill_situation *situation, uint64_t seed, struct tally *tally)
{
	uint64_t state = seed;
	char label[96];
	pid_t pids[HARNESS_RANKS];
	struct scene scene;
	struct kill_round round = {.situation = situation,
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

static void play_situation(const struct kill_situation *situation, int rounds, uint64_t seed)
{
	static struct tally tally;
	memset(&tally, 0, sizeof(tally));
	if (situation->variable)
		setenv(situation->variable, situation->value, 1);
	for (int number = 0; number < rounds; number++)
		tally.wrong += play_round(situation, seed + (uint64_t)number, &tally);
	if (situation->variable)
		unsetenv(situation->variable);
	qsort(tally.seconds, (size_t)tally.errors, sizeof(double), compare_seconds);
	double median = tally.errors ? tally.seconds[tally.errors / 2] : 0;
	/* Others on the machine may delay some, but not nearly all. */
	tally.wrong += tally.errors && tally.seconds[tally.errors / 4] > notice_s(situation);
	scene_case(tally.wrong, "%-24s %6d %6d %10.1f %9.1f %8d", situation->name, situation->size,
		   rounds, 1e3 * median, 1e3 * tally.worst_s, tally.wrong);
}

static const char *argument(int argc, char **argv, const char *name)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	return NULL;
}

int kill_main(int argc, char **argv, const struct kill_situation *situations, int count,
	      int short_rounds)
{
	const char *asked = argument(argc, argv, "--rounds"), *only = argument(argc, argv, "--only");
	int rounds = asked ? atoi(asked) : harness_is_long(argc, argv) ? 20 : short_rounds;
	uint64_t seed = harness_seed(argc, argv);
	bool own_shm = scene_own_dev_shm(true);
	printf("# seed %llu\n# %-24s %6s %6s %10s %9s %8s\n", (unsigned long long)seed, "situation",
	       "ranks", "rounds", "median ms", "worst ms", "failures");
	for (int s = 0; s < count; s++)
		if (!only || strncmp(situations[s].name, only, strlen(only)) == 0)
			play_situation(&situations[s], rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX,
				       seed);
	if (own_shm)
		scene_case(holdings_names("/dev/shm"), "/dev/shm is empty");
	else
		scene_skip("/dev/shm is empty", "this user, or this place, has none of its own");
	return scene_cases_end();
}
