/* SPDX-License-Identifier: MIT */
/* What sentences call the ranks; see team.h. */
#include "team.h"

#include <stdio.h>

#include "meet/describe.h"

const char *ring_team_rank_text(const struct ring_team *team, int rank, char *text)
{
	if (rank >= 0 && team->peers && team->peers[rank].pid)
		return ring_peer_name(&team->peers[rank], text);
	snprintf(text, RING_RANK_TEXT, rank >= 0 ? "rank %d" : "nobody known", rank);
	return text;
}
