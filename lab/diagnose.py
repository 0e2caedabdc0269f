# SPDX-License-Identifier: MIT
"""Names what makes steps long from a record alone: a late rank, extra communication, work beside
the training, or ranks that have uneven numbers of tokens.

Each has its own fingerprint. A late rank takes longer than the others in something that it does by
itself, step after step. Extra calls take time on all ranks alike. Work beside the training is a
part of the step of its own. Where tokens differ, whoever has more takes longer, and it is another
rank in every step; so what tokens explain is taken out before a late rank is looked for.
"""

from collections import namedtuple
from math import sqrt
from statistics import mean, median, stdev

TRAINING = ("data", "forward", "backward", "optimizer")
LEAST_SHARE = 0.05  # of a step; whatever costs less is not told
CERTAIN = 4  # standard errors that ranks must lie apart
SKEWED = 1.1  # tokens of the busiest rank over those of the mean one, from where they are uneven

# kind      late, communication, host or tokens
# rank      whose, or None
# cost_ms   of a step, about
Finding = namedtuple("Finding", "kind rank cost_ms sentence")


def step_ms(record):
    """The mean over steps of the slowest rank."""
    return mean(max(step["step_ms"] for step in steps) for steps in zip(*record.steps))


def standard_error(values):
    return stdev(values) / sqrt(len(values)) if len(values) > 1 else 0


def apart(mine, others):
    """How much more `mine` is than the others, step by step; None if that may be chance."""
    typical = [median(values) for values in zip(*others)]
    differences = [a - b for a, b in zip(mine, typical)]
    excess = mean(differences)
    return excess if excess > CERTAIN * standard_error(differences) else None


def share(ms, whole):
    return f"{ms:.1f} ms of a step, {100 * ms / whole:.0f} %"


# ---- tokens --------------------------------------------------------------------------------------


def imbalance(record):
    """Tokens of the busiest rank of a step over those of the mean one, mean over steps."""
    ratios = [max(tokens) / mean(tokens) for tokens in tokens_of_steps(record) if mean(tokens) > 0]
    return mean(ratios) if ratios else 1


def tokens_of_steps(record):
    return [[step["tokens"] for step in steps] for steps in zip(*record.steps)]


def compute_per_token(record):
    """Milliseconds of forward and backward that one token more takes, by least squares."""
    points = [
        (step["tokens"], step["forward_ms"] + step["backward_ms"])
        for steps in record.steps
        for step in steps
    ]
    middle = mean(tokens for tokens, _ in points)
    spread = sum((tokens - middle) ** 2 for tokens, _ in points)
    if spread == 0:
        return 0
    level = mean(ms for _, ms in points)
    return max(0, sum((tokens - middle) * (ms - level) for tokens, ms in points) / spread)


def find_token_skew(record, whole):
    skew = imbalance(record)
    slope = compute_per_token(record)
    cost = slope * mean(max(tokens) - mean(tokens) for tokens in tokens_of_steps(record))
    if skew < SKEWED or cost < LEAST_SHARE * whole:
        return []
    return [
        Finding(
            "tokens",
            None,
            cost,
            f"token skew: the busiest rank of a step has {skew:.2f} times as many "
            f"tokens as the mean one; the others wait for it, {share(cost, whole)}",
        )
    ]


# ---- ranks ---------------------------------------------------------------------------------------


def own_times(record, phase):
    """Per rank and step, without what a rank's number of tokens explains."""
    slope = compute_per_token(record) if imbalance(record) >= SKEWED else 0
    typical = mean(mean(tokens) for tokens in tokens_of_steps(record))
    whole = mean(
        step["forward_ms"] + step["backward_ms"] for steps in record.steps for step in steps
    )
    times = []
    for steps in record.steps:
        part = (
            mean(step[phase + "_ms"] for step in steps) / whole
            if phase in ("forward", "backward")
            else 0
        )
        times.append(
            [step[phase + "_ms"] - part * slope * (step["tokens"] - typical) for step in steps]
        )
    return times


def excesses(record, phase):
    """(ms, rank) of each rank that takes longer in this phase than the others."""
    times = own_times(record, phase)
    found = []
    for rank, mine in enumerate(times):
        excess = apart(mine, [other for index, other in enumerate(times) if index != rank])
        if excess:
            found.append((excess, rank))
    return found


def find_late_ranks(record, whole):
    by_rank = {}
    for phase in TRAINING:
        for excess, rank in excesses(record, phase):
            by_rank.setdefault(rank, []).append((excess, phase))
    findings = []
    for rank, parts in by_rank.items():
        cost = sum(excess for excess, _ in parts)
        names = [phase for excess, phase in sorted(parts, reverse=True) if excess >= cost / 5]
        sentence = (
            f"late rank {rank}: it takes longer than the others in {' and '.join(names)}, and they "
            f"wait for it, {share(cost, whole)}"
        )
        if cost >= LEAST_SHARE * whole:
            findings.append(Finding("late", rank, cost, sentence))
    return findings


def find_host_work(record, whole):
    return [
        Finding(
            "host",
            rank,
            excess,
            f"host work on rank {rank}: it does something beside the training that "
            f"the others do not, {share(excess, whole)}",
        )
        for excess, rank in excesses(record, "host")
        if excess >= LEAST_SHARE * whole
    ]


def find_extra_communication(record, whole):
    cost = min(record.mean(rank, "extra_ms") for rank in range(record.ranks))
    if cost < LEAST_SHARE * whole:
        return []
    return [
        Finding(
            "communication",
            None,
            cost,
            "extra communication: all ranks alike are in calls that are not for "
            f"gradients, {share(cost, whole)}",
        )
    ]


def diagnose(record):
    """Findings, the dearest first."""
    whole = step_ms(record)
    findings = find_token_skew(record, whole) + find_extra_communication(record, whole)
    if record.ranks > 1:
        findings += find_late_ranks(record, whole) + find_host_work(record, whole)
    return sorted(findings, key=lambda finding: -finding.cost_ms)


def tell(record):
    """The lines for a reader, and whether something was found."""
    findings = diagnose(record)
    if not findings:
        return [
            f"{record.path}: nothing found; steps of {step_ms(record):.1f} ms on {record.ranks}"
            " ranks"
        ], False
    return [f"{record.path}: {finding.sentence}" for finding in findings], True
