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

/* The ranks that the meeting is for; all but size and met are arrays [size], by rank. */
struct ring_seats {
	int size; /* 0 until the first description */
	int met;
	struct ring_member **by_rank; /* NULL until described */
	struct ring_peer *peers;
	struct ring_config *schedules; /* what must be alike */
	bool *is_here, *is_ready;
	uint32_t *shunned; /* as the rank's placement says */
};

/* How ranks link, in attempts that each do without one more transport. */
struct ring_linking {
	struct ring_root *root;
	struct ring_arrangement arrangement;
	uint32_t attempt;
	uint32_t masked, failing; /* transports given up; those that failed in this attempt */
	char why[RING_NEWS_TEXT]; /* the first of these failures */
	int placed, behind;       /* placements sent in this attempt; those not yet through */
};

/* The meetings of ranks that have their id from the environment, one after the other. */
struct ring_series {
	struct ring_identity first;
	unsigned number; /* of this meeting */
	bool exists;     /* this meeting belongs to one */
};

struct ring_root {
	struct ring_port port;
	struct ring_watcher *watcher;
	bool holds; /* it holds the watcher; else the next root does, or others */
	char address[RING_ADDRESS_TEXT];
	enum { RING_GATHERING, RING_PLACED, RING_ENDING } stage;
	struct ring_member *members;
	struct ring_series series;
	struct ring_seats seats;
	uint64_t deadline_ms; /* the earliest of the ranks that came */
	int patience_ms;      /* the timeout it comes from */
	struct ring_linking linking;
	struct ring_news verdict; /* ENDING; err 0: go */
	int told;                 /* the verdict */
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
