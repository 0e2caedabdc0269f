/* SPDX-License-Identifier: MIT */
/* The front door as reception.c, which lets people in, and listening.c, which opens it, see it. */
#ifndef RING_RECEPTION_PARTS_H
#define RING_RECEPTION_PARTS_H

#include "base/fd.h"
#include "reception.h"

struct ring_guest;
struct ring_visitor;

struct ring_listener {
	struct ring_watch watch;
	struct ring_reception *reception;
	bool local;
	bool known; /* at a port known beforehand; ranks may come before their meeting */
	struct sockaddr_storage address;
	struct ring_listener *next; /* another one beside the first */
};

struct ring_reception {
	struct ring_watcher *watcher;
	struct ring_listener tcp, local, *others;
	char local_name[32];
	struct ring_guest *guests; /* newest first */
	int guest_count;
	bool paused;
	bool starved;            /* the last accept failed for want of descriptors */
	char why[RING_FD_WORDS]; /* the same in words */
	unsigned warned;         /* bit of each enum ring_stranger that was logged loudly */
	struct ring_port *ports;
	struct ring_visitor *visitors;
};

/* Lets in who waits at a listener; a callback of its watch. */
void ring_reception_accept(struct ring_watch *watch, uint32_t events);

void ring_listeners_close(struct ring_reception *reception);

#endif
