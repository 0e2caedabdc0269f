/* SPDX-License-Identifier: MIT */
/* Codes, their texts and their sentences; also the library's version. */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text/text.h"

static _Thread_local struct ring_failure remembered;

int ring_version(void)
{
	return 10000 * RING_VERSION_MAJOR + 100 * RING_VERSION_MINOR + RING_VERSION_PATCH;
}

const char *ring_strerror(int err)
{
	switch (err) {
#define STATUS_TEXT(name, value, text)                                                             \
	case name:                                                                                 \
		return text;
		RING_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
	case 0:
		return "success";
	default:
		return "unknown status";
	}
}

int ring_fail(struct ring_failure *failure, int err, const char *format, ...)
{
	if (!failure || failure->err)
		return err;

	va_list args;
	va_start(args, format);
	vsnprintf(failure->text, sizeof(failure->text), format, args);
	va_end(args);
	if (!failure->text[0])
		snprintf(failure->text, sizeof(failure->text), "%s", ring_strerror(err));
	ring_text_clean(failure->text); /* it may quote a variable, a path or a peer */
	failure->err = err;
	return err;
}

int ring_refuse(int err, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(remembered.text, sizeof(remembered.text), format, args);
	va_end(args);
	remembered.err = err;
	return err;
}

void ring_failure_remember(const struct ring_failure *failure)
{
	remembered = *failure;
}

const char *ring_failure_remembered(void)
{
	return remembered.text;
}
