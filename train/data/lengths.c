/* SPDX-License-Identifier: MIT */
#include "lengths.h"

#include <math.h>
#include <stdio.h>

#include "train/model/random.h"

bool train_lengths_parse(struct train_lengths *lengths, const char *text)
{
	int end = 0;
	*lengths = (struct train_lengths){.distribution = TRAIN_ALL_AS_LONG};
	if (!text)
		return true;
	lengths->distribution = TRAIN_LOGNORMAL;
	if (sscanf(text, "lognormal:%lf:%lf%n", &lengths->median, &lengths->deviation, &end) == 2 &&
	    !text[end] && lengths->median >= 1 && lengths->median < 1e6 &&
	    lengths->deviation >= 0 && lengths->deviation <= 4)
		return true;
	lengths->distribution = TRAIN_EVEN;
	if (sscanf(text, "uniform:%d:%d%n", &lengths->low, &lengths->high, &end) == 2 &&
	    !text[end] && lengths->low >= 1 && lengths->high >= lengths->low)
		return true;
	fprintf(stderr,
		"ring_train: --lengths wants lognormal:MEDIAN:DEVIATION, such as lognormal:24:0.8, "
		"or "
		"uniform:LOW:HIGH, not '%s'\n",
		text);
	return false;
}

/* Nearly normal: the sum of twelve uniform numbers of [0, 1), minus its mean. */
static double draw_normal(uint64_t stream)
{
	double sum = 0;
	for (uint64_t i = 0; i < 12; i++)
		sum += (double)(train_random(stream, i) >> 11) * 0x1p-53;
	return sum - 6;
}

int train_length(const struct train_lengths *lengths, uint64_t stream, int most)
{
	double length = most;
	if (lengths->distribution == TRAIN_LOGNORMAL)
		length = round(lengths->median * exp(lengths->deviation * draw_normal(stream)));
	else if (lengths->distribution == TRAIN_EVEN)
		length = lengths->low +
			 (double)(stream % (uint64_t)(lengths->high - lengths->low + 1));
	return length < 1 ? 1 : length > most ? most : (int)length;
}
