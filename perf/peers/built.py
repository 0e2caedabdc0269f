# SPDX-License-Identifier: MIT
"""Where programs were built: in this folder, in build/ of the source folder, or in the source folder itself."""

import os
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


class NotBuilt(Exception):
    """No folder has all the programs: the text says what to do."""


def build_folder(*programs):
    """The first such folder that has all of these programs."""
    for folder in (Path.cwd(), SOURCE / "build", SOURCE):
        if all(os.access(folder / program, os.X_OK) for program in programs):
            return folder
    raise NotBuilt(f"{' or '.join(programs)} was not built: neither here nor in {SOURCE / 'build'}; ./quickstart builds it there")


def path_here(text):
    """A file that is named on the command line, for programs that then go to the build folder."""
    return Path(text).absolute()
