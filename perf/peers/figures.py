# SPDX-License-Identifier: MIT
"""Statistics of launches: medians, their spread, and how sure a ratio is."""

import random
from operator import truediv
from statistics import median

RESAMPLES = 2000


def spread(values):
    """Half the distance of the extremes, as a share of the median."""
    return (max(values) - min(values)) / 2 / median(values)


def ratio(ours, peers):
    """How many times as fast as the best peer we are.

    ours   our time in each round
    peers  such a list for each peer

    The ratio to a peer is the median of the ratios of each round. A machine that is slow for a while is
    slow for both, so what they have in common cancels before the median is taken.
    """
    return min(median(map(truediv, peer, ours)) for peer in peers)


def interval(ours, peers, seed):
    """The 95 % interval of that ratio, by bootstrap.

    Launch i of every contender was made in round i, under the same conditions, so rounds are drawn, not
    launches. Every resample chooses its own best peer, so that a peer's luck does not count.
    """
    generator = random.Random(seed)
    rounds = range(len(ours))
    ratios = []
    for _ in range(RESAMPLES):
        drawn = generator.choices(rounds, k=len(rounds))
        ratios.append(ratio([ours[i] for i in drawn], [[peer[i] for i in drawn] for peer in peers]))
    ratios.sort()
    return ratios[int(0.025 * RESAMPLES)], ratios[int(0.975 * RESAMPLES) - 1]
