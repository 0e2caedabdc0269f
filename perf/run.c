/* SPDX-License-Identifier: MIT */
/*
 * The loops over collectives, types, operations, roots and sizes, and the summary of all rows.
 */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/quiet.h"
#include "before.h"
#include "ending.h"
#include "report.h"
#include "tune.h"

enum { READER_GONE = 1 }; /* no RING_E code */

/* The choices to measure, from `first` to below `end`: the one that was asked for, or all. */
struct choices {
	int first, end;
};

static struct choices choose(int chosen, int count)
{
	if (chosen == PERF_ALL)
		return (struct choices){0, count};
	return (struct choices){chosen, chosen + 1};
}

static int add_row(struct perf_run *run, const struct perf_row *row)
{
	perf_ending_lock();
	struct perf_row *rows = realloc(run->rows, (run->row_count + 1) * sizeof(*rows));
	if (!rows) {
		perf_ending_unlock();
		return perf_team_failed(&run->team, RING_ENOMEM, "keeping results");
	}
	run->rows = rows;
	run->rows[run->row_count++] = *row;
	perf_ending_unlock();
	return 0;
}

/* Makes the call once, and reports how it was carried. */
static int explain_row(struct perf_run *run, struct perf_buffer buffers[2],
		       const struct perf_call *call)
{
	struct perf_placed placed = perf_place(call, PERF_OUT_OF_PLACE, buffers, run->team.rank);
	struct ring_stats stats;
	int err = perf_placed_run(&run->team, &placed, 1);
	if (!err)
		err = perf_team_stats(&run->team, &stats);
	if (!err)
		report_carried(run, call, &stats.last);
	return err;
}

/* Ends on all ranks once nobody reads rank 0's table any more, as `head` does. */
static int ask_reader(struct perf_run *run)
{
	double gone = run->team.rank == 0 && report_is_unread();
	int err = perf_team_max(&run->team, &gone, 1);
	return err ? err : gone > 0 ? READER_GONE : 0;
}

static int measure_rows(struct perf_run *run, struct perf_buffer buffers[2],
			const struct perf_call *call)
{
	struct perf_row rows[PERF_BUFFERS];
	struct perf_team *start = run->start.comm ? &run->start : &run->team;
	report_progress(run, call, 0, 0);
	int err = perf_measure_rows(&run->team, start, run->options, call, buffers, rows);
	for (int kind = 0; kind < PERF_BUFFERS && !err; kind++) {
		if (!run->options->effort.wanted[kind])
			continue;
		rows[kind].limit_us = perf_limit_us(&run->limits, call);
		err = add_row(run, &rows[kind]);
		if (!err)
			report_row(run, &rows[kind]);
	}
	return err ? err : ask_reader(run);
}

static int measure_sizes(struct perf_run *run, struct perf_buffer buffers[2], struct perf_call *call)
{
	const struct perf_options *options = run->options;
	int err = 0;
	for (size_t bytes = options->min_bytes; bytes <= options->max_bytes && !err;
	     bytes = perf_next_size(options, bytes)) {
		perf_call_set_bytes(call, bytes);
		err = (options->explain ? explain_row : measure_rows)(run, buffers, call);
		if (!perf_call_is(call, PERF_DATA))
			break;
	}
	return err;
}

static int measure_roots(struct perf_run *run, struct perf_buffer buffers[2], struct perf_call *call)
{
	struct choices roots = choose(perf_call_is(call, PERF_ROOTED) ? run->options->root : 0,
				      run->team.size);
	int err = 0;
	for (call->root = roots.first; call->root < roots.end && !err; call->root++)
		err = measure_sizes(run, buffers, call);
	return err;
}

/* Creates the operation first, if it is a pre-multiplied sum. */
static int measure_op(struct perf_run *run, struct perf_buffer buffers[2], struct perf_call *call)
{
	struct ring_comm *comm = run->team.comm;
	call->ring_op = call->op->op;
	if (!call->op->scales)
		return measure_roots(run, buffers, call);
	uint64_t element;
	double scalar = perf_scalar(run->team.rank);
	call->type->store(&scalar, 1, &element);
	int err = ring_op_create_premul_sum(comm, &element, call->type->type, &call->ring_op);
	if (err)
		return perf_team_failed(&run->team, err, "making an operation");
	err = measure_roots(run, buffers, call);
	int destroy_err = ring_op_destroy(comm, call->ring_op);
	return err ? err : perf_team_failed(&run->team, destroy_err, "forgetting an operation");
}

static int measure_collective(struct perf_run *run, struct perf_buffer buffers[2],
			      const struct perf_collective *collective)
{
	const struct perf_options *options = run->options;
	struct perf_call call = {.collective = collective, .size = run->team.size};
	struct choices types = choose(perf_call_is(&call, PERF_DATA) ? options->type : 0,
				      PERF_TYPES);
	struct choices ops = choose(perf_call_is(&call, PERF_REDUCES) ? options->op : 0, PERF_OPS);
	int err = 0;
	report_table(run, collective);
	for (int type = types.first; type < types.end; type++) {
		for (int op = ops.first; op < ops.end && !err; op++) {
			call.type = &perf_types[type];
			call.op = &perf_ops[op];
			if (perf_op_takes(call.op, call.type))
				err = measure_op(run, buffers, &call);
		}
	}
	return err;
}

/* Before any rank makes a call: pinning may wait for GPUs, whose kernels would wait for it. */
static int map_buffers(struct perf_run *run, struct perf_buffer buffers[2])
{
	/* A vector has at least one element per rank, and limits have a smallest size. */
	size_t least = (size_t)run->team.size * sizeof(double);
	size_t bytes = run->options->max_bytes > least ? run->options->max_bytes : least;
	bytes = bytes > PERF_LIMIT_SMALLEST ? bytes : PERF_LIMIT_SMALLEST;
	struct perf_device *device = run->team.device.row ? &run->team.device : NULL;
	const struct perf_team *lender = device ? &run->lender : &run->team;
	struct ring_comm *comm = run->options->shared ? lender->comm : NULL;
	int err = perf_buffer_map(&buffers[0], comm, device, bytes);
	if (!err)
		err = perf_buffer_map(&buffers[1], comm, device, bytes);
	return err ? perf_team_failed(&run->team, err, "mapping buffers")
		   : perf_team_barrier(&run->team);
}

static int measure_limits(struct perf_run *run, struct perf_buffer buffers[2])
{
	bool shared = run->options->shared && !run->options->device;
	int err = perf_limits_measure(&run->team, buffers, shared, &run->limits);
	if (!err)
		report_limits(run);
	return err;
}

static int measure_all(struct perf_run *run, struct perf_buffer buffers[2])
{
	struct choices collectives = choose(run->options->collective, PERF_COLLECTIVES);
	int err = map_buffers(run, buffers);
	if (!err && run->options->tune)
		return perf_tune(run, buffers);
	if (!err && !run->options->explain)
		err = measure_limits(run, buffers);
	for (int cycle = 0; !err && (run->options->cycles == 0 || cycle < run->options->cycles);
	     cycle++)
		for (int i = collectives.first; i < collectives.end && !err; i++)
			err = measure_collective(run, buffers, &perf_collectives[i]);
	return err;
}

/* Out of a barrier of rings ranks come one after the other, and would begin so. */
static int branch_start(struct perf_run *run)
{
	int err = perf_team_branch(&run->team, run->options, NULL, &run->start);
	if (err)
		memcpy(run->team.error, run->start.error, sizeof(run->team.error));
	return err;
}

static int take_device(struct perf_run *run)
{
	int err = perf_facts_take_device(&run->team, run->options, &run->facts);
	if (err || !run->options->shared)
		return err;
	err = perf_team_lend(&run->team, run->options, run->team.device.chip, &run->lender);
	if (err)
		memcpy(run->team.error, run->lender.error, sizeof(run->team.error));
	return err;
}

static int prepare_and_measure(struct perf_run *run, struct perf_buffer buffers[2])
{
	int err = perf_facts_gather(&run->team, &run->facts);
	if (!err && perf_team_is_forced(run->options))
		err = branch_start(run);
	if (!err && run->options->device)
		err = take_device(run);
	if (!err && run->options->stream)
		err = perf_team_make_stream(&run->team, run->options);
	if (err)
		return err;
	struct machine_use use = machine_use_now();
	report_start(run);
	perf_ending_watch(run);
	err = measure_all(run, buffers);
	return err ? err : perf_facts_watch(&run->team, &run->facts, &use, run->options->threads);
}

/* returns an exit status */
static int judge(const struct perf_run *run)
{
	struct perf_summary sum = perf_run_summary(run);
	bool ok = sum.wrong == 0 && sum.out_of_bounds == 0 && sum.payload_mismatches == 0;
	if (!ok && run->team.rank == 0 && quiet_is_on())
		fprintf(stderr,
			"ring_perf: wrong elements: %llu, bytes out of bounds: %llu, rows with a "
			"wrong payload: %llu\n",
			(unsigned long long)sum.wrong, (unsigned long long)sum.out_of_bounds,
			(unsigned long long)sum.payload_mismatches);
	return ok ? STATUS_OK : STATUS_FOUND;
}

int perf_run_rows(struct perf_run *run)
{
	if (run->options->root >= run->team.size) {
		if (run->team.rank == 0)
			fprintf(stderr, "ring_perf: there is no rank %d to be the root\n",
				run->options->root);
		return STATUS_USAGE;
	}
	struct perf_buffer buffers[2] = {0};
	int err = prepare_and_measure(run, buffers);
	perf_device_close(&run->team.device);
	perf_buffer_unmap(&buffers[0]);
	perf_buffer_unmap(&buffers[1]);
	perf_team_leave(&run->start);
	perf_team_leave(&run->lender);
	if (err == READER_GONE)
		return STATUS_UNREAD;
	if (err)
		return err == RING_ETIMEDOUT ? STATUS_TIMEOUT
		       : err == RING_ENOMEM  ? STATUS_SYSTEM
					     : STATUS_FAILED;
	if (run->row_count > 0) {
		report_end(run);
		perf_before_report(run);
	}
	return judge(run);
}

/* The machine is busy if other programs used CPUs, or if a quarter of the times spread far. */
struct perf_busyness perf_run_busyness(const struct perf_run *run)
{
	struct perf_busyness busyness = {0};
	const struct machine *machine = &run->facts.ranks[0].machine;
	for (size_t i = 0; i < run->row_count; i++) {
		for (int place = 0; place < PERF_PLACES; place++) {
			const struct perf_times *times = &run->rows[i].places[place].times;
			if (!run->rows[i].has_place[place] || times->samples < 5)
				continue;
			busyness.times++;
			busyness.spread += times->p90 > MACHINE_BUSY_SPREAD * times->median;
		}
	}
	busyness.busy = run->facts.other_cpus > MACHINE_BUSY_SHARE * machine->online ||
			(busyness.times > 0 && 4 * busyness.spread > busyness.times);
	return busyness;
}

void perf_run_free(struct perf_run *run)
{
	perf_facts_free(&run->facts);
	free(run->rows);
	run->rows = NULL;
}

double perf_algorithm_bandwidth(const struct perf_call *call, double microseconds)
{
	return (double)call->bytes / microseconds * 1e-3;
}

double perf_bus_bandwidth(const struct perf_call *call, double microseconds)
{
	double sent = call->collective->work(call->size).sent;
	return sent * perf_algorithm_bandwidth(call, microseconds);
}

const struct perf_result *perf_row_result(const struct perf_row *row)
{
	return &row->places[row->has_place[PERF_IN_PLACE] ? PERF_IN_PLACE : PERF_OUT_OF_PLACE];
}

double perf_row_time(const struct perf_row *row)
{
	return perf_row_result(row)->times.median;
}

double perf_row_percent(const struct perf_row *row)
{
	return 100 * row->limit_us / perf_row_time(row);
}

struct perf_summary perf_run_summary(const struct perf_run *run)
{
	struct perf_summary sum = {0};
	double peak = -1, bus_sum = 0;
	int places = 0;
	for (size_t i = 0; i < run->row_count; i++) {
		const struct perf_row *row = &run->rows[i];
		bool counts = perf_call_is(&row->call, PERF_DATA) || !sum.small;
		if (counts && (!sum.small || row->call.bytes < sum.small->call.bytes))
			sum.small = row;
		if (!sum.large || row->call.bytes > sum.large->call.bytes)
			sum.large = row;
		for (int place = 0; place < PERF_PLACES; place++) {
			const struct perf_result *result = &row->places[place];
			if (!row->has_place[place])
				continue;
			sum.wrong += result->check.wrong;
			sum.reordered += result->check.reordered;
			sum.out_of_bounds += result->check.out_of_bounds;
			sum.payload_mismatches += !result->check.payload_matches;
			double bus = perf_bus_bandwidth(&row->call, result->times.median);
			bus_sum += bus;
			places++;
			if (bus > peak) {
				peak = bus;
				sum.peak = row;
				sum.peak_place = (enum perf_place)place;
			}
		}
	}
	sum.average_bus = places > 0 ? bus_sum / places : 0;
	return sum;
}
