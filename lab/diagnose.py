# SPDX-License-Identifier: MIT
"""Finds out from a record alone what makes steps long: a late rank, extra communication, work
beside the training, or uneven numbers of tokens.

Each has its own fingerprint. A late rank takes longer than the others in a part of the step that
it does by itself, in every step. Extra calls take time on all ranks alike. Work beside the
training has its own part of the step. With uneven tokens the rank that has most takes longest,
another rank in every step; so the time that tokens explain is subtracted before late ranks are
looked for.
"""

from collections import namedtuple
from math import sqrt
from statistics import fmean as mean
from statistics import stdev

TRAINING = ("data", "forward", "backward", "optimizer")
LEAST_SHARE = 0.05  # of a step; smaller costs are not reported
CERTAIN = 4  # ranks must differ by so many standard errors
SKEWED = 1.1  # tokens are uneven if the busiest rank has so many times those of the mean one

# kind      late, communication, host or tokens
# rank      the rank that causes it, or None
# cost_ms   about so much of each step
Finding = namedtuple("Finding", "kind rank cost_ms sentence")


def step_ms(record):
    """The mean over steps of the slowest rank."""
    return mean(max(step["step_ms"] for step in steps) for steps in zip(*record.steps))


def standard_error(values):
    return stdev(values) / sqrt(len(values)) if len(values) > 1 else 0


def medians_of_others(values):
    """For each value the median of all others."""
    order = sorted(range(len(values)), key=values.__getitem__)
    row = [values[index] for index in order]
    low, high = (len(values) - 2) // 2, (len(values) - 1) // 2  # of the row without one
    medians = [0] * len(values)
    for place, index in enumerate(order):
        medians[index] = (row[low + (low >= place)] + row[high + (high >= place)]) / 2
    return medians


def apart(mine, typical):
    """The mean excess of `mine` over `typical`, step by step; None if it may be chance."""
    differences = [a - b for a, b in zip(mine, typical)]
    excess = mean(differences)
    return excess if excess > CERTAIN * standard_error(differences) else None


def share(ms, whole):
    return f"{ms:.1f} ms per step, {100 * ms / whole:.0f} %"


# ---- tokens --------------------------------------------------------------------------------------


def tokens_of_steps(record):
    """For each step the tokens of all ranks, with padding."""
    return [[step["computed_tokens"] for step in steps] for steps in zip(*record.steps)]


def imbalance(record):
    """Tokens of the busiest rank of a step over those of the mean one, mean over steps."""
    ratios = [max(tokens) / mean(tokens) for tokens in tokens_of_steps(record) if mean(tokens) > 0]
    return mean(ratios) if ratios else 1


def compute_per_token(record):
    """How many milliseconds of forward and backward a token takes, by least squares."""
    points = [(step["computed_tokens"], step["forward_ms"] + step["backward_ms"])
              for steps in record.steps for step in steps]
    middle = mean(tokens for tokens, _ in points)
    level = mean(ms for _, ms in points)
    spread = sum((tokens - middle) ** 2 for tokens, _ in points)
    common = sum((tokens - middle) * (ms - level) for tokens, ms in points)
    return max(0, common / spread) if spread else 0


def find_token_skew(record, whole):
    skew, slope = imbalance(record), compute_per_token(record)
    cost = slope * mean(max(tokens) - mean(tokens) for tokens in tokens_of_steps(record))
    sentence = (f"token skew: the busiest rank of a step has {skew:.2f} times as many tokens as "
                f"the mean one; the others wait for it, {share(cost, whole)}")
    found = skew >= SKEWED and cost >= LEAST_SHARE * whole
    return [Finding("tokens", None, cost, sentence)] if found else []


# ---- ranks ---------------------------------------------------------------------------------------


def own_times(record, phase):
    """The times of each rank and step, without those that the number of tokens explains."""
    skewed = imbalance(record) >= SKEWED and phase in ("forward", "backward")
    if not skewed:
        return [record.values(rank, phase + "_ms") for rank in range(record.ranks)]
    mine = sum(sum(record.values(rank, phase + "_ms")) for rank in range(record.ranks))
    both = sum(sum(record.values(rank, name + "_ms")) for rank in range(record.ranks)
               for name in ("forward", "backward"))
    slope = compute_per_token(record) * mine / both if both else 0
    typical = mean(mean(tokens) for tokens in tokens_of_steps(record))
    return [[step[phase + "_ms"] - slope * (step["computed_tokens"] - typical) for step in steps]
            for steps in record.steps]


def excesses(record, phase):
    """(ms, rank) for each rank that takes longer in this phase than the others."""
    times = own_times(record, phase)
    typical = zip(*(medians_of_others(values) for values in zip(*times)))
    excess = [apart(*both) for both in zip(times, typical)]
    return [(ms, rank) for rank, ms in enumerate(excess) if ms]


def find_late_ranks(record, whole):
    by_rank = {}
    for phase in TRAINING:
        for excess, rank in excesses(record, phase):
            by_rank.setdefault(rank, []).append((excess, phase))
    findings = []
    for rank, parts in by_rank.items():
        cost = sum(excess for excess, _ in parts)
        names = [phase for excess, phase in sorted(parts, reverse=True) if excess >= cost / 5]
        sentence = (f"late rank {rank}: it takes longer than the others in {' and '.join(names)}, "
                    f"and they wait for it, {share(cost, whole)}")
        if cost >= LEAST_SHARE * whole:
            findings.append(Finding("late", rank, cost, sentence))
    return findings


def find_host_work(record, whole):
    return [Finding("host", rank, excess, f"host work on rank {rank}: it does something beside the "
                    f"training that the others do not, {share(excess, whole)}")
            for excess, rank in excesses(record, "host") if excess >= LEAST_SHARE * whole]


def find_extra_communication(record, whole):
    cost = min(record.mean(rank, "extra_ms") for rank in range(record.ranks))
    sentence = ("extra communication: all ranks alike are in calls that are not for gradients, "
                f"{share(cost, whole)}")
    return [Finding("communication", None, cost, sentence)] if cost >= LEAST_SHARE * whole else []


def diagnose(record):
    """The findings, most expensive first."""
    whole = step_ms(record)
    findings = find_token_skew(record, whole) + find_extra_communication(record, whole)
    if record.ranks > 1:
        findings += find_late_ranks(record, whole) + find_host_work(record, whole)
    return sorted(findings, key=lambda finding: -finding.cost_ms)


def tell(record):
    """The lines for a reader, and whether something was found."""
    findings = diagnose(record)
    if findings:
        return [f"{record.path}: {finding.sentence}" for finding in findings], True
    steps = f"steps of {step_ms(record):.1f} ms on {record.ranks} ranks"
    return [f"{record.path}: nothing found; {steps}"], False
