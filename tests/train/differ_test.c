/* SPDX-License-Identifier: MIT */
/*
 * Ranks that train different models, with other options or with parameters that went astray: every
 * rank gets the same error, and the sentence names who and what. And a rank that dies: all end.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_model.h"
#include "tests/harness.h"
#include "train/step/ddp.h"

#define TENSORS 12

static const struct train_ddp_options defaults = {.mode = TRAIN_DDP_OVERLAP,
						  .first_bucket_bytes = 1000,
						  .bucket_bytes = 4000};

/* ---- what goes to stderr ---- */

/* Ranks are processes, so each has a stderr of its own. */
struct ear {
	FILE *file;
	int before;
	char text[1000];
};

static void listen_in(struct ear *ear)
{
	ear->file = tmpfile();
	ear->before = dup(STDERR_FILENO);
	if (!ear->file || ear->before < 0 || dup2(fileno(ear->file), STDERR_FILENO) < 0)
		abort();
}

static void stop_listening(struct ear *ear)
{
	dup2(ear->before, STDERR_FILENO);
	close(ear->before);
	rewind(ear->file);
	size_t have = fread(ear->text, 1, sizeof(ear->text) - 1, ear->file);
	ear->text[have] = '\0';
	fclose(ear->file);
}

/* ---- models and options ---- */

/* What the last rank does otherwise, and what everybody says then; %d is that rank. */
struct difference {
	void (*apply)(struct train_model *model, struct train_ddp_options *options);
	const char *sentence;
};

static void grow_tensor(struct train_model *model, struct train_ddp_options *options)
{
	(void)options;
	model->tensors[3].rows = 77;
	model->tensors[3].columns = 5;
}

static void rename_tensor(struct train_model *model, struct train_ddp_options *options)
{
	(void)options;
	strcpy(model->tensors[0].name, "a stranger");
	model->tensors[0].rows = 1;
	model->tensors[0].columns = 2;
}

static void drop_tensor(struct train_model *model, struct train_ddp_options *options)
{
	(void)options;
	model->tensor_count--;
}

static void change_cap(struct train_model *model, struct train_ddp_options *options)
{
	(void)model;
	options->bucket_bytes = 4001;
}

static void compress(struct train_model *model, struct train_ddp_options *options)
{
	(void)model;
	options->compressed = true;
}

static const struct difference differences[] = {
	{grow_tensor, "train: tensor 3 is \"tensor 3\" 77 x 5 on rank %d, but \"tensor 3\" "},
	{rename_tensor, "train: tensor 0 is \"a stranger\" 1 x 2 on rank %d, but \"tensor 0\" "},
	{drop_tensor, "train: rank %d has 11 tensors, rank 0 has 12\n"},
	{change_cap, "train: option bucket_bytes is 4001 on rank %d, but 4000 on rank 0\n"},
	{compress, "train: option compressed is 1 on rank %d, but 0 on rank 0\n"},
};

static int check_sentence(const struct harness_rank *self, const struct ear *ear,
			  const char *format, int rank)
{
	char sentence[200];
	snprintf(sentence, sizeof(sentence), format, rank);
	if (strncmp(ear->text, sentence, strlen(sentence)) == 0)
		return 0;
	return harness_fail(self, "said \"%s\", not \"%s\"", ear->text, sentence);
}

static int differ(struct harness_rank *self, struct ring_comm *comm,
		  const struct difference *difference)
{
	struct train_ddp_options options = defaults;
	struct train_model *model = fake_model_create(TENSORS, 1);
	struct train_ddp *ddp = NULL;
	struct ear ear;
	if (!model)
		return harness_fail(self, "no memory");
	if (self->rank == self->size - 1)
		difference->apply(model, &options);
	listen_in(&ear);
	int err = train_ddp_create(&ddp, comm, model, &options);
	stop_listening(&ear);
	fake_model_destroy(model);
	if (err != RING_EMISMATCH || ddp)
		return harness_fail(self, "a difference gave %d: %s", err, ear.text);
	return check_sentence(self, &ear, difference->sentence, self->size - 1);
}

/* ---- parameters ---- */

/* One bit of one parameter of one rank. */
static int flip_bit(struct harness_rank *self, struct train_ddp *ddp, struct train_model *model,
		    int rank, int tensor, int bit)
{
	const struct train_tensor *flipped = &model->tensors[tensor];
	uint32_t *word = (uint32_t *)(model->parameters + flipped->offset + flipped->count - 1);
	struct ear ear;
	if (self->rank == rank)
		*word ^= 1u << bit;
	listen_in(&ear);
	int err = train_ddp_compare(ddp);
	stop_listening(&ear);
	if (self->rank == rank)
		*word ^= 1u << bit;
	char format[200];
	snprintf(format, sizeof(format),
		 "train: the parameters of rank %%d are not those of rank %d, first in \"%s\"\n",
		 self->size > 2 && rank == 0 ? 1 : 0, flipped->name);
	if (err != RING_EMISMATCH)
		return harness_fail(self, "bit %d of rank %d gave %d", bit, rank, err);
	return check_sentence(self, &ear, format, self->size == 2 ? 1 : rank);
}

static int compare(struct harness_rank *self, struct ring_comm *comm)
{
	struct train_model *model = fake_model_create(TENSORS, 1);
	struct train_ddp *ddp;
	if (!model || train_ddp_create(&ddp, comm, model, &defaults))
		return harness_fail(self, "creation");
	int bad = 0;
	for (int bit = 0; bit < 32 && !bad; bit++)
		bad = flip_bit(self, ddp, model, bit % self->size, bit % TENSORS, bit);
	if (!bad && train_ddp_compare(ddp))
		bad = harness_fail(self, "the parameters should be alike again");
	train_ddp_destroy(ddp);
	fake_model_destroy(model);
	return bad;
}

static int be_different(struct harness_rank *self)
{
	struct ring_comm *comm;
	if (harness_join(self, NULL, &comm))
		return 1;
	int bad = compare(self, comm);
	for (size_t d = 0; d < sizeof(differences) / sizeof(differences[0]) && !bad; d++)
		bad = differ(self, comm, &differences[d]);
	ring_comm_destroy(comm);
	return bad;
}

/* ---- death ---- */

struct last_act {
	struct train_ddp *ddp;
	bool dies;
};

static void die_halfway(void *context, int tensor)
{
	struct last_act *act = context;
	if (act->dies && tensor >= TENSORS / 2)
		raise(SIGKILL);
	train_ddp_ready(act->ddp, tensor);
}

/*
 * The last rank dies in the third backward. The others' step ends with the error soon after, or even
 * the step before, if that was not yet complete here.
 */
static int be_bereaved(struct harness_rank *self)
{
	const struct train_ddp_options *options = self->context;
	struct train_model *model = fake_model_create(TENSORS, 1);
	struct train_ddp_times times;
	struct train_ddp *ddp;
	struct ring_comm *comm;
	struct ear ear;
	if (harness_join(self, NULL, &comm) || !model ||
	    train_ddp_create(&ddp, comm, model, options))
		return harness_fail(self, "creation");
	int err = 0, step = 0;
	double begin = 0;
	listen_in(&ear);
	for (; step < 4 && !err; step++) {
		struct last_act act = {ddp, step == 2 && self->rank == self->size - 1};
		begin = harness_clock();
		fake_backward(model, self->rank, step, 1, die_halfway, &act);
		err = train_ddp_finish(ddp, &times);
	}
	double took = harness_clock() - begin;
	int again = train_ddp_compare(ddp);
	stop_listening(&ear);
	train_ddp_destroy(ddp);
	fake_model_destroy(model);
	char sentence[100];
	snprintf(sentence, sizeof(sentence), "train: rank %d: exchanging gradients: ", self->rank);
	if (err != RING_EPEER || again != RING_EPEER || step < 2 || step > 3 ||
	    took > 2 * HARNESS_ROOM)
		return harness_fail(self, "step %d ended with %d after %.1f s, then %d", step, err,
				    took, again);
	char victim[20];
	snprintf(victim, sizeof(victim), "rank %d", self->size - 1);
	if (strncmp(ear.text, sentence, strlen(sentence)) || !strstr(ear.text, victim))
		return harness_fail(self, "said \"%s\"", ear.text);
	ring_comm_destroy(comm);
	return 0;
}

int main(void)
{
	struct train_ddp_options last_acts[] = {
		defaults, defaults, {.mode = TRAIN_DDP_NAIVE}, {.mode = TRAIN_DDP_FLAT}};
	last_acts[1].compressed = true;
	for (int size = 2; size <= 4; size++)
		for (int w = 1; w < HARNESS_WORLDS; w++) {
			struct harness team = {.world = &harness_worlds[w],
					       .size = size,
					       .body = be_different};
			if (harness_run(&team))
				return 1;
			for (int a = 0; a < 4; a++) {
				struct harness mourners = {.world = &harness_worlds[w],
							   .size = size,
							   .body = be_bereaved,
							   .context = &last_acts[a],
							   .doomed = 1u << (size - 1)};
				if (harness_run(&mourners))
					return 1;
			}
		}
	printf("2 to 4 ranks: tensors, options and bits that differ are named, and a death ends "
	       "all\n");
	return 0;
}
