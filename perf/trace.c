/* SPDX-License-Identifier: MIT */
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/trace_text.h"
#include "tools/whole_file.h"

/* ---- where, and when ---------------------------------------------------------------------- */

const char *perf_trace_begin(struct perf_trace *trace, const struct perf_options *options)
{
	*trace = (struct perf_trace){.folder = ""};
	if (!options->trace || strstr(options->trace, "%r"))
		return options->trace;
	if (!temporary_name(trace->folder, "ring_perf") || !mkdtemp(trace->folder)) {
		fprintf(stderr, "ring_perf: cannot make a folder for traces: %s: %m\n",
			trace->folder);
		trace->folder[0] = '\0';
		return NULL;
	}
	snprintf(trace->own, sizeof(trace->own), "%s/%%r", trace->folder);
	return trace->own;
}

/* Ranks with the same boot id run on one host, and so have one clock. */
struct moment {
	char boot[40];
	int64_t now_ns;
};

static struct moment read_clock(void)
{
	struct moment moment = {.boot = ""};
	struct timespec now;
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (file && !fgets(moment.boot, sizeof(moment.boot), file))
		moment.boot[0] = '\0';
	if (file)
		fclose(file);
	clock_gettime(CLOCK_MONOTONIC, &now);
	moment.now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	return moment;
}

/* Ranks read their clocks right after a barrier, so within the time of a message. */
int perf_trace_join(struct perf_trace *trace, struct ring_comm *comm)
{
	trace->rank = ring_comm_rank(comm);
	struct moment mine, *all = calloc((size_t)ring_comm_size(comm), sizeof(*all));
	int err = all ? ring_comm_split(comm, 0, trace->rank, &trace->aside) : RING_ENOMEM;
	if (!err)
		err = ring_barrier(trace->aside, NULL);
	mine = read_clock();
	if (!err)
		err = ring_all_gather(trace->aside, &mine, all, sizeof(mine), RING_UINT8, NULL);
	if (!err && memcmp(mine.boot, all[0].boot, sizeof(mine.boot)) != 0)
		trace->behind_ns = all[0].now_ns - mine.now_ns;
	free(all);
	return err;
}

/* ---- one rank's --------------------------------------------------------------------------- */

/* A trace as text, and how many records were dropped from it. */
struct text {
	char *bytes;
	size_t count;
	uint64_t dropped;
};

/* The events of this rank, with times on rank 0's clock. */
static struct text read_own(const struct perf_trace *trace)
{
	struct text text = {NULL, 0, 0};
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%d", trace->folder, trace->rank);
	FILE *in = fopen(path, "re"), *out = open_memstream(&text.bytes, &text.count);
	if (in && out) {
		text.dropped = trace_text_read_head(in);
		trace_text_copy(in, out, trace->behind_ns);
	}
	if (in)
		fclose(in);
	if (out)
		fclose(out);
	return text;
}

static void remove_own(const struct perf_trace *trace)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%d", trace->folder, trace->rank);
	unlink(path);
	rmdir(trace->folder);
}

/* ---- all ranks' --------------------------------------------------------------------------- */

struct collection {
	char *text;     /* of all ranks, one behind the other; on rank 0 */
	size_t *counts; /* [size] bytes of each rank */
	int size;
	uint64_t dropped;
};

static void write_collection(void *context, FILE *out)
{
	const struct collection *all = context;
	const char *at = all->text;
	trace_text_write_head(out, all->dropped);
	for (int rank = 0; rank < all->size; rank++) {
		fputs(at > all->text && all->counts[rank] > 0 ? ",\n" : "", out);
		fwrite(at, 1, all->counts[rank], out);
		at += all->counts[rank];
	}
	trace_text_write_tail(out);
}

/* How many bytes each rank has, and room for them on rank 0. returns 0; a RING_E code */
static int prepare(struct collection *all, struct ring_comm *comm, const struct text *own)
{
	size_t total = 0;
	*all = (struct collection){.size = ring_comm_size(comm), .dropped = own->dropped};
	all->counts = calloc((size_t)all->size, sizeof(*all->counts));
	int err = all->counts && own->bytes ? 0 : RING_ENOMEM;
	if (!err)
		err = ring_all_gather(comm, &own->count, all->counts, sizeof(own->count),
				      RING_UINT8, NULL);
	if (!err)
		err = ring_all_reduce(comm, &all->dropped, &all->dropped, 1, RING_UINT64, RING_SUM,
				      NULL);
	for (int rank = 0; !err && rank < all->size; rank++)
		total += all->counts[rank];
	if (!err && ring_comm_rank(comm) == 0)
		all->text = malloc(total + 1);
	return err || all->text || ring_comm_rank(comm) > 0 ? err : RING_ENOMEM;
}

/* returns 0; a RING_E code */
static int put_together(struct perf_trace *trace, const struct text *own, const char *path)
{
	struct collection all;
	int err = prepare(&all, trace->aside, own);
	if (!err)
		err = ring_gatherv(trace->aside, own->bytes, own->count, all.text, all.counts, NULL,
				   RING_UINT8, 0, NULL);
	if (!err && trace->rank == 0 && !whole_file_write("ring_perf", path, write_collection, &all))
		err = RING_ESYSTEM;
	free(all.text);
	free(all.counts);
	return err;
}

/* Traces that cannot be put together stay in the folder, so that people can look at them. */
bool perf_trace_end(struct perf_trace *trace, const char *path)
{
	int err = 0;
	if (trace->aside && trace->folder[0]) {
		struct text own = read_own(trace);
		err = put_together(trace, &own, path);
		free(own.bytes);
	}
	if (err && err != RING_ESYSTEM) /* that one was printed */
		fprintf(stderr, "ring_perf: rank %d: %s: its trace stays in %s\n", trace->rank,
			ring_strerror(err), trace->folder);
	else if (trace->folder[0])
		remove_own(trace);
	ring_comm_destroy(trace->aside);
	return err == 0;
}
