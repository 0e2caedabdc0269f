/* SPDX-License-Identifier: MIT */
/*
 * The command line. Options that nccl-tests has keep their letters and meaning.
 */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/spelling.h"
#include "perf/calls/collective.h"
#include "perf/calls/memory.h"
#include "perf/calls/types.h"
#include "tools/machine.h"
#include "tools/options.h"
#include "tools/quiet.h"

#define MAX_RANKS 1024

#define TUNING_MAX_BYTES ((size_t)16 << 20)
#define TUNING_FACTOR 16
#define TUNING_SECONDS 0.02

/* ---- values of their own ------------------------------------------------------------------ */

/* A name's index among `count` names, or PERF_ALL. */
static bool read_name(const struct option_given *given, const char *text, const char *const *names,
		      int count, int *value)
{
	char wanted[256] = "";
	struct ring_spelling spelling = {.wrong = text};
	for (int i = 0; i < count; i++) {
		if (strcmp(text, names[i]) == 0) {
			*value = i;
			return true;
		}
		ring_spelling_try(&spelling, names[i]);
		strcat(strcat(wanted, names[i]), ", ");
	}
	*value = PERF_ALL;
	if (strcmp(text, "all") == 0)
		return true;
	if (spelling.best)
		return option_complain(given->table, "%s: there is no '%s'; did you mean %s?",
				       given->name, text, spelling.best);
	return option_refuse(given, strcat(wanted, "or all"));
}

static bool read_collective(const struct option_given *given, void *options)
{
	const char *names[PERF_COLLECTIVES];
	for (int i = 0; i < PERF_COLLECTIVES; i++)
		names[i] = perf_collectives[i].name;
	return read_name(given, given->text, names, PERF_COLLECTIVES,
			 &((struct perf_options *)options)->collective);
}

static bool read_type(const struct option_given *given, void *options)
{
	const char *names[PERF_TYPES], *text = given->text;
	for (int i = 0; i < PERF_TYPES; i++)
		names[i] = perf_types[i].name;
	static const char *const others[][2] = {
		{"float32", "float"}, {"float16", "half"},   {"fp32", "float"},
		{"fp16", "half"},     {"float64", "double"}, {"bf16", "bfloat16"},
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(text, others[i][0]) == 0)
			text = others[i][1];
	return read_name(given, text, names, PERF_TYPES, &((struct perf_options *)options)->type);
}

static bool read_op(const struct option_given *given, void *options)
{
	const char *names[PERF_OPS];
	for (int i = 0; i < PERF_OPS; i++)
		names[i] = perf_ops[i].name;
	return read_name(given, given->text, names, PERF_OPS, &((struct perf_options *)options)->op);
}

static bool read_root(const struct option_given *given, void *options)
{
	int *root = &((struct perf_options *)options)->root;
	*root = PERF_ALL;
	return strcmp(given->text, "all") == 0 ||
	       option_read_int(given, PERF_ALL, MAX_RANKS - 1, root);
}

static bool read_memory(const struct option_given *given, void *options)
{
	bool shared = strcmp(given->text, "shared") == 0;
	((struct perf_options *)options)->shared = shared;
	return shared || strcmp(given->text, "private") == 0 ||
	       option_refuse(given, "private or shared");
}

/* "8,64K,1M": from small to large. */
static bool read_sizes(const struct option_given *given, void *options)
{
	struct perf_options *into = options;
	const char *at = given->text;
	size_t before = 0;
	for (int count = 0; count < PERF_MOST_SIZES; count++) {
		char *end;
		size_t size = option_read_size(at, &end);
		if (size <= before || (*end && *end != ','))
			break;
		into->sizes[count] = before = size;
		at = end + 1;
		if (*end)
			continue;
		into->size_count = count + 1;
		into->min_bytes = into->sizes[0];
		into->max_bytes = size;
		return true;
	}
	return option_refuse(given, "sizes from small to large such as 8,64K,1.5G");
}

static bool is_host(const char *name, size_t length)
{
	return length == 3 && strncmp(name, "cpu", 3) == 0;
}

/* A list of names; of the host alone it is none. */
static bool read_device(const struct option_given *given, void *options)
{
	const char **device = &((struct perf_options *)options)->device;
	*device = NULL;
	for (const char *name = given->text;; name++) {
		size_t length = strcspn(name, ",");
		if (!is_host(name, length) && !perf_device_is_known(name, length))
			return false;
		if (!is_host(name, length))
			*device = given->text;
		name += length;
		if (!*name)
			return true;
	}
}

bool perf_options_mix_devices(const struct perf_options *options)
{
	return options->device && strchr(options->device, ',');
}

const char *perf_options_device(const struct perf_options *options, int rank, int *length)
{
	const char *name = options->device;
	if (!name)
		return NULL;
	int names = 1;
	for (const char *at = name; *at; at++)
		names += *at == ',';
	for (int turn = rank % names; turn > 0; turn--)
		name = strchr(name, ',') + 1;
	*length = (int)strcspn(name, ",");
	return is_host(name, (size_t)*length) ? NULL : name;
}

/* Options of nccl-tests for which there is something else: only their "no", 0, is taken. */
static bool read_foreign(const struct option_given *given, void *options)
{
	(void)options;
	int value;
	if (!option_read_int(given, 0, 1000000, &value))
		return false;
	return value == 0 ||
	       option_complain(given->table, "%s: %s", given->name, given->row->choices);
}

/* ---- the rows ----------------------------------------------------------------------------- */

#define AT(field) offsetof(struct perf_options, field)
#define FOREIGN(letter, name, instead)                                                             \
	{                                                                                          \
		OPTION_OWN, letter, name, "N", .choices = instead, .read = read_foreign            \
	}
#define HARMLESS(letter, name)                                                                     \
	{                                                                                          \
		OPTION_INT, letter, name, "N", AT(ignored), 0, 1000000, .help = NULL               \
	}

static const struct option_row rows[] = {
	{OPTION_HEADING, .help = "Ranks, and what they call"},
	{OPTION_INT, 0, "ranks", "N", AT(ranks), 1, MAX_RANKS,
	 .help = "start N ranks on this machine"},
	{OPTION_FLAG, 0, "threads", NULL, AT(threads), .help = "ranks are threads of one process"},
	{OPTION_INT, 't', "nthreads", "N", AT(nthreads), 1, MAX_RANKS,
	 .help = "ranks are N threads of one process, ..."},
	{OPTION_INT, 'g', "ngpus", "N", AT(ngpus), 1, MAX_RANKS,
	 .help = "... each of which has N GPUs, and a rank for each"},
	{OPTION_OWN, 0, "device", "LIST", .read = read_device,
	 .help = "the device that has the buffers: cpu, cuda; \"cuda,cpu\" rank by rank"},
	{OPTION_INT, 0, "ranks-per-gpu", "N", AT(ranks_per_gpu), 1, MAX_RANKS,
	 .help = "ranks that share a GPU, 1"},
	{OPTION_TEXT, 0, "transport", "LIST", AT(transport),
	 .help = "use only these transports, \"shm,tcp\""},
	{OPTION_OWN, 0, "link", "PACE", .read = machine_read_link,
	 .help = "slow links down to this: \"1GB/s,20us\" (RING_LINK)"},
	{OPTION_OWN, 0, "collective", "NAME", .read = read_collective,
	 .help = "all_reduce, reduce_scatter, all_gather, broadcast, reduce, gather, scatter, "
		 "all_to_all, sendrecv, reduce_scatterv, all_gatherv, gatherv, scatterv, "
		 "all_to_allv, barrier, all"},

	{OPTION_HEADING, .help = "Sizes, samples and checks"},
	{OPTION_SIZE, 'b', "minbytes", "SIZE", AT(min_bytes),
	 .help = "first size, 8; K, M and G are binary, fractions allowed"},
	{OPTION_SIZE, 'e', "maxbytes", "SIZE", AT(max_bytes), .help = "last size, 32M"},
	{OPTION_SIZE, 'i', "stepbytes", "SIZE", AT(step_bytes), .help = "add this from row to row"},
	{OPTION_ABOVE, 'f', "stepfactor", "FACTOR", AT(step_factor), 1, 1e6,
	 .help = "multiply by this from row to row, 4"},
	{OPTION_OWN, 0, "sizes", "LIST", .read = read_sizes,
	 .help = "these sizes instead, \"8,64K,1M\""},
	{OPTION_INT, 'n', "iters", "N", AT(effort.samples), 1, 1000000,
	 .help = "timed samples of a row, 20"},
	{OPTION_INT, 'w', "warmup_iters", "N", AT(effort.warmup), 0, 1000000,
	 .help = "calls before them, 5"},
	{OPTION_ABOVE, 0, "seconds", "SECONDS", AT(effort.seconds), 0, 1e6,
	 .help = "warm up for a tenth of it, and take only as many samples as fit"},
	{OPTION_ABOVE, 0, "rest", "SECONDS", AT(effort.rest_s), 0, 1e6,
	 .help = "idle time before each sample"},
	{OPTION_INT, 'c', "check", "N", AT(checks), 0, 1000000,
	 .help = "checked calls of a row, 1; 0 checks nothing"},
	{OPTION_OWN, 'o', "op", "NAME", .read = read_op,
	 .help = "sum, prod, max, min, avg, mulsum, all; of integers also band, bor, bxor"},
	{OPTION_OWN, 'd', "datatype", "NAME", .read = read_type,
	 .help = "int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, "
		 "f8e4m3, f8e5m2, all"},
	{OPTION_OWN, 'r', "root", "RANK", .read = read_root,
	 .help = "of broadcast, reduce, gather and scatter, 0; -1 or all is each in turn"},
	{OPTION_FLAG, 0, "random", NULL, AT(random),
	 .help = "check with random floats, not exactly summable ones"},
	{OPTION_NUMBER, 0, "seed", "N", AT(seed), .help = "seed of the data, 1"},
	{OPTION_FLAG, 0, "stream", NULL, AT(stream),
	 .help = "call through a stream; on GPUs one of CUDA's"},
	{OPTION_OWN, 0, "memory", "KIND", .read = read_memory,
	 .help = "private, or shared: from ring_mem_alloc"},
	{OPTION_FLAG, 0, "in-place", NULL, AT(in_place),
	 .help = "measure out of place only what has no in-place form"},
	{OPTION_FLAG, 0, "fresh", NULL, AT(effort.wanted[PERF_FRESH]),
	 .help = "rewrite the input before each timed call"},
	{OPTION_FLAG, 0, "hot", NULL, AT(effort.wanted[PERF_HOT]),
	 .help = "do not touch the buffers (default); with --fresh: both in turn"},
	{OPTION_ABOVE, 'T', "timeout", "SECONDS", AT(timeout_s), 0, 1e6,
	 .help = "timeout of creation and of each call"},
	{OPTION_INT, 'N', "run_cycles", "N", AT(cycles), 0, 1000000,
	 .help = "measure everything N times, 1; 0: until it is ended"},
	{OPTION_NOTE, .value = "-m -a -z -p -C -V N", .help = "of nccl-tests; change nothing here"},
	{OPTION_NOTE, .value = "-G -R -y -D -M ... N",
	 .help = "of nccl-tests; 0 is taken, else it is said what to use instead"},
	HARMLESS('m', "agg_iters"),
	HARMLESS('a', "average"),
	HARMLESS('z', "blocking"),
	HARMLESS('p', "parallel_init"),
	HARMLESS('C', "report_cputime"),
	HARMLESS('V', "device_cta_count"),
	FOREIGN('G', "cudagraph", "calls are timed by themselves, not in CUDA graphs; leave it out"),
	FOREIGN('R', "local_register", "buffers that the library registers are --memory shared"),
	FOREIGN('y', "stream_null", "there is no null stream; --stream calls through a stream"),
	FOREIGN('D', "device_implementation",
		"kernels of one's own cannot communicate; leave it out"),
	FOREIGN('M', NULL, "memory use is not reported; leave it out"),
	FOREIGN('S', "report_timestamps", "--json has when the run began and ended"),
	FOREIGN('I', "per_iter_timing", "--json and --csv have percentiles of the samples"),
	FOREIGN('K', "per_iter_skip", "-w makes calls before the first sample"),
	FOREIGN('x', "cta_policy", "the library chooses how many blocks work; leave it out"),
	FOREIGN('u', "unalign", "buffers begin at pages; leave it out"),

	{OPTION_HEADING, .help = "Results"},
	{OPTION_FLAG, 0, "explain", NULL, AT(explain),
	 .help = "tell what carries each call and what decided that; measure nothing"},
	{OPTION_TEXT, 0, "tune", "FILE", AT(tune),
	 .help = "measure all algorithms, and write numbers for RING_TUNING"},
	{OPTION_FLAG, 0, "verdict", NULL, AT(verdict), .help = "end with a summary in plain words"},
	{OPTION_TEXT, 0, "compare", "FILE", AT(compare),
	 .help = "show the rows beside those of an earlier --json, with ratios and intervals"},
	{OPTION_FILE, 'J', "json", "FILE", AT(json),
	 .help = "write everything as JSON; - is standard output, which is then its alone"},
	{OPTION_FILE, 0, "output_file", "FILE", AT(json), .help = NULL},
	{OPTION_FILE, 0, "csv", "FILE", AT(csv), .help = "write the rows as CSV"},
	{OPTION_TEXT, 0, "plot", "PREFIX", AT(plot),
	 .help = "draw times and bandwidths over sizes with gnuplot"},
	{OPTION_TEXT, 0, "trace", "FILE", AT(trace),
	 .help = "write a Chrome trace of all ranks; with %r for the rank, one file per rank"},
	{OPTION_QUIET, 0, "quiet", .help = "print nothing; write only files"},
	{OPTION_HELP, 'h', "help", .help = "show this and exit"},
	{OPTION_VERSION, 0, "version", .help = "show the version and exit"},
};

static const struct option_table table = {
	.program = "ring_perf",
	.usage = "usage: ring_perf [options]\n"
		 "Measures and checks collectives. Starts two ranks, or --ranks of them, unless a\n"
		 "launcher such as ring_run has started it as a rank already.",
	.examples = "  ring_perf --ranks 4 -b 8 -e 64M -f 2 --verdict\n"
		    "  ring_perf --ranks 4 -b 8 -e 64M -f 2 --transport tcp\n"
		    "  ring_run -n 2 ring_perf --json result.json\n",
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
};

static bool given(const struct option_found *found, const char *name)
{
	return option_is_given(&table, found, name);
}

/* ---- what was not given ------------------------------------------------------------------- */

/* Few sizes and few samples, so that --tune takes seconds. */
static void settle_tuning(struct perf_options *options, const struct option_found *found)
{
	if (!given(found, "collective"))
		options->collective = PERF_ALL;
	if (!given(found, "maxbytes") && options->size_count == 0)
		options->max_bytes = TUNING_MAX_BYTES;
	if (!given(found, "stepfactor") && !given(found, "stepbytes"))
		options->step_factor = TUNING_FACTOR;
	if (!given(found, "seconds"))
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
static bool settle_devices(struct perf_options *options, const struct option_found *found)
{
	int grid = perf_options_grid(options);
	if (!options->device && given(found, "ranks-per-gpu"))
		return refuse("--ranks-per-gpu is for ranks on GPUs: add --device cuda");
	if (!options->device && options->ngpus > 1)
		return refuse("-g counts GPUs: add --device cuda, or count threads by -t");
	if (options->tune && perf_options_mix_devices(options))
		return refuse(
			"--tune measures memory of one kind: give --device one name, not a list");
	if (options->compare && (options->tune || options->explain))
		return refuse(
			"--compare is of times that are measured; leave out --tune and --explain");
	if (grid > MAX_RANKS)
		return refuse("-t times -g is more ranks than 1024");
	if (grid > 1 && options->ranks && options->ranks != grid)
		return refuse("--ranks must be -t times -g, as those ranks are one process; leave "
			      "--ranks out");
	options->threads = options->threads || grid > 1;
	return true;
}

/* Sets the options that were not given. */
static bool settle(struct perf_options *options, const struct option_found *found)
{
	bool has_first = given(found, "minbytes") || options->size_count > 0;
	bool has_last = given(found, "maxbytes") || options->size_count > 0;
	if (!settle_devices(options, found))
		return false;
	if (options->tune)
		settle_tuning(options, found);
	if (given(found, "stepbytes") && !given(found, "stepfactor"))
		options->step_factor = 0;
	bool *wanted = options->effort.wanted;
	wanted[PERF_HOT] = (wanted[PERF_HOT] && !options->tune) || !wanted[PERF_FRESH];
	if (has_first && !has_last && options->max_bytes < options->min_bytes)
		options->max_bytes = options->min_bytes;
	if (has_last && !has_first && options->min_bytes > options->max_bytes)
		options->min_bytes = options->max_bytes;
	if (options->op != PERF_ALL && options->type != PERF_ALL &&
	    !perf_op_takes(&perf_ops[options->op], &perf_types[options->type]))
		return refuse("it reduces the bits of integers: choose one with -d");
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
	struct option_found found = {0};
	int index = options_read(&table, options, &found, argc, argv, status);
	if (index < 0)
		return false;
	bool ok = settle(options, &found);
	if (found.quiet)
		quiet_begin();
	*status = ok ? STATUS_OK : STATUS_USAGE;
	return ok;
}

const char *perf_memory_name(const struct perf_options *options)
{
	if (options->device)
		return perf_options_mix_devices(options) ? "mixed" : options->device;
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
