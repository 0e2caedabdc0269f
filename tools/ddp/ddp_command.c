/* SPDX-License-Identifier: MIT */
/*
 * ring_model ddp: the time of a step of data-parallel training on more and more ranks, under three
 * assumptions; where efficiency falls below 80 %, and why. Or a comparison with records of
 * ring_train.
 */
#include <math.h>
#include <stdio.h>

#include "tools/model/commands.h"
#include "tools/model/compare.h"
#include "tools/csv.h"
#include "tools/model/options.h"
#include "plot.h"
#include "profile.h"
#include "tools/model/record.h"
#include "scaling.h"
#include "tools/model/text.h"

/* Backward computes two products for each of forward. */
#define FORWARD_SHARE (1.0 / 3)
#define COMPUTE 0.2 /* seconds, of the tutorial's machine */

struct ddp_job {
	struct model_choice choice;
	struct model_machine machine;
	struct model_list ranks;
	const char *profile, *shape;
	double parameters, element_bytes, bucket_count; /* 0: the shape's */
	double bucket_cap, first_cap;
	double compute; /* seconds; forward and backward together; 0: the profile's, or usual */
	double data, optimizer, slowdown, jitter;
	bool exposed;
	const char *mode, *csv, *json, *plot;
	struct model_texts compare;
	struct model_errors most;
	struct model_bucket buckets[MODEL_BUCKETS_MAX];
	struct model_training training;
	struct model_point points[MODEL_LIST_MAX];
};

/* ---- what is trained ---------------------------------------------------------------------- */

static bool make_tensors(const struct ddp_job *job, struct model_tensors *tensors)
{
	if (!model_shape_find(job->shape, tensors)) {
		model_complain("ddp", "--shape is seed001, llama7b, lab, mlp40 or seed002, not '%s'",
			       job->shape);
		return false;
	}
	double parameters = job->parameters > 0 ? job->parameters : model_shape_parameters(tensors);
	if (job->bucket_count > MODEL_BUCKETS_MAX) {
		model_complain("ddp", "--buckets is at most %d", MODEL_BUCKETS_MAX);
		return false;
	}
	if (job->bucket_count > 0)
		model_shape_equal(parameters, (size_t)job->bucket_count, tensors);
	else if (job->parameters > 0)
		model_shape_equal(parameters, tensors->count, tensors);
	if (job->element_bytes > 0)
		tensors->element_bytes = job->element_bytes;
	return true;
}

static bool plan_shape(struct ddp_job *job)
{
	struct model_tensors tensors;
	struct model_compute *compute = &job->training.compute;
	if (!make_tensors(job, &tensors))
		return false;
	compute->forward = job->compute * FORWARD_SHARE;
	compute->backward = job->compute - compute->forward;
	compute->data = job->data;
	compute->optimizer = job->optimizer;
	/* With --buckets, the equal parts are the buckets. */
	double cap = job->bucket_count > 0 ? 0 : job->bucket_cap;
	double first_cap = job->bucket_count > 0 ? 0 : job->first_cap;
	job->training.count = model_buckets_of(&tensors, first_cap, cap, compute->backward,
					       job->buckets);
	return true;
}

/* Whether the options say what is trained; else a record does, or the defaults. */
static bool is_described(const struct ddp_job *job)
{
	return job->profile || job->shape || job->parameters > 0 || job->element_bytes > 0 ||
	       job->bucket_count > 0;
}

static bool plan(struct ddp_job *job)
{
	job->training.buckets = job->buckets;
	if (job->compare.count > 0 && !is_described(job))
		return true;
	if (!job->shape)
		job->shape = "seed001";
	if (job->compute == 0)
		job->compute = COMPUTE;
	bool planned = job->profile ? model_profile_read(job->profile, &job->training.compute,
							 job->buckets, &job->training.count)
				    : plan_shape(job);
	job->training.compute.slowdown = job->slowdown;
	job->training.jitter = job->jitter;
	return planned;
}

static double all_bytes(const struct ddp_job *job)
{
	double bytes = 0;
	for (size_t k = 0; k < job->training.count; k++)
		bytes += job->buckets[k].bytes;
	return bytes;
}

/* ---- the table ---------------------------------------------------------------------------- */

static void show_training(const struct ddp_job *job)
{
	const struct model_compute *compute = &job->training.compute;
	char size[MODEL_TEXT_ROOM];
	printf("# %s of gradients in %zu buckets; data %.3f, forward %.3f, backward %.3f, "
	       "optimizer %.3f ms\n",
	       model_size_text(all_bytes(job), size), job->training.count, compute->data * 1e3,
	       compute->forward * 1e3, compute->backward * 1e3, compute->optimizer * 1e3);
	printf("%-8s %12s %12s %12s %12s %12s %8s %8s %8s\n", "# ranks", "comm (ms)", "sum (ms)",
	       "max (ms)", "event (ms)", "exposed (ms)", "eff sum", "eff max", "eff");
}

static void show_step(int ranks, const struct model_step *step, FILE *csv)
{
	char sum[MODEL_TEXT_ROOM], max[MODEL_TEXT_ROOM], event[MODEL_TEXT_ROOM];
	printf("%-8d %12.3f %12.3f %12.3f %12.3f %12.3f %8s %8s %8s\n", ranks,
	       step->communication * 1e3, step->sum * 1e3, step->max * 1e3, step->event * 1e3,
	       step->exposed * 1e3, model_ratio_text(step->compute, step->sum, 3, sum),
	       model_ratio_text(step->compute, step->max, 3, max),
	       model_ratio_text(step->compute, step->event, 3, event));
	if (csv)
		fprintf(csv, "%d,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g\n", ranks, step->compute,
			step->communication, step->sum, step->max, step->event, step->exposed);
}

static void show_cause(const struct ddp_job *job, const struct model_machine *machine, int ranks)
{
	const struct model_training *training = &job->training;
	bool enough;
	enum model_cause cause = model_training_cause(training, machine, ranks, &enough);
	printf("# on %d ranks efficiency is %.3f, under %.0f %%\n", ranks,
	       model_training_efficiency(training, machine, ranks, MODEL_NO_CAUSE),
	       100 * MODEL_GOOD_EFFICIENCY);
	for (enum model_cause away = MODEL_BUCKET_COUNT; away < MODEL_CAUSES; away++) {
		if (away == MODEL_SLOW_TIER && machine->ranks_per_host == 0)
			continue;
		printf("#   it would be %.3f %s\n",
		       model_training_efficiency(training, machine, ranks, away),
		       model_cause_absence(away));
	}
	printf("# so the cause is %s%s\n", model_cause_name(cause),
	       enough ? "" : " most of all, but not alone");
}

static bool show_rows(struct ddp_job *job, FILE *csv)
{
	int fallen_ranks = 0;
	show_training(job);
	if (csv)
		fputs("ranks,compute,communication,sum,max,event,exposed\n", csv);
	for (int r = 0; r < job->ranks.count; r++) {
		int ranks = (int)job->ranks.values[r];
		struct model_step step = model_training_step(&job->training, &job->machine, ranks,
							     MODEL_NO_CAUSE);
		step.compute = model_compute_total(&job->training.compute);
		show_step(ranks, &step, csv);
		job->points[r] = (struct model_point){ranks, step.compute, step.sum, step.max,
						      step.event};
		if (fallen_ranks == 0 && step.compute < MODEL_GOOD_EFFICIENCY * step.event)
			fallen_ranks = ranks;
	}
	if (fallen_ranks > 0)
		show_cause(job, &job->machine, fallen_ranks);
	else
		printf("# efficiency stays at %.0f %% and above\n", 100 * MODEL_GOOD_EFFICIENCY);
	return true;
}

/* Writes the prediction for the last number of ranks, for ring_train --model. */
static bool write_prediction(const struct ddp_job *job)
{
	int ranks = (int)job->ranks.values[job->ranks.count - 1];
	struct model_step step = model_training_step(&job->training, &job->machine, ranks,
						     MODEL_NO_CAUSE);
	double seconds = model_step_in_mode(&job->training, &job->machine, ranks, job->mode,
					    &step.exposed);
	return model_prediction_write(job->json, &step, seconds, ranks, all_bytes(job));
}

static bool show(struct ddp_job *job)
{
	struct model_csv csv;
	if (!model_csv_begin(&csv, job->csv))
		return false;
	bool shown = model_csv_end(&csv, show_rows(job, csv.out));
	return shown && (!job->json || write_prediction(job)) &&
	       (!job->plot || model_plot(job->plot, job->points, (size_t)job->ranks.count));
}

/* ---- beside records ----------------------------------------------------------------------- */

/* Takes what was trained from a record, in equal buckets. */
static bool take_training(struct ddp_job *job, const char *path, const struct model_run *run)
{
	struct model_compute *compute = &job->training.compute;
	if (!(run->gradient_bytes > 0 && run->buckets >= 1 && run->buckets <= MODEL_BUCKETS_MAX)) {
		model_complain("ddp", "%s does not say what was trained: give --profile or --shape",
			       path);
		return false;
	}
	*compute = run->compute;
	job->training.count = (size_t)run->buckets;
	for (size_t k = 0; k < job->training.count; k++)
		job->buckets[k] = (struct model_bucket){
			.bytes = run->gradient_bytes / run->buckets,
			.ready = compute->backward * (double)(k + 1) / run->buckets,
		};
	printf("# %s: what was trained, and the times of computing, are the record's\n", path);
	return true;
}

/* What was trained must be what is predicted. */
static bool find_training(struct ddp_job *job, const char *path, const struct model_run *run)
{
	if (!is_described(job))
		return take_training(job, path, run);
	if (run->gradient_bytes == 0 || fabs(all_bytes(job) - run->gradient_bytes) < 1)
		return true;
	model_complain("ddp",
		       "%s has %.0f bytes of gradients, and what is to be predicted has %.0f: give "
		       "its --profile, or nothing, and the record says it",
		       path, run->gradient_bytes, all_bytes(job));
	return false;
}

/* The machine of a record: its path, its CPUs, and the library's choice unless the options say. */
static bool take_machine(struct ddp_job *job, const struct model_run *run)
{
	enum ring_path path = model_path_of(run->transport, (int)run->hosts, run->link);
	if (model_machine_make("ddp", &job->choice, (int)path, &job->machine))
		return false;
	if (job->choice.cpus == 0)
		job->machine.cpus = run->host_cpus * run->hosts;
	if (job->choice.algorithm == MODEL_ANY && job->choice.file)
		job->machine.algorithm = MODEL_CHOOSES;
	return true;
}

static bool add_case(struct ddp_job *job, const char *path, struct model_cases *cases)
{
	struct model_run run;
	struct model_case *at = model_cases_add(cases);
	double exposed;
	if (!at || !model_run_read(path, &run) || !find_training(job, path, &run) ||
	    !take_machine(job, &run))
		return false;
	double step = model_step_in_mode(&job->training, &job->machine, run.ranks, run.mode,
					 &exposed);
	snprintf(at->name, sizeof(at->name), "%.40s on %d ranks over %.30s, %s", path, run.ranks,
		 run.transport, run.mode);
	at->predicted = job->exposed ? exposed : step;
	at->measured = job->exposed ? run.exposed : run.step;
	return true;
}

static int compare(struct ddp_job *job)
{
	struct model_cases cases = {0};
	bool good = true;
	for (int i = 0; i < job->compare.count && good; i++)
		good = add_case(job, job->compare.at[i], &cases);
	int status = good ? model_compare(&cases, &job->most, stdout) : STATUS_SYSTEM;
	model_cases_free(&cases);
	return status;
}

/* ---- the command line --------------------------------------------------------------------- */

/* The defaults: the machine of the tutorial. */
static void settle(struct ddp_job *job)
{
	if (!job->choice.file && job->choice.chunk == 0)
		job->choice.chunk = (double)MODEL_WHOLE_BLOCKS;
	if (job->profile || job->choice.file || job->choice.link.bandwidth > 0)
		return;
	job->choice.link = (struct model_link){.latency = 0, .bandwidth = 50e9};
}

#define AT(field) offsetof(struct ddp_job, field)

static const struct option_row rows[] = {
	{OPTION_HEADING, .help = "The machine"},
	MODEL_CHOICE_ROWS,
	{OPTION_HEADING, .help = "What is trained, and by how many"},
	MODEL_ROW(ranks, "ranks", "LIST", AT(ranks), MODEL_RANKS_HELP),
	{OPTION_TEXT, 0, "profile", "FILE", AT(profile),
	 .help = "of ring_train --profile on one rank"},
	{OPTION_TEXT, 0, "shape", "NAME", AT(shape),
	 .help = "seed001, llama7b, lab, mlp40 or seed002"},
	MODEL_ROW(count, "parameters", "N", AT(parameters), "instead of the shape's, such as 7e9"),
	MODEL_ROW(count, "element-bytes", "N", AT(element_bytes), "bytes of a gradient"),
	MODEL_ROW(count, "buckets", "N", AT(bucket_count), "equal buckets instead of the shape's"),
	MODEL_ROW(size, "bucket", "SIZE", AT(bucket_cap), "close a bucket at this size, 25M"),
	MODEL_ROW(size, "first-bucket", "SIZE", AT(first_cap), "close the first one at this, 1M"),
	MODEL_ROW(time, "compute", "TIME", AT(compute), "of forward and backward, 200ms"),
	MODEL_ROW(time, "data", "TIME", AT(data), "to fetch a batch"),
	MODEL_ROW(time, "optimizer", "TIME", AT(optimizer), "of the optimizer"),
	MODEL_ROW(real, "slowdown", "SHARE", AT(slowdown),
		  "how much communication slows backward down"),
	MODEL_ROW(time, "jitter", "TIME", AT(jitter), "standard deviation of a rank's compute"),
	{OPTION_HEADING, .help = "What is shown and written"},
	{OPTION_FILE, 0, "csv", "FILE", AT(csv), .help = "write the times there"},
	{OPTION_FILE, 0, "json", "FILE", AT(json),
	 .help = "write a prediction for the last number of ranks, for ring_train --model"},
	{OPTION_TEXT, 0, "mode", "NAME", AT(mode), .help = "its mode: overlap, flat, naive or off"},
	{OPTION_TEXT, 0, "plot", "PREFIX", AT(plot),
	 .help = "draw efficiency over ranks with gnuplot"},
	MODEL_ROW(texts, "compare", "FILE", AT(compare),
		  "compare with a record of ring_train; may be repeated"),
	{OPTION_FLAG, 0, "exposed", NULL, AT(exposed),
	 .help = "compare exposed communication, not the step"},
	MODEL_ROW(errors, "check", "MEDIAN,WORST", AT(most),
		  "fail above these errors, such as 0.10,0.25"),
	MODEL_HELP_ROW,
};

static const struct option_table table = {
	.program = "ring_model ddp",
	.usage = "usage: ring_model ddp [options]\nPredicts a step of data-parallel training.\n",
	.examples = "  ring_model ddp --link 50GB/s,20us --shape llama7b --compute 700ms\n",
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
};

int model_ddp_command(int argc, char **argv)
{
	static struct ddp_job job; /* too large for a small stack */
	job = (struct ddp_job){.choice = model_choice_none,
			       .bucket_cap = 25 << 20,
			       .first_cap = 1 << 20,
			       .mode = "overlap",
			       .most = model_errors_any()};
	model_parse_list("2..1024*2", model_parse_ranks, &job.ranks);
	int status;
	if (model_options_parse(&table, &job, argc, argv, &status) < 0)
		return status;
	if (!model_plot_check(job.plot))
		return STATUS_SYSTEM;
	settle(&job);
	bool compares = job.compare.count > 0; /* then each record has a machine */
	if (!compares)
		status = model_machine_make("ddp", &job.choice, MODEL_ANY, &job.machine);
	if (status == STATUS_OK && !plan(&job))
		status = job.profile ? STATUS_SYSTEM : STATUS_USAGE;
	if (status == STATUS_OK && compares)
		status = compare(&job);
	else if (status == STATUS_OK && !show(&job))
		status = STATUS_SYSTEM;
	return status;
}
