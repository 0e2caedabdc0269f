/* SPDX-License-Identifier: MIT */
#include "spelling.h"

#include <string.h>

#define LETTERS_MOST 48

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* Levenshtein's distance of two words of at most LETTERS_MOST letters, row by row of its table. */
static int count_changes(const char *a, const char *b)
{
	int row[LETTERS_MOST + 1];
	int length = (int)strlen(b);
	for (int j = 0; j <= length; j++)
		row[j] = j;
	for (int i = 1; a[i - 1]; i++) {
		int above_left = row[0];
		row[0] = i;
		for (int j = 1; j <= length; j++) {
			int above = row[j];
			int changed = above_left + (a[i - 1] != b[j - 1]);
			row[j] = least(changed, 1 + least(above, row[j - 1]));
			above_left = above;
		}
	}
	return row[length];
}

void ring_spelling_try(struct ring_spelling *spelling, const char *known)
{
	size_t letters = strlen(spelling->wrong);
	if (strcmp(spelling->wrong, known) == 0)
		*spelling = (struct ring_spelling){spelling->wrong, known, 0};
	if (letters > LETTERS_MOST || strlen(known) > LETTERS_MOST)
		return;
	int changes = count_changes(spelling->wrong, known);
	int most = letters < 3 ? 0 : letters < 5 ? 1 : 2;
	if (changes > most || (spelling->best && changes >= spelling->changes))
		return;
	spelling->best = known;
	spelling->changes = changes;
}
