/* SPDX-License-Identifier: MIT */
/* Who am I: reads rank, size and identity from the environment that a launcher made. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"

static int read_number(const char *name, int *value, struct ring_failure *failure)
{
	const char *text = getenv(name);
	char *end;
	if (!text)
		return ring_fail(failure, RING_EINVAL,
				 "%s is not set; start the program with ring_run -n 4 PROGRAM",
				 name);
	errno = 0;
	long number = strtol(text, &end, 10);
	if (errno || end == text || *end || number < 0 || number > INT_MAX)
		return ring_fail(failure, RING_EINVAL, "%s=%s is not a number of a rank", name,
				 text);
	*value = (int)number;
	return 0;
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef";
	const char *found = c ? strchr(digits, c) : NULL;
	return found ? (int)(found - digits) : -1;
}

static int read_id(struct ring_unique_id *id, struct ring_failure *failure)
{
	const char *text = getenv("RING_ID");
	if (!text)
		return ring_fail(
			failure, RING_EINVAL,
			"RING_ID is not set; start the program with ring_run -n 4 PROGRAM");
	bool right_length = strlen(text) == 2 * sizeof(id->bytes);
	for (size_t i = 0; right_length && i < sizeof(id->bytes); i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
		if (high < 0 || low < 0)
			right_length = false;
		else
			id->bytes[i] = (unsigned char)(16 * high + low);
	}
	return right_length ? 0
			    : ring_fail(failure, RING_EINVAL,
					"RING_ID must be %zu lower-case hexadecimal digits",
					2 * sizeof(id->bytes));
}

int ring_comm_create_from_env(struct ring_comm **comm, const struct ring_options *options)
{
	struct ring_failure failure = {0};
	struct ring_unique_id id;
	int rank = 0, size = 0;
	int err = read_number("RING_RANK", &rank, &failure);
	if (!err)
		err = read_number("RING_SIZE", &size, &failure);
	if (!err)
		err = read_id(&id, &failure);
	if (!err)
		return ring_comm_create(comm, size, rank, &id, options);
	ring_failure_remember(&failure);
	return err;
}
