/* SPDX-License-Identifier: MIT */
/*
 * The table. Its header, rows and footer have exactly nccl-tests' format, so that scripts for one
 * can read the other.
 */
#include "report.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "tools/progress.h"

/* nccl-tests' header, with our own columns behind it. */
static const char table_header[] =
	"#                                                              out-of-place"
	"                       in-place          \n"
	"#       size         count      type   redop    root     time   algbw   busbw  #wrong"
	"     time   algbw   busbw  #wrong   algorithm  transport  %limit\n"
	"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)        "
	"     (us)  (GB/s)  (GB/s)                                       \n";

static const char explained_header[] =
	"#       size         count      type   redop    root  algorithm     path     memory  "
	"     chunk  channels  decided by\n"
	"#        (B)    (elements)                                                         "
	"       (B)\n";

/* A pipe whose reader is gone; else a disk may be full. */
bool report_is_unread(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
	return ferror(stdout) && poll(&out, 1, 0) == 1 && out.revents & POLLERR;
}

static bool speaks(const struct perf_run *run)
{
	return run->team.rank == 0;
}

void report_progress(struct perf_run *run, const struct perf_call *call, size_t done, size_t all)
{
	if (speaks(run))
		progress_show(&run->progress, done, all, "measuring %s of %zu bytes",
			      call->collective->name, call->bytes);
}

/* As many decimals as fit into the column, as nccl-tests does. */
static void print_number(int width, double value)
{
	char text[32];
	int decimals = 2;
	int length;
	do {
		length = snprintf(text, sizeof(text), "%.*f", decimals, value);
	} while (length > width && decimals-- > 0);
	if (length > width)
		snprintf(text, sizeof(text), "%.*e", width >= 7, value);
	printf("  %*s", width, text);
}

static bool is_in_order(const struct perf_run *run)
{
	int position = 0;
	while (position < run->team.size && run->team.order[position] == position)
		position++;
	return position == run->team.size;
}

/* Ranks that share a chip, more than was said. */
static void print_sharing(const struct perf_run *run)
{
	for (int rank = 0; run->facts.devices && rank < run->team.size; rank++) {
		int before, sharing = perf_facts_share(&run->facts, run->team.size, rank, &before);
		if (before == 0 && sharing > run->options->ranks_per_gpu)
			printf("# %d ranks share %s of %s: give each its own, or say "
			       "--ranks-per-gpu %d\n",
			       sharing, run->facts.devices[rank].text,
			       run->facts.ranks[rank].machine.host, sharing);
	}
}

/* The lines that nccl-tests has, too. */
static void print_settings(const struct perf_options *options)
{
	int version = ring_version();
	printf("# ring_perf version %d.%d.%d ringccl-headers=%d ringccl-library=%d\n",
	       RING_VERSION_MAJOR, RING_VERSION_MINOR, RING_VERSION_PATCH,
	       RING_VERSION_MAJOR * 10000 + RING_VERSION_MINOR * 100 + RING_VERSION_PATCH, version);
	printf("# nThread %d nGpus %d minBytes %zu maxBytes %zu step: ",
	       options->nthreads ? options->nthreads : 1,
	       !options->device ? 0
	       : options->ngpus ? options->ngpus
				: 1,
	       options->min_bytes, options->max_bytes);
	if (options->size_count > 0)
		printf("%d(sizes)", options->size_count);
	else if (options->step_factor > 0)
		printf("%g(factor)", options->step_factor);
	else
		printf("%zu(bytes)", options->step_bytes);
	printf(" warmup iters: %d iters: %d agg iters: 1 validation: %d graph: 0 unalign: 0\n",
	       options->effort.warmup, options->effort.samples, options->checks);
}

static void print_ranks(const struct perf_run *run)
{
	const struct perf_options *options = run->options;
	if (!is_in_order(run))
		printf("#  in the order of the ring:\n");
	for (int position = 0; position < run->team.size; position++) {
		int rank = run->team.order[position];
		const struct perf_rank_facts *facts = &run->facts.ranks[rank];
		const struct perf_device_facts *device = run->facts.devices;
		printf("#  Rank %2d Group %2d Pid %6d on %10s device %2d ", rank, 0, facts->pid,
		       facts->machine.host, device ? device[rank].chip : 0);
		int length;
		const char *name = perf_options_device(options, rank, &length);
		if (name)
			printf("[%.*s] %s, ", length, name, device[rank].text);
		printf("[cpu] %s, %d CPU%s\n", facts->machine.cpu, facts->machine.cpus,
		       facts->machine.cpus == 1 ? "" : "s");
	}
}

void report_start(const struct perf_run *run)
{
	const struct perf_options *options = run->options;
	if (!speaks(run))
		return;
	print_settings(options);
	const char *link = machine_link();
	printf("#\n# Using %d rank%s%s%s, transport %s%s%s, data %s, seed %llu", run->team.size,
	       run->team.size == 1 ? "" : "s", options->threads ? " as threads" : "",
	       options->stream ? " on streams" : "", run->team.transports,
	       link[0] ? " as slow as " : "", link, options->random ? "random" : "exact",
	       (unsigned long long)options->seed);
	printf(", memory %s, buffers %s\n", perf_memory_name(options), perf_buffers_name(options));
	print_ranks(run);
	print_sharing(run);
	fflush(stdout);
}

void report_limits(const struct perf_run *run)
{
	const struct perf_limits *limits = &run->limits;
	if (!speaks(run))
		return;
	if (!limits->known) {
		printf("#\n# %%limit: not known: %s\n", limits->reason);
		return;
	}
	const struct perf_rates *rates = perf_limit_rates(limits, run->options->max_bytes);
	printf("#\n# %%limit: of the in-place time; measured now with all ranks at once, at %zu "
	       "bytes: ",
	       rates->bytes);
	if (run->options->device)
		printf("on their %s devices ", run->options->device);
	printf("reduce %.2f GB/s, ", rates->reduce * 1e-9);
	if (run->options->device && limits->over_network)
		printf("copy %.2f GB/s, ", rates->copy * 1e-9);
	if (limits->over_network)
		printf("%s both ways %.2f GB/s, down a line %.2f GB/s, ",
		       limits->over_verbs ? "raw verbs" : "plain TCP sockets", rates->wire * 1e-9,
		       rates->line * 1e-9);
	else
		printf("copy %.2f GB/s, ", rates->copy * 1e-9);
	if (limits->hop_us > 0)
		printf("one hop %.*f us", limits->over_network ? 2 : 3, limits->hop_us);
	else
		printf("no hop could be measured");
	if (limits->shared)
		printf(", a sum written to both places %.2f GB/s", rates->both * 1e-9);
	printf("; see ring_perf(1)\n");
	fflush(stdout);
}

void report_table(const struct perf_run *run, const struct perf_collective *collective)
{
	if (!speaks(run))
		return;
	printf("#\n# Collective test starting: %s_perf\n#\n", collective->test);
	fputs(run->options->explain ? explained_header : table_header, stdout);
}

static void print_call(const struct perf_call *call)
{
	printf("%12zu  %12zu  %8s  %6s  %6d", call->bytes, call->count, perf_call_type_name(call),
	       perf_call_op_name(call), perf_call_root(call));
}

void report_carried(const struct perf_run *run, const struct perf_call *call,
		    const struct ring_carried *carried)
{
	if (!speaks(run))
		return;
	print_call(call);
	printf("  %9s  %7s  %9s  %10llu  %8d  %s\n", carried->algorithm, carried->path,
	       carried->memory, (unsigned long long)carried->chunk_bytes, carried->channels,
	       carried->reason);
	fflush(stdout);
}

static void print_place(const struct perf_run *run, const struct perf_row *row, int place)
{
	const struct perf_result *result = &row->places[place];
	if (!row->has_place[place]) {
		printf("  %7s  %6s  %6s  %6s", "N/A", "N/A", "N/A", "N/A");
		return;
	}
	double time = result->times.median;
	print_number(7, time);
	print_number(6, perf_algorithm_bandwidth(&row->call, time));
	print_number(6, perf_bus_bandwidth(&row->call, time));
	if (run->options->checks > 0)
		printf("  %6g", (double)result->check.wrong);
	else
		printf("  %6s", "N/A");
}

void report_row(const struct perf_run *run, const struct perf_row *row)
{
	const struct perf_call *call = &row->call;
	if (!speaks(run))
		return;
	progress_wipe();
	print_call(call);
	print_place(run, row, PERF_OUT_OF_PLACE);
	print_place(run, row, PERF_IN_PLACE);
	printf("  %9s  %9s", perf_row_result(row)->check.carried.algorithm, run->team.transports);
	if (row->limit_us > 0)
		printf("  %6.0f\n", perf_row_percent(row));
	else
		printf("  %6s\n", "N/A");
	fflush(stdout);
}

/* Bytes for people: "32 MiB". */
static void print_size(size_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	int unit = 0;
	double value = (double)bytes;
	while (value >= 1024 && unit < 4) {
		value /= 1024;
		unit++;
	}
	printf("%.4g %s", value, units[unit]);
}

static const char *okay(bool ok)
{
	return ok ? "OK" : "FAILED";
}

/* The row's payload per rank: a range if the vector does not divide evenly. */
static void print_payload(const struct perf_row *row)
{
	const struct perf_check *check = &perf_row_result(row)->check;
	printf("%llu", (unsigned long long)check->sent_least);
	if (check->sent_most != check->sent_least)
		printf(" to %llu", (unsigned long long)check->sent_most);
	printf(" bytes sent per rank for ");
	print_size(row->call.bytes);
	printf(", counted %llu = formula %llu over all ranks",
	       (unsigned long long)check->sent_bytes, (unsigned long long)check->formula_bytes);
}

static void print_verdict(const struct perf_run *run, const struct perf_summary *sum)
{
	const struct perf_row *peak = sum->peak;
	double time = peak->places[sum->peak_place].times.median;
	printf("# Verdict: fastest is %s of ", peak->call.collective->name);
	print_size(peak->call.bytes);
	printf(" with %.2f GB/s of bus bandwidth", perf_bus_bandwidth(&peak->call, time));
	if (peak->limit_us > 0)
		printf(", %.0f %% of what a ring could reach here (%.2f GB/s)",
		       100 * peak->limit_us / time, perf_bus_bandwidth(&peak->call, peak->limit_us));
	printf(".\n# Verdict: each rank sent what the formula says: ");
	printf(sum->payload_mismatches == 0 ? "yes, " : "NO, ");
	print_payload(sum->large);
	printf(".\n# Verdict: ");
	print_size(sum->small->call.bytes);
	printf(" take %.2f us.\n", perf_row_time(sum->small));
	if (run->options->checks == 0)
		printf("# Verdict: nothing was verified (-c 0).\n");
	else if (sum->wrong == 0 && sum->out_of_bounds == 0)
		printf("# Verdict: all results verified, on every rank, to the last element.\n");
	else
		printf("# Verdict: RESULTS ARE WRONG: %llu elements, %llu bytes out of bounds.\n",
		       (unsigned long long)sum->wrong, (unsigned long long)sum->out_of_bounds);
}

/* Says how random floats were compared. */
static void print_order(const struct perf_run *run, const struct perf_summary *sum)
{
	printf("# %-20s : ", "Order of additions");
	if (!run->options->random)
		printf("any, the data sum exactly\n");
	else if (sum->reordered == 0)
		printf("replayed bit for bit as ringccl.h documents it\n");
	else
		printf("%llu elements within the error bound and equal on all ranks, but of "
		       "another "
		       "order than documented\n",
		       (unsigned long long)sum->reordered);
}

/* On a busy machine, times also measure the other programs. */
void report_busyness(const struct perf_run *run, FILE *out)
{
	struct perf_busyness busyness = perf_run_busyness(run);
	const struct machine *machine = &run->facts.ranks[0].machine;
	if (!busyness.busy)
		return;
	const char *between = "";
	fputs("# This machine is busy, so times say little: ", out);
	if (busyness.times > 0) {
		fprintf(out, "%zu of %zu spread by half or more", busyness.spread, busyness.times);
		between = ", ";
	}
	if (isfinite(run->facts.other_cpus)) {
		fprintf(out, "%sother programs took %.2f of %d CPUs", between,
			run->facts.other_cpus, machine->online);
		between = ", ";
	}
	if (isfinite(machine->load))
		fprintf(out, "%sthe load was %.2f before", between, machine->load);
	fputc('\n', out);
}

void report_end(const struct perf_run *run)
{
	if (!speaks(run))
		return;
	progress_wipe();
	struct perf_summary sum = perf_run_summary(run);
	printf("# %-20s : %llu %s\n", "Out of bounds values", (unsigned long long)sum.wrong,
	       okay(sum.wrong == 0));
	printf("# %-20s : %g \n", "Avg bus bandwidth", sum.average_bus);
	printf("#\n");
	double peak_us = sum.peak->places[sum.peak_place].times.median;
	printf("# %-20s : %.2f GB/s at ", "Peak bus bandwidth",
	       perf_bus_bandwidth(&sum.peak->call, peak_us));
	print_size(sum.peak->call.bytes);
	printf("\n# %-20s : %.2f us for ", "Latency", perf_row_time(sum.small));
	print_size(sum.small->call.bytes);
	printf("\n# %-20s : ", "Payload");
	print_payload(sum.large);
	printf(" %s\n", okay(sum.payload_mismatches == 0));
	printf("# %-20s : %llu bytes changed outside of the results %s\n", "Guard zones",
	       (unsigned long long)sum.out_of_bounds, okay(sum.out_of_bounds == 0));
	if (run->options->checks > 0)
		print_order(run, &sum);
	bool above = false;
	for (size_t i = 0; i < run->row_count; i++)
		above = above || perf_row_percent(&run->rows[i]) > 100;
	if (above)
		printf("# Above 100 %% of the limit: the data stayed in caches better than in the "
		       "measurement of the limit, or a way shorter than the ring was taken.\n");
	if (run->options->verdict)
		print_verdict(run, &sum);
	report_busyness(run, stdout);
	fflush(stdout);
}
