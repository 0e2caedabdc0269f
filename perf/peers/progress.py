# SPDX-License-Identifier: MIT
"""What a long work is at: one line on standard error that the next overwrites. Only on a terminal."""

import sys
import time


def show(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def wipe():
    show("")


def duration(seconds):
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


class Progress:
    """A work of so many parts, which take about the same time."""

    def __init__(self, parts):
        self.parts, self.done, self.begun = parts, 0, time.monotonic()

    def show(self, text):
        """What the part is at that is not done yet."""
        passed = time.monotonic() - self.begun
        left = f"about {duration(passed / self.done * (self.parts - self.done))} left" if self.done else \
            f"{duration(passed)} so far"
        show(f"{self.done + 1} of {self.parts}, {left}: {text}")
