/* SPDX-License-Identifier: MIT */
/*
 * Decides which files are written, and writes the CSV. The JSON is in export_json.c.
 */
#include "export.h"

#include <stdlib.h>
#include <string.h>

#include "tools/whole_file.h"
#include "before.h"
#include "plot.h"

/* A name in double quotes; those within it become single ones. */
static void put_name(FILE *out, const char *name, char end)
{
	fputc('"', out);
	for (; *name; name++)
		fputc(*name == '"' ? '\'' : *name, out);
	fprintf(out, "\"%c", end);
}

static void put_machine(const struct perf_run *run, FILE *out)
{
	const struct machine *machine = &run->facts.ranks[0].machine;
	put_name(out, machine_link(), ',');
	put_name(out, machine->host, ',');
	put_name(out, machine->cpu, ',');
	put_name(out, run->facts.devices ? run->facts.devices[0].text : "", '\n');
}

static void write_csv(void *context, FILE *out)
{
	const struct perf_run *run = context;
	static const char *const places[PERF_PLACES] = {"out_of_place", "in_place"};
	fputs("collective,size,count,type,redop,root,ranks,transport,place,time_us,p10_us,p90_us,"
	      "p99_us,min_us,max_us,samples,calls_per_sample,alg_bw,bus_bw,nwrong,out_of_bounds,"
	      "sent_bytes,formula_bytes,limit_us,memory,buffers,algorithm,link,host,cpu,device\n",
	      out);
	for (size_t i = 0; i < run->row_count; i++) {
		const struct perf_row *row = &run->rows[i];
		const struct perf_call *call = &row->call;
		for (int place = 0; place < PERF_PLACES; place++) {
			const struct perf_times *times = &row->places[place].times;
			const struct perf_check *check = &row->places[place].check;
			if (!row->has_place[place])
				continue;
			fprintf(out, "%s,%zu,%zu,%s,%s,%d,%d,\"%s\",%s,", call->collective->name,
				call->bytes, call->count, perf_call_type_name(call),
				perf_call_op_name(call), perf_call_root(call), call->size,
				run->team.transports, places[place]);
			fprintf(out, "%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%d,%d,%.5f,%.5f,",
				times->median, times->p10, times->p90, times->p99, times->min,
				times->max, times->samples, times->calls_per_sample,
				perf_algorithm_bandwidth(call, times->median),
				perf_bus_bandwidth(call, times->median));
			fprintf(out, "%llu,%llu,%llu,%llu,%.4f,%s,%s,%s,",
				(unsigned long long)check->wrong,
				(unsigned long long)check->out_of_bounds,
				(unsigned long long)check->sent_bytes,
				(unsigned long long)check->formula_bytes, row->limit_us,
				perf_memory_name(run->options), perf_buffers_names[row->buffers],
				check->carried.algorithm);
			put_machine(run, out);
		}
	}
}

static void write_json(void *run, FILE *out)
{
	perf_export_json(run, out);
}

bool perf_export(struct perf_run *run)
{
	const struct perf_options *options = run->options;
	bool ok = !options->json || whole_file_write("ring_perf", options->json, write_json, run);
	ok = (!options->csv || whole_file_write("ring_perf", options->csv, write_csv, run)) && ok;
	return perf_plot(run) && ok;
}

/*
 * If the path has %r, the library replaces it by the rank; if not, rank 0 writes one trace of all
 * ranks.
 */
static bool check_trace(const char *path, int rank)
{
	char number[16], *own = NULL;
	size_t bytes;
	if (!path || (rank != 0 && !strstr(path, "%r")))
		return true;
	snprintf(number, sizeof(number), "%d", rank);
	FILE *out = open_memstream(&own, &bytes);
	for (const char *at = path; out && *at; at++) {
		bool marker = at[0] == '%' && at[1] == 'r';
		fprintf(out, "%.*s", marker ? (int)strlen(number) : 1, marker ? number : at);
		at += marker;
	}
	bool ok = out && fclose(out) == 0 && whole_file_check("ring_perf", own);
	free(own);
	return ok;
}

bool perf_export_check(const struct perf_options *options, int rank)
{
	bool ok = check_trace(options->trace, rank);
	if (rank != 0)
		return ok;
	return ok && perf_before_check(options->compare) && perf_plot_check(options->plot) &&
	       whole_file_check("ring_perf", options->json) &&
	       whole_file_check("ring_perf", options->csv) &&
	       whole_file_check("ring_perf", options->tune);
}
