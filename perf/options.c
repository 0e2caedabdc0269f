/* SPDX-License-Identifier: MIT */
/*
 * The command line. Options that nccl-tests has keep their letters and meaning.
 */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/calls/collective.h"
#include "perf/calls/memory.h"
#include "parse.h"
#include "ringccl.h"
#include "perf/calls/types.h"

#define MAX_RANKS 1024

#define TUNING_MAX_BYTES ((size_t)16 << 20)
#define TUNING_FACTOR 16
#define TUNING_SECONDS 0.02

static const char usage[] =
	"usage: ring_perf [options]\n"
	"Measures and checks collectives. Starts two ranks, or --ranks of them, unless a "
	"launcher\n"
	"such as ring_run has started it as a rank already.\n"
	"\n"
	"      --ranks N            start N ranks on this machine\n"
	"      --threads            ranks are threads of one process\n"
	"  -t, --nthreads N         ranks are N threads of one process, ...\n"
	"  -g, --ngpus N            ... each of which has N GPUs, and a rank for each\n"
	"      --device NAME        the device that has the buffers: cpu, cuda\n"
	"      --ranks-per-gpu N    ranks that share a GPU, 1\n"
	"      --transport LIST     use only these transports, \"shm,tcp\"\n"
	"      --link PACE          slow links down to this: \"1GB/s,20us\" (RING_LINK)\n"
	"      --collective NAME    all_reduce, reduce_scatter, all_gather, broadcast, reduce, "
	"gather,\n"
	"                           scatter, all_to_all, sendrecv, barrier, all\n"
	"\n"
	"  -b, --minbytes SIZE      first size, 8; K, M and G are binary, fractions allowed\n"
	"  -e, --maxbytes SIZE      last size, 32M\n"
	"  -i, --stepbytes SIZE     add this from row to row\n"
	"  -f, --stepfactor FACTOR  multiply by this from row to row, 4\n"
	"      --sizes LIST         these sizes instead, \"8,64K,1M\"\n"
	"  -n, --iters N            timed samples of a row, 20\n"
	"  -w, --warmup_iters N     calls before them, 5\n"
	"      --seconds SECONDS    warm up for a tenth of it, and take only as many samples as "
	"fit\n"
	"      --rest SECONDS       idle time before each sample\n"
	"  -c, --check N            checked calls of a row, 1; 0 checks nothing\n"
	"  -o, --op NAME            sum, prod, max, min, avg, mulsum, all\n"
	"  -d, --datatype NAME      int8, uint8, int32, uint32, int64, uint64, half, float, "
	"double,\n"
	"                           bfloat16, f8e4m3, f8e5m2, all\n"
	"  -r, --root RANK          of broadcast, reduce, gather and scatter, 0; -1 or all is each "
	"in turn\n"
	"      --random             check with random floats, not exactly summable ones\n"
	"      --seed N             seed of the data, 1\n"
	"      --stream             call through a stream\n"
	"      --memory KIND        private, or shared: from ring_mem_alloc\n"
	"      --in-place           measure out of place only what has no in-place form\n"
	"      --fresh              rewrite the input before each timed call\n"
	"      --hot                do not touch the buffers (default); with --fresh: both in "
	"turn\n"
	"  -T, --timeout SECONDS    timeout of creation and of each call\n"
	"  -N, --run_cycles N       measure everything N times, 1; 0: until it is ended\n"
	"  -m, -a, -z, -p, -C N     of nccl-tests; change nothing here\n"
	"\n"
	"      --explain            tell what carries each call and what decided that; measure "
	"nothing\n"
	"      --tune FILE          measure all algorithms, and write numbers for RING_TUNING\n"
	"      --verdict            end with a summary in plain words\n"
	"  -J, --json FILE          write everything as JSON; - is standard output\n"
	"      --csv FILE           write the rows as CSV\n"
	"      --trace FILE         write a Chrome trace of all ranks; with %r for the rank, one "
	"file per rank\n"
	"  -h, --help               show this and exit\n"
	"      --version            show the version and exit\n";

enum long_option {
	RANKS = 256,
	THREADS,
	TRANSPORT,
	COLLECTIVE,
	RANDOM,
	SEED,
	STREAM,
	MEMORY,
	SIZES,
	SECONDS,
	REST,
	IN_PLACE,
	FRESH,
	HOT,
	TIMEOUT,
	EXPLAIN,
	TUNE,
	VERDICT,
	JSON,
	CSV,
	TRACE,
	DEVICE,
	LINK,
	RANKS_PER_GPU,
	VERSION,
};

static const struct option long_options[] = {
	{"minbytes", required_argument, NULL, 'b'},
	{"maxbytes", required_argument, NULL, 'e'},
	{"stepbytes", required_argument, NULL, 'i'},
	{"stepfactor", required_argument, NULL, 'f'},
	{"iters", required_argument, NULL, 'n'},
	{"warmup_iters", required_argument, NULL, 'w'},
	{"check", required_argument, NULL, 'c'},
	{"op", required_argument, NULL, 'o'},
	{"datatype", required_argument, NULL, 'd'},
	{"root", required_argument, NULL, 'r'},
	{"nthreads", required_argument, NULL, 't'},
	{"ngpus", required_argument, NULL, 'g'},
	{"agg_iters", required_argument, NULL, 'm'},
	{"average", required_argument, NULL, 'a'},
	{"blocking", required_argument, NULL, 'z'},
	{"parallel_init", required_argument, NULL, 'p'},
	{"report_cputime", required_argument, NULL, 'C'},
	{"run_cycles", required_argument, NULL, 'N'},
	{"output_file", required_argument, NULL, 'J'},
	{"cudagraph", required_argument, NULL, 'G'},
	{"local_register", required_argument, NULL, 'R'},
	{"stream_null", required_argument, NULL, 'y'},
	{"device_implementation", required_argument, NULL, 'D'},
	{"link", required_argument, NULL, LINK},
	{"ranks", required_argument, NULL, RANKS},
	{"device", required_argument, NULL, DEVICE},
	{"ranks-per-gpu", required_argument, NULL, RANKS_PER_GPU},
	{"threads", no_argument, NULL, THREADS},
	{"transport", required_argument, NULL, TRANSPORT},
	{"collective", required_argument, NULL, COLLECTIVE},
	{"random", no_argument, NULL, RANDOM},
	{"seed", required_argument, NULL, SEED},
	{"stream", no_argument, NULL, STREAM},
	{"memory", required_argument, NULL, MEMORY},
	{"sizes", required_argument, NULL, SIZES},
	{"seconds", required_argument, NULL, SECONDS},
	{"rest", required_argument, NULL, REST},
	{"in-place", no_argument, NULL, IN_PLACE},
	{"fresh", no_argument, NULL, FRESH},
	{"hot", no_argument, NULL, HOT},
	{"timeout", required_argument, NULL, TIMEOUT},
	{"explain", no_argument, NULL, EXPLAIN},
	{"tune", required_argument, NULL, TUNE},
	{"verdict", no_argument, NULL, VERDICT},
	{"json", required_argument, NULL, JSON},
	{"csv", required_argument, NULL, CSV},
	{"trace", required_argument, NULL, TRACE},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, VERSION},
	{0},
};

static bool parse_collective(const char *text, int *value)
{
	const char *names[PERF_COLLECTIVES];
	for (int i = 0; i < PERF_COLLECTIVES; i++)
		names[i] = perf_collectives[i].name;
	return perf_parse_name("--collective", text, names, PERF_COLLECTIVES, value);
}

static bool parse_type(const char *text, int *value)
{
	const char *names[PERF_TYPES];
	for (int i = 0; i < PERF_TYPES; i++)
		names[i] = perf_types[i].name;
	static const char *const others[][2] = {
		{"float32", "float"}, {"float16", "half"},   {"fp32", "float"},
		{"fp16", "half"},     {"float64", "double"}, {"bf16", "bfloat16"},
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(text, others[i][0]) == 0)
			text = others[i][1];
	return perf_parse_name("-d", text, names, PERF_TYPES, value);
}

static bool parse_op(const char *text, int *value)
{
	const char *names[PERF_OPS];
	for (int i = 0; i < PERF_OPS; i++)
		names[i] = perf_ops[i].name;
	return perf_parse_name("-o", text, names, PERF_OPS, value);
}

static bool parse_root(const char *text, int *root)
{
	if (strcmp(text, "all") == 0) {
		*root = PERF_ALL;
		return true;
	}
	return perf_parse_int("-r", text, PERF_ALL, MAX_RANKS - 1, root);
}

static bool parse_memory(const char *text, bool *shared)
{
	*shared = strcmp(text, "shared") == 0;
	return *shared || strcmp(text, "private") == 0 ||
	       perf_refuse("--memory", "private or shared", text);
}

static bool parse_seed(const char *text, uint64_t *seed)
{
	char *end;
	*seed = strtoull(text, &end, 0);
	return (end != text && !*end && !strchr(text, '-') && *seed <= INT64_MAX) ||
	       perf_refuse("--seed", "a number from 0 to 9223372036854775807", text);
}

static bool parse_sizes(struct perf_options *options, const char *text)
{
	int count = perf_parse_sizes("--sizes", text, PERF_MOST_SIZES, options->sizes);
	options->size_count = count;
	options->min_bytes = options->sizes[0];
	options->max_bytes = options->sizes[count > 0 ? count - 1 : 0];
	return count > 0;
}

static const char *file_of(const char *text)
{
	return strcmp(text, "-") == 0 ? "/dev/stdout" : text;
}

static bool parse_device(const char *text, const char **device)
{
	*device = strcmp(text, "cpu") == 0 ? NULL : text;
	return !*device || perf_device_is_known(text);
}

/* Options of nccl-tests that change nothing here, as that is so anyway. */
static bool parse_harmless(int letter, const char *text)
{
	char name[] = {'-', (char)letter, '\0'};
	int value;
	return perf_parse_int(name, text, 0, 1000000, &value);
}

/* Options of nccl-tests for which there is something else: only their "no", 0, is taken. */
static bool parse_foreign(int letter, const char *text)
{
	static const struct {
		int letter;
		const char *instead;
	} rows[] = {
		{'G', "calls cannot be captured in CUDA graphs; leave it out"},
		{'R', "buffers that the library registers are --memory shared"},
		{'y', "there is no null stream; --stream calls through a stream"},
		{'D', "kernels of one's own cannot communicate; leave it out"},
		{'M', "memory use is not reported; leave it out"},
	};
	char name[] = {'-', (char)letter, '\0'};
	int value;
	if (!perf_parse_int(name, text, 0, 1000000, &value))
		return false;
	for (size_t i = 0; value > 0 && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].letter == letter)
			fprintf(stderr, "ring_perf: -%c: %s\n", letter, rows[i].instead);
	return value == 0;
}

/* Which options were given: the others' defaults depend on them. */
struct given {
	bool collective, min, max, step, factor, seconds, memory, ranks_per_gpu;
};

/* The options with nccl-tests' letters. */
static bool parse_letter(struct perf_options *options, struct given *given, int letter,
			 const char *text)
{
	switch (letter) {
	case 'b':
		given->min = true;
		return perf_parse_size("-b", text, &options->min_bytes);
	case 'e':
		given->max = true;
		return perf_parse_size("-e", text, &options->max_bytes);
	case 'i':
		given->step = true;
		return perf_parse_size("-i", text, &options->step_bytes);
	case 'f':
		given->factor = true;
		return perf_parse_real("-f", text, 1, &options->step_factor);
	case 'n':
		return perf_parse_int("-n", text, 1, 1000000, &options->effort.samples);
	case 'w':
		return perf_parse_int("-w", text, 0, 1000000, &options->effort.warmup);
	case 'c':
		return perf_parse_int("-c", text, 0, 1000000, &options->checks);
	case 'o':
		return parse_op(text, &options->op);
	case 'd':
		return parse_type(text, &options->type);
	case 'r':
		return parse_root(text, &options->root);
	case 't':
		return perf_parse_int("-t", text, 1, MAX_RANKS, &options->nthreads);
	case 'g':
		return perf_parse_int("-g", text, 1, MAX_RANKS, &options->ngpus);
	case 'T':
		return perf_parse_real("-T", text, 0, &options->timeout_s);
	case 'N':
		return perf_parse_int("-N", text, 0, 1000000, &options->cycles);
	case 'J':
		options->json = file_of(text);
		return true;
	case 'm':
	case 'a':
	case 'z':
	case 'p':
	case 'C':
		return parse_harmless(letter, text);
	case 'G':
	case 'R':
	case 'y':
	case 'D':
	case 'M':
		return parse_foreign(letter, text);
	default: /* getopt has printed a complaint */
		fputs("ring_perf: see ring_perf --help\n", stderr);
		return false;
	}
}

static bool parse_option(struct perf_options *options, struct given *given, int option,
			 const char *text)
{
	switch (option) {
	case RANKS:
		return perf_parse_int("--ranks", text, 1, MAX_RANKS, &options->ranks);
	case COLLECTIVE:
		given->collective = true;
		return parse_collective(text, &options->collective);
	case SEED:
		return parse_seed(text, &options->seed);
	case LINK:
		return setenv("RING_LINK", text, 1) == 0;
	case DEVICE:
		return parse_device(text, &options->device);
	case RANKS_PER_GPU:
		given->ranks_per_gpu = true;
		return perf_parse_int("--ranks-per-gpu", text, 1, MAX_RANKS,
				      &options->ranks_per_gpu);
	case MEMORY:
		given->memory = true;
		return parse_memory(text, &options->shared);
	case TIMEOUT:
		return perf_parse_real("--timeout", text, 0, &options->timeout_s);
	case THREADS:
		options->threads = true;
		return true;
	case RANDOM:
		options->random = true;
		return true;
	case STREAM:
		options->stream = true;
		return true;
	case SIZES:
		given->min = given->max = true;
		return parse_sizes(options, text);
	case SECONDS:
		given->seconds = true;
		return perf_parse_real("--seconds", text, 0, &options->effort.seconds);
	case REST:
		return perf_parse_real("--rest", text, 0, &options->effort.rest_s);
	case IN_PLACE:
		options->in_place = true;
		return true;
	case FRESH:
		options->effort.wanted[PERF_FRESH] = true;
		return true;
	case HOT:
		options->effort.wanted[PERF_HOT] = true;
		return true;
	case EXPLAIN:
		options->explain = true;
		return true;
	case TUNE:
		options->tune = text;
		return true;
	case VERDICT:
		options->verdict = true;
		return true;
	case TRANSPORT:
		options->transport = text;
		return true;
	case JSON:
		options->json = file_of(text);
		return true;
	case CSV:
		options->csv = file_of(text);
		return true;
	case TRACE:
		options->trace = text;
		return true;
	default:
		return parse_letter(options, given, option, text);
	}
}

/* Few sizes and few samples, so that --tune takes seconds. */
static void settle_tuning(struct perf_options *options, const struct given *given)
{
	if (!given->collective)
		options->collective = PERF_ALL;
	if (!given->max)
		options->max_bytes = TUNING_MAX_BYTES;
	if (!given->factor && !given->step)
		options->step_factor = TUNING_FACTOR;
	if (!given->seconds)
		options->effort.seconds = TUNING_SECONDS;
}

/* Says why options do not go together. returns false */
static bool refuse(const char *why)
{
	fprintf(stderr, "ring_perf: %s\n", why);
	return false;
}

int perf_options_grid(const struct perf_options *options)
{
	if (!options->nthreads && !options->ngpus)
		return 0;
	return (options->nthreads ? options->nthreads : 1) * (options->ngpus ? options->ngpus : 1);
}

/* Whether the options about devices and threads go together. */
static bool settle_devices(struct perf_options *options, const struct given *given)
{
	int grid = perf_options_grid(options);
	if (!options->device && given->ranks_per_gpu)
		return refuse("--ranks-per-gpu is for ranks on GPUs: add --device cuda");
	if (!options->device && options->ngpus > 1)
		return refuse("-g counts GPUs: add --device cuda, or count threads by -t");
	if (options->device && given->memory)
		return refuse("--memory is about the host's memory; leave it out with --device");
	if (options->device && options->tune)
		return refuse("--tune measures calls on the host's memory; leave out --device");
	if (grid > MAX_RANKS)
		return refuse("-t times -g is more ranks than 1024");
	if (grid > 1 && options->ranks && options->ranks != grid)
		return refuse("--ranks must be -t times -g, as those ranks are one process; leave "
			      "--ranks out");
	options->threads = options->threads || grid > 1;
	return true;
}

/* Sets the options that were not given. */
static bool settle(struct perf_options *options, const struct given *given)
{
	if (!settle_devices(options, given))
		return false;
	if (options->tune)
		settle_tuning(options, given);
	if (given->step && !given->factor)
		options->step_factor = 0;
	bool *wanted = options->effort.wanted;
	wanted[PERF_HOT] = (wanted[PERF_HOT] && !options->tune) || !wanted[PERF_FRESH];
	if (given->min && !given->max && options->max_bytes < options->min_bytes)
		options->max_bytes = options->min_bytes;
	if (given->max && !given->min && options->min_bytes > options->max_bytes)
		options->min_bytes = options->max_bytes;
	if (options->min_bytes <= options->max_bytes)
		return true;
	fprintf(stderr, "ring_perf: -b %zu is larger than -e %zu\n", options->min_bytes,
		options->max_bytes);
	return false;
}

bool perf_options_parse(struct perf_options *options, int argc, char **argv, int *status)
{
	*options = (struct perf_options){
		.type = RING_FLOAT32, /* as in nccl-tests */
		.min_bytes = 8,
		.max_bytes = (size_t)32 << 20,
		.step_factor = 4,
		.effort = {.samples = 20, .warmup = 5},
		.checks = 1,
		.seed = 1,
		.ranks_per_gpu = 1,
		.cycles = 1,
	};
	struct given given = {0};
	int option;
	*status = PERF_EXIT_OK;
	while ((option = getopt_long(argc, argv,
				     "b:e:i:f:n:w:c:o:d:r:t:g:m:a:z:T:p:C:N:R:y:D:J:M:G:h",
				     long_options, NULL)) != -1) {
		if (option == 'h') {
			fputs(usage, stdout);
			return false;
		}
		if (option == VERSION) {
			printf("ring_perf %d.%d.%d\n", RING_VERSION_MAJOR, RING_VERSION_MINOR,
			       RING_VERSION_PATCH);
			return false;
		}
		*status = PERF_EXIT_USAGE;
		if (!parse_option(options, &given, option, optarg))
			return false;
		*status = PERF_EXIT_OK;
	}
	if (optind < argc)
		fprintf(stderr, "ring_perf: what is '%s'? See ring_perf --help\n", argv[optind]);
	bool ok = optind == argc && settle(options, &given);
	*status = ok ? PERF_EXIT_OK : PERF_EXIT_USAGE;
	return ok;
}

const char *perf_memory_name(const struct perf_options *options)
{
	if (options->device)
		return options->device;
	return options->shared ? "shared" : "private";
}

const char *perf_buffers_name(const struct perf_options *options)
{
	const struct perf_effort *effort = &options->effort;
	if (effort->wanted[PERF_HOT] && effort->wanted[PERF_FRESH])
		return "hot and fresh";
	return perf_buffers_names[effort->wanted[PERF_FRESH]];
}

size_t perf_next_size(const struct perf_options *options, size_t bytes)
{
	for (int i = 0; i < options->size_count; i++)
		if (options->sizes[i] > bytes)
			return options->sizes[i];
	if (options->step_factor > 0) {
		size_t next = (size_t)((double)bytes * options->step_factor);
		return next > bytes ? next : bytes + 1;
	}
	return bytes + options->step_bytes;
}
