/* SPDX-License-Identifier: MIT */
/*
 * Records of ring_perf. A row's time is that in place, or the only one. Its limit is the least time
 * by the rates that ring_perf measured before its table.
 */
#include "model_record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "machine.h"
#include "model_json.h"
#include "model_text.h"

#define RECORD_VERSION 1

/* Other times were not measured. */
#define LEAST_US 1e-3
#define MOST_US 1e12

static const json_t *chosen_place(const json_t *row)
{
	const json_t *place = json_object_get(row, "in_place");
	return place ? place : json_object_get(row, "out_of_place");
}

/* Whether the model is of the algorithm that carried this call. */
static bool is_modelled(const char *algorithm, enum ring_kind kind)
{
	bool rings = ring_algorithm_of(kind) == RING_ALGORITHM_RING;
	return !algorithm || rings == (strcmp(algorithm, "ring") == 0);
}

static void note_algorithm(struct model_record *record, const char *name)
{
	size_t length = strlen(record->algorithms);
	if (!strstr(record->algorithms, name))
		snprintf(record->algorithms + length, sizeof(record->algorithms) - length, "%s%s",
			 length ? ", " : "", name);
}

/* Adds a row to the samples, or to those that are left out. */
static void read_row(const json_t *row, int ranks, struct model_record *record)
{
	const char *name = json_string_value(json_object_get(row, "collective"));
	const char *algorithm = json_string_value(json_object_get(row, "algorithm"));
	const struct model_collective *collective = name ? model_collective_find(name) : NULL;
	double time_us = model_json_number(chosen_place(row), record->busy ? "min_us" : "time");
	double limit_us = record->busy ? 0 : model_json_number(row, "limit_us");
	double chunk = model_json_number(row, "chunk_bytes");
	if (ranks < 2) {
		record->left_out[MODEL_ONE_RANK]++;
	} else if (!(time_us >= LEAST_US && time_us <= MOST_US)) {
		record->left_out[MODEL_NO_TIME]++;
	} else if (!collective) {
		record->left_out[MODEL_OTHER_CALL]++;
	} else if (!is_modelled(algorithm, collective->kind)) {
		record->left_out[MODEL_OTHER_ALGORITHM]++;
		note_algorithm(record, algorithm);
	} else {
		struct model_sample *sample = &record->samples[record->count++];
		*sample = (struct model_sample){.kind = collective->kind,
						.ranks = ranks,
						.bytes = model_json_number(row, "size"),
						.seconds = time_us * 1e-6,
						.limit = limit_us * 1e-6};
		model_json_text(sample->transport, sizeof(sample->transport), row, "transport");
		sample->chunk = chunk > 0 ? chunk : model_chunk_of(sample->transport, ranks);
	}
}

static int compare_numbers(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;
	return (first > second) - (first < second);
}

/* The median over rows of the spread of their times; 0: not known */
static double spread_of(const json_t *rows)
{
	size_t count = 0, room = json_array_size(rows);
	double *spreads = calloc(room + 1, sizeof(*spreads));
	for (size_t i = 0; spreads && i < room; i++) {
		const json_t *place = chosen_place(json_array_get(rows, i));
		double least = model_json_number(place, "p10_us"),
		       most = model_json_number(place, "p90_us");
		if (least > 0 && most > 0)
			spreads[count++] = most / least;
	}
	if (count > 0)
		qsort(spreads, count, sizeof(*spreads), compare_numbers);
	double middle = count > 0 ? spreads[count / 2] : 0;
	free(spreads);
	return middle;
}

/*
 * A machine was busy if times of a row lie far apart, or if other programs used CPUs; in records
 * that do not have these, the load tells. The rates measured on a busy machine may be far below
 * those of a moment later.
 */
static void read_busyness(const json_t *root, struct model_record *record)
{
	const json_t *devices = json_object_get(json_object_get(root, "config"), "devices");
	const json_t *first = json_array_get(devices, 0);
	const json_t *others = json_object_get(root, "other_cpus");
	double cpus = model_json_number(first, "host_cpus"),
	       load = model_json_number(first, "load");
	record->spread = spread_of(json_object_get(root, "results"));
	record->others = json_is_number(others) ? json_number_value(others) : fmax(0, load - cpus);
	record->busy = record->spread > MODEL_BUSY_SPREAD ||
		       (cpus > 0 && record->others > MACHINE_BUSY_SHARE * cpus);
}

/* No link is faster than the measured rate of copying, or of sending. */
static void read_known(const json_t *root, struct model_known *known)
{
	const json_t *limits = json_object_get(root, "limits");
	const json_t *rates = json_object_get(limits, "rates");
	const char *path = json_string_value(json_object_get(limits, "path"));
	const char *widest = path && strcmp(path, "sockets") == 0 ? "wire_gbs" : "copy_gbs";
	for (size_t i = 0; i < json_array_size(rates); i++) {
		double rate = 1e9 * model_json_number(json_array_get(rates, i), widest);
		if (rate > known->widest)
			known->widest = rate;
		known->reduce_rate = 1e9 *
				     model_json_number(json_array_get(rates, i), "reduce_gbs");
	}
}

static void read_source(const json_t *root, const char *path, struct model_source *source)
{
	const json_t *devices = json_object_get(json_object_get(root, "config"), "devices");
	const json_t *first = json_array_get(devices, 0);
	json_copy_text(source->file, sizeof(source->file), path);
	model_json_text(source->start_time, sizeof(source->start_time), root, "start_time");
	model_json_text(source->kernel, sizeof(source->kernel), root, "kernel");
	model_json_text(source->host, sizeof(source->host), first, "hostname");
	model_json_text(source->cpu, sizeof(source->cpu), first, "device_info");
	model_json_text(source->version, sizeof(source->version), root, "ringccl_version");
	model_json_text(source->link, sizeof(source->link), json_object_get(root, "config"), "link");
}

static void show_left_out(const struct model_record *record, FILE *out)
{
	const size_t *left_out = record->left_out;
	if (left_out[MODEL_ONE_RANK])
		fprintf(out, "# %s: one rank sends nothing\n", record->source.file);
	if (left_out[MODEL_NO_TIME])
		fprintf(out, "# %s: left out: %zu rows without a time\n", record->source.file,
			left_out[MODEL_NO_TIME]);
	if (left_out[MODEL_OTHER_CALL])
		fprintf(out, "# %s: left out: %zu rows of calls that are not modelled\n",
			record->source.file, left_out[MODEL_OTHER_CALL]);
	if (left_out[MODEL_OTHER_ALGORITHM])
		fprintf(out,
			"# %s: left out: %zu rows that %s carried; under RING_ALGORITHM=ring the "
			"ring carries them, and the model is of it\n",
			record->source.file, left_out[MODEL_OTHER_ALGORITHM], record->algorithms);
}

void model_record_remark(const struct model_record *record, FILE *out)
{
	show_left_out(record, out);
	if (!record->busy)
		return;
	fprintf(out, "# %s: the machine was busy: ", record->source.file);
	if (record->spread > MODEL_BUSY_SPREAD)
		fprintf(out, "times of one row lie %.1f times apart (p90 / p10)", record->spread);
	else
		fprintf(out, "other programs took %.2f of its CPUs", record->others);
	fputs("; the fastest counts, and no limit measured beside them\n", out);
}

static bool read_rows(const json_t *root, const char *path, struct model_record *record)
{
	const json_t *rows = json_object_get(root, "results");
	double ranks = model_json_number(json_object_get(root, "config"), "nranks");
	double version = model_json_number(root, "version");
	if (!json_is_array(rows))
		return model_json_refuse(path, "this is not a record of ring_perf --json");
	if (version != RECORD_VERSION) {
		fprintf(stderr,
			"ring_model: %s: it is a record of version %.10g, and this ring_model "
			"reads version %d\n",
			path, version, RECORD_VERSION);
		return false;
	}
	if (!(ranks <= MODEL_RANKS_MAX))
		return model_json_refuse(path, "that many ranks are not counted");
	record->samples = calloc(json_array_size(rows) + 1, sizeof(*record->samples));
	if (!record->samples)
		return model_json_refuse(path, "out of memory");
	for (size_t i = 0; i < json_array_size(rows); i++)
		read_row(json_array_get(rows, i), (int)ranks, record);
	if (record->count > 0)
		return true;
	show_left_out(record, stderr);
	return model_json_refuse(path, "no row is left that can be fitted");
}

bool model_record_read(const char *path, struct model_record *record)
{
	*record = (struct model_record){0};
	json_t *root = model_json_read(path);
	if (!root)
		return false;
	read_source(root, path, &record->source);
	read_busyness(root, record);
	if (!record->busy)
		read_known(root, &record->known);
	bool read = read_rows(root, path, record);
	if (!read)
		model_record_free(record);
	json_decref(root);
	return read;
}

void model_record_free(struct model_record *record)
{
	free(record->samples);
	*record = (struct model_record){0};
}

void model_sample_name(const struct model_sample *sample, char *text, size_t room)
{
	char size[MODEL_TEXT_ROOM];
	const char *name = "";
	for (const struct model_collective *at = model_collectives; at->name; at++)
		if (at->kind == sample->kind)
			name = at->name;
	snprintf(text, room, "%s %s on %d ranks over %s", name,
		 model_size_text(sample->bytes, size), sample->ranks, sample->transport);
}
