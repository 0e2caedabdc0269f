/* SPDX-License-Identifier: MIT */
/*
 * The letters of a meeting, the unique id, news and cards, out of any bytes. Whatever is accepted is
 * written again, and reading that gives the same bytes: nothing was believed that cannot be said.
 */
#include <stdlib.h>
#include <string.h>

#include "meet/describe.h"

union letter {
	struct ring_identity identity;
	struct ring_description description;
	struct ring_readiness readiness;
	struct ring_news news;
	struct ring_peer peer;
	struct ring_placement placement;
};

static int order[64];

static void wire_letter(struct ring_wire *wire, int kind, union letter *letter)
{
	switch (kind) {
	case 0:
		ring_wire_identity(wire, &letter->identity);
		break;
	case 1:
		ring_wire_description(wire, &letter->description);
		break;
	case 2:
		ring_wire_readiness(wire, &letter->readiness);
		break;
	case 3:
		ring_wire_news(wire, &letter->news);
		break;
	case 4:
		ring_wire_card(wire, &letter->peer);
		break;
	default:
		ring_wire_placement(wire, &letter->placement);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static union letter letter;
	static unsigned char written[2][8192];
	size_t length[2];
	if (size < 2)
		return 0;
	int kind = data[0] % 6, ranks = data[1] % 64 + 1;
	memset(&letter, 0, sizeof(letter));
	if (kind == 5)
		letter.placement = (struct ring_placement){.size = ranks, .order = order};

	struct ring_wire in = ring_wire_reader(data + 2, size - 2);
	wire_letter(&in, kind, &letter);
	if (!ring_wire_done(&in))
		return 0;
	for (int i = 0; i < 2; i++) {
		struct ring_wire out = ring_wire_writer(written[i], sizeof(written[i]));
		wire_letter(&out, kind, &letter);
		length[i] = out.at;
		in = ring_wire_reader(written[i], length[i]);
		wire_letter(&in, kind, &letter);
		if (!ring_wire_done(&out) || !ring_wire_done(&in))
			abort();
	}
	if (length[0] != length[1] || memcmp(written[0], written[1], length[0]))
		abort();
	if (kind != 5 && length[0] > RING_LETTER_BYTES)
		abort();
	if (kind == 4 && length[0] != RING_CARD_BYTES)
		abort();
	return 0;
}
