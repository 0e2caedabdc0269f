# SPDX-License-Identifier: MIT
"""How long a comparison takes: guessed before it begins, and corrected by what it has taken so far."""

import time

from contenders import is_crowded, samples_of
from targets import are_hosts

START_S, RANK_S = 0.5, 0.1  # a program's, and what every rank adds
FLOW_S = 4  # between hosts: making them twice, and one flow
CALL_S, CROWDED_CALL_S = 1e-4, 5e-3  # of few bytes; with more ranks than CPUs, on average over libraries
PREPARED_RATE = 1e8  # bytes of all ranks per second that are filled, compared and probed
BUS_RATES = {"shm": 4e9, "tcp": 2e9, "tcp-reno": 2e9, "1gbit": 1e8, "5gbit": 4e8}


def guess_s(measurement, quick):
    """Seconds of one contender's launch."""
    samples, warmup = samples_of(measurement, quick)
    call_s = (CROWDED_CALL_S if is_crowded(measurement) else CALL_S) * (measurement.call != "start")
    slower = 1 if are_hosts(measurement.path) else measurement.ranks / 2
    call_s += measurement.bus_bytes() * slower / BUS_RATES[measurement.path]
    fixed_s = START_S + RANK_S * measurement.ranks + FLOW_S * are_hosts(measurement.path)
    prepared = measurement.size * measurement.ranks
    return fixed_s + 1.5 * (samples + warmup) * call_s + prepared / PREPARED_RATE / 2


class Duration:
    """Of a number of measurements, each with the number of its launches."""

    def __init__(self, launches, quick):
        self.guesses = {which: count * guess_s(which, quick) for which, count in launches.items()}
        self.done_s = 0
        self.began = time.monotonic()

    def note(self, measurement):
        """It is done."""
        self.done_s += self.guesses[measurement]

    def minutes(self):
        """How long it has taken, and all of it will."""
        passed_s = time.monotonic() - self.began
        left_s = sum(self.guesses.values()) - self.done_s
        pace = passed_s / self.done_s if self.done_s else 1
        return passed_s / 60, (passed_s + pace * left_s) / 60
