/* SPDX-License-Identifier: MIT */
/* Reading numbers; see number.h. */
#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

bool ring_number_read(const char *text, bool units, long long *number)
{
	static const char suffixes[] = "KMG";
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (errno || end == text)
		return false;
	const char *suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
	if (units && suffix) {
		long long unit = 1LL << 10 * (suffix - suffixes + 1);
		if (value < 0 || value > LLONG_MAX / unit)
			return false;
		value *= unit;
		end++;
	}
	if (*end)
		return false;
	*number = value;
	return true;
}
