/* SPDX-License-Identifier: MIT */
/*
 * Records of ring_perf. A row's time is the median in place, or the only one, and its limit is the
 * least time that the speeds allow which ring_perf measured before its table.
 */
#include "model_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define RECORD_VERSION 1

json_t *model_json_read(const char *path)
{
	json_error_t error;
	json_t *root = strcmp(path, "-") == 0 ? json_loadf(stdin, 0, &error)
					      : json_load_file(path, 0, &error);
	if (!root)
		fprintf(stderr, "ring_model: %s: %s (line %d)\n", path, error.text, error.line);
	return root;
}

static bool refuse(const char *path, const char *why)
{
	fprintf(stderr, "ring_model: %s: %s\n", path, why);
	return false;
}

static void copy_text(char *to, size_t room, const json_t *value)
{
	const char *text = json_string_value(value);
	json_copy_text(to, room, text ? text : "");
}

static double number_at(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static const json_t *chosen_place(const json_t *row)
{
	const json_t *place = json_object_get(row, "in_place");
	return place ? place : json_object_get(row, "out_of_place");
}

/* The model is of what carries a call where nothing else is chosen. */
static bool is_modelled(const json_t *row, enum ring_kind kind)
{
	const char *algorithm = json_string_value(json_object_get(row, "algorithm"));
	bool rings = ring_algorithm_of(kind) == RING_ALGORITHM_RING;
	return !algorithm || rings == (strcmp(algorithm, "ring") == 0);
}

/* returns false for rows of which nothing can be learnt: one rank, no time, a call not modelled */
static bool read_row(const json_t *row, int ranks, struct model_sample *sample)
{
	const char *name = json_string_value(json_object_get(row, "collective"));
	const struct model_collective *collective = name ? model_collective_find(name) : NULL;
	double time_us = number_at(chosen_place(row), "time");
	if (!collective || ranks < 2 || !(time_us > 0) || !is_modelled(row, collective->kind))
		return false;
	*sample = (struct model_sample){.kind = collective->kind,
					.ranks = ranks,
					.bytes = number_at(row, "size"),
					.seconds = time_us * 1e-6,
					.limit = number_at(row, "limit_us") * 1e-6};
	copy_text(sample->transport, sizeof(sample->transport), json_object_get(row, "transport"));
	sample->chunk = model_chunk_of(sample->transport, ranks);
	return true;
}

static double reduce_rate_of(const json_t *root)
{
	const json_t *rates = json_object_get(json_object_get(root, "limits"), "rates");
	size_t count = json_array_size(rates);
	return count ? 1e9 * number_at(json_array_get(rates, count - 1), "reduce_gbs") : 0;
}

static void read_source(const json_t *root, const char *path, struct model_source *source)
{
	const json_t *devices = json_object_get(json_object_get(root, "config"), "devices");
	const json_t *first = json_array_get(devices, 0);
	json_copy_text(source->file, sizeof(source->file), path);
	copy_text(source->start_time, sizeof(source->start_time),
		  json_object_get(root, "start_time"));
	copy_text(source->kernel, sizeof(source->kernel), json_object_get(root, "kernel"));
	copy_text(source->host, sizeof(source->host), json_object_get(first, "hostname"));
	copy_text(source->cpu, sizeof(source->cpu), json_object_get(first, "device_info"));
}

static bool read_rows(const json_t *root, const char *path, struct model_record *record)
{
	const json_t *rows = json_object_get(root, "results");
	int ranks = (int)number_at(json_object_get(root, "config"), "nranks");
	if (number_at(root, "version") != RECORD_VERSION || !json_is_array(rows))
		return refuse(path, "this is no record of ring_perf --json that I know");
	if (ranks > MODEL_RANKS_MAX)
		return refuse(path, "that many ranks are not counted");
	record->samples = calloc(json_array_size(rows) + 1, sizeof(*record->samples));
	if (!record->samples)
		return refuse(path, "out of memory");
	for (size_t i = 0; i < json_array_size(rows); i++)
		record->count += read_row(json_array_get(rows, i), ranks,
					  &record->samples[record->count]);
	return record->count > 0 || refuse(path, "no row has a time of two ranks or more");
}

bool model_record_read(const char *path, struct model_record *record)
{
	*record = (struct model_record){0};
	json_t *root = model_json_read(path);
	if (!root)
		return false;
	bool read = read_rows(root, path, record);
	if (read) {
		record->reduce_rate = reduce_rate_of(root);
		read_source(root, path, &record->source);
	} else {
		model_record_free(record);
	}
	json_decref(root);
	return read;
}

void model_record_free(struct model_record *record)
{
	free(record->samples);
	*record = (struct model_record){0};
}

void model_size_name(double bytes, char text[24])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	int unit = 0;
	for (; bytes >= 1024 && unit < 4; unit++)
		bytes /= 1024;
	snprintf(text, 24, "%.4g %s", bytes, units[unit]);
}

void model_sample_name(const struct model_sample *sample, char *text, size_t room)
{
	char size[24];
	const char *name = "";
	for (const struct model_collective *at = model_collectives; at->name; at++)
		if (at->kind == sample->kind)
			name = at->name;
	model_size_name(sample->bytes, size);
	snprintf(text, room, "%s %s on %d ranks over %s", name, size, sample->ranks,
		 sample->transport);
}
