/* SPDX-License-Identifier: MIT */
/* Ranks that ring_run started: it serves their meetings and gives each the id of the first. */
#include <stdbool.h>
#include <string.h>

#include "meet/identity.h"
#include "launch.h"

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef";
	const char *found = c ? strchr(digits, c) : NULL;
	return found ? (int)(found - digits) : -1;
}

static bool read_hex(const char *text, unsigned char *bytes, size_t count)
{
	if (strlen(text) != 2 * count)
		return false;
	for (size_t i = 0; i < count; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		bytes[i] = (unsigned char)(16 * high + low);
	}
	return true;
}

static int enter(const struct ring_launcher *launcher, const struct ring_config *config,
		 struct ring_launch *launch, struct ring_failure *failure)
{
	const char *id;
	int err = ring_launch_number(launcher, "RING_SIZE", 1, RING_SIZE_MAX, &launch->size,
				     failure);
	if (!err)
		err = ring_launch_number(launcher, "RING_RANK", 0, launch->size - 1, &launch->rank,
					 failure);
	if (!err)
		err = ring_launch_text(launcher, "RING_ID", &id, failure);
	if (!err && !read_hex(id, launch->id.bytes, sizeof(launch->id.bytes)))
		err = ring_fail(failure, RING_EINVAL,
				"RING_ID must be %zu lower-case hexadecimal digits",
				2 * sizeof(launch->id.bytes));
	struct ring_identity identity;
	if (!err && ring_identity_read(&launch->id, &identity))
		err = ring_fail(
			failure, RING_EINVAL,
			"RING_ID is no id of this version: do ring_run and this program use "
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
	.enter = enter,
};
