/* SPDX-License-Identifier: MIT */
#include "outcome.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/model/device.h"
#include "train/report/plot.h"
#include "train/report/record.h"
#include "train/report/report.h"

#define COPY(field, text) snprintf(field, sizeof(field), "%s", text)

static void name_facts(const struct train_run *run, struct train_facts *facts)
{
	static const char *const batchings[] = {"samples", "tokens", "buckets", "packed"};
	static const char *const modes[] = {"off", "naive", "flat", "overlap"};
	const struct train_options *options = run->options;
	COPY(facts->preset, options->preset);
	COPY(facts->mode, modes[options->ddp.mode]);
	COPY(facts->scaling, options->scaling == TRAIN_WEAK_SCALING ? "weak" : "strong");
	COPY(facts->optimizer, options->optimizer.kind == TRAIN_SGD ? "sgd" : "adamw");
	COPY(facts->transports, run->team->transports);
	COPY(facts->sampler, options->sampler == TRAIN_SHARED_OUT ? "distributed" : "none");
	COPY(facts->lengths, options->lengths ? options->lengths : "");
	COPY(facts->batching, batchings[options->batching]);
	COPY(facts->host, run->team->machine.host);
	COPY(facts->cpu, run->team->machine.cpu);
	COPY(facts->link, machine_link());
	COPY(facts->matmul, run->device->matmul_name());
	train_source_describe(&run->source, facts->text, sizeof(facts->text));
}

void train_outcome_facts(const struct train_run *run, struct train_facts *facts)
{
	const struct train_options *options = run->options;
	const struct train_bucket *buckets;
	size_t element = options->ddp.compressed ? sizeof(uint16_t) : sizeof(train_real);
	*facts = (struct train_facts){
		.ranks = run->team->size,
		.hosts = run->team->hosts,
		.cpus = run->team->cpus,
		.host_cpus = run->team->machine.online,
		.load = run->team->machine.load,
		.other_cpus = run->others,
		.batch = options->batch,
		.accumulate = options->accumulate,
		.global_batch = options->global_batch,
		.syncs = options->sync_every_micro ? options->accumulate : 1,
		.buckets = train_ddp_buckets(run->ddp, &buckets),
		.compressed = options->ddp.compressed,
		.uneven = options->uneven > 0,
		.slow_rank = options->faults.slow_rank,
		.slow_ms = options->faults.slow_s * 1e3,
		.slow_share = options->faults.slow_share,
		.rank0_ms = options->faults.work_s * 1e3,
		.extra_bytes = options->faults.extra_bytes,
		.extra_fresh = options->faults.extra_fresh,
		.barrier = options->faults.barrier,
		.parameters = run->model->parameter_count,
		.seed = options->seed,
		.gradient_bytes = run->model->parameter_count * element,
		.promised_bytes = train_ddp_promise(run->ddp),
		.alone_ms = run->alone * 1e3,
		.held_out_loss = run->held_out_loss,
		.products = run->products,
		.own_loss = run->own.mean,
		.own_error = run->own.error,
	};
	name_facts(run, facts);
}

/* This run first, then its references. */
struct runs {
	struct train_summary *all;
	int count;
};

static int read_references(const struct train_options *options, struct runs *runs)
{
	for (int i = 0; i < options->reference_count; i++) {
		if (train_record_read(options->references[i], &runs->all[runs->count]) != 0)
			return -1;
		runs->count++;
	}
	train_summary_compare(&runs->all[0], runs->all + 1, runs->count - 1);
	return 0;
}

static int write_record(struct train_run *run, const struct train_summary *summary,
			const struct train_step *steps, size_t each)
{
	const struct train_record record = {
		.earlier = run->journal.earlier,
		.earlier_bytes = run->journal.earlier_bytes,
		.summary = summary,
		.steps = steps,
		.each = each,
		.end = {run->stop ? STATUS_SIGNAL + run->stop : 0, run->state.step,
			strsignal(run->stop)},
	};
	int err = train_record_write(run->options->json, &record);
	if (!err)
		train_journal_forget(&run->journal);
	return err;
}

/* Rank 0 reports and writes files. If a file fails, it goes on with the others. */
static int report(struct train_run *run, struct runs *runs, const struct train_step *steps,
		  size_t each)
{
	const struct train_options *options = run->options;
	struct train_summary *own = &runs->all[0];
	double values[TRAIN_METRICS], *predicted = options->model ? values : NULL;
	int err = read_references(options, runs);
	if (predicted && train_record_read_predictions(options->model, predicted) != 0) {
		predicted = NULL;
		err = -1;
	}
	if (options->json && write_record(run, own, steps, each) != 0)
		err = -1;
	if (!options->as_reference && !options->as_control)
		train_report_print(stdout, own, steps, each, predicted);
	if (options->plot &&
	    train_plot(options->plot, runs->all, runs->count, steps, each, predicted) != 0)
		err = -1;
	if (err)
		return STATUS_SYSTEM;
	return own->payload_is_exact ? STATUS_OK : STATUS_FOUND;
}

/*
 * Writes trace and profile. *lost: a file could not be written; the rest goes on. returns 0; a
 * RING_E code
 */
static int write_what_grew(const struct train_run *run, bool *lost)
{
	const struct train_steps *steps = run->controls.count > 0 ? &run->controls : &run->done;
	int err = 0;
	*lost = false;
	if (run->trace.on)
		err = train_trace_write(&run->trace, run->team, run->options->trace, lost);
	if (!err && run->profile.on)
		err = train_profile_write(&run->profile, run->team, steps, run->options->profile,
					  lost);
	return err;
}

static int report_all(struct train_run *run)
{
	struct runs runs = {calloc(1 + TRAIN_RECORDS, sizeof(*runs.all)), 1};
	size_t each;
	struct train_step *steps = train_journal_steps(run, &each);
	int status = STATUS_SYSTEM;
	if (runs.all && steps) {
		struct train_facts facts;
		train_outcome_facts(run, &facts);
		train_summary_make(&runs.all[0], &facts, steps, each);
		status = report(run, &runs, steps, each);
	}
	free(runs.all);
	free(steps);
	return status;
}

int train_outcome(struct train_run *run)
{
	bool lost;
	int err = write_what_grew(run, &lost);
	if (err || run->team->rank != 0)
		return train_exit_of(err);
	int status = report_all(run);
	return status == STATUS_OK && lost ? STATUS_SYSTEM : status;
}

void train_outcome_rescue(const struct train_run *run)
{
	const struct train_options *options = run->options;
	size_t each = 0;
	if (options->trace)
		train_trace_write_own(&run->trace, run->team, options->trace);
	struct train_step *steps = options->plot ? train_journal_steps(run, &each) : NULL;
	if (steps && each > 0) {
		struct train_summary summary;
		struct train_facts facts;
		train_outcome_facts(run, &facts);
		train_summary_make(&summary, &facts, steps, each);
		train_plot(options->plot, &summary, 1, steps, each, NULL);
	}
	free(steps);
}
