/* SPDX-License-Identifier: MIT */
/*
 * Examples are loaded and written one by one, so memory does not grow with the length of training.
 */
#include "export.h"

#include <stdio.h>

#include "tools/json.h"
#include "tools/whole_file.h"
#include "train/model/device.h"
#include "train/data/sampler.h"

#define FORMAT 1
#define ELEMENT 4 /* bytes, of all arrays */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ORDER "<"
#else
#define ORDER ">"
#endif

_Static_assert(sizeof(train_real) == ELEMENT, "parameters are written as they are");

/* ---- the line ----------------------------------------------------------------------------- */

static void put_shape(struct json *json, const struct train_shape *shape)
{
	json_open(json, "shape", '{');
	json_put_string(json, "kind", shape->kind == TRAIN_MLP ? "mlp" : "gpt");
	json_put_string(json, "activation", shape->activation == TRAIN_RELU ? "relu" : "gelu");
	json_put_signed(json, "layers", shape->layers);
	json_put_signed(json, "width", shape->width);
	json_put_signed(json, "inputs", shape->inputs);
	json_put_signed(json, "outputs", shape->outputs);
	json_put_signed(json, "heads", shape->heads);
	json_put_signed(json, "context", shape->context);
	json_put_signed(json, "vocabulary", shape->vocabulary);
	json_put_bool(json, "split_heads", shape->split_heads);
	json_put_bool(json, "tied", shape->tied);
	json_put_bool(json, "biases", shape->biases);
	json_put_real(json, "dropout", shape->dropout);
	json_close(json, '}');
}

/* The rates are not here: they are an array, one of each step. */
static void put_optimizer(struct json *json, const struct train_optimizer_options *optimizer)
{
	json_open(json, "optimizer", '{');
	json_put_string(json, "kind", optimizer->kind == TRAIN_SGD ? "sgd" : "adamw");
	json_put_real(json, "rate", optimizer->rate);
	json_put_real(json, "beta1", optimizer->beta1);
	json_put_real(json, "beta2", optimizer->beta2);
	json_put_real(json, "epsilon", optimizer->epsilon);
	json_put_real(json, "momentum", optimizer->momentum);
	json_put_real(json, "decay", optimizer->decay);
	json_put_real(json, "clip", optimizer->clip);
	json_close(json, '}');
}

/* shape: up to three lengths; missing ones are 0, at the end */
static void put_array(struct json *json, size_t *offset, const char *name, const char *type,
		      const size_t shape[3])
{
	size_t bytes = ELEMENT;
	json_open(json, NULL, '{');
	json_put_string(json, "name", name);
	json_put_string(json, "type", type);
	json_open(json, "shape", '[');
	for (int i = 0; i < 3 && shape[i] > 0; i++) {
		json_put_integer(json, NULL, shape[i]);
		bytes *= shape[i];
	}
	json_close(json, ']');
	json_put_integer(json, "offset", *offset);
	json_close(json, '}');
	*offset += bytes;
}

static size_t count_steps(const struct train_run *run)
{
	const struct train_options *options = run->options;
	size_t epoch = run->source.examples / (size_t)options->global_batch;
	size_t all = epoch * (size_t)options->epochs, steps = (size_t)options->steps;
	return options->epochs == 0 || (steps > 0 && steps < all) ? steps : all;
}

static void put_arrays(struct json *json, const struct train_run *run)
{
	const struct train_model *model = run->model;
	const struct train_shape *shape = &model->shape;
	const bool mlp = shape->kind == TRAIN_MLP;
	const size_t steps = count_steps(run), batch = (size_t)run->options->global_batch;
	const size_t inputs = (size_t)(mlp ? shape->inputs : shape->context);
	size_t offset = 0;
	json_open(json, "arrays", '[');
	for (int i = 0; i < model->tensor_count; i++) {
		const struct train_tensor *tensor = &model->tensors[i];
		size_t columns = tensor->columns > 1 ? (size_t)tensor->columns : 0;
		put_array(json, &offset, tensor->name, ORDER "f4",
			  (size_t[3]){(size_t)tensor->rows, columns});
	}
	put_array(json, &offset, "rates", ORDER "f4", (size_t[3]){steps});
	put_array(json, &offset, mlp ? "features" : "tokens", mlp ? ORDER "f4" : ORDER "i4",
		  (size_t[3]){steps, batch, inputs});
	put_array(json, &offset, "targets", ORDER "i4",
		  (size_t[3]){steps, batch, (size_t)run->source.tokens});
	json_close(json, ']');
}

static void write_line(const struct train_run *run, FILE *out)
{
	const struct train_options *options = run->options;
	struct json json = {.out = out, .one_line = true};
	json_open(&json, NULL, '{');
	json_put_integer(&json, "format", FORMAT);
	json_put_string(&json, "preset", options->preset);
	json_put_integer(&json, "steps", count_steps(run));
	json_put_signed(&json, "global_batch", options->global_batch);
	json_put_integer(&json, "first_bucket_bytes", options->ddp.first_bucket_bytes);
	json_put_integer(&json, "bucket_bytes", options->ddp.bucket_bytes);
	put_shape(&json, &run->model->shape);
	put_optimizer(&json, &run->optimizer.options);
	json_put_signed(&json, "parameters", run->model->tensor_count);
	put_arrays(&json, run);
	json_close(&json, '}');
}

/* ---- the arrays --------------------------------------------------------------------------- */

static void write_rates(const struct train_run *run, FILE *out)
{
	for (size_t step = 0; step < count_steps(run); step++) {
		float rate = (float)train_optimizer_rate(&run->optimizer.options, (long)step);
		fwrite(&rate, sizeof(rate), 1, out);
	}
}

/*
 * Writes one array of all examples, in the order of training; loading puts an example's part at
 * `from`.
 */
static void write_examples(struct train_run *run, const void *from, size_t elements, FILE *out)
{
	const struct train_sampler sampler = {.examples = run->source.examples,
					      .ranks = 1,
					      .seed = run->state.seed,
					      .shuffles = true,
					      .drops_last = true};
	const size_t batch = (size_t)run->options->global_batch;
	const size_t epoch = run->source.examples / batch * batch;
	for (size_t i = 0; i < count_steps(run) * batch; i++) {
		run->loaded.examples[0] = train_sampler_example(&sampler, i / epoch, i % epoch);
		train_source_load(&run->source, &run->loaded, 1, TRAIN_FULL);
		fwrite(from, ELEMENT, elements, out);
	}
}

/* Piece by piece, as a device may have them. */
static void write_parameters(const struct train_model *model, FILE *out)
{
	train_real piece[4096];
	const size_t room = sizeof(piece) / sizeof(piece[0]);
	for (size_t at = 0, count; at < model->parameter_count; at += count) {
		count = model->parameter_count - at < room ? model->parameter_count - at : room;
		model->device->read(piece, model->parameters + at, count * sizeof(piece[0]));
		fwrite(piece, ELEMENT, count, out);
	}
}

static void write_content(void *context, FILE *out)
{
	struct train_run *run = context;
	const struct train_model *model = run->model;
	const struct train_loaded *loaded = &run->loaded;
	write_line(run, out);
	write_parameters(model, out);
	write_rates(run, out);
	if (model->shape.kind == TRAIN_MLP)
		write_examples(run, loaded->features, (size_t)model->shape.inputs, out);
	else
		write_examples(run, loaded->tokens, (size_t)model->shape.context, out);
	write_examples(run, loaded->targets, (size_t)run->source.tokens, out);
}

int train_export(struct train_run *run)
{
	const char *path = run->options->export;
	if (!path || run->team->rank != 0)
		return STATUS_OK;
	return whole_file_write("ring_train", path, write_content, run) ? STATUS_OK : STATUS_SYSTEM;
}
