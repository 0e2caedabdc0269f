/* SPDX-License-Identifier: MIT */
/*
 * The watcher's front door: the listeners, the guests that have not yet proved who they are, and
 * the proved connections that wait to be fetched. Strangers are shown out here.
 *
 * Everything is called with the watcher locked.
 */
#ifndef RING_RECEPTION_H
#define RING_RECEPTION_H

#include "watcher.h"

struct ring_reception;

int ring_reception_open(struct ring_reception **reception, struct ring_watcher *watcher,
			const struct ring_config *config, const struct sockaddr_storage *towards,
			struct ring_failure *failure);
void ring_reception_close(struct ring_reception *reception); /* NULL is allowed */

const struct sockaddr_storage *ring_reception_address(const struct ring_reception *reception);
const char *ring_reception_local_name(const struct ring_reception *reception);

/* As ring_watcher_listen. */
int ring_reception_listen(struct ring_reception *reception, const struct sockaddr_storage *address,
			  struct ring_failure *failure);

void ring_reception_open_port(struct ring_reception *reception, struct ring_port *port);
void ring_reception_close_port(struct ring_reception *reception, struct ring_port *port);
void ring_reception_renew_port(struct ring_reception *reception, struct ring_port *port,
			       uint32_t attempt);
struct ring_port *ring_reception_find_port(struct ring_reception *reception, uint64_t job, int rank);
int ring_reception_fetch(struct ring_reception *reception, const struct ring_hello *hello, int *fd);
const char *ring_reception_starved(const struct ring_reception *reception);

#endif
