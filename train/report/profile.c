/* SPDX-License-Identifier: MIT */
/*
 * Notes times, one row per step, and writes their medians to the file that tools/ddp/profile.h
 * describes.
 */
#include "profile.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/json.h"
#include "tools/whole_file.h"
#include "summary.h"

/* ---- noting ------------------------------------------------------------------------------- */

static int refuse_memory(void)
{
	fputs("ring_train: out of memory for a profile\n", stderr);
	return -1;
}

/* Room for one more row. */
static int make_room(struct train_profile *profile)
{
	if (profile->rows < profile->room)
		return 0;
	size_t room = profile->room ? 2 * profile->room : 64;
	double *more = realloc(profile->ready, room * (size_t)profile->count * sizeof(*more));
	if (!more)
		return refuse_memory();
	profile->ready = more;
	profile->room = room;
	return 0;
}

int train_profile_create(struct train_profile *profile, const struct train_model *model,
			 const struct train_ddp_options *options)
{
	size_t tensors = (size_t)model->tensor_count;
	size_t *bytes = calloc(tensors, sizeof(*bytes));
	*profile = (struct train_profile){.on = true};
	profile->buckets = calloc(tensors, sizeof(*profile->buckets));
	for (size_t i = 0; bytes && i < tensors; i++)
		bytes[i] = model->tensors[i].count * sizeof(*model->gradients);
	bool complete = bytes && profile->buckets;
	if (complete)
		profile->count = train_buckets_plan(bytes, model->tensor_count,
						    options->first_bucket_bytes,
						    options->bucket_bytes, profile->buckets);
	/* Sizes as they travel: planned as float, sent as bfloat16. */
	for (int k = 0; options->compressed && k < profile->count; k++)
		profile->buckets[k].bytes /= 2;
	free(bytes);
	return complete ? make_room(profile) : refuse_memory();
}

void train_profile_destroy(struct train_profile *profile)
{
	free(profile->buckets);
	free(profile->ready);
	*profile = (struct train_profile){.on = false};
}

void train_profile_begin(struct train_profile *profile, double earlier)
{
	profile->next = 0;
	profile->begin = train_now() - earlier;
}

void train_profile_ready(struct train_profile *profile, int tensor)
{
	while (profile->next < profile->count) {
		const struct train_bucket *bucket = &profile->buckets[profile->next];
		if (bucket->first_tensor + bucket->tensors - 1 > tensor)
			break;
		size_t place = profile->rows * (size_t)profile->count + (size_t)profile->next++;
		profile->ready[place] = train_now() - profile->begin;
	}
}

int train_profile_end(struct train_profile *profile)
{
	if (!profile->on)
		return 0;
	profile->rows++;
	return make_room(profile);
}

/* ---- telling ------------------------------------------------------------------------------ */

struct content {
	const struct train_profile *profile;
	const struct train_step *steps; /* of all ranks, rank after rank */
	const double *ready;            /* the rows of all ranks, likewise */
	size_t each;
	int ranks;
	double *values; /* room for one of each step */
};

static double computing(const struct train_step *step)
{
	return step->data + step->forward + step->backward;
}

/* The index in `steps` of the rank that computed longest in step `i`: the others wait for it. */
static size_t find_slowest(const struct content *content, size_t i)
{
	size_t slowest = i;
	for (size_t at = i; at < content->each * (size_t)content->ranks; at += content->each)
		if (computing(&content->steps[at]) > computing(&content->steps[slowest]))
			slowest = at;
	return slowest;
}

/* The median of a value that lies at the same offset in every step; `first` points to the first. */
static double median_of(const struct content *content, const void *first, size_t stride)
{
	size_t skipped = content->each > TRAIN_SKIPPED ? TRAIN_SKIPPED : 0, count = 0;
	for (size_t i = skipped; i < content->each; i++)
		memcpy(&content->values[count++],
		       (const char *)first + find_slowest(content, i) * stride, sizeof(double));
	return train_quantile(content->values, count, 0.5);
}

static double median_part(const struct content *content, size_t offset)
{
	return median_of(content, (const char *)content->steps + offset, sizeof(*content->steps));
}

static void write_content(void *context, FILE *out)
{
	const struct content *content = context;
	const struct train_profile *profile = content->profile;
	struct json json = {.out = out};
	json_open(&json, NULL, '{');
	json_put_real(&json, "data", median_part(content, offsetof(struct train_step, data)));
	json_put_real(&json, "forward", median_part(content, offsetof(struct train_step, forward)));
	json_put_real(&json, "backward",
		      median_part(content, offsetof(struct train_step, backward)));
	json_put_real(&json, "optimizer",
		      median_part(content, offsetof(struct train_step, optimizer)));
	json_open(&json, "buckets", '[');
	for (int k = 0; k < profile->count; k++) {
		json_open(&json, NULL, '{');
		json_put_integer(&json, "bytes", profile->buckets[k].bytes);
		json_put_real(&json, "ready",
			      median_of(content, content->ready + k,
					(size_t)profile->count * sizeof(double)));
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
}

int train_profile_write(const struct train_profile *profile, struct train_team *team,
			const struct train_steps *steps, const char *path, bool *lost)
{
	void *ready = NULL, *all = NULL;
	size_t *counts = NULL, *rows = NULL;
	int err = train_team_gather(team, steps->steps, steps->count, sizeof(*steps->steps), &all,
				    &counts);
	if (!err)
		err = train_team_gather(team, profile->ready, profile->rows,
					(size_t)profile->count * sizeof(double), &ready, &rows);
	if (!err && team->rank == 0) {
		struct content content = {.profile = profile,
					  .steps = all,
					  .ready = ready,
					  .each = steps->count,
					  .ranks = team->size,
					  .values = calloc(steps->count + 1, sizeof(double))};
		if (!content.values)
			refuse_memory();
		err = content.values ? 0 : RING_ENOMEM;
		if (!err && !whole_file_write("ring_train", path, write_content, &content))
			*lost = true;
		free(content.values);
	}
	free(all);
	free(ready);
	free(counts);
	free(rows);
	return err;
}
