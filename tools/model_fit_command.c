/* SPDX-License-Identifier: MIT */
/*
 * ring_model fit: one fit for each transport and number of ranks. There is no fit over several
 * numbers: with more ranks than CPUs ranks wait differently, and a hop takes longer.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_commands.h"
#include "model_compare.h"
#include "model_options.h"
#include "model_text.h"

struct fit_job {
	const char *output;
	double from, to, chunk;
	bool show_all;
	struct model_record records[MODEL_TEXTS_MAX];
	int record_count;
	struct model_sample *samples; /* of all records, within [from, to] */
	size_t sample_count;
	struct model_file file;
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
		model_record_remark(&job->records[i], stdout);
	}
	return true;
}

static void add_sample(struct fit_job *job, const struct model_sample *sample)
{
	struct model_sample *added = &job->samples[job->sample_count++];
	*added = *sample;
	if (job->chunk > 0)
		added->chunk = job->chunk;
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

static bool is_of(const struct model_sample *sample, const char *transport, int ranks)
{
	return sample->ranks == ranks && strcmp(sample->transport, transport) == 0;
}

/* Whether the machine was busy in one of these samples. */
static bool was_busy(const struct fit_job *job, const char *transport, int ranks)
{
	for (int i = 0; i < job->record_count; i++)
		if (job->records[i].busy && is_of(&job->records[i].samples[0], transport, ranks))
			return true;
	return false;
}

static bool is_wanted(const struct fit_job *job, const struct model_sample *sample)
{
	return sample->bytes >= job->from && sample->bytes <= job->to;
}

static void gather_samples(struct fit_job *job)
{
	size_t room = 0;
	for (int i = 0; i < job->record_count; i++)
		room += job->records[i].count;
	job->samples = calloc(room, sizeof(*job->samples));
	for (int i = 0; job->samples && i < job->record_count; i++)
		for (size_t k = 0; k < job->records[i].count; k++)
			if (is_wanted(job, &job->records[i].samples[k]))
				add_sample(job, &job->records[i].samples[k]);
}

/*
 * What the records of these samples know. The slowest reducing counts: more ranks share the memory.
 */
static struct model_known known_of(const struct fit_job *job, const char *transport, int ranks)
{
	struct model_known known = {0};
	for (int i = 0; i < job->record_count; i++) {
		const struct model_record *record = &job->records[i];
		double rate = record->known.reduce_rate;
		if (!is_of(&record->samples[0], transport, ranks))
			continue;
		if (rate > 0 && (known.reduce_rate == 0 || rate < known.reduce_rate))
			known.reduce_rate = rate;
		known.widest = fmax(known.widest, record->known.widest);
	}
	return known;
}

static void show_errors(const struct model_fit *fit, const struct model_sample *samples,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char name[128];
		double predicted = model_fit_predict(fit, &samples[i]);
		model_sample_name(&samples[i], name, sizeof(name));
		printf("#   %-44s %12.2f us, measured %12.2f us %+8.1f%%\n", name, predicted * 1e6,
		       samples[i].seconds * 1e6, 100 * (predicted / samples[i].seconds - 1));
	}
}

static void show_fit(const struct model_fit *fit)
{
	char least[MODEL_TEXT_ROOM], most[MODEL_TEXT_ROOM];
	printf("%-8s %8d %12.2f %10.3f %10.3f %12.2f %7zu %8.1f%% %8.1f%%  %s..%s\n",
	       fit->transport, fit->ranks, fit->machine.link.latency * 1e6,
	       fit->machine.link.bandwidth * 1e-9, fit->machine.reduce_rate * 1e-9,
	       fit->machine.overhead * 1e6, fit->samples, 100 * fit->median, 100 * fit->worst,
	       model_size_text(fit->least_bytes, least), model_size_text(fit->most_bytes, most));
	if (fit->reduce_from == MODEL_MEASURED)
		puts("#   reducing: as ring_perf measured it; the records do not tell it apart");
	if (fit->reduce_from == MODEL_WITHIN)
		puts("#   reducing: within the bandwidth; the records do not tell it apart");
	if (fit->overhead_from == MODEL_WITHIN)
		puts("#   overhead: within the latency; the records do not tell it apart");
}

static void refuse_fit(const struct fit_job *job, const struct model_fit *fit,
		       const struct model_sample *sample, double widest,
		       enum model_fit_result result)
{
	char name[128], who[64];
	model_sample_name(sample, name, sizeof(name));
	snprintf(who, sizeof(who), "%d ranks over %s", sample->ranks, sample->transport);
	switch (result) {
	case MODEL_FIT_TOO_FEW:
		model_complain("fit", "%s: a fit needs at least three sizes or collectives", who);
		break;
	case MODEL_FIT_NO_LATENCY:
		model_complain("fit",
			       "%s: the records do not tell the latency: no call is short enough. "
			       "Measure smaller sizes, too, such as ring_perf -b 1K",
			       who);
		break;
	case MODEL_FIT_NO_BANDWIDTH:
		model_complain("fit",
			       "%s: the records do not tell the bandwidth: no call is long enough. "
			       "Measure larger sizes, too, such as ring_perf -e 64M",
			       who);
		break;
	case MODEL_FIT_TOO_FAST:
		model_complain(
			"fit",
			"%s: refused: it predicts %s and others faster than the %.2f us that "
			"the speeds measured in the same run allow; leave out sizes by --from "
			"and --to",
			who, name, sample->limit * 1e6);
		break;
	case MODEL_FIT_TOO_WIDE:
		model_complain("fit",
			       "%s: refused: its %.3f GB/s are more than the %.3f GB/s that were "
			       "measured in the same run; leave out sizes by --from and --to",
			       who, fit->machine.link.bandwidth * 1e-9, widest * 1e-9);
		break;
	case MODEL_FIT_OFF:
		model_complain("fit",
			       "%s: refused: it is off by %.0f %% in the median, and %.0f %% are "
			       "allowed; --show-all shows the rows",
			       who, 100 * fit->median, 100 * MODEL_FIT_MEDIAN_MOST);
		break;
	default:
		model_complain("fit", "out of memory");
	}
	if (was_busy(job, sample->transport, sample->ranks))
		model_complain("fit", "%s: the machine was busy: measure again", who);
}

/* Fits the samples over `transport` on `ranks` ranks. returns false if there is no fit */
static bool fit_some(struct fit_job *job, const char *transport, int ranks)
{
	struct model_sample *some = calloc(job->sample_count, sizeof(*some));
	size_t count = 0, where = 0;
	for (size_t i = 0; some && i < job->sample_count; i++)
		if (is_of(&job->samples[i], transport, ranks))
			some[count++] = job->samples[i];
	if (!some || job->file.count == MODEL_FITS_MAX) {
		free(some);
		model_complain("fit", some ? "too many numbers of ranks" : "out of memory");
		return false;
	}
	struct model_fit *fit = &job->file.fits[job->file.count];
	struct model_known known = known_of(job, transport, ranks);
	enum model_fit_result result = model_fit(some, count, &known, fit, &where);
	if (result == MODEL_FIT_OK) {
		job->file.count++;
		show_fit(fit);
	} else {
		refuse_fit(job, fit, &some[where], known.widest, result);
	}
	if (job->show_all && fit->samples > 0)
		show_errors(fit, some, count);
	free(some);
	return true;
}

/* Whether a sample is the first with its transport and number of ranks. */
static bool is_first(const struct fit_job *job, size_t index)
{
	const struct model_sample *sample = &job->samples[index];
	for (size_t i = 0; i < index; i++)
		if (is_of(&job->samples[i], sample->transport, sample->ranks))
			return false;
	return true;
}

static bool fit_all(struct fit_job *job)
{
	gather_samples(job);
	if (job->sample_count == 0) {
		model_complain("fit", job->samples ? "no row is between --from and --to"
						   : "out of memory");
		return false;
	}
	snprintf(job->file.link, sizeof(job->file.link), "%s", job->records[0].source.link);
	if (job->file.link[0])
		printf("# links paced to %s by RING_LINK\n", job->file.link);
	printf("%-8s %8s %12s %10s %10s %12s %7s %9s %9s  %s\n", "#", "ranks", "latency (us)",
	       "GB/s", "red. GB/s", "call (us)", "samples", "median", "worst", "sizes");
	for (size_t i = 0; i < job->sample_count; i++)
		if (is_first(job, i) &&
		    !fit_some(job, job->samples[i].transport, job->samples[i].ranks))
			return false;
	return job->file.count > 0;
}

int model_fit_command(int argc, char **argv)
{
	struct fit_job job = {.to = INFINITY};
	const struct model_option options[] = {
		{"output", MODEL_OUTPUT, &job.output, "FILE  write the model there"},
		{"from", MODEL_SIZE, &job.from, "SIZE  leave out smaller calls"},
		{"to", MODEL_SIZE, &job.to, "SIZE  leave out larger calls"},
		{"chunk", MODEL_SIZE, &job.chunk,
		 "SIZE  of pieces of a block, instead of the record's"},
		{"show-all", MODEL_FLAG, &job.show_all, " show every row beside its prediction"},
		{0},
	};
	const struct model_command command = {"fit", " FILE...",
					      "Fits a model to records of ring_perf --json.",
					      options};
	int status, first = model_options_parse(&command, argc, argv, &status);
	if (first < 0)
		return status;
	bool done = read_records(&job, argc - first, argv + first) && are_alike(&job) &&
		    fit_all(&job) &&
		    (!job.output || model_file_write(job.output, &job.file, job.records,
						     (size_t)job.record_count));
	for (int i = 0; i < job.record_count; i++)
		model_record_free(&job.records[i]);
	free(job.samples);
	return done ? MODEL_EXIT_OK : MODEL_EXIT_BAD;
}
