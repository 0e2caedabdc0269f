/* SPDX-License-Identifier: MIT */
/*
 * Splitting a communicator, by its own calls: its ranks tell one another color and key, the first
 * rank of each color makes an id, all learn it, and those of one color meet.
 */
#include <stdio.h>
#include <stdlib.h>

#include "comm/comm.h"
#include "create.h"
#include "group.h"
#include "meet/root.h"

/* What a rank asks for. */
struct wish {
	int32_t color, key;
};

/* My place among those of my color, by key and then by rank; *first is the rank at place 0. */
static int place_among(const struct wish *wishes, int size, int self, int *members, int *first)
{
	int place = 0;
	*members = 0;
	*first = self;
	for (int rank = 0; rank < size; rank++) {
		const struct wish *wish = &wishes[rank], *leads = &wishes[*first];
		if (wish->color != wishes[self].color)
			continue;
		++*members;
		place += wish->key < wishes[self].key ||
			 (wish->key == wishes[self].key && rank < self);
		if (wish->key < leads->key || (wish->key == leads->key && rank < *first))
			*first = rank;
	}
	return place;
}

/*
 * Meets the ranks of my color. What ends comm ends this, too: comm hears of a death at once, with
 * the ranks' numbers in comm.
 */
static int join(struct ring_comm *comm, const struct ring_unique_id *id, int members, int place,
		struct ring_comm **sub)
{
	struct ring_options options;
	struct ring_failure failure = {0};
	struct ring_creation *creation;
	ring_config_options(&comm->team.config, &options);
	int err = ring_creation_begin(&creation, sub, members, place, id, &options, &failure);
	if (err)
		return ring_comm_refuse(&comm->failure, err, "ring_comm_split", "%s", failure.text);
	ring_creation_depend(creation, comm);
	err = ring_creations_run(&creation, 1);
	if (err == RING_EPEER && ring_comm_await_failure(&comm->failure, comm->caller.sequence))
		return ring_comm_failed(&comm->failure);
	return err ? ring_comm_refuse(&comm->failure, err, "ring_comm_split", "%s",
				      ring_comm_error(NULL))
		   : 0;
}

/* Ends a meeting that is served here: nobody will come any more. */
static void withdraw(struct ring_comm *comm, const struct ring_unique_id *id, int err)
{
	struct ring_news news = {.err = err, .culprit = RING_RANK_ROOT};
	snprintf(news.text, sizeof(news.text), "%s", ring_comm_error(comm));
	ring_root_withdraw(comm->links.watcher, ring_unique_id_job(id), &news);
}

static int meet(struct ring_comm *comm, const struct wish *wishes, struct ring_unique_id *ids,
		struct ring_comm **sub)
{
	int members, first;
	int place = place_among(wishes, comm->team.size, comm->team.rank, &members, &first);
	bool joins = wishes[comm->team.rank].color != RING_COLOR_NONE;
	struct ring_unique_id mine = {{0}};
	int failed = joins && first == comm->team.rank ? ring_unique_id_create(&mine) : 0;
	int err = ring_all_gather_own(comm, &mine, ids, sizeof(mine));
	if (!err && failed)
		err = ring_comm_refuse(&comm->failure, failed, "ring_comm_split", "%s",
				       ring_comm_error(NULL));
	else if (!err && joins && ring_unique_id_job(&ids[first]) == 0)
		err = ring_comm_refuse(&comm->failure, RING_EPEER, "ring_comm_split",
				       "rank %d could not serve the meeting of "
				       "color %d",
				       first, wishes[comm->team.rank].color);
	else if (!err && joins)
		err = join(comm, &ids[first], members, place, sub);
	else if (!err)
		*sub = NULL;
	if (err && joins && first == comm->team.rank && !failed)
		withdraw(comm, &mine, err);
	return err;
}

int ring_comm_split(struct ring_comm *comm, int color, int key, struct ring_comm **sub)
{
	int err = ring_comm_check(comm, "ring_comm_split");
	if (err)
		return err;
	if (!sub || color < RING_COLOR_NONE)
		return ring_comm_refuse(&comm->failure, RING_EINVAL, "ring_comm_split", "%s",
					sub ? "a color is 0 or more, or RING_COLOR_NONE"
					    : "sub is NULL");
	if (ring_group_is_open())
		return ring_group_refuse(ring_comm_refuse(&comm->failure, RING_EINVAL,
							  "ring_comm_split",
							  "not in a group; end it first"));
	size_t size = (size_t)comm->team.size;
	struct wish mine = {.color = color, .key = key}, *wishes = malloc(size * sizeof(*wishes));
	struct ring_unique_id *ids = malloc(size * sizeof(*ids));
	err = wishes && ids ? 0
			    : ring_comm_refuse(&comm->failure, RING_ENOMEM, "ring_comm_split",
					       "no memory");
	if (!err)
		err = ring_all_gather_own(comm, &mine, wishes, sizeof(mine));
	if (!err)
		err = meet(comm, wishes, ids, sub);
	free(ids);
	free(wishes);
	return err;
}
