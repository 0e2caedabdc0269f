/* SPDX-License-Identifier: MIT */
#include "jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/datatype.h"
#include "reference.h"

/* ---- chance and the hash --------------------------------------------------------------------- */

static uint64_t random_state, hash;

void jobs_seed(uint64_t seed)
{
	random_state = seed;
	hash = 0;
}

unsigned long jobs_seed_as_told(void)
{
	const char *told = getenv("RING_TEST_SEED");
	unsigned long seed = told ? strtoul(told, NULL, 10) : 1;
	jobs_seed(seed);
	return seed;
}

uint64_t jobs_random(void)
{
	/* Knuth's linear congruential generator; its upper half is random enough. */
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	uint64_t high = random_state >> 32;
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return high << 32 | random_state >> 32;
}

uint64_t jobs_hash(void)
{
	return hash;
}

static void hash_element(uint64_t bits)
{
	hash = (hash ^ bits) * 0x100000001b3; /* as FNV does */
}

/* ---- whoever reduces ------------------------------------------------------------------------- */

static int reduce_by_family(const struct reducer *reducer, const struct ring_reduction *reduction)
{
	return ring_cpu_reduce(reducer->family, reduction);
}

struct reducer reducer_of(const struct ring_cpu_family *family)
{
	return (struct reducer){family->name, reduce_by_family, family};
}

/* ---- elements -------------------------------------------------------------------------------- */

static uint64_t cut(enum ring_datatype type, uint64_t bits)
{
	return bits & (UINT64_MAX >> (64 - 8 * ring_datatype_bytes(type)));
}

static uint64_t special(enum ring_datatype type, uint64_t index)
{
	const uint64_t *specials;
	size_t n = reference_specials(type, &specials);
	return cut(type, specials[index % n]);
}

/* Mostly ordinary numbers, so that not everything becomes NaN. */
uint64_t jobs_mixed(const struct job *job, int source, size_t index)
{
	(void)source, (void)index;
	uint64_t chance = jobs_random() % 16, bits = jobs_random();
	if (job->type < RING_FLOAT16 || chance < 3)
		return cut(job->type, bits);
	if (chance < 4)
		return special(job->type, bits);
	return reference_rounded(job->type, (double)(int64_t)bits * 0x1p-62);
}

uint64_t jobs_special_pair(const struct job *job, int source, size_t index)
{
	const uint64_t *specials;
	size_t n = reference_specials(job->type, &specials);
	return special(job->type, source == 0 ? index / n : index);
}

uint64_t jobs_byte_pair(const struct job *job, int source, size_t index)
{
	(void)job;
	return (source == 0 ? index / 256 : index) % 256;
}

/* All values of 16 bits, and the other sources -0, which changes no sum. */
static uint64_t half_words(const struct job *job, int source, size_t index)
{
	(void)job;
	return source == 0 ? index : 0x8000;
}

/* ---- one job --------------------------------------------------------------------------------- */

#define GUARD 64
struct vector {
	_Alignas(GUARD) unsigned char memory[GUARD + JOB_COUNT_MAX * 8 + GUARD];
	unsigned char *data; /* misaligned by up to GUARD - 1 */
	size_t bytes;
};

static struct vector sources[RING_REDUCE_SOURCES], fresh[RING_REDUCE_RESULTS];
static uint64_t elements[RING_REDUCE_SOURCES][JOB_COUNT_MAX];
static char failure[4000];

static uint64_t get(const struct vector *vector, enum ring_datatype type, size_t index)
{
	uint64_t bits = 0;
	size_t bytes = ring_datatype_bytes(type);
	memcpy(&bits, vector->data + index * bytes, bytes); /* little endian */
	return bits;
}

static void put(struct vector *vector, enum ring_datatype type, size_t index, uint64_t bits)
{
	size_t bytes = ring_datatype_bytes(type);
	memcpy(vector->data + index * bytes, &bits, bytes);
}

static void place(struct vector *vector, size_t bytes, size_t misaligned)
{
	vector->data = vector->memory + misaligned;
	vector->bytes = bytes;
	memset(vector->memory, 0xa5, bytes + 2 * GUARD);
}

static bool guards_are_intact(const struct vector *vector)
{
	const unsigned char *end = vector->memory + vector->bytes + 2 * GUARD;
	for (const unsigned char *at = vector->memory; at < end; at++) {
		bool is_inside = at >= vector->data && at < vector->data + vector->bytes;
		if (!is_inside && *at != 0xa5)
			return false;
	}
	return true;
}

static const char *fail(const struct reducer *reducer, const struct job *job, const char *how)
{
	static char text[4400];
	snprintf(
		text, sizeof(text),
		"%s %s %s: count %zu, %d sources, %d scalars, %d results%s%s, in place %d, divisor "
		"%llu: %s",
		reducer->name, ring_datatype_name(job->type), ring_op_name(job->op), job->count,
		job->nsources, job->nscalars, job->nresults, job->past ? " past caches" : "",
		job->alike ? " misaligned alike" : "", job->in_place,
		(unsigned long long)job->divisor, how);
	return text;
}

static const char *wrong_element(const struct job *job, size_t index, uint64_t got, uint64_t want)
{
	int length = snprintf(failure, sizeof(failure), "element %zu is %llx, want %llx of", index,
			      (unsigned long long)got, (unsigned long long)want);
	for (int i = 0; i < job->nsources; i++) {
		length += snprintf(failure + length, sizeof(failure) - (size_t)length, " %llx",
				   (unsigned long long)elements[i][index]);
		if (i < job->nscalars)
			length += snprintf(failure + length, sizeof(failure) - (size_t)length,
					   " * %llx", (unsigned long long)job->scalars[i]);
	}
	return failure;
}

static const char *check_elements(const struct job *job, struct vector *const results[])
{
	for (size_t i = 0; i < job->count; i++) {
		uint64_t bits[RING_REDUCE_SOURCES];
		for (int k = 0; k < job->nsources; k++)
			bits[k] = elements[k][i];
		uint64_t want = reference_reduced(job->type, job->op, bits, job->nsources,
						  job->scalars, job->nscalars, job->divisor);
		for (int k = 0; k < job->nresults; k++) {
			uint64_t got = get(results[k], job->type, i);
			if (got != want)
				return wrong_element(job, i, got, want);
		}
		hash_element(get(results[0], job->type, i));
	}
	return NULL;
}

/* Whether a source is a result. */
static bool is_result(const struct job *job, int source)
{
	return source == job->in_place || job->in_place == job->nsources;
}

static const char *check_surroundings(const struct job *job)
{
	for (int i = 0; i < job->nsources; i++) {
		if (!guards_are_intact(&sources[i]))
			return "wrote beside a source";
		for (size_t k = 0; !is_result(job, i) && k < job->count; k++) {
			if (get(&sources[i], job->type, k) != elements[i][k])
				return "changed a source";
		}
	}
	for (int i = 0; i < job->nresults; i++) {
		if (!guards_are_intact(&fresh[i]))
			return "wrote beside a result";
	}
	return NULL;
}

const char *job_check(const struct reducer *reducer, const struct job *job)
{
	size_t bytes = job->count * ring_datatype_bytes(job->type);
	struct vector *results[RING_REDUCE_RESULTS];
	struct ring_reduction reduction = {.nsources = job->nsources,
					   .nresults = job->nresults,
					   .count = job->count,
					   .type = job->type,
					   .op = job->op,
					   .divisor = job->divisor,
					   .past = job->past,
					   .scalars = job->scalars,
					   .nscalars = job->nscalars};
	size_t misaligned = jobs_random() % GUARD;
	for (int i = 0; i < job->nsources; i++) {
		place(&sources[i], bytes, job->alike ? misaligned : jobs_random() % GUARD);
		for (size_t k = 0; k < job->count; k++) {
			elements[i][k] = job->element(job, i, k);
			put(&sources[i], job->type, k, elements[i][k]);
		}
		reduction.sources[i] = sources[i].data;
	}
	for (int i = 0; i < job->nresults; i++) {
		place(&fresh[i], bytes, job->alike ? misaligned : jobs_random() % GUARD);
		results[i] = &fresh[i];
		if (job->in_place == job->nsources)
			results[i] = &sources[i];
		else if (i == 0 && job->in_place >= 0)
			results[i] = &sources[job->in_place];
		reduction.results[i] = results[i]->data;
	}

	if (reducer->reduce(reducer, &reduction) != 0)
		return fail(reducer, job, "was refused");
	const char *wrong = check_elements(job, results);
	wrong = wrong ? wrong : check_surroundings(job);
	return wrong ? fail(reducer, job, wrong) : NULL;
}

/* ---- many jobs ------------------------------------------------------------------------------- */

static bool is_asked(const char *variable)
{
	const char *text = getenv(variable);
	return text && *text;
}

static uint64_t random_divisor(enum ring_op op)
{
	if (op != RING_AVG)
		return jobs_random() % 2;
	return jobs_random() % (jobs_random() % 2 ? 65 : 65537);
}

/* All places for a count and a number of sources, of many some; every other job has scalars. */
static const char *check_places(const struct reducer *reducer, struct job job)
{
	int step = 1 + job.nsources / 32 * 16;
	for (job.in_place = -1; job.in_place <= job.nsources; job.in_place += step) {
		job.nscalars = jobs_random() % 2 ? 1 + (int)(jobs_random() % job.nsources) : 0;
		if (ring_op_is_of_bits(job.op))
			job.nscalars = 0;
		for (int i = 0; i < job.nscalars; i++)
			job.scalars[i] = jobs_mixed(&job, 0, 0);
		job.divisor = random_divisor(job.op);
		job.past = jobs_random() % 2;
		job.alike = jobs_random() % 2;
		job.nresults = job.in_place == job.nsources ? job.nsources
							    : 1 + (int)(jobs_random() % 8);
		const char *wrong = job_check(reducer, &job);
		if (wrong)
			return wrong;
	}
	return NULL;
}

const char *jobs_check_shapes(const struct reducer *reducer, enum ring_datatype type,
			      enum ring_op op)
{
	/* Operations share the counts. */
	int few = is_asked("RING_TEST_QUICK") ? REFERENCE_OPS : 2;
	int step = is_asked("RING_TEST_LONG") ? 1 : few;
	struct job job = {.type = type, .op = op, .element = jobs_mixed};
	const char *wrong = NULL;
	for (job.count = op % step; !wrong && job.count <= 130; job.count += step) {
		job.nsources = 1 + (int)(jobs_random() % 8);
		wrong = check_places(reducer, job);
		job.nsources = 2;
		wrong = wrong ? wrong : check_places(reducer, job);
	}
	job.nsources = 1;
	for (; !wrong && job.nsources <= RING_REDUCE_SOURCES;
	     job.nsources += job.nsources < 8 ? 1 : RING_REDUCE_SOURCES - 8) {
		job.count = RING_TILE - 1 + jobs_random() % RING_TILE * 2 / job.nsources;
		wrong = check_places(reducer, job);
	}
	return wrong;
}

/* As a pair, aligned alike, and by tiles. */
static const char *check_pair(const struct reducer *reducer, struct job job)
{
	job.nsources = 2;
	job.nresults = 1;
	job.in_place = -1;
	const char *wrong = job_check(reducer, &job);
	job.alike = true;
	wrong = wrong ? wrong : job_check(reducer, &job);
	job.divisor = ring_op_is_of_bits(job.op) ? 1 : 3;
	return wrong ? wrong : job_check(reducer, &job);
}

/* Onto a source, of both to two results, and to both sources, too. */
static const char *check_ways(const struct reducer *reducer, struct job job)
{
	const char *wrong = check_pair(reducer, job);
	job.nsources = 2;
	for (job.nresults = 1; !wrong && job.nresults <= 2; job.nresults++) {
		for (job.in_place = 1 - job.nresults; !wrong && job.in_place <= 1; job.in_place++)
			wrong = job_check(reducer, &job);
	}
	job.in_place = job.nresults = 2;
	return wrong ? wrong : job_check(reducer, &job);
}

/* All values take long in all ways. */
static const char *check_all_values(const struct reducer *reducer, struct job job)
{
	return (is_asked("RING_TEST_LONG") ? check_ways : check_pair)(reducer, job);
}

const char *jobs_check_values(const struct reducer *reducer, enum ring_datatype type,
			      enum ring_op op)
{
	const uint64_t *specials;
	size_t n = reference_specials(type, &specials);
	struct job pairs = {.type = type, .op = op, .count = n * n, .element = jobs_special_pair};
	struct job bytes = {.type = type, .op = op, .count = 65536, .element = jobs_byte_pair};
	struct job words = {.type = type, .op = op, .count = 65536, .element = half_words};
	struct job mixed = {.type = type, .op = op, .count = 5000, .element = jobs_mixed};
	const char *wrong = check_ways(reducer, pairs);
	if (!wrong && ring_datatype_bytes(type) == 1)
		wrong = check_all_values(reducer, bytes);
	if (!wrong && ring_datatype_bytes(type) == 2)
		wrong = check_all_values(reducer, words);
	return wrong ? wrong : check_ways(reducer, mixed);
}

/* What is none of the type is refused. */
static const char *check_op(const struct reducer *reducer, enum ring_datatype type, enum ring_op op)
{
	uint64_t element = 0;
	struct job job = {.type = type, .op = op};
	struct ring_reduction none = {.sources = {&element, &element},
				      .nsources = 2,
				      .results = {&element},
				      .nresults = 1,
				      .count = 1,
				      .type = type,
				      .op = op};
	if (!ring_op_takes(op, type))
		return reducer->reduce(reducer, &none) == RING_ENOTSUP
			       ? NULL
			       : fail(reducer, &job, "was not refused");
	const char *wrong = jobs_check_shapes(reducer, type, op);
	return wrong ? wrong : jobs_check_values(reducer, type, op);
}

const char *jobs_check_all(const struct reducer *reducer)
{
	const char *wrong = NULL;
	for (int type = 0; type < REFERENCE_TYPES; type++)
		for (int op = 0; !wrong && op < REFERENCE_OPS; op++)
			wrong = check_op(reducer, (enum ring_datatype)type, (enum ring_op)op);
	return wrong;
}
