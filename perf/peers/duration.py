# SPDX-License-Identifier: MIT
"""How long a comparison takes: guessed before it begins, and corrected by what it has taken so far."""

import os
import time

from targets import are_hosts

START_S, RANK_S = 0.3, 0.03  # to start a program; for every rank of it
HOSTS_S = 2  # to make hosts, and for one flow between them, on average over contenders
CALL_S, CROWDED_CALL_S = 1e-4, 5e-3  # of few bytes; crowded: with more ranks than CPUs, on average over libraries
BUS_RATES = {"shm": 2.5e9, "tcp": 1.6e9, "tcp-reno": 1.6e9, "1gbit": 1.2e8, "5gbit": 5.5e8}
PREPARED_RATE = 5e8  # bytes per second, over all ranks: mapping, filling, measuring limits
CHECKED_RATE = 8e8  # bytes per second, over all ranks, times ranks: each check adds up all inputs
QUICK_LAUNCHES = 3  # launches of quick measurements, for each launch of all
LEAST_CALLS = 4  # calls of one size and kind of buffers, however long they take


def guess_call_s(measurement):
    """Seconds of one call, on average over contenders."""
    crowded = measurement.ranks > len(os.sched_getaffinity(0))
    slower = 1 if are_hosts(measurement.path) else measurement.ranks / 2
    few_s = CROWDED_CALL_S if crowded else CALL_S
    return few_s + measurement.bus_bytes() * slower / BUS_RATES[measurement.path]


def guess_samples_s(measurement, effort):
    """Seconds of one size and kind of buffers."""
    call_s = guess_call_s(measurement)
    return max(LEAST_CALLS * call_s, min(effort.samples * call_s, effort.seconds))


def guess_launch_s(measurements, effort):
    """Seconds of one launch of a contender."""
    first = measurements[0]
    launch_s = START_S + RANK_S * first.ranks + HOSTS_S * are_hosts(first.path)
    launch_s += first.ranks * max(which.size for which in measurements) / PREPARED_RATE
    if first.call != "start":
        launch_s += sum(guess_samples_s(which, effort) for which in measurements)
    return launch_s


def guess_s(measurements, launches, quick_launches, effort):
    """Seconds of all launches of one contender."""
    first = measurements[0]
    quick = [which for which in measurements if which.is_quick()]
    all_s = guess_launch_s(measurements, effort)
    all_s += (quick_launches - 1) * guess_launch_s(quick, effort) if quick else 0
    prepared = first.ranks * max(which.size for which in measurements)
    return launches * all_s + prepared * first.ranks / CHECKED_RATE


class Duration:
    """The duration of all series, each with its contenders and what they measure."""

    def __init__(self, fields, launches, quick_launches, effort):
        self.guesses = {
            series: sum(guess_s(measurements, launches, quick_launches, effort) for measurements in field.values())
            for series, field in fields.items()
        }
        self.done_s = 0
        self.began = time.monotonic()

    def note(self, series):
        """Notes that a series is done."""
        self.done_s += self.guesses[series]

    def left(self):
        """How long it will take from now on, in words."""
        passed, whole = self.minutes()
        return f"about {whole - passed:.0f} min left"

    def minutes(self):
        """How long the comparison has taken so far, and how long it will take in all."""
        passed_s = time.monotonic() - self.began
        left_s = sum(self.guesses.values()) - self.done_s
        pace = passed_s / self.done_s if self.done_s else 1
        return passed_s / 60, (passed_s + pace * left_s) / 60
