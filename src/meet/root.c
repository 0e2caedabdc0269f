/* SPDX-License-Identifier: MIT */
/*
 * Serves one meeting. Ranks gather; when all have described themselves each gets its place; when
 * all have linked with their neighbours they get the word to go. Whatever goes wrong first becomes
 * the verdict, and everybody hears it. meeting.c decides, this file listens and tells.
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

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/fd.h"
#include "interface.h"
#include "base/log.h"
#include "mail.h"
#include "meeting.h"

#define SETTLE_MS 150  /* after a transport failed: others may fail too, or a death explain it */
#define LINGER_MS 1000 /* at the end: for ranks that come late or hear slowly */
#define BEHIND_MAX 64  /* placements that wait in memory for their sockets; each has the order */

/* One rank's connection. */
struct member {
	struct ring_watch watch;
	struct ring_mail mail;
	struct ring_root *root;
	int rank;       /* as it proved; below size only once described */
	bool described; /* it sits in by_rank */
	bool behind;    /* letters wait for its socket */
	struct member *next, **link;
};

struct ring_root {
	struct ring_port port;
	struct ring_watcher *watcher;
	char address[RING_ADDRESS_TEXT];
	enum { GATHERING, LINKING, ENDING } stage;
	struct ring_news verdict; /* ENDING; err 0: go */
	struct member *members;

	int size; /* 0 until the first description */
	int met, told;
	struct member **by_rank; /* by_rank[size], NULL until described */
	struct ring_peer *peers; /* peers[size] */
	struct ring_schedule *schedules;
	bool *is_here, *is_ready;
	uint64_t deadline_ms; /* the earliest among those who came */
	int patience_ms;      /* ... and the timeout it stems from */

	struct ring_arrangement arrangement;
	uint32_t attempt;
	uint32_t masked, failing; /* transports given up; those that failed in this attempt */
	char why[RING_NEWS_TEXT]; /* the first of these failures */
	int placed, behind;       /* placements sent in this attempt, those not yet through */
	struct settling {
		struct ring_root *root;
	} settling;
};

/* ---- the end ---- */

static void free_member(struct member *member)
{
	*member->link = member->next;
	if (member->next)
		member->next->link = member->link;
	ring_watcher_remove(member->root->watcher, &member->watch);
	ring_fd_close(member->watch.fd);
	ring_mail_free(&member->mail);
	free(member);
}

static void end(void *owner)
{
	struct ring_root *root = owner;
	struct ring_watcher *watcher = root->watcher;
	ring_watcher_close_port(watcher, &root->port);
	ring_watcher_alarm(watcher, root, NULL, -1);
	ring_watcher_alarm(watcher, &root->settling, NULL, -1);
	while (root->members)
		free_member(root->members);
	ring_arrangement_free(&root->arrangement);
	free(root->by_rank);
	free(root->peers);
	free(root->schedules);
	free(root->is_here);
	free(root->is_ready);
	free(root);
	ring_watcher_drop(watcher);
}

static bool everybody_left(const struct ring_root *root)
{
	return root->stage == ENDING && !root->members && root->size && root->told >= root->size;
}

/* A post that fails is a connection that broke: its own event tells. */
static void post(struct member *member, uint32_t kind, const void *body, size_t bytes)
{
	struct ring_root *root = member->root;
	ring_mail_post(&member->mail, kind, body, bytes);
	if (!member->behind && ring_mail_pending(&member->mail)) {
		member->behind = true;
		root->behind++;
	}
	ring_watcher_change(root->watcher, &member->watch,
			    member->behind ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void tell_verdict(struct member *member)
{
	struct ring_root *root = member->root;
	unsigned char body[RING_LETTER_BYTES];
	struct ring_wire wire = ring_wire_writer(body, sizeof(body));
	root->told++;
	if (!root->verdict.err) {
		post(member, RING_LETTER_GO, NULL, 0);
		return;
	}
	ring_wire_news(&wire, &root->verdict);
	post(member, RING_LETTER_FAIL, body, wire.at);
}

static void conclude(struct ring_root *root, const struct ring_news *verdict)
{
	if (root->stage == ENDING)
		return;
	root->stage = ENDING;
	root->verdict = *verdict;
	ring_log(verdict->err ? RING_WARN : RING_INFO, "meeting at %s: %s", root->address,
		 verdict->err ? verdict->text : "all ranks are linked");
	ring_watcher_alarm(root->watcher, &root->settling, NULL, -1);
	ring_watcher_alarm(root->watcher, root, end, LINGER_MS);
	for (struct member *member = root->members; member; member = member->next)
		tell_verdict(member);
}

__attribute__((format(printf, 4, 5))) static void fail(struct ring_root *root, int err, int culprit,
						       const char *format, ...)
{
	struct ring_news verdict = {.err = err, .culprit = culprit};
	va_list args;
	va_start(args, format);
	vsnprintf(verdict.text, sizeof(verdict.text), format, args);
	va_end(args);
	conclude(root, &verdict);
}

/* ---- linking ---- */

static void place(struct member *member, int position, unsigned char *letter)
{
	struct ring_root *root = member->root;
	struct ring_placement placement = ring_arrangement_place(&root->arrangement, root->peers,
								 root->size, position);
	placement.attempt = root->attempt;
	placement.masked = root->masked;
	struct ring_wire wire = ring_wire_writer(letter, ring_placement_bytes(root->size));
	ring_wire_placement(&wire, &placement);
	post(member, RING_LETTER_PLACE, letter, wire.at);
}

/* Places as many as memory should hold at once; goes on when sockets have taken some. */
static void place_more(struct ring_root *root)
{
	if (root->stage != LINKING || root->placed == root->size || root->behind >= BEHIND_MAX)
		return;
	unsigned char *letter = malloc(ring_placement_bytes(root->size));
	if (!letter) {
		fail(root, RING_ENOMEM, RING_RANK_ROOT, "the root has no memory for %d placements",
		     root->size);
		return;
	}
	while (root->placed < root->size && root->behind < BEHIND_MAX) {
		int position = root->placed++;
		place(root->by_rank[root->arrangement.order[position]], position, letter);
	}
	free(letter);
}

/* Begins an attempt with the transports that are left. */
static void begin_attempt(struct ring_root *root)
{
	struct ring_failure failure = {0};
	int err = ring_arrangement_link(&root->arrangement, root->peers, root->size,
					&root->schedules[0], root->masked, &failure);
	if (err) {
		fail(root, err, RING_RANK_ROOT, "%s%s%s", failure.text, root->why[0] ? ": " : "",
		     root->why);
		return;
	}
	root->stage = LINKING;
	memset(root->is_ready, 0, (size_t)root->size * sizeof(*root->is_ready));
	root->failing = 0;
	root->placed = 0;
	place_more(root);
}

static void try_again(void *owner)
{
	struct ring_root *root = ((struct settling *)owner)->root;
	if (!(root->failing & ~root->masked)) {
		fail(root, RING_ENOTSUP, RING_RANK_ROOT, "%s", root->why);
		return;
	}
	root->masked |= root->failing;
	root->attempt++;
	ring_log(RING_WARN, "meeting at %s: again, because %s", root->address, root->why);
	begin_attempt(root);
}

static bool all_are_ready(const struct ring_root *root)
{
	return !memchr(root->is_ready, false, (size_t)root->size);
}

static void take_readiness(struct member *member, struct ring_wire *wire)
{
	struct ring_root *root = member->root;
	struct ring_readiness readiness;
	ring_wire_readiness(wire, &readiness);
	if (!ring_wire_done(wire)) {
		fail(root, RING_EPEER, member->rank, "rank %d reported nonsense", member->rank);
	} else if (root->stage != LINKING || !member->described ||
		   readiness.attempt != root->attempt) {
		return; /* most likely it had not yet heard of the later attempt */
	} else if (!readiness.failed) {
		root->is_ready[member->rank] = true;
		if (all_are_ready(root))
			conclude(root, &(struct ring_news){0});
	} else {
		if (!root->failing) {
			memcpy(root->why, readiness.why, sizeof(root->why));
			ring_watcher_alarm(root->watcher, &root->settling, try_again, SETTLE_MS);
		}
		root->failing |= readiness.failed;
	}
}

/* ---- gathering ---- */

static void out_of_time(void *owner)
{
	struct ring_root *root = owner;
	char ranks[RING_RANKS_TEXT];
	if (root->stage == GATHERING) {
		int missing = ring_ranks_lacking(root->is_here, root->size, ranks);
		fail(root, RING_ETIMEDOUT,
		     RING_RANK_ROOT, "%s never came within %d ms (%d of %d met at %s); %s running, and can %s reach it?",
		     ranks, root->patience_ms, root->met, root->size, root->address,
		     missing == 1 ? "is it" : "are they", missing == 1 ? "it" : "they");
	} else {
		ring_ranks_lacking(root->is_ready, root->size, ranks);
		fail(root, RING_ETIMEDOUT, RING_RANK_ROOT,
		     "%s met the others at %s but did not link with the neighbours within %d ms",
		     ranks, root->address, root->patience_ms);
	}
}

static int make_seats(struct ring_root *root, int size)
{
	size_t count = (size_t)size;
	root->size = size;
	root->by_rank = calloc(count, sizeof(*root->by_rank));
	root->peers = calloc(count, sizeof(*root->peers));
	root->schedules = calloc(count, sizeof(*root->schedules));
	root->is_here = calloc(count, sizeof(*root->is_here));
	root->is_ready = calloc(count, sizeof(*root->is_ready));
	bool made = root->by_rank && root->peers && root->schedules && root->is_here &&
		    root->is_ready;
	return made ? 0 : RING_ENOMEM;
}

/* True if the newcomer fits with those who are here; otherwise the meeting has failed. */
static bool fits(struct member *member, const struct ring_description *description)
{
	struct ring_root *root = member->root;
	int rank = description->peer.rank;
	char mine[RING_PEER_NAME], other[RING_PEER_NAME];
	ring_peer_name(&description->peer, mine);
	if (!root->size && make_seats(root, description->size)) {
		fail(root, RING_ENOMEM, RING_RANK_ROOT, "the root has no memory for %d ranks",
		     description->size);
		return false;
	}
	if (description->size != root->size) {
		int first = 0;
		while (!root->is_here[first])
			first++;
		fail(root, RING_EMISMATCH, rank, "%s expects %d ranks, but %s expects %d", mine,
		     description->size, ring_peer_name(&root->peers[first], other), root->size);
		return false;
	}
	if (root->is_here[rank]) {
		fail(root, RING_EMISMATCH, rank, "%s and %s both claim to be rank %d",
		     ring_peer_name(&root->peers[rank], other), mine, rank);
		return false;
	}
	return true;
}

static void begin_linking(struct ring_root *root)
{
	struct ring_failure failure = {0};
	int err = ring_meeting_agree(root->schedules, root->size, &failure);
	if (err) {
		fail(root, err, RING_RANK_ROOT, "%s", failure.text);
		return;
	}
	err = ring_arrangement_make(&root->arrangement, root->peers, root->size);
	if (err) {
		fail(root, err, RING_RANK_ROOT, "the root cannot order %d ranks: %s", root->size,
		     ring_strerror(err));
		return;
	}
	begin_attempt(root);
}

static void hurry(struct ring_root *root, int timeout_ms)
{
	uint64_t deadline_ms = ring_clock_ms() + (uint64_t)timeout_ms;
	if (root->met > 1 && deadline_ms >= root->deadline_ms)
		return;
	root->deadline_ms = deadline_ms;
	root->patience_ms = timeout_ms;
	ring_watcher_alarm(root->watcher, root, out_of_time, timeout_ms);
}

static void take_description(struct member *member, struct ring_wire *wire)
{
	struct ring_root *root = member->root;
	struct ring_description description;
	ring_wire_description(wire, &description);
	if (root->stage == ENDING)
		return;
	if (!ring_wire_done(wire) || description.peer.rank != member->rank) {
		fail(root, RING_EPEER, member->rank,
		     "rank %d sent a description that makes no sense", member->rank);
		return;
	}
	if (!fits(member, &description))
		return;
	member->described = true;
	root->by_rank[member->rank] = member;
	root->peers[member->rank] = description.peer;
	root->schedules[member->rank] = description.schedule;
	root->is_here[member->rank] = true;
	root->met++;
	hurry(root, description.create_timeout_ms);
	if (root->met == root->size)
		begin_linking(root);
}

/* ---- members ---- */

/* A rank gives up and says why; its reason is everybody's. */
static void take_failure(struct member *member, struct ring_wire *wire)
{
	struct ring_news news;
	ring_wire_news(wire, &news);
	if (ring_wire_done(wire))
		conclude(member->root, &news);
}

static void take_letter(struct member *member, uint32_t kind, const unsigned char *body,
			size_t bytes)
{
	struct ring_wire wire = ring_wire_reader(body, bytes);
	if (kind == RING_LETTER_DESCRIBE)
		take_description(member, &wire);
	else if (kind == RING_LETTER_READY)
		take_readiness(member, &wire);
	else if (kind == RING_LETTER_FAIL)
		take_failure(member, &wire);
}

static void lose_member(struct member *member)
{
	struct ring_root *root = member->root;
	char name[RING_PEER_NAME];
	snprintf(name, sizeof(name), "rank %d", member->rank);
	if (member->described)
		ring_peer_name(&root->peers[member->rank], name);
	if (root->stage != ENDING)
		fail(root, RING_EPEER, member->rank,
		     "%s died while the communicator was being created", name);
	if (member->behind)
		root->behind--;
	free_member(member);
	if (everybody_left(root))
		end(root);
}

static void member_moved(struct ring_watch *watch, uint32_t events)
{
	struct member *member = (struct member *)watch;
	struct ring_root *root = member->root;
	(void)events;
	if (member->behind && !ring_mail_flush(&member->mail)) {
		member->behind = false;
		root->behind--;
		ring_watcher_change(root->watcher, watch, EPOLLIN);
		place_more(root);
	}
	for (;;) {
		uint32_t kind;
		const unsigned char *body;
		size_t bytes;
		int err = ring_mail_next(&member->mail, &kind, &body, &bytes);
		if (err == RING_EAGAIN)
			return;
		if (err) {
			lose_member(member);
			return;
		}
		take_letter(member, kind, body, bytes);
	}
}

static void rank_arrived(struct ring_port *port, const struct ring_hello *hello, int fd)
{
	struct ring_root *root = (struct ring_root *)port;
	struct member *member = calloc(1, sizeof(*member));
	if (!member) {
		ring_fd_close(fd);
		return;
	}
	member->watch = (struct ring_watch){fd, EPOLLIN, member_moved};
	member->root = root;
	member->rank = hello->from;
	ring_mail_init(&member->mail, fd, RING_LETTER_BYTES);
	if (ring_watcher_add(root->watcher, &member->watch)) {
		ring_fd_close(fd);
		free(member);
		return;
	}
	member->next = root->members;
	member->link = &root->members;
	if (member->next)
		member->next->link = &member->next;
	root->members = member;
	if (root->stage == ENDING && !root->verdict.err)
		root->verdict = (struct ring_news){
			.err = RING_EMISMATCH,
			.culprit = hello->from,
			.text = "the meeting is over: one id makes one communicator"};
	if (root->stage == ENDING)
		tell_verdict(member);
}

int ring_root_start(struct ring_watcher *watcher, const struct ring_identity *identity,
		    uint32_t first_attempt)
{
	struct ring_root *root = calloc(1, sizeof(*root));
	if (!root)
		return RING_ENOMEM;
	root->watcher = watcher;
	root->attempt = first_attempt;
	root->settling.root = root;
	root->port = (struct ring_port){
		.job = identity->job, .rank = RING_RANK_ROOT, .arrived = rank_arrived, .wake = -1};
	memcpy(root->port.secret, identity->secret, RING_SECRET_BYTES);
	ring_address_format(&identity->root, root->address);
	ring_watcher_open_port(watcher, &root->port);
	return 0;
}

void ring_root_withdraw(struct ring_watcher *watcher, uint64_t job, const struct ring_news *reason)
{
	ring_watcher_lock(watcher);
	struct ring_port *port = ring_watcher_find_port(watcher, job, RING_RANK_ROOT);
	if (port)
		conclude((struct ring_root *)port, reason);
	ring_watcher_unlock(watcher);
}
