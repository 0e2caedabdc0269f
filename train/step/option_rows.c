/* SPDX-License-Identifier: MIT */
#include "option_rows.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define MAX_RANKS 1024

#define AT(field) offsetof(struct train_options, field)

const struct train_option_row train_option_rows[] = {
	{TRAIN_OPTION_HEADING, .help = "What is trained"},
	{TRAIN_OPTION_TEXT, 0, "preset", "NAME", AT(preset),
	 .help = "seed000, lab, gpt4m, nanogpt-char or mlp40; seed000"},
	{TRAIN_OPTION_INT, 0, "layers", "N", AT(shape.layers), 1, 1000,
	 .help = "these and the next replace the preset's: layers of an MLP, blocks of a GPT"},
	{TRAIN_OPTION_INT, 0, "width", "N", AT(shape.width), 1, 65536,
	 .help = "features between layers"},
	{TRAIN_OPTION_INT, 0, "inputs", "N", AT(shape.inputs), 1, 65536,
	 .help = "features of an MLP's example"},
	{TRAIN_OPTION_INT, 0, "outputs", "N", AT(shape.outputs), 2, 65536,
	 .help = "classes of an MLP"},
	{TRAIN_OPTION_INT, 0, "heads", "N", AT(shape.heads), 1, 1024,
	 .help = "attention heads of a GPT"},
	{TRAIN_OPTION_INT, 0, "context", "N", AT(shape.context), 2, 65536,
	 .help = "characters that a GPT sees"},
	{TRAIN_OPTION_INT, 0, "vocabulary", "N", AT(shape.vocabulary), 2, 256,
	 .help = "tokens of a GPT"},
	{TRAIN_OPTION_FLAG, 0, "print-model", NULL, AT(print_model), .sameness = TRAIN_OWN,
	 .help = "list the tensors and end"},

	{TRAIN_OPTION_HEADING, .help = "Data, and how long to train"},
	{TRAIN_OPTION_TEXT, 0, "text", "FILE", AT(text), .sameness = TRAIN_OWN,
	 .help = "a text, or markov:SEED:COUNT; the first public-domain text installed"},
	{TRAIN_OPTION_INT, 0, "batch", "N", AT(batch), 1, 1 << 20,
	 .help = "examples per rank and micro-batch; the preset's usual number"},
	{TRAIN_OPTION_INT, 0, "global-batch", "N", AT(global_batch), 1, 1 << 20,
	 .help = "examples per step, all ranks together"},
	{TRAIN_OPTION_CHOICE, 0, "scaling", "HOW", AT(scaling), .choices = "weak|strong",
	 .sameness = TRAIN_OWN,
	 .help = "whether --batch or --global-batch stays when ranks are added; weak"},
	{TRAIN_OPTION_INT, 0, "accumulate", "N", AT(accumulate), 1, 4096,
	 .help = "micro-batches per step; 1"},
	{TRAIN_OPTION_LONG, 0, "steps", "N", AT(steps), 1, 1e9,
	 .help = "train for N steps; 200, unless --epochs is given"},
	{TRAIN_OPTION_INT, 0, "epochs", "N", AT(epochs), 1, 1e6,
	 .help = "train N times on all examples"},
	{TRAIN_OPTION_UNFLAG, 0, "keep-last", NULL, AT(drop_last),
	 .help = "end epochs with a smaller step, padded as DistributedSampler does"},
	{TRAIN_OPTION_TEXT, 0, "lengths", "DRAWN", AT(lengths),
	 .help = "a GPT's examples are shorter than its context: lognormal:MEDIAN:DEVIATION or "
		 "uniform:LOW:HIGH"},
	{TRAIN_OPTION_CHOICE, 0, "batching", "BY", AT(batching),
	 .choices = "samples|tokens|buckets|packed",
	 .help = "what a micro-batch has: samples: --batch examples; tokens: --token-budget tokens "
		 "with padding; buckets: --batch examples of similar lengths; packed: "
		 "--token-budget tokens without padding; samples"},
	{TRAIN_OPTION_INT, 0, "token-budget", "N", AT(token_budget), 1, 1 << 24,
	 .help = "tokens of a micro-batch; what --batch examples have on average"},
	{TRAIN_OPTION_CHOICE, 0, "sampler", "HOW", AT(sampler), .choices = "distributed|none",
	 .help = "distributed: ranks share the examples; none: all train on the same ones, a "
		 "mistake; distributed"},
	{TRAIN_OPTION_INT, 0, "uneven", "K", AT(uneven), 0, 1e6,
	 .help = "in each epoch rank r runs out r * K steps before rank 0"},
	{TRAIN_OPTION_NUMBER, 0, "seed", "N", AT(seed),
	 .help = "seed of parameters, order and dropout; 1"},
	{TRAIN_OPTION_INT, 0, "evaluate", "N", AT(evaluate), 0, 1e9,
	 .help = "evaluate N held-out examples at the end; 256"},

	{TRAIN_OPTION_HEADING, .help = "Optimizer"},
	{TRAIN_OPTION_CHOICE, 0, "optimizer", "NAME", AT(optimizer.kind), .choices = "sgd|adamw",
	 .help = "the preset's"},
	{TRAIN_OPTION_REAL, 0, "lr", "RATE", AT(optimizer.rate), 0, 1e3,
	 .help = "highest learning rate; the preset's"},
	{TRAIN_OPTION_LONG, 0, "warmup", "N", AT(optimizer.warmup), 0, 1e9,
	 .help = "steps until the rate is reached; the preset's"},
	{TRAIN_OPTION_REAL, 0, "decay", "RATE", AT(optimizer.decay), 0, 1e3,
	 .help = "weight decay; the preset's"},
	{TRAIN_OPTION_REAL, 0, "least", "SHARE", AT(optimizer.least), 0, 1,
	 .help = "the share of the rate at the end of its cosine; 1: constant; the preset's"},
	{TRAIN_OPTION_LONG, 0, "cosine", "N", AT(optimizer.steps), 1, 1e9,
	 .help = "the step where the cosine ends; the preset's, or the last"},
	{TRAIN_OPTION_REAL, 0, "momentum", "SHARE", AT(optimizer.momentum), 0, 1,
	 .help = "momentum of sgd"},
	{TRAIN_OPTION_REAL, 0, "clip", "LENGTH", AT(optimizer.clip), 0, 1e9,
	 .help = "the longest gradient, over all parameters; the preset's"},

	{TRAIN_OPTION_HEADING, .help = "Ranks, and how they communicate"},
	{TRAIN_OPTION_INT, 'n', "ranks", "N", AT(ranks), 1, MAX_RANKS, .sameness = TRAIN_OWN,
	 .help = "start N ranks on this machine; 1, or as many as a launcher started"},
	{TRAIN_OPTION_CHOICE, 0, "mode", "HOW", AT(ddp.mode), .choices = "off|naive|flat|overlap",
	 .help = "off: no averaging, a control run; naive: one call per tensor after backward; "
		 "flat: one call after backward; overlap: buckets during backward; overlap"},
	{TRAIN_OPTION_MEGABYTES, 0, "bucket-mb", "MiB", AT(ddp.bucket_bytes), 0, 1 << 20,
	 .help = "close a bucket when it has reached this; 25"},
	{TRAIN_OPTION_MEGABYTES, 0, "first-bucket-mb", "MiB", AT(ddp.first_bucket_bytes), 0,
	 1 << 20, .help = "the same for the first bucket; 1"},
	{TRAIN_OPTION_FLAG, 0, "plan-only", NULL, AT(plan_only), .sameness = TRAIN_OWN,
	 .help = "list the buckets and end"},
	{TRAIN_OPTION_FLAG, 0, "compress", NULL, AT(ddp.compressed),
	 .help = "send gradients as bfloat16, with error feedback"},
	{TRAIN_OPTION_FLAG, 0, "sync-every-micro", NULL, AT(sync_every_micro),
	 .help = "average after every micro-batch, as without no_sync"},
	{TRAIN_OPTION_INT, 0, "hash-every", "K", AT(hash_every), 0, 1e9,
	 .help = "compare all ranks' parameters every K steps; 50; 0: never"},
	{TRAIN_OPTION_TEXT, 0, "transport", "LIST", AT(transport), .sameness = TRAIN_OWN,
	 .help = "use only these transports, \"shm,tcp\""},
	{TRAIN_OPTION_TEXT, 0, "link", "PACE", AT(link), .sameness = TRAIN_OWN,
	 .help = "slow links down to this: \"1GB/s,20us\" (RING_LINK)"},
	{TRAIN_OPTION_REAL, 0, "timeout", "SECONDS", AT(timeout_s), 0, 1e6, .sameness = TRAIN_OWN,
	 .help = "timeout of joining and of each call"},

	{TRAIN_OPTION_HEADING, .help = "Faults on purpose"},
	{TRAIN_OPTION_TEXT, 0, "slow-rank", "RANK:HOW", AT(faults.slow),
	 .help = "0:40ms: rank 0 comes 40 ms late to each step; 0:50%: it has half its speed"},
	{TRAIN_OPTION_MEGABYTES, 0, "extra-all-reduce", "MiB", AT(faults.extra_bytes), 0, 1 << 14,
	 .help = "make a further all-reduce in each step, which is not for gradients"},
	{TRAIN_OPTION_FLAG, 0, "extra-fresh", NULL, AT(faults.extra_fresh),
	 .help = "allocate and fill its memory in each step"},
	{TRAIN_OPTION_TEXT, 0, "rank0-work", "TIME", AT(faults.work),
	 .help = "rank 0 does something else after each step: 20ms"},
	{TRAIN_OPTION_FLAG, 0, "barrier", NULL, AT(faults.barrier),
	 .help = "all ranks meet after each step"},

	{TRAIN_OPTION_HEADING, .help = "Files"},
	{TRAIN_OPTION_TEXT, 0, "checkpoint", "FOLDER", AT(checkpoint), .sameness = TRAIN_OWN,
	 .help = "keep the last two checkpoints in this folder"},
	{TRAIN_OPTION_INT, 0, "every", "K", AT(every), 1, 1e9, .sameness = TRAIN_OWN,
	 .help = "write a checkpoint every K steps; 100"},
	{TRAIN_OPTION_FLAG, 0, "resume", NULL, AT(resume),
	 .help = "go on from the latest checkpoint, with any number of ranks; --json goes on, too"},
	{TRAIN_OPTION_FLAG, 0, "resume-if-any", NULL, AT(resume_if_any),
	 .help = "the same if there is one; else begin"},
	{TRAIN_OPTION_TEXT, 0, "export", "FILE", AT(export), .sameness = TRAIN_OWN,
	 .help = "write what another program needs to repeat the training"},
	{TRAIN_OPTION_TEXT, 0, "json", "FILE", AT(json), .sameness = TRAIN_OWN,
	 .help = "write one JSON line per step and rank, and a summary"},
	{TRAIN_OPTION_TEXT, 0, "trace", "FILE", AT(trace), .sameness = TRAIN_ALL_OR_NONE,
	 .help = "write a Chrome trace of all ranks"},
	{TRAIN_OPTION_TEXT, 0, "profile", "FILE", AT(profile), .sameness = TRAIN_ALL_OR_NONE,
	 .help = "write the times of a step without communication, for ring_model ddp; an "
		 "overlapped run then holds every other step's buckets back until backward is "
		 "over"},
	{TRAIN_OPTION_TEXT, 0, "plot", "PREFIX", AT(plot), .sameness = TRAIN_OWN,
	 .help = "plot this run and its references"},
	{TRAIN_OPTION_TEXT, 0, "model", "FILE", AT(model), .sameness = TRAIN_OWN,
	 .help = "show the predictions of ring_model's JSON beside the summary"},
	{TRAIN_OPTION_REFERENCE, 0, "reference", "FILE", 0, .sameness = TRAIN_OWN,
	 .help = "compare with --json of another run: of one rank, for efficiency; of --mode off, "
		 "for exposed time"},
	{TRAIN_OPTION_FLAG, 0, "with-reference", NULL, AT(with_reference), .sameness = TRAIN_OWN,
	 .help = "first run the same on one rank"},
	{TRAIN_OPTION_TEXT, 0, "as-reference", "FILE", AT(as_reference), .sameness = TRAIN_OWN,
	 .help = "write only this record; --with-reference starts this"},
	{TRAIN_OPTION_FLAG, 0, "with-control", NULL, AT(with_control), .sameness = TRAIN_OWN,
	 .help = "first run the same with --mode off"},
	{TRAIN_OPTION_TEXT, 0, "as-control", "FILE", AT(as_control), .sameness = TRAIN_OWN,
	 .help = "write only this record; --with-control starts this"},
	{TRAIN_OPTION_TEXT, 0, "sweep", "OPTION=VALUES", AT(sweep), .sameness = TRAIN_OWN,
	 .help = "train once for each value, and compare: bucket-mb=1,4,25; semicolons separate "
		 "values that have commas"},
	{TRAIN_OPTION_FLAG, 0, "quiet", NULL, AT(quiet), .sameness = TRAIN_OWN,
	 .help = "print no report; write only files"},
	{TRAIN_OPTION_HELP, 'h', "help", NULL, .sameness = TRAIN_OWN, .help = "show this and exit"},
	{TRAIN_OPTION_VERSION, 0, "version", NULL, .sameness = TRAIN_OWN,
	 .help = "show the version and exit"},
};

const int train_option_row_count = (int)(sizeof(train_option_rows) / sizeof(train_option_rows[0]));

const char *train_option_word(const struct train_option_row *row, int number)
{
	static _Thread_local char word[32];
	const char *at = row->choices;
	for (; number > 0 && at; number--)
		at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL;
	snprintf(word, sizeof(word), "%.*s", at ? (int)strcspn(at, "|") : 0, at ? at : "");
	return word;
}
