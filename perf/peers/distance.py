# SPDX-License-Identifier: MIT
"""
How far apart the CPUs are. The CPUs of a virtual machine may share a cache now and none a second later. Then everything
that goes from one to the other takes up to three times as long, whichever library moves it.
"""

import math
import time
from pathlib import Path

from launching import run

FARTHER = 3  # CPUs are near up to so many times the least distance
FIRST_LOOKS, PAUSE_S = 10, 0.2  # to find the least distance
PATIENCE_S = 15  # how long to wait for near CPUs, each time; in all, as long as the counted launches
ATTEMPTS = 4  # to measure while CPUs are near


class Distance:
    """The least distance seen so far, and how often a larger one spoiled a launch."""

    def __init__(self, folder, patient):
        self.program = folder / "distance"
        self.patient = patient
        self.least_ns = math.inf
        self.counted_s = self.lost_s = 0
        self.repeated = self.far = 0

    def build(self):
        source = Path(__file__).with_name("distance.c")
        run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-pthread", source, "-o", self.program])
        for _ in range(FIRST_LOOKS if self.patient else 1):
            self.is_near()
            time.sleep(PAUSE_S)

    def is_near(self):
        ns = float(run([self.program]))
        self.least_ns = min(self.least_ns, ns)
        return ns <= FARTHER * self.least_ns

    def has_time(self):
        return self.patient and self.lost_s < self.counted_s + PATIENCE_S

    def wait(self):
        """Waits until CPUs are near, or patience ends."""
        start = time.monotonic()
        while not self.is_near() and self.has_time() and time.monotonic() < start + PATIENCE_S:
            time.sleep(PAUSE_S)
        self.lost_s += time.monotonic() - start

    def measure_near(self, measure):
        """Calls measure() until CPUs are near before and after it; if they never are, the last call counts."""
        for attempt in range(ATTEMPTS):
            self.wait()
            start = time.monotonic()
            measure()
            taken_s, near = time.monotonic() - start, self.is_near()
            if near or not self.has_time() or attempt + 1 == ATTEMPTS:
                break
            self.lost_s += taken_s
            self.repeated += 1
        self.counted_s += taken_s
        self.far += not near

    def told(self):
        return (f"a cache line took {self.least_ns:.0f} ns from CPU to CPU; {self.repeated} launches were repeated because it took "
                f"over {FARTHER:g} times as long after them; {self.far} launches count although it did")
