# SPDX-License-Identifier: MIT
"""Starts programs that start other programs, and ends all of them."""

import os
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

GRACE_S = 5
LIMIT_S = 120  # for programs without a limit of their own


class Failed(Exception):
    """A program failed: the text says which and how, `said` is its output so far."""

    def __init__(self, text, said=""):
        super().__init__(text)
        self.said = said


def session_of(stat):
    """The session in a line of /proc/PID/stat."""
    return int(stat.rpartition(")")[2].split()[3])


def members_of(session):
    """Processes of a session. Launchers give their ranks process groups, but no sessions."""
    members = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if session_of((folder / "stat").read_text(encoding="utf-8")) == session:
                members.append(int(folder.name))
        except (OSError, ValueError):  # the process has ended
            continue
    return members


def end_session(process):
    """Asks the process to end, as launchers then clean up; after a while kills its whole session."""
    process.terminate()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        pass
    for pid in members_of(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()


@contextmanager
def started(command, environment=None):
    """A program that runs during the block; then it ends, with all that it has started."""
    with subprocess.Popen(
        [str(word) for word in command],
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None or members_of(process.pid):
                end_session(process)


def run(command, environment=None, limit_s=LIMIT_S):
    """Runs a program to its end. Returns what it wrote to its standard output. limit_s: None if it has one of its own."""
    text = " ".join(str(word) for word in command)
    with started(command, environment) as process:
        try:
            said, complaints = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired as expired:
            said = (expired.output or b"").decode()
            raise Failed(f"not done after {limit_s:g} s: {text}", said) from None
    if process.returncode != 0:
        raise Failed(f"ended with {process.returncode}: {text}\n{said}{complaints}", said)
    return said
