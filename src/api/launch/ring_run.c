/* SPDX-License-Identifier: MIT */
/* Ranks that ring_run started: it serves their meetings and gives each rank the first one's id. */
#include "hex.h"
#include "meet/identity.h"
#include "launch.h"

static int enter(const struct ring_launcher *launcher, const struct ring_config *config,
		 struct ring_launch *launch, struct ring_failure *failure)
{
	const char *id;
	int err = ring_launch_text(launcher, "RING_ID", &id, failure);
	if (!err && !ring_id_from_hex(id, &launch->id))
		err = ring_fail(failure, RING_EINVAL,
				"RING_ID must be %zu lower-case hexadecimal digits",
				2 * sizeof(launch->id.bytes));
	struct ring_identity identity;
	if (!err && ring_identity_read(&launch->id, &identity))
		err = ring_fail(
			failure, RING_EINVAL,
			"RING_ID is not an id of this version: do ring_run and this program use "
			"the same library?");
	if (err)
		return err;
	ring_identity_follow(&identity, launch->number);
	ring_identity_write(&identity, &launch->id);
	(void)config;
	return 0;
}

const struct ring_launcher ring_launcher_ring_run = {
	.name = "ring_run",
	.marker = "RING_RANK",
	.variables = "RING_RANK, RING_SIZE, RING_ID",
	.job = "RING_ID",
	.size = "RING_SIZE",
	.rank = "RING_RANK",
	.enter = enter,
};
