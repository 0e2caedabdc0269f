/* SPDX-License-Identifier: MIT */
/*
 * Splitting communicators, by their own calls: a communicator's ranks tell one another color and
 * key, the first rank of each color makes an id, all learn it, and those of one color meet. Several
 * splits of one thread go through these steps together, each on a stream of its own.
 */
#include "split.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/waits.h"
#include "create.h"
#include "group.h"
#include "meet/root.h"
#include "stream.h"

static const char split_name[] = "ring_comm_split";

/* What a rank asks for. */
struct wish {
	int32_t color, key;
};

struct ring_split {
	struct ring_comm *comm, **sub;
	int err;
	struct ring_stream *stream;     /* NULL: it is alone, and its calls block */
	struct wish mine, *wishes;      /* wishes[size] */
	struct ring_unique_id id, *ids; /* id: what this rank serves; ids[size] */
	int members, place, first;      /* of my color: how many, where I am, and who leads */
	bool joins, serves;
	int unserved; /* why the id could not be made */
	struct ring_creation *creation;
	struct ring_comm *made;
	struct ring_split *next;
};

static int refuse(const struct ring_split *split, int err, const char *why)
{
	return ring_comm_refuse(&split->comm->failure, err, split_name, "%s", why);
}

/* ---- telling one another --------------------------------------------------------------------- */

/* All-gathers of all splits, each of its own bytes. */
static void gather(struct ring_split *splits, bool ids)
{
	for (struct ring_split *split = splits; split; split = split->next) {
		const void *mine = ids ? (const void *)&split->id : &split->mine;
		void *all = ids ? (void *)split->ids : split->wishes;
		size_t bytes = ids ? sizeof(split->id) : sizeof(split->mine);
		if (!split->err)
			split->err = ring_all_gather_own(split->comm, mine, all, bytes,
							 split->stream);
	}
	for (struct ring_split *split = splits; split; split = split->next)
		if (!split->err && split->stream)
			split->err = ring_stream_wait(split->stream,
						      ring_stream_position(split->stream));
}

/* My place among those of my color, by key and then by rank; first is the rank at place 0. */
static void find_place(struct ring_split *split)
{
	const int self = split->comm->team.rank, color = split->mine.color;
	split->first = self;
	for (int rank = 0; rank < split->comm->team.size; rank++) {
		const struct wish *wish = &split->wishes[rank];
		const struct wish *leads = &split->wishes[split->first];
		if (wish->color != color)
			continue;
		split->members++;
		split->place += wish->key < split->mine.key ||
				(wish->key == split->mine.key && rank < self);
		if (wish->key < leads->key || (wish->key == leads->key && rank < split->first))
			split->first = rank;
	}
	split->joins = color != RING_COLOR_NONE;
}

/* The first rank of a color makes the id. One that cannot sends an empty one. */
static void serve(struct ring_split *split)
{
	if (split->err)
		return;
	find_place(split);
	if (!split->joins || split->first != split->comm->team.rank)
		return;
	split->unserved = ring_unique_id_create(&split->id);
	split->serves = !split->unserved;
}

/* ---- meeting --------------------------------------------------------------------------------- */

/* Begins to meet the ranks of my color. What ends comm also ends this. returns 0, or an error */
static int begin(struct ring_split *split)
{
	struct ring_comm *comm = split->comm;
	const struct ring_unique_id *id = &split->ids[split->first];
	struct ring_options options;
	struct ring_failure failure = {0};
	if (split->unserved)
		return refuse(split, split->unserved, ring_comm_error(NULL));
	if (ring_unique_id_job(id) == 0)
		return ring_comm_refuse(&comm->failure, RING_EPEER, split_name,
					"rank %d could not serve the meeting of color %d",
					split->first, split->mine.color);
	ring_config_options(&comm->team.config, &options);
	int err = ring_creation_begin(&split->creation, &split->made, split->members, split->place,
				      id, &options, &failure);
	if (err)
		return refuse(split, err, failure.text);
	ring_creation_depend(split->creation, comm);
	return 0;
}

/* The communicator hears of a death, with its own ranks' numbers. returns its failure, or 0 */
static int await_news(const struct ring_comm *comm)
{
	const uint64_t until = ring_clock_ms() + RING_NEWS_MS;
	while (!ring_comm_failed(&comm->failure) && ring_clock_ms() < until)
		nanosleep(&(struct timespec){.tv_nsec = RING_NEWS_LOOK_NS}, NULL);
	return ring_comm_failed(&comm->failure);
}

/* What came of the creations that were run: `err` is that of those that failed. */
static void end(struct ring_split *split, int err)
{
	if (split->creation && !split->made) {
		split->err = err == RING_EPEER ? await_news(split->comm) : 0;
		if (!split->err)
			split->err = refuse(split, err, ring_comm_error(NULL));
	}
	if (!split->err)
		*split->sub = split->made;
}

/* Creations of all splits. */
static void meet(struct ring_split *splits)
{
	size_t most = 0;
	int count = 0;
	for (struct ring_split *split = splits; split; split = split->next)
		most++;
	struct ring_creation **creations = calloc(most + 1, sizeof(struct ring_creation *));
	for (struct ring_split *split = splits; split; split = split->next) {
		if (!split->err && split->joins)
			split->err = creations ? begin(split)
					       : refuse(split, RING_ENOMEM, "no memory");
		if (split->creation)
			creations[count++] = split->creation;
	}
	int err = count > 0 ? ring_creations_run(creations, count) : 0;
	for (struct ring_split *split = splits; split; split = split->next)
		end(split, err);
	free(creations);
}

/* Ends a meeting that is served here: nobody will come any more. */
static void withdraw(struct ring_split *split)
{
	struct ring_news news = {.err = split->err, .culprit = RING_RANK_ROOT};
	snprintf(news.text, sizeof(news.text), "%s", ring_comm_error(split->comm));
	ring_root_withdraw(split->comm->links.watcher, ring_unique_id_job(&split->id), &news);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Notes a split whose arguments are right. NULL: no memory */
static struct ring_split *make(struct ring_comm *comm, int color, int key, struct ring_comm **sub)
{
	const size_t size = (size_t)comm->team.size;
	struct ring_split *split = calloc(1, sizeof(*split));
	if (!split)
		return NULL;
	split->comm = comm;
	split->sub = sub;
	split->mine = (struct wish){.color = color, .key = key};
	split->wishes = calloc(size, sizeof(*split->wishes));
	split->ids = calloc(size, sizeof(*split->ids));
	if (split->wishes && split->ids)
		return split;
	ring_splits_drop(split);
	return NULL;
}

void ring_splits_append(struct ring_split **splits, struct ring_split *split)
{
	while (*splits)
		splits = &(*splits)->next;
	*splits = split;
}

void ring_splits_drop(struct ring_split *splits)
{
	for (struct ring_split *rest; splits; splits = rest) {
		rest = splits->next;
		ring_stream_destroy(splits->stream);
		free(splits->wishes);
		free(splits->ids);
		free(splits);
	}
}

int ring_splits_run(struct ring_split *splits)
{
	int err = 0;
	for (struct ring_split *split = splits; split && splits->next; split = split->next)
		split->err = ring_stream_make(split->comm, split_name, &split->stream);
	gather(splits, false);
	for (struct ring_split *split = splits; split; split = split->next)
		serve(split);
	gather(splits, true);
	meet(splits);
	for (struct ring_split *split = splits; split; split = split->next) {
		if (split->err && split->serves)
			withdraw(split);
		if (!err)
			err = split->err;
	}
	ring_splits_drop(splits);
	return err;
}

int ring_comm_split(struct ring_comm *comm, int color, int key, struct ring_comm **sub)
{
	const bool grouped = ring_group_is_open();
	int err = grouped ? ring_group_refused() : 0;
	if (err)
		return err;
	err = ring_comm_check(comm, split_name);
	if (!err && (!sub || color < RING_COLOR_NONE))
		err = ring_comm_refuse(&comm->failure, RING_EINVAL, split_name, "%s",
				       sub ? "a color is 0 or more, or RING_COLOR_NONE"
					   : "sub is NULL");
	struct ring_split *split = err ? NULL : make(comm, color, key, sub);
	if (!err && !split)
		err = ring_comm_refuse(&comm->failure, RING_ENOMEM, split_name, "no memory");
	if (err)
		return grouped ? ring_group_refuse(err) : err;
	if (!grouped)
		return ring_splits_run(split);
	ring_group_add_split(split);
	return 0;
}
