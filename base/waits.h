/* SPDX-License-Identifier: MIT */
/*
 * Every wait of the library on one page: how long, and for what. The unit ends the name; LOOKS and
 * YIELDS are counted. Which wait must be longer than which is asserted below.
 *
 * Options set these others: create_timeout_ms (ranks meet and link), call_timeout_ms (nothing moves
 * in a call), peer_lost_ms (no answer from another host), spins and yields (instead of the first
 * looks below); see ringccl.h, and choose/options.c for their defaults.
 */
#ifndef RING_WAITS_H
#define RING_WAITS_H

#include <assert.h>

enum ring_waits {
	/* ---- in a call, while nothing moves ----------------------------------------- */

	/* Looks in a row before a rank sleeps; see engine/wait.c. */
	RING_MEMORY_LOOKS = 20000, /* at memory; then it yields between looks, until ... */
	RING_LOOKING_MS = 20,      /* ... it has looked for this long in all */
	RING_SOCKET_LOOKS = 500,   /* at sockets */
	RING_SOCKET_YIELDS = 300,  /* the same, and yields, where ranks share CPUs */
	RING_FAR_LOOKS = 50,       /* where ranks share CPUs, at one on another CPU; about 1 us */
	RING_GLANCE_LOOKS = 4,     /* at a board; more, up to 100, gained nothing */
	RING_GLANCE_YIELDS = 4,    /* the same, where ranks share CPUs; mostly one is enough */

	/* Empty looks from one check to the next. */
	RING_NEAR_LOOKS = 8,   /* whether a peer needs this CPU */
	RING_CLOCK_LOOKS = 64, /* what time it is */
	RING_END_LOOKS = 1024, /* whether the other end of a link is there */

	RING_NAP_MS = 1,        /* the first sleep of some; see transport/doorbell_words.h */
	RING_ASK_MS = 250,      /* before neighbours are told which call waits here */
	RING_ASK_APART_MS = 10, /* ... if they may wait for it by other channels */
	RING_ROLL_MS = 5000, /* for the ranks' answers to who keeps a call, behind tell_after_ms */
	RING_VIGIL_MS = 500, /* for a first message, before its sender's door is tried */
	RING_PROOF_HOLDS_MS = 5, /* after a peer was proved to live, before that is done again */

	/* ---- after a failure -------------------------------------------------------- */

	RING_LEFT_MS = 200,          /* for what a rank sent before its goodbye */
	RING_NEWS_MS = 500,          /* for control lanes to say why a link broke */
	RING_NEWS_LOOK_NS = 1000000, /* from one look for them to the next, where no bell rings */
	RING_FENCE_MS = 500,   /* for peers to leave a call's buffers, then they are shut out */
	RING_SETTLE_MS = 1000, /* for devices' jobs on a call's buffers */
	RING_PROBE_MS = 10000, /* for jobs that try whether devices reach one another */
	RING_BUFFERS_LOOK_NS = 50000, /* from one look to the next during these */
	RING_WATCHER_NAP_US = 20000,  /* of a watcher that hears nothing; its alarms still ring */

	/* ---- for hosts that do not answer; see outage.h ----------------------------- */

	RING_RESEND_MIN_MS = 1000,   /* the kernel sends again at least this often, or ... */
	RING_RESEND_MAX_MS = 120000, /* ... where peer_lost_ms is long, at least this often */
	RING_OUTAGE_LOOK_MS = 250,   /* from one look at a connection to the next */
	RING_OUTAGE_IDLE_LOOKS = 2,  /* with nothing under way; then the lookout rests */
	RING_OUTAGE_HURRY_MS = 100,  /* from look to look after peer_lost_ms */
	RING_OUTAGE_TRY_MS = 1200,   /* after peer_lost_ms, for the kernel to send again in vain */
	RING_OUTAGE_ANSWER_MS = 200, /* after it sent again, for an answer */
	RING_OUTAGE_PROMISE_MS = 2000, /* after peer_lost_ms; by then an outage is told */

	/* ---- while ranks meet and link ---------------------------------------------- */

	RING_DIAL_SILENCE_MS = 1000, /* for an answer; we ask anew, the kernel ever more rarely */
	RING_DIAL_FIRST_MS = 5,   /* before the second attempt; then twice as long each time, ... */
	RING_DIAL_LAST_MS = 250,  /* ... at most this long */
	RING_GUEST_MS = 5000,     /* for whoever connects to prove itself */
	RING_GUEST_FAIR_MS = 100, /* the same, while others wait to come in */
	RING_GUEST_LOOK_MS = 25,  /* before accepting again, where guests leave no room */
	RING_SHORTAGE_MS = 100,   /* the same, without descriptors or memory */
	RING_CROWDED_FIRST_MS = 1, /* before a descriptor is sent again that the kernel held up; */
	RING_CROWDED_LAST_MS = 32, /* twice as long each time, at most this long */
	RING_FINISH_LOOK_MS = 1,   /* before finish() of a link is asked again */
	RING_EXPLAIN_MS = 300,     /* for the root to say that an unreachable neighbour has died */
	RING_RELINK_MS = 150,      /* a transport failed; others may, or a death be the cause */
	RING_HEAR_MS = 500,        /* after create_timeout_ms, for the root's sentence about it */
	RING_LINGER_MS = 1000,     /* of the root, for ranks that come late or hear slowly */
	RING_SHUN_MS = 600000,     /* before a transport that failed on this host is tried again */

	/* ---- while a process finds its job ------------------------------------------ */

	RING_FIND_MS = 60000,      /* in all, if the environment says nonsense of timeouts */
	RING_NAME_FIRST_MS = 100,  /* before a name is asked for again; then twice as long, ... */
	RING_NAME_LAST_MS = 2000,  /* ... at most this long */
	RING_NAME_QUIET_MS = 5000, /* for a name, before people are told what is waited for */
	RING_STAGGER_MS = 250,     /* also before a name's next address is tried, as in RFC 8305 */
	RING_REFUSED_MS = 100,     /* before the same address is tried again */
	RING_REFUSED_LOOK_MS = 50, /* from one look at all addresses to the next */
	RING_LAUNCHER_LEAVE_MS = 1000, /* for a launcher to answer that we leave */

	/* ---- while a communicator or its process ends ------------------------------- */

	RING_GOODBYE_MS = 1000,     /* for neighbours to answer that a communicator goes */
	RING_EXIT_GOODBYE_MS = 500, /* the same, where the process exits without a destroy */
	RING_EXIT_CALL_MS = 50, /* for a call's thread that lags behind one that saw it return */
	RING_EXIT_LOOK_NS = 1000000, /* from one look at that to the next */
	RING_EXIT_LOCK_S = 1, /* for another thread that creates or destroys a communicator */

	/* ---- before something is due, as waking takes long -------------------------- */

	RING_EARLY_NS = 50000,         /* a rank wakes so long before a paced message arrives */
	RING_EARLY_CROWDED_NS = 10000, /* the same where ranks share CPUs: looks cost others more */

	/* ---- on GPUs ---------------------------------------------------------------- */

	RING_TELL_FIRST_NS = 20000, /* before events are looked at again; then twice as long, ... */
	RING_TELL_LAST_NS = 1000000, /* ... at most this long */
	RING_TELL_WORD_NS = 100000,  /* the same for words, which take no call of the driver */
	RING_PUMP_NAP_NS = 100000, /* of a pump, from one look at what a device wrote to the next */
	RING_PUMP_NAPS = 100,      /* after so many in vain, with nothing but graphs, ... */
	RING_PUMP_DOZE_NS = 1000000, /* ... they are this long */
	RING_PULSE_NS = 10000000,    /* from asking whether a device has failed to asking again */
	RING_GATE_PASS_S = 1,        /* for a call of the driver that waits for the GPU to end */
	RING_GATE_AWAIT_MS = 30000,  /* for streams that wait, before memory is pinned anyway */
	RING_GATE_LOOK_NS = 100000,  /* from one look at them to the next */
	RING_STOP_NAP_NS = 500,      /* of a stopped stream, from one look to the next */
	RING_CUDA_LOOK_MS = 10,      /* from look to look for a program that opens CUDA's driver */
	RING_ENGINE_LOOKS = 64,      /* of a kernel for a peer, before it asks what time it is */
};

static_assert(RING_NEWS_MS > RING_LEFT_MS,
	      "who waits for news hears of neighbours that failed as a rank left");
static_assert(RING_OUTAGE_TRY_MS >= RING_RESEND_MIN_MS + RING_OUTAGE_ANSWER_MS,
	      "the kernel sends again, and an answer has time to come");
static_assert(RING_OUTAGE_ANSWER_MS > RING_OUTAGE_HURRY_MS, "a look falls into the answer's time");
static_assert(RING_OUTAGE_LOOK_MS + RING_OUTAGE_TRY_MS + RING_OUTAGE_HURRY_MS <
		      RING_OUTAGE_PROMISE_MS,
	      "seen a look late, tried in vain and looked at once more, it is told in time");
static_assert(RING_GUEST_MS > RING_RESEND_MIN_MS, "a guest whose packet got lost sends it again");
static_assert(RING_GUEST_FAIR_MS > RING_GUEST_LOOK_MS, "room is found soon after it is fair");
static_assert(RING_HEAR_MS > RING_EXPLAIN_MS,
	      "a neighbour found unreachable as time runs out can still be explained");
static_assert(RING_LINGER_MS > RING_HEAR_MS, "the root is there as long as ranks listen to it");
static_assert(RING_EXIT_GOODBYE_MS > RING_EXIT_CALL_MS,
	      "both are counted from the exit; calls leave time for goodbyes");

#endif
