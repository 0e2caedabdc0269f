/* SPDX-License-Identifier: MIT */
/*
 * Serves one meeting. Ranks gather; when all have described themselves each gets its place; when
 * all have linked with their neighbours they get the word to go. The first failure becomes the
 * verdict, and everybody hears it. meeting.c decides, this file listens and tells.
 *
 *	GATHERING --all described--> LINKING --all ready--> ENDING (go)
 *	      \                      |    ^
 *	       \                     +----+ a transport failed: again without it
 *	        `---- death, deadline, disagreement ----> ENDING (failure)
 *
 * Runs in the watcher's callbacks only. A member is freed by its own callback or with the root,
 * nowhere else, so that loops over members are safe.
 */
#include "root.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/fd.h"
#include "identity.h"
#include "door/interface.h"
#include "base/log.h"
#include "base/waits.h"
#include "root_parts.h"

/* ---- the end ---- */

static void free_member(struct ring_member *member)
{
	*member->link = member->next;
	if (member->next)
		member->next->link = member->link;
	ring_watcher_remove(member->root->watcher, &member->watch);
	ring_fd_close(member->watch.fd);
	ring_mail_free(&member->mail);
	free(member);
}

static void free_seats(struct ring_seats *seats)
{
	free(seats->by_rank);
	free(seats->peers);
	free(seats->schedules);
	free(seats->is_here);
	free(seats->is_ready);
	free(seats->shunned);
}

static void end(void *owner)
{
	struct ring_root *root = owner;
	struct ring_watcher *watcher = root->watcher;
	ring_watcher_close_port(watcher, &root->port);
	ring_identity_note_used(root->port.job);
	ring_watcher_alarm(watcher, root, NULL, -1);
	ring_watcher_alarm(watcher, &root->linking, NULL, -1);
	while (root->members)
		free_member(root->members);
	ring_arrangement_free(&root->linking.arrangement);
	free_seats(&root->seats);
	bool holds = root->holds;
	free(root);
	if (holds)
		ring_watcher_drop(watcher);
}

static void watcher_ended(struct ring_port *port)
{
	end(port);
}

/*
 * Ranks that come now cannot be told; only in the second that the verdict stays is there room
 * again.
 */
static void door_starved(struct ring_port *port, const char *why)
{
	struct ring_root *root = (struct ring_root *)port;
	if (root->stage == RING_GATHERING)
		ring_root_fail(
			root, RING_ESYSTEM, RING_RANK_ROOT,
			"the process that serves the meeting at %s cannot accept more ranks: %s",
			root->address, why);
}

static bool everybody_left(const struct ring_root *root)
{
	return root->stage == RING_ENDING && !root->members && root->seats.size &&
	       root->told >= root->seats.size;
}

/* If a post fails, the connection broke: its own event tells. */
void ring_root_post(struct ring_member *member, uint32_t kind, const void *body, size_t bytes)
{
	struct ring_root *root = member->root;
	ring_mail_post(&member->mail, kind, body, bytes);
	if (!member->behind && ring_mail_pending(&member->mail)) {
		member->behind = true;
		root->linking.behind++;
	}
	ring_watcher_change(root->watcher, &member->watch,
			    member->behind ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void tell_verdict(struct ring_member *member)
{
	struct ring_root *root = member->root;
	unsigned char body[RING_LETTER_BYTES];
	struct ring_wire wire = ring_wire_writer(body, sizeof(body));
	root->told++;
	if (!root->verdict.err) {
		ring_root_post(member, RING_LETTER_GO, NULL, 0);
		return;
	}
	ring_wire_news(&wire, &root->verdict);
	ring_root_post(member, RING_LETTER_FAIL, body, wire.at);
}

static void serve_next(struct ring_root *root);

void ring_root_conclude(struct ring_root *root, const struct ring_news *verdict)
{
	if (root->stage == RING_ENDING)
		return;
	root->stage = RING_ENDING;
	root->verdict = *verdict;
	if (root->series.exists)
		serve_next(root);
	ring_log(verdict->err ? RING_WARN : RING_INFO, "meeting at %s: %s", root->address,
		 verdict->err ? verdict->text : "all ranks are linked");
	ring_watcher_alarm(root->watcher, &root->linking, NULL, -1);
	ring_watcher_alarm(root->watcher, root, end, RING_LINGER_MS);
	for (struct ring_member *member = root->members; member; member = member->next)
		tell_verdict(member);
}

void ring_root_fail(struct ring_root *root, int err, int culprit, const char *format, ...)
{
	struct ring_news verdict = {.err = err, .culprit = culprit};
	va_list args;
	va_start(args, format);
	vsnprintf(verdict.text, sizeof(verdict.text), format, args);
	va_end(args);
	ring_root_conclude(root, &verdict);
}

/* ---- gathering ---- */

static void out_of_time(void *owner)
{
	struct ring_root *root = owner;
	const struct ring_seats *seats = &root->seats;
	char ranks[RING_RANKS_TEXT];
	if (root->stage == RING_GATHERING) {
		int missing = ring_ranks_lacking(seats->is_here, seats->size, ranks);
		ring_root_fail(
			root, RING_ETIMEDOUT, RING_RANK_ROOT,
			"%s never came within %d ms (%d of %d met at %s); %s running, and is "
			"that port open to %s?",
			ranks, root->patience_ms, seats->met, seats->size, root->address,
			missing == 1 ? "is it" : "are they", missing == 1 ? "it" : "them");
	} else {
		ring_ranks_lacking(seats->is_ready, seats->size, ranks);
		ring_root_fail(
			root, RING_ETIMEDOUT, RING_RANK_ROOT,
			"%s met the others at %s but did not link with the neighbours within %d "
			"ms: "
			"are the ports open at which ranks listen (RING_PORT_RANGE chooses them)?",
			ranks, root->address, root->patience_ms);
	}
}

static int make_seats(struct ring_seats *seats, int size)
{
	size_t count = (size_t)size;
	seats->size = size;
	seats->by_rank = calloc(count, sizeof(*seats->by_rank));
	seats->peers = calloc(count, sizeof(*seats->peers));
	seats->schedules = calloc(count, sizeof(*seats->schedules));
	seats->is_here = calloc(count, sizeof(*seats->is_here));
	seats->is_ready = calloc(count, sizeof(*seats->is_ready));
	seats->shunned = calloc(count, sizeof(*seats->shunned));
	bool made = seats->by_rank && seats->peers && seats->schedules && seats->is_here &&
		    seats->is_ready && seats->shunned;
	return made ? 0 : RING_ENOMEM;
}

/* True if the newcomer fits with the ranks that are here; else the meeting has failed. */
static bool fits(struct ring_member *member, const struct ring_description *description)
{
	struct ring_root *root = member->root;
	struct ring_seats *seats = &root->seats;
	struct ring_failure failure = {0};
	int rank = description->peer.rank;
	if (!seats->size && make_seats(seats, description->size)) {
		ring_root_fail(root, RING_ENOMEM, RING_RANK_ROOT,
			       "the root has no memory for %d ranks", description->size);
		return false;
	}
	int err = ring_meeting_admit(seats->peers, seats->is_here, seats->size, description,
				     &failure);
	if (err)
		ring_root_fail(root, err, rank, "%s", failure.text);
	return !err;
}

static void hurry(struct ring_root *root, int timeout_ms)
{
	uint64_t deadline_ms = ring_clock_ms() + (uint64_t)timeout_ms;
	if (root->seats.met > 1 && deadline_ms >= root->deadline_ms)
		return;
	root->deadline_ms = deadline_ms;
	root->patience_ms = timeout_ms;
	ring_watcher_alarm(root->watcher, root, out_of_time, timeout_ms);
}

static void take_description(struct ring_member *member, struct ring_wire *wire)
{
	struct ring_root *root = member->root;
	struct ring_seats *seats = &root->seats;
	struct ring_description description;
	ring_wire_description(wire, &description);
	if (root->stage == RING_ENDING)
		return;
	if (!ring_wire_done(wire) || description.peer.rank != member->rank) {
		ring_root_fail(root, RING_EPEER, member->rank,
			       "rank %d sent a description that makes no sense", member->rank);
		return;
	}
	if (!fits(member, &description))
		return;
	member->described = true;
	seats->by_rank[member->rank] = member;
	seats->peers[member->rank] = description.peer;
	seats->schedules[member->rank] = description.schedule;
	seats->is_here[member->rank] = true;
	seats->met++;
	hurry(root, description.create_timeout_ms);
	if (seats->met == seats->size)
		ring_root_begin_linking(root);
}

/* ---- members ---- */

/* A rank gives up and says why; its reason is everybody's. */
static void take_failure(struct ring_member *member, struct ring_wire *wire)
{
	struct ring_news news;
	ring_wire_news(wire, &news);
	if (ring_wire_done(wire))
		ring_root_conclude(member->root, &news);
}

static void take_letter(struct ring_member *member, uint32_t kind, const unsigned char *body,
			size_t bytes)
{
	struct ring_wire wire = ring_wire_reader(body, bytes);
	if (kind == RING_LETTER_DESCRIBE)
		take_description(member, &wire);
	else if (kind == RING_LETTER_READY)
		ring_root_take_readiness(member, &wire);
	else if (kind == RING_LETTER_FAIL)
		take_failure(member, &wire);
}

static void lose_member(struct ring_member *member)
{
	struct ring_root *root = member->root;
	char name[RING_PEER_NAME];
	snprintf(name, sizeof(name), "rank %d", member->rank);
	if (member->described)
		ring_peer_name(&root->seats.peers[member->rank], name);
	if (root->stage != RING_ENDING)
		ring_root_fail(root, RING_EPEER, member->rank,
			       "%s died while the communicator was being created", name);
	if (member->behind)
		root->linking.behind--;
	free_member(member);
	if (everybody_left(root))
		end(root);
}

static void member_moved(struct ring_watch *watch, uint32_t events)
{
	struct ring_member *member = (struct ring_member *)watch;
	struct ring_root *root = member->root;
	uint32_t kind;
	const unsigned char *body;
	size_t bytes;
	int err;
	(void)events;
	if (member->behind && !ring_mail_flush(&member->mail)) {
		member->behind = false;
		root->linking.behind--;
		ring_watcher_change(root->watcher, watch, EPOLLIN);
		ring_root_place_more(root);
	}
	while (!(err = ring_mail_next(&member->mail, &kind, &body, &bytes)))
		take_letter(member, kind, body, bytes);
	if (err != RING_EAGAIN)
		lose_member(member);
}

static void rank_arrived(struct ring_port *port, const struct ring_hello *hello, int fd)
{
	struct ring_root *root = (struct ring_root *)port;
	struct ring_member *member = calloc(1, sizeof(*member));
	if (!member) {
		ring_fd_close(fd);
		return;
	}
	member->watch = (struct ring_watch){.fd = fd, .events = EPOLLIN, .ready = member_moved};
	member->root = root;
	member->rank = hello->from;
	root->series.exists = root->series.exists || hello->channel != 0;
	ring_mail_init(&member->mail, fd, RING_LETTER_BYTES);
	if (ring_mail_reserve(&member->mail) || ring_watcher_add(root->watcher, &member->watch)) {
		ring_fd_close(fd);
		ring_mail_free(&member->mail);
		free(member);
		return;
	}
	member->next = root->members;
	member->link = &root->members;
	if (member->next)
		member->next->link = &member->next;
	root->members = member;
	if (root->stage == RING_ENDING && !root->verdict.err)
		root->verdict = (struct ring_news){
			.err = RING_EMISMATCH,
			.culprit = hello->from,
			.text = "the meeting is over: one id makes one communicator"};
	if (root->stage == RING_ENDING)
		tell_verdict(member);
}

/* ---- beginning ---- */

/* As soon as its port is open ranks may come, and it may end: nothing is set after that. */
static struct ring_root *open_root(struct ring_watcher *watcher, const struct ring_identity *first,
				   unsigned number, uint32_t first_attempt, bool holds)
{
	struct ring_identity identity = *first;
	struct ring_root *root = calloc(1, sizeof(*root));
	if (!root)
		return NULL;
	if (number > 0)
		ring_identity_follow(&identity, number);
	root->watcher = watcher;
	root->series = (struct ring_series){.first = *first, .number = number};
	root->holds = holds;
	root->linking = (struct ring_linking){.root = root, .attempt = first_attempt};
	root->port = (struct ring_port){.job = identity.job,
					.rank = RING_RANK_ROOT,
					.arrived = rank_arrived,
					.starved = door_starved,
					.ended = watcher_ended,
					.wake = -1};
	memcpy(root->port.secret, identity.secret, RING_SECRET_BYTES);
	ring_address_format(&identity.root, root->address);
	ring_watcher_open_port(watcher, &root->port);
	return root;
}

/* Whether one of the ranks is of this very process. */
static bool is_among_ranks(const struct ring_root *root)
{
	const struct ring_seats *seats = &root->seats;
	uint64_t process = ring_watcher_process(root->watcher);
	for (int rank = 0; rank < seats->size; rank++)
		if (seats->is_here[rank] && seats->peers[rank].process == process)
			return true;
	return false;
}

/*
 * Ranks that have their id from the environment may make a further communicator as soon as they
 * have this one. It is served from now on: by a launcher as long as it lives, since nothing else
 * holds its watcher; by a rank as long as it has a communicator.
 */
static void serve_next(struct ring_root *root)
{
	const struct ring_series *series = &root->series;
	bool passes = root->holds && !is_among_ranks(root);
	struct ring_root *next = open_root(root->watcher, &series->first, series->number + 1, 0,
					   passes);
	if (!next) {
		ring_log(RING_WARN, "meeting at %s: no memory for a further one", root->address);
		return;
	}
	root->holds = root->holds && !passes;
}

int ring_root_start(struct ring_watcher *watcher, const struct ring_identity *identity,
		    uint32_t first_attempt)
{
	return open_root(watcher, identity, 0, first_attempt, true) ? 0 : RING_ENOMEM;
}

void ring_root_withdraw(struct ring_watcher *watcher, uint64_t job, const struct ring_news *reason)
{
	ring_watcher_lock(watcher);
	struct ring_port *port = ring_watcher_find_port(watcher, job, RING_RANK_ROOT);
	if (port)
		ring_root_conclude((struct ring_root *)port, reason);
	ring_watcher_unlock(watcher);
}
