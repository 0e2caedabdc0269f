/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <math.h>
#include <stdio.h>

const char *model_size_text(double bytes, char text[MODEL_TEXT_ROOM])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	int unit = 0;
	for (; bytes >= 1024 && unit < 4; unit++)
		bytes /= 1024;
	snprintf(text, MODEL_TEXT_ROOM, "%.4g %s", bytes, units[unit]);
	return text;
}

const char *model_ratio_text(double a, double b, int decimals, char text[MODEL_TEXT_ROOM])
{
	double ratio = a / b;
	if (a == 0 || !isfinite(ratio))
		return "-";
	snprintf(text, MODEL_TEXT_ROOM, ratio < 1e9 ? "%.*f" : "%.*e", decimals, ratio);
	return text;
}
