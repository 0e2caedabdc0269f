/* SPDX-License-Identifier: MIT */
/* The parser; see tuning_file.h. */
#include "tuning_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/text/number.h"
#include "plan/record.h"

#define FILE_BYTES (1 << 20) /* a larger file is not a table */
#define BLANKS " \t\r"

#define CHUNK_LEAST 8
#define CHUNK_MOST (1 << 30)

enum field { KIND, PATH, MEMORY, RANKS, BYTES, ALGORITHM, CHUNK, FIELDS, SECTION = FIELDS };

static const char *const field_names[] = {"kind",  "path",      "memory", "ranks",
					  "bytes", "algorithm", "chunk",  "section"};

/* Where the text is being read. */
struct reader {
	const char *file;
	int line;
	struct ring_failure *failure;
};

/* A field's names by their values; NULL after the last. */
static const char *name_of(enum field field, int value)
{
	if (value == RING_TUNING_ANY)
		return "any";
	switch (field) {
	case KIND:
		return value <= RING_KIND_ALL_TO_ALL ? ring_kind_name((enum ring_kind)value) : NULL;
	case PATH:
		return value < RING_PATHS ? ring_path_name((enum ring_path)value) : NULL;
	case MEMORY:
		return value < RING_MEMORIES ? ring_memory_name((enum ring_memory)value) : NULL;
	case SECTION:
		return value < RING_SECTIONS ? ring_section_name(value) : NULL;
	default:
		return ring_algorithm_is_choice((enum ring_algorithm)value)
			       ? ring_algorithm_name((enum ring_algorithm)value)
			       : NULL;
	}
}

static int refuse(const struct reader *reader, enum field field, const char *word,
		  const char *expected)
{
	return ring_fail(reader->failure, RING_EINVAL,
			 "%.200s, line %d: %s is \"%.40s\", but must be %s", reader->file,
			 reader->line, field_names[field], word, expected);
}

static int read_name(const struct reader *reader, enum field field, const char *word, int *value)
{
	int first = field == ALGORITHM || field == SECTION ? 0 : RING_TUNING_ANY;
	char expected[192];
	int length = snprintf(expected, sizeof(expected), "one of");
	for (*value = first; name_of(field, *value); ++*value) {
		const char *name = name_of(field, *value);
		if (strcmp(word, name) == 0)
			return 0;
		length += snprintf(expected + length, sizeof(expected) - (size_t)length, " %s",
				   name);
	}
	return refuse(reader, field, word, expected);
}

/* A size, or "any", where that is allowed, for the value `any`. */
static int read_bytes(const struct reader *reader, enum field field, const char *word,
		      uint64_t least, uint64_t most, uint64_t *bytes)
{
	char expected[96], low[RING_NUMBER_TEXT], high[RING_NUMBER_TEXT];
	long long number;
	if (ring_number_read(word, true, &number) && number >= 0 && (uint64_t)number >= least &&
	    (uint64_t)number <= most) {
		*bytes = (uint64_t)number;
		return 0;
	}
	snprintf(expected, sizeof(expected), "%s to %s bytes, like 512, 64K or 2M",
		 ring_number_write(least, low), ring_number_write(most, high));
	return refuse(reader, field, word, expected);
}

static bool read_rank_count(const char *word, int *ranks)
{
	long long number;
	if (!ring_number_read(word, false, &number) || number < 1 || number > INT_MAX)
		return false;
	*ranks = (int)number;
	return true;
}

/* "any", "2", "3-64" or "9-". */
static int read_ranks(const struct reader *reader, const char *word, struct ring_tuning_row *row)
{
	char from[RING_NUMBER_TEXT];
	const char *dash = strchr(word, '-');
	size_t length = dash ? (size_t)(dash - word) : strlen(word);
	row->ranks_from = 1;
	row->ranks_to = INT_MAX;
	if (strcmp(word, "any") == 0)
		return 0;
	snprintf(from, sizeof(from), "%.*s", length < sizeof(from) ? (int)length : 0, word);
	if (read_rank_count(from, &row->ranks_from)) {
		if (!dash)
			row->ranks_to = row->ranks_from;
		if (!dash || !dash[1] ||
		    (read_rank_count(dash + 1, &row->ranks_to) && row->ranks_from <= row->ranks_to))
			return 0;
	}
	return refuse(reader, RANKS, word, "any, or a number, or a range like 3-64 or 9-");
}

/* Whether there is such a plan for any number of ranks, or of any kind. */
static bool has_plan(const struct ring_tuning_row *row)
{
	for (int kind = 0; kind <= RING_KIND_ALL_TO_ALL; kind++)
		if ((row->kind == RING_TUNING_ANY || row->kind == kind) &&
		    ring_algorithm_can(row->algorithm, (enum ring_kind)kind, row->ranks_from, 0,
				       false))
			return true;
	return false;
}

static int read_algorithm(const struct reader *reader, const char *word, struct ring_tuning_row *row)
{
	int algorithm;
	int err = read_name(reader, ALGORITHM, word, &algorithm);
	if (err)
		return err;
	row->algorithm = (enum ring_algorithm)algorithm;
	return has_plan(row) ? 0
			     : refuse(reader, ALGORITHM, word,
				      "one that can carry that kind on that many ranks");
}

static int read_row(const struct reader *reader, char *words[FIELDS], struct ring_tuning_row *row)
{
	*row = (struct ring_tuning_row){.line = reader->line, .bytes = UINT64_MAX};
	int err = read_name(reader, KIND, words[KIND], &row->kind);
	if (!err)
		err = read_name(reader, PATH, words[PATH], &row->path);
	if (!err)
		err = read_name(reader, MEMORY, words[MEMORY], &row->memory);
	if (!err)
		err = read_ranks(reader, words[RANKS], row);
	if (!err && strcmp(words[BYTES], "any") != 0)
		err = read_bytes(reader, BYTES, words[BYTES], 0, INT64_MAX, &row->bytes);
	if (!err)
		err = read_algorithm(reader, words[ALGORITHM], row);
	if (!err && words[CHUNK])
		err = read_bytes(reader, CHUNK, words[CHUNK], CHUNK_LEAST, CHUNK_MOST,
				 &row->chunk_bytes);
	return err;
}

/* ---- numbers --------------------------------------------------------------------------------- */

#define MODEL "model" /* the first word of such a line */

enum model_field { MODEL_WORD, MODEL_SECTION, MODEL_NUMBER, MODEL_VALUE, MODEL_FIELDS };

/* What the file has said so far. */
struct told {
	bool numbers[RING_SECTIONS][RING_MODEL_COUNT];
};

static int find_number(const char *name)
{
	int number = 0;
	while (number < RING_MODEL_COUNT && strcmp(name, ring_model_numbers[number].name) != 0)
		number++;
	return number;
}

/* "model memory hop 0.3us" */
static int read_model(const struct reader *reader, char *words[], int count,
		      struct ring_tuning_table *table, struct told *told)
{
	int section;
	if (count != MODEL_FIELDS)
		return ring_fail(
			reader->failure, RING_EINVAL,
			"%.200s, line %d: expected model, section, name and number, but there "
			"are %d words",
			reader->file, reader->line, count);
	int err = read_name(reader, SECTION, words[MODEL_SECTION], &section);
	if (err)
		return err;
	int number = find_number(words[MODEL_NUMBER]);
	if (number == RING_MODEL_COUNT)
		return ring_fail(reader->failure, RING_EINVAL,
				 "%.200s, line %d: the model has no %.40s of %.40s; was this "
				 "written by another version? Measure again: ring_perf --tune",
				 reader->file, reader->line, words[MODEL_NUMBER],
				 words[MODEL_SECTION]);
	if (told->numbers[section][number])
		return ring_fail(reader->failure, RING_EINVAL,
				 "%.200s, line %d: %.40s of %.40s is there twice", reader->file,
				 reader->line, words[MODEL_NUMBER], words[MODEL_SECTION]);
	told->numbers[section][number] = true;
	table->has_model[section] = true;
	uint64_t value;
	if (ring_model_read(number, words[MODEL_VALUE], &value)) {
		ring_model_set(&table->models[section], number, value);
		return 0;
	}
	return ring_fail(reader->failure, RING_EINVAL,
			 "%.200s, line %d: %.40s is \"%.40s\", but must be 0 or like \"%s\"",
			 reader->file, reader->line, words[MODEL_NUMBER], words[MODEL_VALUE],
			 ring_model_numbers[number].unit == RING_EACH ? "0.25us" : "12.5GB/s");
}

/* A section has all numbers, or none. */
static int check_models(const struct reader *reader, const struct ring_tuning_table *table,
			const struct told *told)
{
	for (int section = 0; section < RING_SECTIONS; section++)
		for (int number = 0; table->has_model[section] && number < RING_MODEL_COUNT;
		     number++)
			if (!told->numbers[section][number])
				return ring_fail(reader->failure, RING_EINVAL,
						 "%.200s, line %d: it ends without the model's %s "
						 "of %s; measure again: ring_perf --tune",
						 reader->file, reader->line,
						 ring_model_numbers[number].name,
						 ring_section_name(section));
	return 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Adds what is on a line, if it is more than a comment. */
static int read_line(const struct reader *reader, char *line, struct ring_tuning_table *table,
		     struct told *told)
{
	char *words[FIELDS + 1] = {NULL}, *rest;
	int count = 0;
	line[strcspn(line, "#")] = '\0';
	for (char *word = strtok_r(line, BLANKS, &rest); word && count <= FIELDS;
	     word = strtok_r(NULL, BLANKS, &rest))
		words[count++] = word;
	if (count == 0)
		return 0;
	if (strcmp(words[MODEL_WORD], MODEL) == 0)
		return read_model(reader, words, count, table, told);
	if (count <= ALGORITHM || count > FIELDS)
		return ring_fail(reader->failure, RING_EINVAL,
				 "%.200s, line %d: expected kind, path, memory, ranks, bytes, "
				 "algorithm and perhaps chunk, but there %s %d word%s",
				 reader->file, reader->line, count == 1 ? "is" : "are", count,
				 count == 1 ? "" : "s");
	if (table->count == RING_TUNING_ROWS)
		return ring_fail(reader->failure, RING_EINVAL,
				 "%.200s, line %d: a table has at most %d rows", reader->file,
				 reader->line, RING_TUNING_ROWS);
	return read_row(reader, words, &table->rows[table->count++]);
}

int ring_tuning_text_read(const char *file, char *text, size_t bytes,
			  struct ring_tuning_table *table, struct ring_failure *failure)
{
	struct reader reader = {.file = file, .failure = failure};
	struct told told = {0};
	*table = (struct ring_tuning_table){.file = file};
	if (memchr(text, '\0', bytes))
		return ring_fail(failure, RING_EINVAL, "%.200s is not a text file", file);
	int err = 0;
	for (char *line = text; line && !err;) {
		char *end = strchr(line, '\n');
		if (end)
			*end = '\0';
		reader.line++;
		err = read_line(&reader, line, table, &told);
		line = end ? end + 1 : NULL;
	}
	return err ? err : check_models(&reader, table, &told);
}

int ring_tuning_file_read(const char *file, struct ring_tuning_table *table,
			  struct ring_failure *failure)
{
	char *text = malloc(FILE_BYTES + 1);
	if (!text)
		return ring_fail(failure, RING_ENOMEM, "no memory for %.200s", file);
	FILE *in = ring_fd_file(file);
	int err = 0;
	if (!in) {
		err = ring_fail(failure, RING_ESYSTEM, "RING_TUNING: cannot open %.200s: %m", file);
		goto free_text;
	}
	size_t bytes = fread(text, 1, FILE_BYTES + 1, in);
	if (ferror(in))
		err = ring_fail(failure, RING_ESYSTEM, "RING_TUNING: cannot read %.200s: %m", file);
	else if (bytes > FILE_BYTES)
		err = ring_fail(failure, RING_EINVAL,
				"%.200s has more than %d bytes; is it a table?", file, FILE_BYTES);
	if (!err) {
		text[bytes] = '\0';
		err = ring_tuning_text_read(file, text, bytes, table, failure);
	}
	fclose(in);
free_text:
	free(text);
	return err;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

/* Line numbers may differ: comments do not matter. */
uint64_t ring_tuning_hash(const struct ring_tuning_table *table)
{
	uint64_t hash = 1;
	for (int i = 0; i < table->count; i++) {
		const struct ring_tuning_row *row = &table->rows[i];
		hash = mix(hash, (uint64_t)(row->kind + 1));
		hash = mix(hash, (uint64_t)(row->path + 1));
		hash = mix(hash, (uint64_t)(row->memory + 1));
		hash = mix(hash, (uint64_t)row->ranks_from);
		hash = mix(hash, (uint64_t)row->ranks_to);
		hash = mix(hash, row->bytes);
		hash = mix(hash, (uint64_t)row->algorithm);
		hash = mix(hash, row->chunk_bytes);
	}
	for (int section = 0; section < RING_SECTIONS; section++) {
		hash = mix(hash, table->has_model[section]);
		for (int number = 0; number < RING_MODEL_COUNT; number++)
			hash = mix(hash, ring_model_get(&table->models[section], number));
	}
	return hash ? hash : 1;
}
