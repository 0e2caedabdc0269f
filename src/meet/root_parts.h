/* SPDX-License-Identifier: MIT */
/* The root of a meeting as root.c and linking.c see it. */
#ifndef RING_ROOT_PARTS_H
#define RING_ROOT_PARTS_H

#include "describe.h"
#include "door/interface.h"
#include "door/mail.h"
#include "meeting.h"
#include "door/watcher.h"

/* One rank's connection. */
struct ring_member {
	struct ring_watch watch;
	struct ring_mail mail;
	struct ring_root *root;
	int rank;       /* as it proved; below size only once described */
	bool described; /* it sits in by_rank */
	bool behind;    /* letters wait for its socket */
	struct ring_member *next, **link;
};

struct ring_root {
	struct ring_port port;
	struct ring_watcher *watcher;
	bool holds;                 /* it holds the watcher; else the next root does, or others */
	struct ring_identity first; /* of the series that the meeting may belong to */
	unsigned number;            /* the meeting's number in it */
	bool follows;               /* it belongs to one */
	char address[RING_ADDRESS_TEXT];
	enum { RING_GATHERING, RING_PLACED, RING_ENDING } stage;
	struct ring_news verdict; /* ENDING; err 0: go */
	struct ring_member *members;

	int size; /* 0 until the first description */
	int met, told;
	struct ring_member **by_rank;  /* by_rank[size], NULL until described */
	struct ring_peer *peers;       /* peers[size] */
	struct ring_config *schedules; /* schedules[size]: what must be alike */
	bool *is_here, *is_ready;
	uint32_t *shunned;    /* shunned[size], by rank: as its placement says */
	uint64_t deadline_ms; /* the earliest of the ranks that came */
	int patience_ms;      /* the timeout it comes from */

	struct ring_arrangement arrangement;
	uint32_t attempt;
	uint32_t masked, failing; /* transports given up; those that failed in this attempt */
	char why[RING_NEWS_TEXT]; /* the first of these failures */
	int placed, behind;       /* placements sent in this attempt, those not yet through */
	struct settling {
		struct ring_root *root;
	} settling;
};

/* root.c: a letter to one rank. If it cannot be sent, the connection broke: its own event tells. */
void ring_root_post(struct ring_member *member, uint32_t kind, const void *body, size_t bytes);

/* root.c: ends the meeting, unless it has ended; all hear how. */
void ring_root_conclude(struct ring_root *root, const struct ring_news *verdict);
__attribute__((format(printf, 4, 5))) void ring_root_fail(struct ring_root *root, int err,
							  int culprit, const char *format, ...);

/* linking.c: all have come. */
void ring_root_begin_linking(struct ring_root *root);

/* linking.c: sends some placements; again once sockets have taken some. */
void ring_root_place_more(struct ring_root *root);

/* linking.c: a rank says how linking went. */
void ring_root_take_readiness(struct ring_member *member, struct ring_wire *wire);

#endif
