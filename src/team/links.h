/* SPDX-License-Identifier: MIT */
/*
 * What joins a rank to the others: the door, control lanes, and the rings' channels with their
 * links. Creation opens it all. Then the channels are the running thread's, and the rest has locks
 * of its own.
 */
#ifndef RING_LINKS_H
#define RING_LINKS_H

#include "door/edge.h"
#include "door/watcher.h"
#include "engine/channel.h"
#include "health/lanes.h"
#include "health/lookout.h"
#include "meet/rendezvous.h"

#define RING_CHANNELS_MAX 8

struct ring_links {
	struct ring_watcher *watcher;
	struct ring_edge_ends ends; /* for links with any rank; owns its contact */
	struct ring_pace pace;      /* of all links, if the options say one */
	struct ring_lanes *lanes;
	struct ring_lookout lookout; /* after links over TCP */
	struct ring_join *join;      /* while creating */
	struct ring_bell bell;
	struct ring_channel channels[RING_CHANNELS_MAX]; /* the first also has the mesh's links */
	int channel_count;
};

#endif
