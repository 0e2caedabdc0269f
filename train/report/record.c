/* SPDX-License-Identifier: MIT */
/*
 * One table writes and reads the facts, so that what is written can be read.
 */
#include "record.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/json.h"
#include "tools/whole_file.h"

#define FORMAT 2

enum kind { STRING, INT, NUMBER, REAL, BOOL };

struct fact {
	const char *name;
	enum kind kind;
	size_t offset, bytes;
};

#define FACT(field, kind)                                                                          \
	{                                                                                          \
#field, kind, offsetof(struct train_facts, field),                                 \
			sizeof(((struct train_facts *)0)->field)                                   \
	}

static const struct fact facts_list[] = {
	FACT(preset, STRING),
	FACT(mode, STRING),
	FACT(scaling, STRING),
	FACT(optimizer, STRING),
	FACT(transports, STRING),
	FACT(text, STRING),
	FACT(matmul, STRING),
	FACT(host, STRING),
	FACT(cpu, STRING),
	FACT(link, STRING),
	FACT(ranks, INT),
	FACT(hosts, INT),
	FACT(cpus, INT),
	FACT(host_cpus, INT),
	FACT(batch, INT),
	FACT(accumulate, INT),
	FACT(global_batch, INT),
	FACT(syncs, INT),
	FACT(buckets, INT),
	FACT(compressed, BOOL),
	FACT(uneven, BOOL),
	FACT(parameters, NUMBER),
	FACT(seed, NUMBER),
	FACT(gradient_bytes, NUMBER),
	FACT(promised_bytes, NUMBER),
	FACT(sampler, STRING),
	FACT(lengths, STRING),
	FACT(batching, STRING),
	FACT(slow_rank, INT),
	FACT(slow_ms, REAL),
	FACT(slow_share, REAL),
	FACT(extra_bytes, NUMBER),
	FACT(extra_fresh, BOOL),
	FACT(rank0_ms, REAL),
	FACT(barrier, BOOL),
	FACT(load, REAL),
	FACT(other_cpus, REAL),
};
#define FACTS (sizeof(facts_list) / sizeof(facts_list[0]))

/* ---- writing ------------------------------------------------------------------------------ */

void train_record_put_run(FILE *out, const struct train_facts *facts)
{
	struct json json = {.out = out, .one_line = true};
	json_open(&json, NULL, '{');
	json_put_string(&json, "record", "run");
	json_put_integer(&json, "format", FORMAT);
	for (size_t i = 0; i < FACTS; i++) {
		const struct fact *fact = &facts_list[i];
		const void *field = (const char *)facts + fact->offset;
		if (fact->kind == STRING)
			json_put_string(&json, fact->name, field);
		else if (fact->kind == INT)
			json_put_signed(&json, fact->name, *(const int *)field);
		else if (fact->kind == NUMBER)
			json_put_integer(&json, fact->name, *(const uint64_t *)field);
		else if (fact->kind == REAL)
			json_put_real(&json, fact->name, *(const double *)field);
		else
			json_put_bool(&json, fact->name, *(const bool *)field);
	}
	json_close(&json, '}');
}

void train_record_put_step(FILE *out, int rank, const struct train_step *step)
{
	struct json json = {.out = out, .one_line = true};
	json_open(&json, NULL, '{');
	json_put_string(&json, "record", "step");
	json_put_integer(&json, "step", step->step);
	json_put_signed(&json, "rank", rank);
	json_put_real(&json, "step_ms", step->total * 1e3);
	json_put_real(&json, "data_ms", step->data * 1e3);
	json_put_real(&json, "forward_ms", step->forward * 1e3);
	json_put_real(&json, "backward_ms", step->backward * 1e3);
	json_put_real(&json, "blocked_ms", step->blocked * 1e3);
	json_put_real(&json, "waiting_ms", step->waiting * 1e3);
	json_put_real(&json, "exposed_ms", step->exposed * 1e3);
	json_put_real(&json, "extra_ms", step->extra * 1e3);
	json_put_real(&json, "agree_ms", step->agree * 1e3);
	json_put_real(&json, "optimizer_ms", step->optimizer * 1e3);
	json_put_real(&json, "host_ms", step->host * 1e3);
	json_put_real(&json, "busy_ms", step->busy * 1e3);
	json_put_real(&json, "hidden_ms", step->hidden * 1e3);
	json_put_integer(&json, "payload_bytes", step->payload_bytes);
	json_put_integer(&json, "calls", step->calls);
	json_put_integer(&json, "examples", step->examples);
	json_put_integer(&json, "tokens", step->tokens);
	json_put_integer(&json, "computed_tokens", step->computed);
	json_put_real(&json, "loss", step->loss);
	json_put_real(&json, "gradient_length", step->length);
	json_put_real(&json, "learning_rate", step->rate);
	json_close(&json, '}');
}

static void write_summary(FILE *out, const struct train_summary *summary)
{
	struct json json = {.out = out, .one_line = true};
	json_open(&json, NULL, '{');
	json_put_string(&json, "record", "summary");
	for (int i = 0; i < TRAIN_METRICS; i++)
		json_put_real(&json, train_metric_names[i], summary->values[i]);
	json_put_bool(&json, "payload_is_exact", summary->payload_is_exact);
	json_put_bool(&json, "machine_is_busy", summary->busy);
	json_close(&json, '}');
}

#define END_BEGINS "{\"record\": \"end\""

void train_record_put_end(FILE *out, const struct train_end *end)
{
	struct json json = {.out = out, .one_line = true};
	json_open(&json, NULL, '{');
	json_put_string(&json, "record", "end");
	json_put_signed(&json, "status", end->status);
	json_put_integer(&json, "step", end->step);
	json_put_string(&json, "why", end->why);
	json_close(&json, '}');
}

bool train_record_is_end(const char *line)
{
	return strncmp(line, END_BEGINS, strlen(END_BEGINS)) == 0;
}

static void write_content(void *context, FILE *out)
{
	const struct train_record *record = context;
	const struct train_facts *facts = &record->summary->facts;
	if (record->earlier_bytes > 0)
		fwrite(record->earlier, 1, record->earlier_bytes, out);
	train_record_put_run(out, facts);
	for (size_t i = 0; i < record->each; i++) {
		for (int rank = 0; rank < facts->ranks; rank++)
			train_record_put_step(out, rank,
					      &record->steps[(size_t)rank * record->each + i]);
	}
	if (record->end.status)
		train_record_put_end(out, &record->end);
	write_summary(out, record->summary);
}

int train_record_write(const char *path, const struct train_record *record)
{
	return whole_file_write("ring_train", path, write_content, (void *)record) ? 0 : -1;
}

/* ---- reading ------------------------------------------------------------------------------ */

static int refuse(const char *path, const char *why)
{
	fprintf(stderr, "ring_train: %s %s\n", path, why);
	return -1;
}

static bool read_fact(const json_t *object, const struct fact *fact, struct train_facts *facts)
{
	void *field = (char *)facts + fact->offset;
	const json_t *value = json_object_get(object, fact->name);
	if (fact->kind == STRING && json_is_string(value))
		json_copy_text(field, fact->bytes, json_string_value(value));
	else if (fact->kind == INT && json_is_integer(value))
		*(int *)field = (int)json_integer_value(value);
	else if (fact->kind == NUMBER && json_is_integer(value))
		*(uint64_t *)field = (uint64_t)json_integer_value(value);
	else if (fact->kind == REAL && (json_is_number(value) || json_is_null(value)))
		*(double *)field = json_is_null(value) ? NAN : json_number_value(value);
	else if (fact->kind == BOOL && json_is_boolean(value))
		*(bool *)field = json_is_true(value);
	else
		return false;
	return true;
}

static void read_metrics(const json_t *object, double *values)
{
	for (int i = 0; i < TRAIN_METRICS; i++) {
		const json_t *value = json_object_get(object, train_metric_names[i]);
		if (json_is_number(value))
			values[i] = json_number_value(value);
	}
}

static void forget_metrics(double *values)
{
	for (int i = 0; i < TRAIN_METRICS; i++)
		values[i] = NAN;
}

/* Reads a line; notes in has[] if it is the run's or the summary's. returns false if it is wrong */
static bool read_line(const char *line, struct train_summary *summary, bool has[2])
{
	json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
	const char *record = json_string_value(json_object_get(object, "record"));
	bool ok = record != NULL;
	if (ok && strcmp(record, "run") == 0) {
		ok = json_integer_value(json_object_get(object, "format")) == FORMAT;
		for (size_t i = 0; ok && i < FACTS; i++)
			ok = read_fact(object, &facts_list[i], &summary->facts);
		ok = ok && summary->facts.ranks > 0;
		has[0] = ok;
		has[1] = false; /* a summary before it is of an earlier run */
		forget_metrics(summary->values);
	} else if (ok && strcmp(record, "summary") == 0) {
		read_metrics(object, summary->values);
		summary->payload_is_exact = json_is_true(
			json_object_get(object, "payload_is_exact"));
		summary->busy = json_is_true(json_object_get(object, "machine_is_busy"));
		has[1] = true;
	}
	json_decref(object);
	return ok;
}

int train_record_read(const char *path, struct train_summary *summary)
{
	struct train_summary read = {.payload_is_exact = false};
	FILE *file = fopen(path, "re");
	if (!file)
		return refuse(path, strerror(errno));
	forget_metrics(read.values);
	char *line = NULL;
	size_t room = 0;
	bool ok = true, has[2] = {false};
	while (ok && getline(&line, &room, file) > 0)
		ok = read_line(line, &read, has);
	free(line);
	fclose(file);
	if (!ok || !has[0] || !has[1])
		return refuse(path, "is not a record of a whole run of ring_train (--json)");
	*summary = read;
	return 0;
}

int train_record_read_predictions(const char *path, double *values)
{
	json_error_t error;
	json_t *object = json_load_file(path, 0, &error);
	forget_metrics(values);
	if (!json_is_object(object)) {
		json_decref(object);
		return refuse(path, object ? "is not a JSON object" : error.text);
	}
	const json_t *predicted = json_object_get(object, "predicted");
	read_metrics(json_is_object(predicted) ? predicted : object, values);
	json_decref(object);
	return 0;
}
