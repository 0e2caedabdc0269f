# SPDX-License-Identifier: MIT
"""Finds and runs the programs of ringccl: those beside this one, in a build folder or where it is
installed, else those in PATH."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDERS = {"ring_perf": "perf", "ring_train": "train", "ring_model": "tools", "ring_steps": "tools"}
DEADLINE_S = 600
PATIENCE_S = 5  # between asking a program to end and killing it


class Failed(Exception):
    """A program failed, or was not found; the text says which and how. said: its own last line."""

    def __init__(self, text, said=None):
        super().__init__(text)
        self.said = said or text


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
    """The command as a person would type it."""
    return " ".join(
        [*(f"{name}={value}" for name, value in variables.items()), *map(str, arguments)]
    )


def environment(variables):
    """Our environment without RING_* variables, which would change what the experiment measures."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("RING_")}
    return {**ours, **variables}


def end(process):
    """Asks a program to end, and gives it time to end its ranks."""
    process.terminate()
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()


def outcome(process):
    """A program's output and its status. If we are interrupted, the program ends, too."""
    with process:
        try:
            return (*process.communicate(timeout=DEADLINE_S), process.returncode)
        except BaseException:
            end(process)
            raise


def run(name, *arguments, variables=None):
    """Runs a program. Returns its standard output. A program that fails ends the experiment."""
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
        raise Failed(f"{shown}: exit status {status}: {said[-1]}", said[-1])
    return out
