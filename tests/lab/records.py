# SPDX-License-Identifier: MIT
"""Makes records as ring_train's: the shape of one real run, with noise and faults of our choice."""

import random

import record

RANKS, STEPS = 4, 60
NOISE = 0.3

# Of ring_train --preset lab -n 4 on 2 CPUs, as it recorded it: means over steps and ranks, ms.
SHAPE = {"data": 0.9, "forward": 52.0, "backward": 61.5, "optimizer": 31.1, "host": 0.0}
EXPOSED_MS, TOKENS = 8.7, 128


def healthy(rng, step, rank):
    return {"tokens": TOKENS, "extra": 0.0, **SHAPE}


def late(rng, step, rank):
    """40 ms of delay on rank 0, before it fetches its examples."""
    parts = healthy(rng, step, rank)
    if rank == 0:
        parts["data"] += 40
    return parts


def slow(rng, step, rank):
    """Rank 2 has two thirds of its speed."""
    parts = healthy(rng, step, rank)
    if rank == 2:
        for name in ("forward", "backward", "optimizer"):
            parts[name] *= 1.5
    return parts


def extra(rng, step, rank):
    """An all-reduce more in each step."""
    return {**healthy(rng, step, rank), "extra": 30.0}


def host(rng, step, rank):
    """20 ms of work on rank 0 behind each step."""
    return {**healthy(rng, step, rank), "host": 20.0 if rank == 0 else 0.0}


def skewed(rng, step, rank):
    """Lengths of a lognormal distribution, as texts have; computing takes as long as they are."""
    parts = healthy(rng, step, rank)
    tokens = max(1, round(sum(rng.lognormvariate(0, 1) for _ in range(8)) / 8 / 1.65 * TOKENS))
    parts["tokens"] = tokens
    for name in ("forward", "backward"):
        parts[name] *= tokens / TOKENS
    return parts


def noisy(rng, ms):
    return max(0.0, ms * rng.gauss(1, NOISE))


def step_of(rng, step, fault):
    """All ranks' parts, each with its own noise; whoever is done waits for the last."""
    planned = [fault(rng, step, rank) for rank in range(RANKS)]
    own = [{name: noisy(rng, parts[name]) for name in record.OWN_PHASES} for parts in planned]
    before = [sum(mine[name] for name in ("data", "forward", "backward")) for mine in own]
    behind = [mine["optimizer"] + mine["host"] for mine in own]
    exposed = noisy(rng, EXPOSED_MS)
    rows = []
    for rank, mine in enumerate(own):
        calls = noisy(rng, planned[rank]["extra"])
        waiting = max(before) - before[rank] + max(behind) - behind[rank]
        row = {name + "_ms": ms for name, ms in mine.items()}
        row.update(record="step", step=step, rank=rank, computed_tokens=planned[rank]["tokens"],
                   waiting_ms=waiting, exposed_ms=exposed + calls, extra_ms=calls)
        row["step_ms"] = sum(mine.values()) + waiting + exposed + calls
        rows.append(row)
    return rows


def make(seed, fault):
    """A record of this fault; the seed decides all noise."""
    rng = random.Random(f"{fault.__name__} {seed}")
    steps = [[] for _ in range(RANKS)]
    for step in range(record.SKIPPED + 1, STEPS + 1):
        for rank, row in enumerate(step_of(rng, step, fault)):
            steps[rank].append(row)
    return record.Record(f"{fault.__name__}-{seed}", {"ranks": RANKS}, steps, {})
