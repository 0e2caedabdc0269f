# SPDX-License-Identifier: MIT
"""Statistics of launches: medians, their spread, and how sure a ratio of medians is."""

import random
from statistics import median

RESAMPLES = 2000


def spread(values):
    """Half the distance of the extremes, as a share of the median."""
    return (max(values) - min(values)) / 2 / median(values)


def ratio(ours, peers):
    """How many times as fast as the best peer we are; times of each launch, peers a list of such lists."""
    return min(map(median, peers)) / median(ours)


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
