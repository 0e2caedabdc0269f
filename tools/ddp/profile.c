/* SPDX-License-Identifier: MIT */
/* Profiles and records of the trainer. */
#include "profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/json.h"
#include "tools/model/json.h"

/* Nothing takes longer, or has more bytes. */
#define MOST 0x1p50
#define LEAST_MS 1e-6 /* a shorter step was not measured */

/* A number from 0 to MOST; returns false if it is missing or something else. */
static bool read_number(const json_t *object, const char *key, double *value)
{
	const json_t *member = json_object_get(object, key);
	*value = json_number_value(member);
	return json_is_number(member) && *value >= 0 && *value <= MOST;
}

static bool read_buckets(const json_t *array, struct model_bucket buckets[], size_t *count)
{
	*count = json_array_size(array);
	if (*count == 0 || *count > MODEL_BUCKETS_MAX)
		return false;
	for (size_t k = 0; k < *count; k++) {
		const json_t *bucket = json_array_get(array, k);
		buckets[k] = (struct model_bucket){0};
		if (!read_number(bucket, "bytes", &buckets[k].bytes) ||
		    !read_number(bucket, "ready", &buckets[k].ready))
			return false;
	}
	return true;
}

bool model_profile_read(const char *path, struct model_compute *compute,
			struct model_bucket buckets[MODEL_BUCKETS_MAX], size_t *count)
{
	json_t *root = model_json_read(path);
	if (!root)
		return false;
	*compute = (struct model_compute){0};
	bool read = read_number(root, "data", &compute->data) &&
		    read_number(root, "forward", &compute->forward) &&
		    read_number(root, "backward", &compute->backward) &&
		    read_number(root, "optimizer", &compute->optimizer);
	if (!read)
		model_json_refuse(
			path, "a profile has data, forward, backward and optimizer, in seconds");
	else if (!read_buckets(json_object_get(root, "buckets"), buckets, count))
		read = model_json_refuse(path, "a profile has buckets, each with bytes and ready");
	json_decref(root);
	return read;
}

static bool is_record(const json_t *line, const char *kind)
{
	const char *text = json_string_value(json_object_get(line, "record"));
	return text && strcmp(text, kind) == 0;
}

static bool read_facts(const json_t *line, struct model_run *run)
{
	const char *mode = json_string_value(json_object_get(line, "mode"));
	const char *transports = json_string_value(json_object_get(line, "transports"));
	double ranks = model_json_number(line, "ranks");
	if (!mode || !transports || !(ranks >= 1 && ranks <= MODEL_RANKS_MAX))
		return false;
	run->ranks = (int)ranks;
	run->gradient_bytes = model_json_number(line, "gradient_bytes");
	run->buckets = model_json_number(line, "buckets");
	json_copy_text(run->mode, sizeof(run->mode), mode);
	json_copy_text(run->transport, sizeof(run->transport), transports);
	model_json_text(run->link, sizeof(run->link), line, "link");
	run->hosts = fmax(0, fmin(MODEL_RANKS_MAX, model_json_number(line, "hosts")));
	run->host_cpus = fmax(0, fmin(MODEL_RANKS_MAX, model_json_number(line, "host_cpus")));
	return true;
}

static bool read_summary(const json_t *line, struct model_run *run)
{
	if (!read_number(line, "step_median_ms", &run->step) || run->step < LEAST_MS ||
	    !read_number(line, "exposed_ms", &run->exposed))
		return false;
	run->step *= 1e-3;
	run->exposed *= 1e-3;
	run->compute = (struct model_compute){
		.data = 1e-3 * model_json_number(line, "data_ms"),
		.forward = 1e-3 * model_json_number(line, "forward_ms"),
		.backward = 1e-3 * model_json_number(line, "backward_ms"),
		.optimizer = 1e-3 * model_json_number(line, "optimizer_ms"),
	};
	return true;
}

bool model_run_read(const char *path, struct model_run *run)
{
	json_t *line;
	bool has_facts = false, has_summary = false, wrong = false;
	*run = (struct model_run){0};
	FILE *in = model_json_open(path);
	if (!in)
		return false;
	while ((line = model_json_next(in, path, &wrong))) {
		if (is_record(line, "run")) {
			has_facts = read_facts(line, run);
			has_summary = false; /* of a run that this one goes on from */
		}
		if (is_record(line, "summary"))
			has_summary = read_summary(line, run);
		json_decref(line);
	}
	fclose(in);
	if (wrong)
		return false;
	return (has_facts && has_summary) ||
	       model_json_refuse(path, "this is not a record of a whole run of ring_train --json");
}

bool model_prediction_write(const char *path, const struct model_step *step, double seconds,
			    int ranks, double gradient_bytes)
{
	double share = 2.0 * (ranks - 1) / ranks;
	return model_json_write(path,
				json_pack("{s:i, s:{s:f, s:f, s:f, s:f, s:f}}", "ranks", ranks,
					  "predicted", "step_ms", seconds * 1e3, "step_median_ms",
					  seconds * 1e3, "exposed_ms", step->exposed * 1e3,
					  "comm_alone_ms", step->communication * 1e3,
					  "formula_bytes", share * ranks * gradient_bytes));
}
