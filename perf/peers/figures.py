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
    """How many times as fast as the best peer we are; times of each round, peers a list of such lists.

    That of a peer is the median of what each round alone says, since a machine that is slow for a while
    is slow for both: what all have in common cancels before the median is taken and not after.
    """
    return min(median(map(truediv, peer, ours)) for peer in peers)


def interval(ours, peers, seed):
    """The 95 % interval of that ratio, by bootstrap.

    Launch i of all was made in round i, under the same weather, so rounds are drawn, not launches. The
    best peer is chosen anew in every resample: to have been lucky is no merit of a peer.
    """
    generator = random.Random(seed)
    rounds = range(len(ours))
    ratios = []
    for _ in range(RESAMPLES):
        drawn = generator.choices(rounds, k=len(rounds))
        ratios.append(ratio([ours[i] for i in drawn], [[peer[i] for i in drawn] for peer in peers]))
    ratios.sort()
    return ratios[int(0.025 * RESAMPLES)], ratios[int(0.975 * RESAMPLES) - 1]
