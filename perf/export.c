/* SPDX-License-Identifier: MIT */
/*
 * Files that are never seen half written, and the CSV in one of them. The JSON is in export_json.c.
 */
#include "export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"

void perf_export_csv(const struct perf_run *run, FILE *out)
{
	static const char *const places[PERF_PLACES] = {"out_of_place", "in_place"};
	fputs("collective,size,count,type,redop,root,ranks,transport,place,time_us,p10_us,p90_us,"
	      "p99_us,min_us,max_us,samples,calls_per_sample,alg_bw,bus_bw,nwrong,out_of_bounds,"
	      "sent_bytes,formula_bytes,limit_us\n",
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
				call->bytes, call->count,
				call->collective->has_data ? call->type->name : "none",
				call->collective->reduces ? perf_op_names[call->op] : "none",
				call->collective->rooted ? call->root : -1, call->size,
				run->team.transports, places[place]);
			fprintf(out, "%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%d,%d,%.5f,%.5f,",
				times->median, times->p10, times->p90, times->p99, times->min,
				times->max, times->samples, times->calls_per_sample,
				perf_algorithm_bandwidth(call, times->median),
				perf_bus_bandwidth(call, times->median));
			fprintf(out, "%llu,%llu,%llu,%llu,%.4f\n", (unsigned long long)check->wrong,
				(unsigned long long)check->out_of_bounds,
				(unsigned long long)check->sent_bytes,
				(unsigned long long)check->formula_bytes, row->limit_us);
		}
	}
}

static bool complain(const char *doing, const char *path)
{
	fprintf(stderr, "ring_perf: cannot %s %s: %s\n", doing, path, strerror(errno));
	return false;
}

/* Writes to a temporary file beside `path` and renames it. */
static bool write_file(const struct perf_run *run, const char *path,
		       void (*format)(const struct perf_run *, FILE *))
{
	char *temporary;
	if (asprintf(&temporary, "%s.%d.tmp", path, (int)getpid()) < 0)
		return complain("write", path);
	FILE *out = fopen(temporary, "we");
	bool ok = out || complain("create", temporary);
	if (out) {
		format(run, out);
		bool failed = fflush(out) != 0 || ferror(out) || fsync(fileno(out)) < 0;
		failed = fclose(out) != 0 || failed;
		ok = !failed || complain("write", temporary);
		if (ok)
			ok = rename(temporary, path) == 0 || complain("rename to", path);
		if (!ok)
			unlink(temporary);
	}
	free(temporary);
	return ok;
}

bool perf_export(const struct perf_run *run)
{
	const struct perf_options *options = run->options;
	bool ok = !options->json || write_file(run, options->json, perf_export_json);
	return (!options->csv || write_file(run, options->csv, perf_export_csv)) && ok;
}
