# SPDX-License-Identifier: MIT
"""Finds and runs the programs of ringccl: those beside this one, in a build folder or where it is
installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDERS = {"ring_perf": "perf", "ring_train": "train", "ring_model": "tools", "ring_steps": "tools"}
DEADLINE_S = 600


class Failed(Exception):
    """A program that failed, or is not there; the text says which and how."""


def find(name):
    here = Path(sys.argv[0]).resolve().parent
    for place in (here.parent / FOLDERS[name] / name, here / name):
        if place.is_file() and os.access(place, os.X_OK):
            return str(place)
    found = shutil.which(name)
    if not found:
        raise Failed(f"{name} is neither beside ring_lab nor in PATH; was it built?")
    return found


def command_line(arguments, variables):
    """As one would type it."""
    return " ".join(
        [*(f"{name}={value}" for name, value in variables.items()), *map(str, arguments)]
    )


def run(name, *arguments, variables=None):
    """Its standard output. A program that fails ends the experiment; its sentence says why."""
    variables = variables or {}
    try:
        done = subprocess.run(
            [find(name), *map(str, arguments)],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Failed(
            f"{command_line((name, *arguments), variables)}: not done after {DEADLINE_S} s"
        ) from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()
        raise Failed(
            f"{command_line((name, *arguments), variables)}: exit status {done.returncode}:"
            f" {said[-1]}"
        )
    return done.stdout
