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
PATIENCE_S = 5  # of who ends a program, before it kills it


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


def environment(variables):
    """Ours, without what would make the library do something else than the experiment says."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("RING_")}
    return {**ours, **variables}


def end(process):
    """It ends its ranks, and so has a moment for that."""
    process.terminate()
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()


def outcome(process):
    """What it said, and its status. If we are interrupted, nothing goes on without us."""
    with process:
        try:
            return (*process.communicate(timeout=DEADLINE_S), process.returncode)
        except BaseException:
            end(process)
            raise


def run(name, *arguments, variables=None):
    """Its standard output. A program that fails ends the experiment; its sentence says why."""
    variables = variables or {}
    shown = command_line((name, *arguments), variables)
    process = subprocess.Popen(
        [find(name), *map(str, arguments)],
        env=environment(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    try:
        out, complaints, status = outcome(process)
    except subprocess.TimeoutExpired:
        raise Failed(f"{shown}: not done after {DEADLINE_S} s") from None
    if status:
        said = (complaints.strip() or out.strip() or "it said nothing").splitlines()
        raise Failed(f"{shown}: exit status {status}: {said[-1]}")
    return out
