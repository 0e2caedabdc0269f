/* SPDX-License-Identifier: MIT */
/*
 * One JSON object for a whole run. Fields that nccl-tests has keep its names; docs/PERFORMANCE.md
 * lists the others. The environment is left out because it may hold secrets.
 */
#include <math.h>
#include <time.h>

#include "tools/json.h"
#include "export.h"
#include "perf/limits/samples.h"

#define JSON_FORMAT 1

static void write_steps(struct json *json, const struct perf_options *options)
{
	if (options->size_count > 0) {
		json_open(json, "sizes", '[');
		for (int i = 0; i < options->size_count; i++)
			json_put_integer(json, NULL, options->sizes[i]);
		json_close(json, ']');
	} else if (options->step_factor > 0) {
		json_put_real(json, "step_factor", options->step_factor);
	} else {
		json_put_integer(json, "step_bytes", options->step_bytes);
	}
}

static void write_device(struct json *json, const struct perf_run *run, int rank)
{
	const struct perf_rank_facts *facts = &run->facts.ranks[rank];
	const struct perf_device_facts *device = run->facts.devices;
	json_open(json, NULL, '{');
	json_put_signed(json, "rank", rank);
	json_put_signed(json, "pid", facts->pid);
	json_put_string(json, "hostname", facts->machine.host);
	json_put_signed(json, "device", device ? device[rank].chip : 0);
	json_put_string(json, "device_info",
			device && *device[rank].text ? device[rank].text : facts->machine.cpu);
	json_put_string(json, "cpu", facts->machine.cpu);
	json_put_signed(json, "cpus", facts->machine.cpus);
	json_put_signed(json, "host_cpus", facts->machine.online);
	json_put_real(json, "load", facts->machine.load);
	json_close(json, '}');
}

static void write_config(struct json *json, const struct perf_run *run)
{
	const struct perf_options *options = run->options;
	json_open(json, "config", '{');
	json_put_integer(json, "nranks", (uint64_t)run->team.size);
	json_put_bool(json, "threads", options->threads);
	json_put_integer(json, "minimum_bytes", options->min_bytes);
	json_put_integer(json, "maximum_bytes", options->max_bytes);
	write_steps(json, options);
	json_put_signed(json, "warmup_iters", options->effort.warmup);
	json_put_signed(json, "iterations", options->effort.samples);
	json_put_real(json, "seconds", options->effort.seconds);
	json_put_real(json, "rest_seconds", options->effort.rest_s);
	json_put_signed(json, "validation", options->checks);
	json_put_string(json, "data", options->random ? "random" : "exact");
	json_put_integer(json, "seed", options->seed);
	json_put_bool(json, "stream", options->stream);
	json_put_string(json, "memory", perf_memory_name(options));
	json_put_string(json, "device", options->device ? options->device : "cpu");
	if (options->device)
		json_put_signed(json, "ranks_per_gpu", options->ranks_per_gpu);
	json_put_string(json, "buffers", perf_buffers_name(options));
	json_put_string(json, "transport", run->team.transports);
	json_put_string(json, "link", machine_link());
	json_open(json, "devices", '[');
	for (int rank = 0; run->facts.ranks && rank < run->team.size; rank++)
		write_device(json, run, rank);
	json_close(json, ']');
	json_close(json, '}');
}

static void write_ring(struct json *json, const struct perf_team *team)
{
	json_open(json, "ring", '[');
	for (int position = 0; team->order && position < team->size; position++)
		json_put_signed(json, NULL, team->order[position]);
	json_close(json, ']');
}

static void write_limits(struct json *json, const struct perf_limits *limits)
{
	json_open(json, "limits", '{');
	json_put_bool(json, "known", limits->known);
	json_put_string(json, "path",
			limits->over_verbs     ? "verbs"
			: limits->over_network ? "sockets"
					       : "memory");
	json_put_real(json, "hop_us", limits->hop_us);
	json_open(json, "rates", '[');
	for (int i = 0; i < limits->classes; i++) {
		const struct perf_rates *rates = &limits->rates[i];
		json_open(json, NULL, '{');
		json_put_integer(json, "size", rates->bytes);
		json_put_real(json, "copy_gbs", rates->copy * 1e-9);
		json_put_real(json, "reduce_gbs", rates->reduce * 1e-9);
		if (limits->shared)
			json_put_real(json, "both_gbs", rates->both * 1e-9);
		if (limits->over_network) {
			json_put_real(json, "wire_gbs", rates->wire * 1e-9);
			json_put_real(json, "line_gbs", rates->line * 1e-9);
		}
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void write_place(struct json *json, const char *name, const struct perf_run *run,
			const struct perf_row *row, enum perf_place place)
{
	const struct perf_times *times = &row->places[place].times;
	const struct perf_check *check = &row->places[place].check;
	if (!row->has_place[place])
		return;
	json_open(json, name, '{');
	json_put_real(json, "time", times->median);
	json_put_real(json, "alg_bw", perf_algorithm_bandwidth(&row->call, times->median));
	json_put_real(json, "bus_bw", perf_bus_bandwidth(&row->call, times->median));
	if (run->options->checks > 0)
		json_put_integer(json, "nwrong", check->wrong);
	json_put_real(json, "p10_us", times->p10);
	json_put_real(json, "p90_us", times->p90);
	json_put_real(json, "p99_us", times->p99);
	json_put_real(json, "min_us", times->min);
	json_put_real(json, "max_us", times->max);
	json_put_signed(json, "samples", times->samples);
	json_put_signed(json, "calls_per_sample", times->calls_per_sample);
	json_put_integer(json, "reordered", check->reordered);
	json_put_integer(json, "out_of_bounds", check->out_of_bounds);
	json_put_integer(json, "sent_bytes", check->sent_bytes);
	json_put_integer(json, "formula_bytes", check->formula_bytes);
	json_put_integer(json, "sent_bytes_least", check->sent_least);
	json_put_integer(json, "sent_bytes_most", check->sent_most);
	json_put_bool(json, "payload_okay", check->payload_matches);
	json_close(json, '}');
}

static void write_row(struct json *json, const struct perf_run *run, const struct perf_row *row)
{
	const struct perf_call *call = &row->call;
	const struct ring_carried *carried = &perf_row_result(row)->check.carried;
	json_open(json, NULL, '{');
	json_put_string(json, "collective", call->collective->name);
	json_put_integer(json, "size", call->bytes);
	json_put_integer(json, "count", call->count);
	json_put_string(json, "type", perf_call_type_name(call));
	json_put_string(json, "redop", perf_call_op_name(call));
	json_put_signed(json, "root", perf_call_root(call));
	json_put_string(json, "buffers", perf_buffers_names[row->buffers]);
	json_put_string(json, "algorithm", carried->algorithm);
	json_put_string(json, "path", carried->path);
	json_put_string(json, "carried_memory", carried->memory);
	json_put_string(json, "decided_by", carried->reason);
	json_put_integer(json, "chunk_bytes", carried->chunk_bytes);
	json_put_signed(json, "channels", carried->channels);
	json_put_string(json, "transport", run->team.transports);
	json_put_real(json, "limit_us", row->limit_us);
	json_put_real(json, "percent_of_limit", perf_row_percent(row));
	write_place(json, "out_of_place", run, row, PERF_OUT_OF_PLACE);
	write_place(json, "in_place", run, row, PERF_IN_PLACE);
	json_close(json, '}');
}

static void write_results(struct json *json, const struct perf_run *run)
{
	json_open(json, "results", '[');
	for (size_t i = 0; i < run->row_count; i++)
		write_row(json, run, &run->rows[i]);
	json_close(json, ']');

	struct perf_summary sum = perf_run_summary(run);
	json_open(json, "out_of_bounds", '{');
	json_put_integer(json, "count", sum.wrong);
	json_put_bool(json, "okay", sum.wrong == 0);
	json_close(json, '}');
	json_open(json, "average_bus_bandwidth", '{');
	json_put_real(json, "bandwidth", sum.average_bus);
	json_put_bool(json, "okay", true);
	json_close(json, '}');
	json_open(json, "payload", '{');
	json_put_integer(json, "mismatches", sum.payload_mismatches);
	json_put_bool(json, "okay", sum.payload_mismatches == 0);
	json_close(json, '}');
	json_open(json, "guard_zones", '{');
	json_put_integer(json, "changed", sum.out_of_bounds);
	json_put_bool(json, "okay", sum.out_of_bounds == 0);
	json_close(json, '}');
}

static void write_busyness(struct json *json, const struct perf_run *run)
{
	json_put_real(json, "other_cpus", run->facts.ranks ? run->facts.other_cpus : NAN);
	json_put_bool(json, "machine_is_busy", run->facts.ranks && perf_run_busyness(run).busy);
}

static void write_end_time(struct json *json)
{
	char text[32];
	time_t now = time(NULL);
	struct tm local;
	localtime_r(&now, &local);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S%z", &local);
	json_put_string(json, "end_time", text);
}

void perf_export_json(const struct perf_run *run, FILE *out)
{
	struct json json = {.out = out};
	int version = ring_version();
	char number[32];
	snprintf(number, sizeof(number), "%d.%d.%d", version / 10000, version / 100 % 100,
		 version % 100);

	json_open(&json, NULL, '{');
	json_put_integer(&json, "version", JSON_FORMAT);
	json_put_string(&json, "ringccl_version", number);
	json_put_string(&json, "start_time", run->facts.started);
	json_put_string(&json, "kernel", run->facts.kernel);
	json_open(&json, "args", '[');
	for (char **argument = run->argv; *argument; argument++)
		json_put_string(&json, NULL, *argument);
	json_close(&json, ']');
	write_config(&json, run);
	write_ring(&json, &run->team);
	write_limits(&json, &run->limits);
	write_results(&json, run);
	write_busyness(&json, run);
	json_open(&json, "errors", '[');
	if (run->team.error[0])
		json_put_string(&json, NULL, run->team.error);
	json_close(&json, ']');
	write_end_time(&json);
	json_put_real(&json, "elapsed_s", run->facts.ranks ? perf_now() - run->facts.started_at : 0);
	json_close(&json, '}');
}
