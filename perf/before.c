/* SPDX-License-Identifier: MIT */
#include "before.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "tools/json.h"
#include "tools/machine.h"

#define BAR_HALF 10   /* characters to either side of "as fast as before" */
#define BAR_DOUBLE 10 /* of them for twice as fast */

static const char *const place_names[PERF_PLACES] = {"out_of_place", "in_place"};

/* A median, and the percentiles around it, in microseconds. */
struct interval {
	double low, middle, high;
};

/* How many rows are faster or slower than before, by more than their intervals. */
struct balance {
	int rows, faster, slower;
	double logarithms; /* the sum over rows */
};

/* ---- the record ------------------------------------------------------------------------------ */

static json_t *refuse(json_t *root, const char *path, const char *why)
{
	fprintf(stderr, "ring_perf: --compare %.200s: %s\n", path, why);
	json_decref(root);
	return NULL;
}

static json_t *read_record(const char *path)
{
	json_error_t error;
	FILE *in = fopen(path, "re");
	if (!in)
		return refuse(NULL, path, strerror(errno));
	json_t *root = json_loadf(in, JSON_DECODE_INT_AS_REAL, &error);
	fclose(in);
	if (!root || !json_is_array(json_object_get(root, "results")))
		return refuse(root, path, "no record of ring_perf --json");
	return root;
}

bool perf_before_check(const char *path)
{
	json_t *root = path ? read_record(path) : NULL;
	json_decref(root);
	return !path || root;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

static bool is_row(const json_t *before, const struct perf_row *row)
{
	const struct perf_call *call = &row->call;
	return strcmp(text_of(before, "collective"), call->collective->name) == 0 &&
	       strcmp(text_of(before, "type"), perf_call_type_name(call)) == 0 &&
	       strcmp(text_of(before, "redop"), perf_call_op_name(call)) == 0 &&
	       strcmp(text_of(before, "buffers"), perf_buffers_names[row->buffers]) == 0 &&
	       json_number_value(json_object_get(before, "size")) == (double)call->bytes &&
	       json_number_value(json_object_get(before, "root")) == perf_call_root(call);
}

static bool find_before(const json_t *results, const struct perf_row *row, enum perf_place place,
			struct interval *found)
{
	size_t index;
	json_t *before;
	json_array_foreach(results, index, before)
	{
		const json_t *times = json_object_get(before, place_names[place]);
		if (!times || !is_row(before, row))
			continue;
		*found = (struct interval){json_number_value(json_object_get(times, "p10_us")),
					   json_number_value(json_object_get(times, "time")),
					   json_number_value(json_object_get(times, "p90_us"))};
		return found->low > 0 && found->middle > 0 && found->high > 0;
	}
	return false;
}

/* ---- what is shown --------------------------------------------------------------------------- */

/* "     ---|          " is slower than before, "         |+++       " faster. */
static void draw(double ratio, char bar[2 * BAR_HALF + 2])
{
	double length = round(BAR_DOUBLE * log2(ratio));
	int end = (int)fmin(fmax(length, -BAR_HALF), BAR_HALF);
	memset(bar, ' ', 2 * BAR_HALF + 1);
	for (int at = end; at < 0; at++)
		bar[BAR_HALF + at] = '-';
	for (int at = end; at > 0; at--)
		bar[BAR_HALF + at] = '+';
	bar[BAR_HALF] = '|';
	bar[2 * BAR_HALF + 1] = '\0';
}

static void show_row(const struct perf_row *row, const struct interval *before,
		     const struct interval *now, struct balance *balance)
{
	char bar[2 * BAR_HALF + 2];
	double ratio = before->middle / now->middle;
	double least = before->low / now->high, most = before->high / now->low;
	draw(ratio, bar);
	printf("# %12zu  %14s  %8s  %6s  %10.2f  %10.2f  %5.2f  [%.2f, %.2f]  %s  %s\n",
	       row->call.bytes, row->call.collective->name, perf_call_type_name(&row->call),
	       perf_call_op_name(&row->call), before->middle, now->middle, ratio, least, most, bar,
	       least > 1  ? "faster"
	       : most < 1 ? "slower"
			  : "alike");
	balance->rows++;
	balance->faster += least > 1;
	balance->slower += most < 1;
	balance->logarithms += log(ratio);
}

/* What makes times differ, if it does. */
static void show_difference(const char *what, const char *before, const char *now)
{
	char clean[64];
	json_copy_text(clean, sizeof(clean), before);
	if (strcmp(before, now) != 0)
		printf("# Before, %s was '%s', and now it is '%s'.\n", what, clean, now);
}

static void show_head(const struct perf_run *run, const json_t *root)
{
	const json_t *config = json_object_get(root, "config");
	const json_t *first = json_array_get(json_object_get(config, "devices"), 0);
	char ranks[2][16], started[64], path[200];
	snprintf(ranks[0], sizeof(ranks[0]), "%.0f",
		 json_number_value(json_object_get(config, "nranks")));
	snprintf(ranks[1], sizeof(ranks[1]), "%d", run->team.size);
	json_copy_text(started, sizeof(started), text_of(root, "start_time"));
	json_copy_text(path, sizeof(path), run->options->compare);
	printf("#\n# Compared with %s of %s\n", path, started);
	show_difference("the number of ranks", ranks[0], ranks[1]);
	show_difference("the transport", text_of(config, "transport"), run->team.transports);
	show_difference("the link", text_of(config, "link"), machine_link());
	show_difference("the memory", text_of(config, "memory"), perf_memory_name(run->options));
	show_difference("the host", text_of(first, "hostname"), run->facts.ranks[0].machine.host);
	printf("# %12s  %14s  %8s  %6s  %10s  %10s  %5s\n", "size", "collective", "type", "redop",
	       "before", "now", "ratio");
}

void perf_before_report(const struct perf_run *run)
{
	struct balance balance = {0};
	json_t *root = run->team.rank == 0 && run->options->compare
			       ? read_record(run->options->compare)
			       : NULL;
	if (!root)
		return;
	show_head(run, root);
	for (size_t i = 0; i < run->row_count; i++) {
		const struct perf_row *row = &run->rows[i];
		enum perf_place place = row->has_place[PERF_IN_PLACE] ? PERF_IN_PLACE
								      : PERF_OUT_OF_PLACE;
		const struct perf_times *times = &row->places[place].times;
		struct interval before, now = {times->p10, times->median, times->p90};
		if (find_before(json_object_get(root, "results"), row, place, &before))
			show_row(row, &before, &now, &balance);
	}
	printf("# %d of %zu rows were there before: %d faster, %d slower", balance.rows,
	       run->row_count, balance.faster, balance.slower);
	if (balance.rows > 0)
		printf("; the ratio is %.2f on geometric average",
		       exp(balance.logarithms / balance.rows));
	printf(". Times are medians in us; intervals are of 10th and 90th percentiles.\n");
	json_decref(root);
}
