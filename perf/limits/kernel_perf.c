/* SPDX-License-Identifier: MIT */
/*
 * kernel_perf measures the CPU's reduction kernels, in the caches and in memory, beside loops that
 * move the same bytes and compute nothing. One thread; compared loops are measured in turns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "base/datatype.h"
#include "base/reduce_list.h"
#include "kernels/cpu/cpu.h"
#include "tools/finish.h"
#include "tools/json.h"
#include "tools/options.h"

#define PAST_BYTES (32 << 20) /* larger results are written past the caches */
#define AHEAD_BYTES 2048      /* how far ahead memory is prefetched */

struct settings {
	const char *type, *op, *family;
	bool all_families, json, check;
	size_t bytes;
	int repeat;
};

/* ---- what is measured ------------------------------------------------------------------------ */

enum level { LEVEL_L1, LEVEL_L2, LEVEL_MEMORY, LEVELS };
static const char *const level_names[LEVELS] = {"L1", "L2", "memory"};

enum shape { SHAPE_PAIR, SHAPE_ONTO, SHAPE_COPY, SHAPES };
static const char *const shape_names[SHAPES] = {"pair", "onto", "copy"};

/* One kernel in one shape; without a family, a loop that only moves bytes. */
struct subject {
	const struct ring_cpu_family *family;
	enum ring_datatype type;
	enum ring_op op;
	enum shape shape;
	double *rates[LEVELS]; /* [repeat], sorted at the end */
};

struct vectors {
	unsigned char *a, *b, *result;
	size_t bytes;
};

/* Reads two vectors and writes one, by the cheapest operation there is. */
static void move_pair(uint64_t *restrict result, const uint64_t *restrict a,
		      const uint64_t *restrict b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		result[i] = a[i] ^ b[i];
}

/* The same, writing past the caches, as memcpy does with results that are too large for them. */
#if defined(__SSE2__)
static void move_pair_past(unsigned char *result, const unsigned char *a, const unsigned char *b,
			   size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 64) {
		__builtin_prefetch((const void *)((uintptr_t)a + i + AHEAD_BYTES));
		__builtin_prefetch((const void *)((uintptr_t)b + i + AHEAD_BYTES));
		for (size_t k = i; k < i + 64; k += sizeof(__m128i))
			_mm_stream_si128((__m128i *)(result + k),
					 _mm_xor_si128(*(const __m128i *)(a + k),
						       *(const __m128i *)(b + k)));
	}
	_mm_sfence();
}
#else
static void move_pair_past(unsigned char *result, const unsigned char *a, const unsigned char *b,
			   size_t bytes)
{
	move_pair((uint64_t *)result, (const uint64_t *)a, (const uint64_t *)b, bytes / 8);
}
#endif

static void move_onto(uint64_t *restrict result, const uint64_t *restrict b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		result[i] ^= b[i];
}

static void run_once(const struct subject *subject, const struct vectors *v, size_t bytes)
{
	bool onto = subject->shape == SHAPE_ONTO;
	if (subject->family) {
		struct ring_reduction reduction = {.sources = {v->a, v->b},
						   .nsources = 2,
						   .results = {onto ? v->a : v->result},
						   .nresults = 1,
						   .count = bytes /
							    ring_datatype_bytes(subject->type),
						   .type = subject->type,
						   .op = subject->op};
		ring_cpu_reduce(subject->family, &reduction);
	} else if (subject->shape == SHAPE_COPY) {
		memcpy(v->result, v->a, bytes);
	} else if (onto) {
		move_onto((uint64_t *)v->a, (const uint64_t *)v->b, bytes / 8);
	} else if (bytes >= PAST_BYTES) {
		move_pair_past(v->result, v->a, v->b, bytes);
	} else {
		move_pair((uint64_t *)v->result, (const uint64_t *)v->a, (const uint64_t *)v->b,
			  bytes / 8);
	}
}

/*
 * Bits that all of the numbers have, and bits in which they differ: floats from 1 to less than 2,
 * odd integers below 128.
 */
struct numbers {
	uint64_t one, others;
};

static struct numbers numbers_of(enum ring_datatype type)
{
	switch (type) {
	case RING_FLOAT16:
		return (struct numbers){0x3c00, 0x3ff};
	case RING_FLOAT32:
		return (struct numbers){0x3f800000, 0x7fffff};
	case RING_FLOAT64:
		return (struct numbers){0x3ff0000000000000, 0xfffffffffffff};
	case RING_BFLOAT16:
		return (struct numbers){0x3f80, 0x7f};
	case RING_FLOAT8_E4M3:
		return (struct numbers){0x38, 0x7};
	case RING_FLOAT8_E5M2:
		return (struct numbers){0x3c, 0x3};
	default:
		return (struct numbers){1, 0x7e};
	}
}

static uint64_t in_each_element(uint64_t bits, size_t element_bytes)
{
	uint64_t word = 0;
	for (size_t i = 0; i < 8; i += element_bytes)
		word |= bits << (8 * i);
	return word;
}

/* Writes random numbers; after some, the same ones again. */
static void fill(enum ring_datatype type, unsigned short seed[3], unsigned char *vector,
		 size_t bytes)
{
	uint64_t words[512];
	size_t element_bytes = ring_datatype_bytes(type);
	uint64_t one = in_each_element(numbers_of(type).one, element_bytes);
	uint64_t others = in_each_element(numbers_of(type).others, element_bytes);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		words[i] = one |
			   (((uint64_t)jrand48(seed) << 32 ^ (uint64_t)jrand48(seed)) & others);
	for (size_t i = 0; i < bytes; i += sizeof(words))
		memcpy(vector + i, words, bytes - i < sizeof(words) ? bytes - i : sizeof(words));
}

/*
 * No operation makes subnormal numbers of these, as some CPUs are slow with them. The numbers
 * differ: a Xeon that adds only ones is a fifth faster, probably because bits that do not change
 * take less power.
 */
static void fill_both(enum ring_datatype type, const struct vectors *v, size_t bytes)
{
	unsigned short seed[3] = {1};
	fill(type, seed, v->a, bytes);
	fill(type, seed, v->b, bytes);
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* GB/s of bytes read and written. Small vectors are used many times, so that they can be timed. */
static double measure(const struct subject *subject, const struct vectors *v, size_t bytes)
{
	size_t times = bytes < (16 << 20) ? (16 << 20) / bytes : 1;
	fill_both(subject->type, v, bytes);
	run_once(subject, v, bytes < (1 << 20) ? bytes : 1 << 20);
	double start = seconds();
	for (size_t i = 0; i < times; i++)
		run_once(subject, v, bytes);
	double moved = (double)(times * bytes) * (subject->shape == SHAPE_COPY ? 2 : 3);
	return moved / (seconds() - start) * 1e-9;
}

/* ---- all of them ----------------------------------------------------------------------------- */

#define SUBJECTS_MAX (8 * 12 * 7 * 2 + SHAPES)
static struct subject subjects[SUBJECTS_MAX];
static int subject_count;

static void add(const struct ring_cpu_family *family, int type, int op, enum shape shape, int repeat)
{
	struct subject *subject = &subjects[subject_count++];
	*subject = (struct subject){family, (enum ring_datatype)type, (enum ring_op)op, shape, {0}};
	for (int level = 0; level < LEVELS; level++) {
		subject->rates[level] = calloc((size_t)repeat, sizeof(double));
		if (!subject->rates[level])
			abort();
	}
}

static bool is_wanted(const char *wanted, const char *name)
{
	return !wanted || strcmp(wanted, "all") == 0 || strcmp(wanted, name) == 0;
}

static bool add_family(const struct settings *settings, const struct ring_cpu_family *family)
{
	int before = subject_count;
	for (int type = 0; type < RING_DATATYPES; type++) {
		for (int op = 0; op < (int)RING_OPS; op++) {
			if (op == RING_AVG || /* a sum and a division */
			    !ring_op_takes((enum ring_op)op, (enum ring_datatype)type) ||
			    !is_wanted(settings->type, ring_datatype_name((enum ring_datatype)type)) ||
			    !is_wanted(settings->op, ring_op_name((enum ring_op)op)))
				continue;
			add(family, type, op, SHAPE_PAIR, settings->repeat);
			add(family, type, op, SHAPE_ONTO, settings->repeat);
		}
	}
	return subject_count > before;
}

/* returns false if nothing is left to measure */
static bool add_all(const struct settings *settings)
{
	bool any = false;
	for (int shape = 0; shape < SHAPES; shape++)
		add(NULL, RING_UINT64, RING_SUM, (enum shape)shape, settings->repeat);
	const struct ring_cpu_family *family;
	for (int i = 0; (family = ring_cpu_family(i)) != NULL; i++) {
		bool chosen = settings->family ? strcmp(settings->family, family->name) == 0
					       : settings->all_families || i == 0;
		if (chosen)
			any |= add_family(settings, family);
	}
	return any;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void measure_all(const struct settings *settings, const size_t level_bytes[LEVELS],
			const struct vectors *v)
{
	for (int r = 0; r < settings->repeat; r++) {
		for (int level = 0; level < LEVELS; level++) {
			for (int i = 0; i < subject_count; i++)
				subjects[i].rates[level][r] = measure(&subjects[i], v,
								      level_bytes[level]);
		}
	}
	for (int i = 0; i < subject_count; i++) {
		for (int level = 0; level < LEVELS; level++)
			qsort(subjects[i].rates[level], (size_t)settings->repeat, sizeof(double),
			      compare);
	}
}

static double median(const struct subject *subject, enum level level,
		     const struct settings *settings)
{
	return subject->rates[level][settings->repeat / 2];
}

/* From the slowest to the fastest repetition, in percent of the median. */
static double spread(const struct subject *subject, enum level level,
		     const struct settings *settings)
{
	const double *rates = subject->rates[level];
	return 100 * (rates[settings->repeat - 1] - rates[0]) / median(subject, level, settings);
}

/* ---- reports --------------------------------------------------------------------------------- */

static const char *family_name(const struct subject *subject)
{
	return subject->family ? subject->family->name : "moving";
}

static void print_table(const struct settings *settings, const size_t level_bytes[LEVELS])
{
	printf("# GB/s read and written: median (spread of %d repetitions in percent)\n",
	       settings->repeat);
	printf("# %-11s %-9s %-5s %-5s", "family", "type", "op", "shape");
	for (int level = 0; level < LEVELS; level++)
		printf("  %7s %8zuK", level_names[level], level_bytes[level] >> 10);
	printf("\n");
	for (int i = 0; i < subject_count; i++) {
		const struct subject *subject = &subjects[i];
		printf("  %-11s %-9s %-5s %-5s", family_name(subject),
		       subject->family ? ring_datatype_name(subject->type) : "bytes",
		       subject->family ? ring_op_name(subject->op) : "-",
		       shape_names[subject->shape]);
		for (int level = 0; level < LEVELS; level++)
			printf("  %8.1f (%4.0f%%)", median(subject, (enum level)level, settings),
			       spread(subject, (enum level)level, settings));
		printf("\n");
	}
}

static void print_json(const struct settings *settings, const size_t level_bytes[LEVELS])
{
	struct json json = {.out = stdout};
	json_open(&json, NULL, '{');
	json_put_integer(&json, "repetitions", (uint64_t)settings->repeat);
	json_open(&json, "rows", '[');
	for (int i = 0; i < subject_count; i++) {
		const struct subject *subject = &subjects[i];
		json_open(&json, NULL, '{');
		json_put_string(&json, "family", family_name(subject));
		if (subject->family) {
			json_put_string(&json, "type", ring_datatype_name(subject->type));
			json_put_string(&json, "op", ring_op_name(subject->op));
		}
		json_put_string(&json, "shape", shape_names[subject->shape]);
		for (int level = 0; level < LEVELS; level++) {
			json_open(&json, level_names[level], '{');
			json_put_integer(&json, "bytes", level_bytes[level]);
			json_put_real(&json, "gbps", median(subject, (enum level)level, settings));
			json_put_real(&json, "gbps_min", subject->rates[level][0]);
			json_put_real(&json, "gbps_max",
				      subject->rates[level][settings->repeat - 1]);
			json_close(&json, '}');
		}
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	printf("\n");
}

/* ---- the check ------------------------------------------------------------------------------- */

static double rate_of(const struct settings *settings, const struct ring_cpu_family *family,
		      enum ring_datatype type, enum shape shape)
{
	for (int i = 0; i < subject_count; i++) {
		const struct subject *subject = &subjects[i];
		if (subject->family == family && subject->shape == shape &&
		    (!family || (subject->type == type && subject->op == RING_SUM)))
			return median(subject, LEVEL_MEMORY, settings);
	}
	return 0;
}

/* Prints one ratio. returns true if it is at least `wanted` */
static bool is_reached(FILE *out, const char *what, enum shape shape, double ratio, double wanted)
{
	fprintf(out, "#   %-9s %-5s %.3f", what, shape_names[shape], ratio);
	if (wanted > 0)
		fprintf(out, "  (%.2f wanted)%s", wanted, ratio < wanted ? " MISSED" : "");
	fprintf(out, "\n");
	return ratio >= wanted;
}

/*
 * The limit of a sum is a loop that reads and writes the same bytes and computes nothing. memcpy is
 * there for comparison: more of the bytes that it moves are written.
 */
static bool check(const struct settings *settings)
{
	const struct ring_cpu_family *family = subjects[subject_count - 1].family;
	FILE *out = settings->json ? stderr : stdout;
	double copy = rate_of(settings, NULL, RING_UINT64, SHAPE_COPY);
	bool reached = true;
	fprintf(out, "# check, in memory: float sums / moving the same bytes, / memcpy;\n"
		     "# then 16- and 8-bit sums / float sums\n");
	for (int shape = SHAPE_PAIR; shape <= SHAPE_ONTO; shape++) {
		double moving = rate_of(settings, NULL, RING_UINT64, (enum shape)shape);
		double sum = rate_of(settings, family, RING_FLOAT32, (enum shape)shape);
		reached &= is_reached(out, "moving", (enum shape)shape, sum / moving, 0.95);
		is_reached(out, "memcpy", (enum shape)shape, sum / copy, 0);
		for (int type = 0; type < RING_DATATYPES; type++) {
			enum ring_datatype narrow = (enum ring_datatype)type;
			if (ring_datatype_bytes(narrow) > 2)
				continue;
			double rate = rate_of(settings, family, narrow, (enum shape)shape);
			reached &= is_reached(out, ring_datatype_name(narrow), (enum shape)shape,
					      rate / sum, 0.9);
		}
	}
	return reached;
}

/* ---- the program ----------------------------------------------------------------------------- */

static size_t cache_bytes(int name, size_t otherwise)
{
	long bytes = sysconf(name);
	return bytes > 0 ? (size_t)bytes : otherwise;
}

/* Vectors are whole lines of a cache. */
static bool read_bytes(const struct option_given *given, void *settings)
{
	size_t bytes = (size_t)strtoull(given->text, NULL, 10) / 64 * 64;
	((struct settings *)settings)->bytes = bytes;
	return bytes > 0 || option_refuse(given, "64 bytes or more");
}

#define AT(field) offsetof(struct settings, field)

static const struct option_row rows[] = {
	{OPTION_TEXT, 0, "type", "NAME", AT(type),
	 .help = "one type: int8 ... float, bfloat16, f8e5m2 (all)"},
	{OPTION_TEXT, 0, "op", "NAME", AT(op),
	 .help = "one operation: sum, prod, max, min, band, bor, bxor; or all (sum)"},
	{OPTION_TEXT, 0, "family", "NAME", AT(family),
	 .help = "one family of kernels (the one that the library uses)"},
	{OPTION_FLAG, 0, "all-families", NULL, AT(all_families), .help = "all that this CPU runs"},
	{OPTION_OWN, 0, "bytes", "N", .read = read_bytes,
	 .help = "of each vector in memory (268435456)"},
	{OPTION_INT, 0, "repeat", "N", AT(repeat), 1, 1e6, .help = "repetitions (9)"},
	{OPTION_FLAG, 0, "json", NULL, AT(json), .help = "JSON instead of a table"},
	{OPTION_FLAG, 0, "check", NULL, AT(check),
	 .help = "exit status 1 unless, in memory, float sums reach 0.95 of the rate of moving the "
		 "same bytes, and sums of 16 and 8 bits 0.9 of float's"},
	{OPTION_HELP, 'h', "help", .help = "show this and exit"},
};

static const struct option_table table = {
	.program = "kernel_perf",
	.usage = "usage: kernel_perf [options]\n"
		 "Rates of the CPU's reduction kernels: result = a op b (pair) and result = result "
		 "op "
		 "b (onto),\n"
		 "in GB/s of bytes read and written, medians of interleaved repetitions.\n",
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
};

/* returns false to end with *status */
static bool parse(int argc, char **argv, struct settings *settings, int *status)
{
	if (options_read(&table, settings, NULL, argc, argv, status) < 0)
		return false;
	*status = STATUS_USAGE;
	return !settings->check ||
	       (!settings->type && !settings->all_families && strcmp(settings->op, "sum") == 0) ||
	       option_complain(&table, "--check is for sums of all types by one family");
}

int main(int argc, char **argv)
{
	struct settings settings = {.op = "sum", .bytes = 256 << 20, .repeat = 9};
	int status;
	if (!parse(argc, argv, &settings, &status))
		return finish_output("kernel_perf", status);
	if (!add_all(&settings)) {
		fprintf(stderr, "kernel_perf: no such family, type or operation here\n");
		return 2;
	}

	/* Three vectors fit into a cache, with room to spare. */
	const size_t level_bytes[LEVELS] = {
		cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10) / 4 / 64 * 64,
		cache_bytes(_SC_LEVEL2_CACHE_SIZE, 1 << 20) / 4 / 64 * 64, settings.bytes};
	struct vectors v = {.bytes = 0};
	for (int level = 0; level < LEVELS; level++)
		v.bytes = level_bytes[level] > v.bytes ? level_bytes[level] : v.bytes;
	void *memory;
	if (v.bytes > SIZE_MAX / 3 || posix_memalign(&memory, 2 << 20, 3 * v.bytes)) {
		fprintf(stderr, "kernel_perf: no memory for 3 * %zu bytes\n", v.bytes);
		return 2;
	}
	v.a = memory;
	v.b = v.a + v.bytes;
	v.result = v.b + v.bytes;
	memset(v.result, 0, v.bytes);

	measure_all(&settings, level_bytes, &v);
	if (settings.json)
		print_json(&settings, level_bytes);
	else
		print_table(&settings, level_bytes);
	return finish_output("kernel_perf", settings.check && !check(&settings));
}
