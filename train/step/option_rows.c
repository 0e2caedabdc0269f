/* SPDX-License-Identifier: MIT */
#include "option_rows.h"

#include <stddef.h>
#include <stdio.h>

#include "tools/machine.h"

#define MAX_RANKS 1024

static bool read_reference(const struct option_given *given, void *options)
{
	struct train_options *into = options;
	if (into->reference_count == TRAIN_RECORDS)
		return option_complain(given->table, "more than %d references", TRAIN_RECORDS);
	into->references[into->reference_count++] = given->text;
	return true;
}

/* --with-reference and --with-control have been followed: this is the run after them. */
static bool read_main(const struct option_given *given, void *options)
{
	struct train_options *into = options;
	(void)given;
	into->with_reference = into->with_control = false;
	return true;
}

#define AT(field) offsetof(struct train_options, field)

static const struct option_row rows[] = {
	{OPTION_HEADING, .help = "What is trained"},
	{OPTION_TEXT, 0, "preset", "NAME", AT(preset),
	 .help = "seed000, lab, gpt4m, nanogpt-char or mlp40; seed000"},
	{OPTION_INT, 0, "layers", "N", AT(shape.layers), 1, 1000,
	 .help = "layers of an MLP, blocks of a GPT; the preset's, as for the next six"},
	{OPTION_INT, 0, "width", "N", AT(shape.width), 1, 65536, .help = "features between layers"},
	{OPTION_INT, 0, "inputs", "N", AT(shape.inputs), 1, 65536,
	 .help = "features of an MLP's example"},
	{OPTION_INT, 0, "outputs", "N", AT(shape.outputs), 2, 65536, .help = "classes of an MLP"},
	{OPTION_INT, 0, "heads", "N", AT(shape.heads), 1, 1024, .help = "attention heads of a GPT"},
	{OPTION_INT, 0, "context", "N", AT(shape.context), 2, 65536,
	 .help = "characters that a GPT sees"},
	{OPTION_INT, 0, "vocabulary", "N", AT(shape.vocabulary), 2, 256, .help = "tokens of a GPT"},
	{OPTION_FLAG, 0, "print-model", NULL, AT(print_model), .sameness = TRAIN_OWN,
	 .help = "list the tensors and end"},

	{OPTION_HEADING, .help = "Data, and how long to train"},
	{OPTION_TEXT, 0, "text", "FILE", AT(text), .sameness = TRAIN_OWN,
	 .help = "a text, or markov:SEED:COUNT; the first public-domain text installed"},
	{OPTION_INT, 0, "batch", "N", AT(batch), 1, 1 << 20,
	 .help = "examples per rank and micro-batch; the preset's usual number"},
	{OPTION_INT, 0, "global-batch", "N", AT(global_batch), 1, 1 << 20,
	 .help = "examples per step, all ranks together"},
	{OPTION_CHOICE, 0, "scaling", "HOW", AT(scaling), .choices = "weak|strong",
	 .sameness = TRAIN_OWN,
	 .help = "what more ranks keep, --batch or --global-batch: weak or strong; weak"},
	{OPTION_INT, 0, "accumulate", "N", AT(accumulate), 1, 4096,
	 .help = "micro-batches per step; 1"},
	{OPTION_LONG, 0, "steps", "N", AT(steps), 1, 1e9,
	 .help = "train for N steps; 200, unless --epochs is given"},
	{OPTION_INT, 0, "epochs", "N", AT(epochs), 1, 1e6, .help = "train N times on all examples"},
	{OPTION_UNFLAG, 0, "keep-last", NULL, AT(drop_last),
	 .help = "end epochs with a smaller step, padded as DistributedSampler does"},
	{OPTION_TEXT, 0, "lengths", "DRAWN", AT(lengths),
	 .help = "a GPT's examples vary: lognormal:MEDIAN:DEVIATION or uniform:LOW:HIGH"},
	{OPTION_CHOICE, 0, "batching", "BY", AT(batching), .choices = "samples|tokens|buckets|packed",
	 .help = "what fills a micro-batch: samples, tokens, buckets or packed; samples"},
	{OPTION_INT, 0, "token-budget", "N", AT(token_budget), 1, 1 << 24,
	 .help = "tokens of a micro-batch; what --batch examples have on average"},
	{OPTION_CHOICE, 0, "sampler", "HOW", AT(sampler), .choices = "distributed|none",
	 .help = "whether ranks share the examples: distributed or none; distributed"},
	{OPTION_INT, 0, "uneven", "K", AT(uneven), 0, 1e6,
	 .help = "in each epoch rank r runs out r * K steps before rank 0"},
	{OPTION_NUMBER, 0, "seed", "N", AT(seed), .help = "seed of parameters, order and dropout; 1"},
	{OPTION_INT, 0, "evaluate", "N", AT(evaluate), 0, 1e9,
	 .help = "evaluate N held-out examples at the end; 256"},

	{OPTION_INT, 0, "sample", "N", AT(sample), 0, 100000,
	 .help = "have a GPT write N characters after each quarter of the steps"},

	{OPTION_HEADING, .help = "Optimizer"},
	{OPTION_CHOICE, 0, "optimizer", "NAME", AT(optimizer.kind), .choices = "sgd|adamw",
	 .help = "sgd or adamw; the preset's"},
	{OPTION_REAL, 0, "lr", "RATE", AT(optimizer.rate), 0, 1e3,
	 .help = "highest learning rate; the preset's"},
	{OPTION_LONG, 0, "warmup", "N", AT(optimizer.warmup), 0, 1e9,
	 .help = "steps until the rate is reached; the preset's"},
	{OPTION_REAL, 0, "decay", "RATE", AT(optimizer.decay), 0, 1e3,
	 .help = "weight decay; the preset's"},
	{OPTION_REAL, 0, "least", "SHARE", AT(optimizer.least), 0, 1,
	 .help = "share of the rate at the end of its cosine; the preset's"},
	{OPTION_LONG, 0, "cosine", "N", AT(optimizer.steps), 1, 1e9,
	 .help = "the step where the cosine ends; the preset's, or the last"},
	{OPTION_REAL, 0, "momentum", "SHARE", AT(optimizer.momentum), 0, 1,
	 .help = "momentum of sgd"},
	{OPTION_REAL, 0, "clip", "LENGTH", AT(optimizer.clip), 0, 1e9,
	 .help = "the longest gradient, over all parameters; the preset's"},

	{OPTION_HEADING, .help = "Ranks, and how they communicate"},
	{OPTION_INT, 'n', "ranks", "N", AT(ranks), 1, MAX_RANKS, .sameness = TRAIN_OWN,
	 .help = "start N ranks on this machine; 1, or as many as a launcher started"},
	{OPTION_CHOICE, 0, "mode", "HOW", AT(ddp.mode), .choices = "off|naive|flat|overlap",
	 .help = "when gradients are averaged: off, naive, flat or overlap; naive, flat: after "
		 "backward, tensor by tensor or in one call; overlap"},
	{OPTION_MEGABYTES, 0, "bucket-mb", "MiB", AT(ddp.bucket_bytes), 0, 1 << 20,
	 .help = "close a bucket when it has reached this; 25"},
	{OPTION_MEGABYTES, 0, "first-bucket-mb", "MiB", AT(ddp.first_bucket_bytes), 0, 1 << 20,
	 .help = "the same for the first bucket; 1"},
	{OPTION_FLAG, 0, "plan-only", NULL, AT(plan_only), .sameness = TRAIN_OWN,
	 .help = "list the buckets and end"},
	{OPTION_FLAG, 0, "compress", NULL, AT(ddp.compressed),
	 .help = "send gradients as bfloat16, with error feedback"},
	{OPTION_FLAG, 0, "sync-every-micro", NULL, AT(sync_every_micro),
	 .help = "average after every micro-batch, as without no_sync"},
	{OPTION_INT, 0, "hash-every", "K", AT(hash_every), 0, 1e9,
	 .help = "compare all ranks' parameters every K steps; 50; 0: never"},
	{OPTION_TEXT, 0, "device", "WHERE", AT(device),
	 .help = "train on cpu, cuda or cuda:NUMBER; ranks share out a host's GPUs; cpu"},
	{OPTION_CHOICE, 0, "products", "BY", AT(products), .choices = "any|cublas|own",
	 .help = "who multiplies matrices on a GPU: cublas, own or any; any"},
	{OPTION_TEXT, 0, "transport", "LIST", AT(transport), .sameness = TRAIN_OWN,
	 .help = "use only these transports, \"shm,tcp\""},
	{OPTION_OWN, 0, "link", "PACE", .read = machine_read_link, .sameness = TRAIN_OWN,
	 .help = "slow links down to this: \"1GB/s,20us\" (RING_LINK)"},
	{OPTION_REAL, 0, "timeout", "SECONDS", AT(timeout_s), 0, 1e6, .sameness = TRAIN_OWN,
	 .help = "timeout of joining and of each call"},

	{OPTION_HEADING, .help = "Faults on purpose"},
	{OPTION_TEXT, 0, "slow-rank", "RANK:HOW", AT(faults.slow),
	 .help = "0:40ms: rank 0 is 40 ms late each step; 0:50%: it has half its speed"},
	{OPTION_MEGABYTES, 0, "extra-all-reduce", "MiB", AT(faults.extra_bytes), 0, 1 << 14,
	 .help = "make a further all-reduce in each step, which is not for gradients"},
	{OPTION_FLAG, 0, "extra-fresh", NULL, AT(faults.extra_fresh),
	 .help = "allocate and fill its memory in each step"},
	{OPTION_TEXT, 0, "rank0-work", "TIME", AT(faults.work),
	 .help = "rank 0 does something else after each step: 20ms"},
	{OPTION_FLAG, 0, "barrier", NULL, AT(faults.barrier),
	 .help = "all ranks meet after each step"},

	{OPTION_HEADING, .help = "Files"},
	{OPTION_TEXT, 0, "checkpoint", "FOLDER", AT(checkpoint), .sameness = TRAIN_OWN,
	 .help = "keep the last two checkpoints in this folder"},
	{OPTION_INT, 0, "every", "K", AT(every), 1, 1e9, .sameness = TRAIN_OWN,
	 .help = "write a checkpoint every K steps; 100"},
	{OPTION_FLAG, 0, "resume", NULL, AT(resume),
	 .help = "go on from the latest checkpoint, with any number of ranks"},
	{OPTION_FLAG, 0, "resume-if-any", NULL, AT(resume_if_any),
	 .help = "the same if there is one; else begin"},
	{OPTION_TEXT, 0, "export", "FILE", AT(export), .sameness = TRAIN_OWN,
	 .help = "write what another program needs to repeat the training"},
	{OPTION_FILE, 0, "json", "FILE", AT(json), .sameness = TRAIN_OWN,
	 .help = "write one JSON line per step and rank, and a summary"},
	{OPTION_TEXT, 0, "trace", "FILE", AT(trace), .sameness = TRAIN_ALL_OR_NONE,
	 .help = "write a Chrome trace of all ranks"},
	{OPTION_TEXT, 0, "profile", "FILE", AT(profile), .sameness = TRAIN_ALL_OR_NONE,
	 .help = "write the times of a step without communication, for ring_model ddp"},
	{OPTION_TEXT, 0, "plot", "PREFIX", AT(plot), .sameness = TRAIN_OWN,
	 .help = "plot this run and its references"},
	{OPTION_TEXT, 0, "model", "FILE", AT(model), .sameness = TRAIN_OWN,
	 .help = "show the predictions of ring_model's JSON beside the summary"},
	{OPTION_OWN, 0, "reference", "FILE", .read = read_reference, .sameness = TRAIN_OWN,
	 .help = "compare with --json of another run: of one rank, or of --mode off"},
	{OPTION_FLAG, 0, "with-reference", NULL, AT(with_reference), .sameness = TRAIN_OWN,
	 .help = "first run the same on one rank"},
	{OPTION_TEXT, 0, "as-reference", "FILE", AT(as_reference), .sameness = TRAIN_OWN},
	{OPTION_FLAG, 0, "with-control", NULL, AT(with_control), .sameness = TRAIN_OWN,
	 .help = "first run the same with --mode off"},
	{OPTION_TEXT, 0, "as-control", "FILE", AT(as_control), .sameness = TRAIN_OWN},
	{OPTION_OWN, 0, "main-run", NULL, .read = read_main, .sameness = TRAIN_OWN},
	{OPTION_TEXT, 0, "sweep", "OPTION=VALUES", AT(sweep), .sameness = TRAIN_OWN,
	 .help = "train once for each value, and compare: bucket-mb=1,4,25"},
	{OPTION_QUIET, 0, "quiet", .sameness = TRAIN_OWN, .help = "print nothing; write only files"},
	{OPTION_HELP, 'h', "help", NULL, .sameness = TRAIN_OWN, .help = "show this and exit"},
	{OPTION_VERSION, 0, "version", NULL, .sameness = TRAIN_OWN,
	 .help = "show the version and exit"},
};

const struct option_table train_option_table = {
	.program = "ring_train",
	.usage = "usage: ring_train [options]\n"
		 "Trains a small model on several ranks, and reports where the time went. ringccl\n"
		 "averages the gradients while backward runs. Starts the ranks itself, or is a "
		 "rank\n"
		 "that a launcher such as ring_run or torchrun started.",
	.ending = "man ring_train says more of each, and has the metrics and the records.",
	.examples = "  ring_train --preset seed000 -n 2 --with-reference\n"
		    "  ring_train --preset lab -n 2 --steps 20 --slow-rank 1:40ms\n",
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
};
