/* SPDX-License-Identifier: MIT */
#include "show.h"

#include <stdio.h>
#include <stdlib.h>

#include "train/step/buckets.h"

int train_show_model(const struct train_options *options)
{
	struct train_model *model;
	if (train_model_create(&model, &options->shape, 1, options->seed) != 0)
		return STATUS_SYSTEM;
	printf("%-6s %-44s %16s %12s\n", "ready", "tensor", "shape", "elements");
	for (int i = 0; i < model->tensor_count; i++) {
		const struct train_tensor *tensor = &model->tensors[i];
		char shape[32];
		if (tensor->columns == 1)
			snprintf(shape, sizeof(shape), "%d", tensor->rows);
		else
			snprintf(shape, sizeof(shape), "%d x %d", tensor->rows, tensor->columns);
		printf("%-6d %-44s %16s %12zu\n", i, tensor->name, shape, tensor->count);
	}
	printf("%s: %zu parameters in %d tensors, %zu bytes\n", options->preset,
	       model->parameter_count, model->tensor_count,
	       model->parameter_count * sizeof(train_real));
	train_model_destroy(model);
	return STATUS_OK;
}

static void print_buckets(const struct train_model *model, const struct train_bucket *buckets,
			  int count)
{
	printf("%-7s %8s %14s  %s\n", "bucket", "tensors", "bytes", "from .. to");
	for (int i = 0; i < count; i++) {
		const struct train_bucket *bucket = &buckets[i];
		const struct train_tensor *first = &model->tensors[bucket->first_tensor];
		printf("%-7d %8d %14zu  %s .. %s\n", i, bucket->tensors, bucket->bytes, first->name,
		       first[bucket->tensors - 1].name);
	}
	printf("%d tensors in %d buckets\n", model->tensor_count, count);
}

int train_show_plan(const struct train_options *options)
{
	const struct train_ddp_options *ddp = &options->ddp;
	struct train_model *model;
	if (train_model_create(&model, &options->shape, 1, options->seed) != 0)
		return STATUS_SYSTEM;
	size_t tensors = (size_t)model->tensor_count;
	size_t *bytes = calloc(tensors, sizeof(*bytes));
	struct train_bucket *buckets = calloc(tensors, sizeof(*buckets));
	for (size_t i = 0; bytes && i < tensors; i++)
		bytes[i] = model->tensors[i].count * sizeof(train_real);
	if (bytes && buckets) {
		int count = train_buckets_plan(bytes, model->tensor_count, ddp->first_bucket_bytes,
					       ddp->bucket_bytes, buckets);
		print_buckets(model, buckets, count);
	} else {
		fputs("ring_train: out of memory\n", stderr);
	}
	int status = bytes && buckets ? STATUS_OK : STATUS_SYSTEM;
	free(bytes);
	free(buckets);
	train_model_destroy(model);
	return status;
}
