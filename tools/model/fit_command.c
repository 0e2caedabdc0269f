/* SPDX-License-Identifier: MIT */
/*
 * ring_model fit: the numbers of the library's cost model, from records of ring_perf. All numbers
 * of ranks and all algorithms of a path have one fit, since the model counts what each does.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "numbers.h"
#include "options.h"
#include "record.h"
#include "tools/whole_file.h"

#define LEAST_ROWS 3
#define MEDIAN_MOST 0.25

struct fit_job {
	const char *output;
	double from, to, chunk;
	bool show_all;
	struct model_record records[MODEL_TEXTS_MAX];
	int record_count;
	struct model_timed *timed; /* those of a path that are between `from` and `to` */
	size_t count;
	char *text; /* of the file */
	size_t bytes;
};

static bool read_records(struct fit_job *job, int count, char **paths)
{
	if (count == 0 || count > MODEL_TEXTS_MAX) {
		model_complain("fit", "which records? Name 1 to %d files of ring_perf --json",
			       MODEL_TEXTS_MAX);
		return false;
	}
	for (int i = 0; i < count; i++) {
		if (!model_record_read(paths[i], &job->records[i]))
			return false;
		job->record_count++;
	}
	return true;
}

static bool is_like(const struct model_source *first, const struct model_source *other)
{
	if (strcmp(other->link, first->link) != 0)
		model_complain("fit", "RING_LINK was '%s' in %s and '%s' in %s: fit them apart",
			       first->link, first->file, other->link, other->file);
	else if (strcmp(other->version, first->version) != 0)
		model_complain("fit", "%s is of ringccl %s and %s of %s: fit them apart",
			       first->file, first->version, other->file, other->version);
	else
		return true;
	return false;
}

/* Whether all records have the same RING_LINK and version. */
static bool are_alike(const struct fit_job *job)
{
	for (int i = 1; i < job->record_count; i++)
		if (!is_like(&job->records[0].source, &job->records[i].source))
			return false;
	return true;
}

static void add_samples(struct fit_job *job, const struct model_record *record, enum ring_path path)
{
	for (size_t k = 0; k < record->count; k++) {
		const struct model_sample *sample = &record->samples[k];
		if (sample->path != path || sample->bytes < job->from || sample->bytes > job->to)
			continue;
		struct model_timed *added = &job->timed[job->count++];
		*added = sample->timed;
		if (job->chunk > 0)
			added->params.chunk_bytes = (uint64_t)job->chunk;
	}
}

static bool gather_samples(struct fit_job *job, enum ring_path path)
{
	size_t room = 1;
	for (int i = 0; i < job->record_count; i++)
		room += job->records[i].count;
	free(job->timed);
	job->count = 0;
	job->timed = calloc(room, sizeof(*job->timed));
	for (int i = 0; job->timed && i < job->record_count; i++)
		add_samples(job, &job->records[i], path);
	if (!job->timed)
		model_complain("fit", "out of memory");
	return job->timed != NULL;
}

static bool was_busy(const struct fit_job *job)
{
	bool busy = false;
	for (int i = 0; i < job->record_count; i++)
		busy = busy || job->records[i].busy;
	return busy;
}

/* Says why there is no fit, and last what would have one. */
static bool refuse(const struct fit_job *job, enum ring_path path, const struct model_fit *fit)
{
	const char *name = ring_path_name(path);
	if (job->count < LEAST_ROWS)
		model_complain("fit", "%s: a fit needs at least three sizes or collectives", name);
	else
		model_complain("fit",
			       "%s: refused: it is off by %.0f %% in the median, and %.0f %% are "
			       "allowed; --show-all shows the rows",
			       name, 100 * fit->median, 100 * MEDIAN_MOST);
	if (was_busy(job))
		model_complain("fit", "%s: the machine was busy: measure again", name);
	model_complain("fit",
		       "these records would do: ring_perf --ranks %d --collective all -b 1K -e 4M "
		       "-f 4 --json FILE",
		       job->timed[0].params.size);
	return false;
}

static void write_sources(const struct fit_job *job, FILE *out)
{
	const struct model_source *first = &job->records[0].source;
	fprintf(out, "# Written by ring_model fit, for RING_TUNING and ring_model --model.\n");
	for (int i = 0; i < job->record_count; i++) {
		const struct model_source *source = &job->records[i].source;
		fprintf(out, "# from %s: %s, %s, %s, %s\n", source->file, source->start_time,
			source->host, source->cpu, source->kernel);
	}
	if (first->link[0])
		fprintf(out, "# links paced to %s by RING_LINK\n", first->link);
}

/* Fits the rows of a path, if there are any. returns false if they have no fit */
static bool fit_path(struct fit_job *job, enum ring_path path, FILE *out)
{
	struct model_fit fit = {.median = 0};
	if (!gather_samples(job, path))
		return false;
	if (job->count == 0)
		return true;
	if (job->count < LEAST_ROWS)
		return refuse(job, path, &fit);
	if (!model_fit(job->timed, job->count, &ring_model_built_in[path], &fit)) {
		model_complain("fit", "out of memory");
		return false;
	}
	bool good = fit.median <= MEDIAN_MOST;
	model_numbers_write_calls(out, job->timed, job->count, &fit);
	if (job->show_all)
		model_numbers_write_calls(stdout, job->timed, job->count, &fit);
	if (!good)
		return refuse(job, path, &fit);
	printf("# %s: %zu times; half of the predictions are off by %.1f %% at most, the worst by "
	       "%.1f %%\n",
	       ring_path_name(path), job->count, 100 * fit.median, 100 * fit.worst);
	model_numbers_write(stdout, path, &fit);
	model_numbers_write(out, path, &fit);
	return true;
}

static bool fit_all(struct fit_job *job)
{
	size_t rows = 0;
	FILE *out = open_memstream(&job->text, &job->bytes);
	if (!out) {
		model_complain("fit", "out of memory");
		return false;
	}
	write_sources(job, out);
	write_sources(job, stdout);
	for (int i = 0; i < job->record_count; i++)
		model_record_remark(&job->records[i], stdout);
	bool fitted = true;
	for (int path = 0; path < RING_PATHS && fitted; path++) {
		fitted = fit_path(job, (enum ring_path)path, out);
		rows += job->count;
	}
	if (rows == 0)
		model_complain("fit", "no row is between --from and --to");
	return fclose(out) == 0 && fitted && rows > 0;
}

static bool write_file(const struct fit_job *job)
{
	return !job->output || whole_file_put("ring_model", job->output, job->text, job->bytes);
}

#define AT(field) offsetof(struct fit_job, field)

static const struct option_row rows[] = {
	{OPTION_FILE, 0, "output", "FILE", AT(output), .help = "write the numbers there"},
	MODEL_ROW(size, "from", "SIZE", AT(from), "leave out smaller calls"),
	MODEL_ROW(size, "to", "SIZE", AT(to), "leave out larger calls"),
	MODEL_ROW(size, "chunk", "SIZE", AT(chunk),
		  "of the largest message, instead of the record's"),
	{OPTION_FLAG, 0, "show-all", NULL, AT(show_all),
	 .help = "show every row beside its prediction"},
	MODEL_HELP_ROW,
};

static const struct option_table table = {
	.program = "ring_model fit",
	.usage = "usage: ring_model fit [options] FILE...\nFits the library's cost model to "
		 "records of ring_perf --json.\n",
	.examples = "  ring_perf --ranks 2 --json two.json\n"
		    "  ring_perf --ranks 4 --json four.json\n"
		    "  ring_model fit two.json four.json --output numbers\n",
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
	.takes_words = true,
};

int model_fit_command(int argc, char **argv)
{
	struct fit_job job = {.to = INFINITY};
	int status, first = model_options_parse(&table, &job, argc, argv, &status);
	if (first < 0)
		return status;
	bool done = read_records(&job, argc - first, argv + first) && are_alike(&job) &&
		    fit_all(&job) && write_file(&job);
	for (int i = 0; i < job.record_count; i++)
		model_record_free(&job.records[i]);
	free(job.timed);
	free(job.text);
	return done ? STATUS_OK : STATUS_SYSTEM;
}
