/* SPDX-License-Identifier: MIT */
/* Identities of communicators: making one, which starts to serve its meeting, and reading one. */
#include "identity.h"

#include "greeting.h"
#include "options.h"
#include "rendezvous.h"
#include "root.h"
#include "watcher.h"

int ring_identity_read(const struct ring_unique_id *id, struct ring_identity *identity)
{
	struct ring_wire wire = ring_wire_reader(id->bytes, sizeof(id->bytes));
	*identity = (struct ring_identity){0};
	ring_wire_identity(&wire, identity);
	return wire.ok ? 0 : RING_EINVAL;
}

uint64_t ring_unique_id_job(const struct ring_unique_id *id)
{
	struct ring_identity identity;
	return ring_identity_read(id, &identity) ? 0 : identity.job;
}

static int serve_meeting(struct ring_identity *identity, struct ring_failure *failure)
{
	struct ring_config config;
	struct ring_watcher *watcher;
	int err = ring_config_resolve(&config, NULL, failure);
	if (err)
		return err;
	err = ring_watcher_hold(&watcher, &config, NULL, failure);
	if (err)
		return err;
	ring_random(&identity->job, sizeof(identity->job));
	ring_random(identity->secret, sizeof(identity->secret));
	identity->root = *ring_watcher_address(watcher);
	err = ring_root_start(watcher, identity);
	if (err)
		ring_watcher_drop(watcher);
	return err;
}

int ring_unique_id_create(struct ring_unique_id *id)
{
	struct ring_failure failure = {0};
	struct ring_identity identity = {0};
	int err = id ? serve_meeting(&identity, &failure) : RING_EINVAL;
	if (err) {
		ring_fail(&failure, err, "ring_unique_id_create: %s", ring_strerror(err));
		ring_failure_remember(&failure);
		return err;
	}
	*id = (struct ring_unique_id){{0}};
	struct ring_wire wire = ring_wire_writer(id->bytes, sizeof(id->bytes));
	ring_wire_identity(&wire, &identity);
	return 0;
}
