/* SPDX-License-Identifier: MIT */
/*
 * Model files. Numbers are written with all digits, so that a model that was read predicts the
 * same.
 */
#include "model_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "model_json.h"
#include "ringccl.h"

#define FORMAT "ringccl model"
#define VERSION 1

/* ---- writing ------------------------------------------------------------------------------ */

static json_t *or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *pack_fit(const struct model_fit *fit)
{
	const struct model_machine *machine = &fit->machine;
	return json_pack("{s:s, s:i, s:f, s:o, s:o, s:f, s:o, s:s, s:s, s:i, s:f, s:f, s:f, s:f}",
			 "transport", fit->transport, "ranks", fit->ranks, "latency_s",
			 machine->link.latency, "bandwidth_bytes_per_s",
			 or_null(machine->link.bandwidth), "reduce_bytes_per_s",
			 or_null(machine->reduce_rate), "overhead_s", machine->overhead,
			 "chunk_bytes", or_null(machine->chunk), "overhead_from",
			 model_origin_name(fit->overhead_from), "reduce_from",
			 model_origin_name(fit->reduce_from), "samples", (int)fit->samples,
			 "least_bytes", fit->least_bytes, "most_bytes", fit->most_bytes,
			 "median_error", fit->median, "worst_error", fit->worst);
}

static json_t *pack_source(const struct model_source *source)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s}", "file", source->file, "start_time",
			 source->start_time, "host", source->host, "cpu", source->cpu, "kernel",
			 source->kernel);
}

static json_t *pack_file(const struct model_file *file, const struct model_record *records,
			 size_t record_count)
{
	char version[32];
	int number = ring_version();
	snprintf(version, sizeof(version), "%d.%d.%d", number / 10000, number / 100 % 100,
		 number % 100);
	json_t *from = json_array(), *fits = json_array();
	for (size_t i = 0; i < record_count; i++)
		json_array_append_new(from, pack_source(&records[i].source));
	for (size_t i = 0; i < file->count; i++)
		json_array_append_new(fits, pack_fit(&file->fits[i]));
	return json_pack("{s:s, s:i, s:s, s:s, s:o, s:o}", "format", FORMAT, "version", VERSION,
			 "ringccl_version", version, "link", file->link, "from", from, "fits", fits);
}

bool model_file_write(const char *path, const struct model_file *file,
		      const struct model_record *records, size_t record_count)
{
	return model_json_write(path, pack_file(file, records, record_count));
}

/* ---- reading ------------------------------------------------------------------------------ */

/* A number above 0; null is INFINITY. */
static bool read_rate(const json_t *object, const char *key, double *rate)
{
	const json_t *value = json_object_get(object, key);
	*rate = json_is_null(value) ? INFINITY : json_number_value(value);
	return *rate > 0;
}

static bool read_seconds(const json_t *object, const char *key, double *seconds)
{
	const json_t *value = json_object_get(object, key);
	*seconds = json_number_value(value);
	return json_is_number(value) && *seconds >= 0;
}

static bool read_fit(const json_t *object, struct model_fit *fit)
{
	struct model_machine *machine = &fit->machine;
	const char *transport = json_string_value(json_object_get(object, "transport"));
	*fit = (struct model_fit){0};
	json_copy_text(fit->transport, sizeof(fit->transport), transport ? transport : "");
	fit->ranks = (int)json_number_value(json_object_get(object, "ranks"));
	fit->median = json_number_value(json_object_get(object, "median_error"));
	fit->worst = json_number_value(json_object_get(object, "worst_error"));
	return transport && fit->ranks > 0 &&
	       read_seconds(object, "latency_s", &machine->link.latency) &&
	       read_seconds(object, "overhead_s", &machine->overhead) &&
	       read_rate(object, "bandwidth_bytes_per_s", &machine->link.bandwidth) &&
	       read_rate(object, "reduce_bytes_per_s", &machine->reduce_rate) &&
	       read_rate(object, "chunk_bytes", &machine->chunk);
}

static bool read_fits(const json_t *root, const char *path, struct model_file *file)
{
	const char *format = json_string_value(json_object_get(root, "format"));
	const json_t *fits = json_object_get(root, "fits");
	if (!format || strcmp(format, FORMAT) != 0 ||
	    json_number_value(json_object_get(root, "version")) != VERSION)
		return model_json_refuse(
			path, "this is no model file of this version; ring_model fit writes them");
	const char *link = json_string_value(json_object_get(root, "link"));
	json_copy_text(file->link, sizeof(file->link), link ? link : "");
	file->count = json_array_size(fits);
	if (file->count == 0 || file->count > MODEL_FITS_MAX)
		return model_json_refuse(path, "it has no fit, or too many");
	for (size_t i = 0; i < file->count; i++)
		if (!read_fit(json_array_get(fits, i), &file->fits[i]))
			return model_json_refuse(path, "a fit in it lacks a number");
	return true;
}

bool model_file_read(const char *path, struct model_file *file)
{
	json_t *root = model_json_read(path);
	bool read = root && read_fits(root, path, file);
	json_decref(root);
	return read;
}
