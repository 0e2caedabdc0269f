/* SPDX-License-Identifier: MIT */
#include "spelling.h"

#include <string.h>

#define LETTERS_MOST 48

static int least(int a, int b)
{
	return a < b ? a : b;
}

/*
 * How many letters of a are to be changed, added, left out or exchanged with the next to make b:
 * changes[i][j] is that of their first i and j letters.
 */
static int count_changes(const char *a, const char *b)
{
	int changes[LETTERS_MOST + 1][LETTERS_MOST + 1];
	const int rows = (int)strlen(a), columns = (int)strlen(b);
	for (int i = 0; i <= rows; i++)
		changes[i][0] = i;
	for (int j = 0; j <= columns; j++)
		changes[0][j] = j;
	for (int i = 1; i <= rows; i++) {
		for (int j = 1; j <= columns; j++) {
			int changed = changes[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			int skipped = 1 + least(changes[i - 1][j], changes[i][j - 1]);
			changes[i][j] = least(changed, skipped);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				changes[i][j] = least(changes[i][j], 1 + changes[i - 2][j - 2]);
		}
	}
	return changes[rows][columns];
}

void ring_spelling_try(struct ring_spelling *spelling, const char *known)
{
	size_t letters = strlen(spelling->wrong);
	if (strcmp(spelling->wrong, known) == 0)
		*spelling = (struct ring_spelling){spelling->wrong, known, 0};
	if (letters > LETTERS_MOST || strlen(known) > LETTERS_MOST)
		return;
	int changes = count_changes(spelling->wrong, known);
	int most = letters < 3 ? 0 : letters < 6 ? 1 : 2;
	if (changes > most || (spelling->best && changes >= spelling->changes))
		return;
	spelling->best = known;
	spelling->changes = changes;
}
