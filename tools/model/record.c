/* SPDX-License-Identifier: MIT */
/*
 * Records of ring_perf. A row's time is that in place, or the only one.
 */
#include "record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/json.h"
#include "tools/machine.h"
#include "json.h"
#include "text.h"
#include "plan/record.h"

#define RECORD_VERSION 1

/* Other times were not measured. */
#define LEAST_US 1e-3
#define MOST_US 1e12

#define CHUNK (64 << 10) /* of records that do not say it */
#define CHUNKS_PER_ROUND 2
#define ELEMENT_MOST 64 /* bytes */

/* What all rows of a record have in common. */
struct setting {
	int ranks, hosts;
	int turns; /* ranks of a CPU where they are most, in 1024ths */
	enum ring_memory memory;
	const char *link;
	bool on_device;
	int *order;
};

static const json_t *chosen_place(const json_t *row)
{
	const json_t *place = json_object_get(row, "in_place");
	return place ? place : json_object_get(row, "out_of_place");
}

/* ---- rows --------------------------------------------------------------------------------- */

static bool has_name(const char *list, const char *name)
{
	return strstr(list, name) != NULL; /* no transport's name is part of another's */
}

enum ring_path model_path_of(const char *transports, int hosts, const char *link)
{
	bool memory = has_name(transports, "shm") || has_name(transports, "loopback");
	bool sockets = has_name(transports, "tcp"), verbs = has_name(transports, "verbs");
	if (link[0])
		return RING_PATH_NETWORK;
	if (!sockets && !verbs)
		return RING_PATH_MEMORY;
	if (memory)
		return RING_PATH_MIXED;
	if (!sockets)
		return RING_PATH_VERBS;
	return hosts > 1 || verbs ? RING_PATH_NETWORK : RING_PATH_SOCKET;
}

static const char *text_at(const json_t *object, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : otherwise;
}

/* A record that does not say the path has transports, which tell most of it. */
static enum ring_path path_of(const json_t *row, const char *transport,
			      const struct setting *setting)
{
	int said = model_path_find(text_at(row, "path", ""));
	return said >= 0 ? (enum ring_path)said
			 : model_path_of(transport, setting->hosts, setting->link);
}

/* A direct plan needs what it reaches. */
static enum ring_memory memory_of(const json_t *row, enum ring_algorithm algorithm,
				  const struct setting *setting)
{
	int said = model_memory_find(text_at(row, "carried_memory", ""));
	if (said >= 0)
		return (enum ring_memory)said;
	bool reaches = ring_algorithm_has(algorithm, RING_NEEDS_REACH) &&
		       setting->memory == RING_MEMORY_PRIVATE;
	return reaches ? RING_MEMORY_REACHABLE : setting->memory;
}

/* The work of a row's call. returns false if there is no model of it */
static bool read_call(const json_t *row, const struct setting *setting, struct model_sample *sample)
{
	const char *name = json_string_value(json_object_get(row, "collective"));
	const char *carried = json_string_value(json_object_get(row, "algorithm"));
	const char *transport = json_string_value(json_object_get(row, "transport"));
	const struct model_collective *collective = name ? model_collective_find(name) : NULL;
	int algorithm = carried ? ring_algorithm_find(carried)
				: (int)ring_algorithm_of(RING_KIND_ALL_REDUCE);
	double count = model_json_number(row, "count"), bytes = model_json_number(row, "size");
	double chunk = model_json_number(row, "chunk_bytes");
	if (!collective || collective->kind == RING_KIND_SEND || algorithm < 0 || !transport ||
	    !(bytes >= 0 && bytes <= (double)RING_TUNING_BYTES))
		return false;
	enum ring_kind kind = collective->kind;
	double part = (double)model_count_of(kind, setting->ranks, bytes, 1);
	if (!(count >= 1 && part / count >= 1 &&
	      part / count <= ELEMENT_MOST)) /* as many elements as bytes, if it is not said */
		count = part;
	sample->bytes = bytes;
	sample->path = path_of(row, transport, setting);
	sample->timed = (struct model_timed){
		.turns = setting->turns,
		.memory = memory_of(row, (enum ring_algorithm)algorithm, setting),
	};
	sample->timed.params = (struct ring_plan_params){
		.kind = kind,
		.algorithm = (enum ring_algorithm)algorithm,
		.size = setting->ranks,
		.order = setting->order,
		.count = (uint64_t)count,
		.element_bytes = count > 0 ? (uint32_t)(part / count) : 1,
		.chunk_bytes = chunk >= 1 && chunk < 0x1p50 ? (uint64_t)chunk : CHUNK,
		.chunks_per_round = CHUNKS_PER_ROUND,
		.place_bytes = RING_PLACE_BYTES,
		.channels = 1,
		.boards = sample->path == RING_PATH_MEMORY,
	};
	return ring_algorithm_can(sample->timed.params.algorithm, kind, setting->ranks,
				  (uint64_t)part, false);
}

/* Adds a row to the samples, or to those that are left out. */
static void read_row(const json_t *row, const struct setting *setting, struct model_record *record)
{
	struct model_sample *sample = &record->samples[record->count];
	double time_us = model_json_number(chosen_place(row), record->busy ? "min_us" : "time");
	if (setting->ranks < 2) {
		record->left_out[MODEL_ONE_RANK]++;
	} else if (setting->on_device) {
		record->left_out[MODEL_DEVICE]++;
	} else if (!(time_us >= LEAST_US && time_us <= MOST_US)) {
		record->left_out[MODEL_NO_TIME]++;
	} else if (!read_call(row, setting, sample)) {
		record->left_out[MODEL_OTHER_CALL]++;
	} else {
		sample->timed.us = time_us;
		record->count++;
	}
}

/* ---- what all rows have in common --------------------------------------------------------- */

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
 * that do not have these, the load tells.
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

static const char *host_of(const json_t *devices, size_t rank)
{
	const json_t *device = json_array_get(devices, rank);
	const char *name = json_string_value(json_object_get(device, "hostname"));
	return name ? name : "";
}

/* Counts hosts, and how ranks share CPUs where they do most. */
static void read_hosts(const json_t *devices, struct setting *setting)
{
	setting->hosts = 0;
	for (size_t rank = 0; rank < json_array_size(devices); rank++) {
		const json_t *device = json_array_get(devices, rank);
		double together = 0, cpus = model_json_number(device, "host_cpus");
		bool first = true;
		for (size_t other = 0; other < json_array_size(devices); other++) {
			bool same = strcmp(host_of(devices, other), host_of(devices, rank)) == 0;
			together += same;
			first = first && (!same || other >= rank);
		}
		int turns = cpus >= 1 ? model_turns(together, cpus) : 0;
		setting->turns = turns > setting->turns ? turns : setting->turns;
		setting->hosts += first;
	}
}

static int *order_of(int ranks)
{
	int *order = calloc((size_t)ranks + 1, sizeof(*order));
	for (int rank = 0; order && rank < ranks; rank++)
		order[rank] = rank;
	return order;
}

/* returns false without memory */
static bool read_setting(const json_t *root, int ranks, struct setting *setting)
{
	const json_t *config = json_object_get(root, "config");
	const char *memory = text_at(config, "memory", "");
	*setting = (struct setting){
		.ranks = ranks,
		.memory = strcmp(memory, "shared") == 0 ? RING_MEMORY_SHARED : RING_MEMORY_PRIVATE,
		.link = text_at(config, "link", ""),
		.on_device = strcmp(text_at(config, "device", "cpu"), "cpu") != 0,
		.order = order_of(ranks),
	};
	read_hosts(json_object_get(config, "devices"), setting);
	return setting->order != NULL;
}

static void show_left_out(const struct model_record *record, FILE *out)
{
	static const char *const why[] = {
		[MODEL_ONE_RANK] = "one rank sends nothing",
		[MODEL_NO_TIME] = "without a time",
		[MODEL_OTHER_CALL] = "of calls that are not modelled",
		[MODEL_DEVICE] = "of buffers on a device, which are not modelled",
	};
	for (int reason = 0; reason < MODEL_REASONS; reason++)
		if (record->left_out[reason])
			fprintf(out, "# %s: left out: %zu row%s%s%s\n", record->source.file,
				record->left_out[reason], record->left_out[reason] == 1 ? "" : "s",
				reason == MODEL_ONE_RANK ? ": " : " ", why[reason]);
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
	fputs("; the fastest counts\n", out);
}

static bool is_a_record(const json_t *root, const char *path)
{
	double ranks = model_json_number(json_object_get(root, "config"), "nranks");
	double version = model_json_number(root, "version");
	if (!json_is_array(json_object_get(root, "results")))
		return model_json_refuse(path, "this is not a record of ring_perf --json");
	if (version != RECORD_VERSION) {
		fprintf(stderr,
			"ring_model: %s: it is a record of version %.10g, and this ring_model "
			"reads version %d\n",
			path, version, RECORD_VERSION);
		return false;
	}
	return (ranks >= 0 && ranks <= MODEL_RANKS_MAX) ||
	       model_json_refuse(path, "that many ranks are not counted");
}

static bool read_rows(const json_t *root, const char *path, struct model_record *record)
{
	const json_t *rows = json_object_get(root, "results");
	double ranks = model_json_number(json_object_get(root, "config"), "nranks");
	struct setting setting;
	record->samples = calloc(json_array_size(rows) + 1, sizeof(*record->samples));
	if (!read_setting(root, (int)ranks, &setting) || !record->samples) {
		free(setting.order);
		return model_json_refuse(path, "out of memory");
	}
	record->order = setting.order;
	for (size_t i = 0; i < json_array_size(rows); i++)
		read_row(json_array_get(rows, i), &setting, record);
	if (record->count > 0)
		return true;
	show_left_out(record, stderr);
	return model_json_refuse(path, "no row is left that is modelled; ring_perf --ranks 2 "
				       "--json FILE measures some");
}

bool model_record_read(const char *path, struct model_record *record)
{
	*record = (struct model_record){0};
	json_t *root = model_json_read(path);
	if (!root)
		return false;
	read_source(root, path, &record->source);
	read_busyness(root, record);
	bool read = is_a_record(root, path) && read_rows(root, path, record);
	if (!read)
		model_record_free(record);
	json_decref(root);
	return read;
}

void model_record_free(struct model_record *record)
{
	free(record->samples);
	free(record->order);
	*record = (struct model_record){0};
}

void model_sample_name(const struct model_sample *sample, char *text, size_t room)
{
	const struct ring_plan_params *params = &sample->timed.params;
	char size[MODEL_TEXT_ROOM];
	snprintf(text, room, "%s %s on %d ranks, %s over %s", ring_kind_name(params->kind),
		 model_size_text(sample->bytes, size), params->size,
		 ring_algorithm_name(params->algorithm), ring_path_name(sample->path));
}
