/* SPDX-License-Identifier: MIT */
/*
 * Ranks gather what each of them has. Every rank looks for the first difference, so all find the
 * same one.
 */
#include "agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/model/device.h"
#include "train/model/hash.h"

/* A tensor; equal tensors have equal bytes. */
struct row {
	char name[sizeof(((struct train_tensor *)0)->name)];
	int32_t rows, columns;
};

int train_agree_failed(const struct ring_comm *comm, const char *what, int err)
{
	const char *why = ring_comm_error(comm);
	fprintf(stderr, "train: rank %d: %s: %s\n", ring_comm_rank(comm), what,
		*why ? why : ring_strerror(err));
	return err;
}

static int out_of_memory(const struct ring_comm *comm)
{
	fprintf(stderr, "train: rank %d: no memory to compare the ranks\n", ring_comm_rank(comm));
	return RING_ENOMEM;
}

/* Gathers `count` numbers of each rank in *all, which the caller frees. */
static int gather(struct ring_comm *comm, const uint64_t *mine, size_t count, uint64_t **all)
{
	size_t size = (size_t)ring_comm_size(comm);
	uint64_t *made = malloc((size * count + 1) * sizeof(*made)); /* malloc(0) may be NULL */
	if (!made)
		return out_of_memory(comm);
	int err = ring_all_gather(comm, mine, made, count, RING_UINT64, NULL);
	if (err) {
		free(made);
		return train_agree_failed(comm, "comparing the ranks", err);
	}
	*all = made;
	return 0;
}

/* The first rank whose numbers differ from rank 0's; -1 if there is none. */
static int find_odd_rank(const uint64_t *all, int size, size_t count)
{
	for (int rank = 1; rank < size; rank++)
		if (memcmp(all + (size_t)rank * count, all, count * sizeof(*all)))
			return rank;
	return -1;
}

/* ---- shapes ---- */

static struct row *list_rows(const struct train_model *model)
{
	struct row *rows = calloc((size_t)model->tensor_count + 1, sizeof(*rows));
	for (int i = 0; rows && i < model->tensor_count; i++) {
		const struct train_tensor *tensor = &model->tensors[i];
		snprintf(rows[i].name, sizeof(rows[i].name), "%s", tensor->name);
		rows[i].rows = tensor->rows;
		rows[i].columns = tensor->columns;
	}
	return rows;
}

/* The first row that differs, or the length of the shorter list. */
static int find_odd_row(const struct row *a, int a_count, const struct row *b, int b_count)
{
	int row = 0;
	while (row < a_count && row < b_count && !memcmp(&a[row], &b[row], sizeof(*a)))
		row++;
	return row;
}

static void tell_shapes(int odd, const struct row *theirs, int their_count, const struct row *first,
			int first_count)
{
	int row = find_odd_row(theirs, their_count, first, first_count);
	if (row == their_count || row == first_count)
		fprintf(stderr, "train: rank %d has %d tensors, rank 0 has %d\n", odd, their_count,
			first_count);
	else
		fprintf(stderr,
			"train: tensor %d is \"%s\" %d x %d on rank %d, but \"%s\" %d x %d on "
			"rank 0\n",
			row, theirs[row].name, theirs[row].rows, theirs[row].columns, odd,
			first[row].name, first[row].rows, first[row].columns);
}

/* Shapes differ: all ranks get both lists, and print the same sentence. */
static int explain_shapes(struct ring_comm *comm, const struct row *mine, int odd, int their_count,
			  int first_count)
{
	size_t bytes = sizeof(*mine);
	struct row *theirs = malloc(((size_t)their_count + 1) * bytes);
	struct row *first = malloc(((size_t)first_count + 1) * bytes);
	int err = theirs && first ? 0 : out_of_memory(comm);
	if (!err)
		err = ring_broadcast(comm, mine, theirs, (size_t)their_count * bytes, RING_UINT8,
				     odd, NULL);
	if (!err)
		err = ring_broadcast(comm, mine, first, (size_t)first_count * bytes, RING_UINT8, 0,
				     NULL);
	if (!err)
		tell_shapes(odd, theirs, their_count, first, first_count);
	free(theirs);
	free(first);
	return err ? err : RING_EMISMATCH;
}

int train_agree_on_shapes(struct ring_comm *comm, const struct train_model *model)
{
	enum { COUNT, HASH, NUMBERS };
	struct row *mine = list_rows(model);
	if (!mine)
		return out_of_memory(comm);
	size_t bytes = (size_t)model->tensor_count * sizeof(*mine);
	uint64_t numbers[NUMBERS] = {
		[COUNT] = (uint64_t)model->tensor_count, [HASH] = train_hash(mine, bytes)};
	uint64_t *all = NULL;
	int err = gather(comm, numbers, NUMBERS, &all);
	int odd = err ? -1 : find_odd_rank(all, ring_comm_size(comm), NUMBERS);
	if (odd > 0)
		err = explain_shapes(comm, mine, odd, (int)all[odd * NUMBERS + COUNT],
				     (int)all[COUNT]);
	free(all);
	free(mine);
	return err;
}

/* ---- options ---- */

int train_agree_on_options(struct ring_comm *comm, const struct train_ddp_options *options)
{
	static const char *const names[] = {"mode", "first_bucket_bytes", "bucket_bytes",
					    "compressed"};
	enum { NUMBERS = sizeof(names) / sizeof(names[0]) };
	const uint64_t mine[NUMBERS] = {options->mode, options->first_bucket_bytes,
					options->bucket_bytes, options->compressed};
	uint64_t *all = NULL;
	int err = gather(comm, mine, NUMBERS, &all);
	int odd = err ? -1 : find_odd_rank(all, ring_comm_size(comm), NUMBERS);
	for (int i = 0; odd > 0 && i < NUMBERS; i++) {
		uint64_t theirs = all[odd * NUMBERS + i];
		if (theirs != all[i])
			fprintf(stderr, "train: option %s is %llu on rank %d, but %llu on rank 0\n",
				names[i], (unsigned long long)theirs, odd,
				(unsigned long long)all[i]);
	}
	free(all);
	return odd > 0 ? RING_EMISMATCH : err;
}

/* ---- parameters ---- */

static bool are_alike(const uint64_t *hashes, int a, int b, size_t count)
{
	return !memcmp(hashes + (size_t)a * count, hashes + (size_t)b * count,
		       count * sizeof(*hashes));
}

/* The first rank of the largest group that agrees. */
static int find_majority(const uint64_t *hashes, int size, size_t count)
{
	int best = 0, most = 0;
	for (int rank = 0; rank < size; rank++) {
		int like = 0;
		for (int other = 0; other < size; other++)
			like += are_alike(hashes, rank, other, count);
		if (like > most) {
			most = like;
			best = rank;
		}
	}
	return best;
}

static size_t find_odd_tensor(const uint64_t *hashes, int a, int b, size_t count)
{
	size_t tensor = 0;
	while (hashes[(size_t)a * count + tensor] == hashes[(size_t)b * count + tensor])
		tensor++;
	return tensor;
}

/* Names every rank that differs from that group. returns 0; RING_EMISMATCH */
static int tell_parameters(const struct train_model *model, const uint64_t *hashes, int size)
{
	size_t count = (size_t)model->tensor_count;
	int most = find_majority(hashes, size, count), err = 0;
	for (int rank = 0; rank < size; rank++) {
		if (are_alike(hashes, rank, most, count))
			continue;
		size_t tensor = find_odd_tensor(hashes, rank, most, count);
		fprintf(stderr, "train: the parameters of rank %d are not those of rank %d, first in \"%s\"\n",
			rank, most, model->tensors[tensor].name);
		err = RING_EMISMATCH;
	}
	return err;
}

/* returns false without memory */
static bool hash_tensors(const struct train_model *model, uint64_t *hashes)
{
	const size_t bytes = model->parameter_count * sizeof(*model->parameters);
	train_real *parameters = malloc(bytes + 1);
	if (!parameters)
		return false;
	model->device->read(parameters, model->parameters, bytes);
	for (int i = 0; i < model->tensor_count; i++)
		hashes[i] = train_hash(parameters + model->tensors[i].offset,
				       model->tensors[i].count * sizeof(*parameters));
	free(parameters);
	return true;
}

int train_agree_on_parameters(struct ring_comm *comm, const struct train_model *model)
{
	size_t count = (size_t)model->tensor_count;
	uint64_t *mine = malloc((count + 1) * sizeof(*mine)), *all = NULL;
	int err = mine && hash_tensors(model, mine) ? 0 : out_of_memory(comm);
	if (!err)
		err = gather(comm, mine, count, &all);
	if (!err)
		err = tell_parameters(model, all, ring_comm_size(comm));
	free(all);
	free(mine);
	return err;
}
