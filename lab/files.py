# SPDX-License-Identifier: MIT
"""Reads files that anybody may have made, within bounds, and writes files completely or not at
all."""

import json
import os
import secrets

FILE_MOST = 1 << 27  # characters of a file
LINE_MOST = 1 << 20  # characters of a line
DOCUMENT_MOST = 1 << 25  # characters of a file that is one value of JSON


class Unreadable(Exception):
    """A file cannot be used; the text says which, and why."""


def reason_of(error):
    return getattr(error, "strerror", None) or str(error)


def lines_of(path):
    """The lines of a file, one after the other, with their numbers."""
    have, number = 0, 0
    try:
        with open(path, encoding="utf-8") as file:
            while line := file.readline(LINE_MOST + 1):
                have, number = have + len(line), number + 1
                if len(line) > LINE_MOST:
                    raise Unreadable(f"{path}:{number}: the line is longer than {LINE_MOST} "
                                     "characters")
                if have > FILE_MOST:
                    raise Unreadable(f"{path}: it is longer than {FILE_MOST} characters")
                yield number, line
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path}: {reason_of(error)}") from None


def parse(place, text):
    """A value of JSON. Nesting and numbers of any size are the parser's to refuse."""
    try:
        return json.loads(text)
    except RecursionError:
        raise Unreadable(f"{place}: no JSON that can be used: it is nested too deeply") from None
    except ValueError as error:
        raise Unreadable(f"{place}: no JSON: {error}") from None


def read_json(path):
    """A file that is one value."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(DOCUMENT_MOST + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path}: {reason_of(error)}") from None
    if len(text) > DOCUMENT_MOST:
        raise Unreadable(f"{path}: it is longer than {DOCUMENT_MOST} characters")
    return parse(path, text)


# ---- writing -------------------------------------------------------------------------------------


def create(folder, name):
    """A new file beside the one of that name. Nobody can know its name beforehand, and a link that
    lies there is not followed. Returns its path and a descriptor."""
    path = folder / f".{name}.{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return path, os.open(path, flags, 0o666)


def write(folder, name, text):
    """Puts a file in the place of what had that name, be it a link."""
    path, descriptor = create(folder, name)
    try:
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        path.replace(folder / name)
    finally:
        path.unlink(missing_ok=True)


def check(folder, name):
    """Raises OSError if a file of that name cannot be written."""
    if (folder / name).is_dir() and not (folder / name).is_symlink():
        raise IsADirectoryError(f"{name} is a folder")
    path, descriptor = create(folder, name)
    os.close(descriptor)
    path.unlink()


def make_own_folder(folder):
    """Makes a folder for files of other programs, which follow links, so there may be none. Raises
    OSError if it is a link or another user's."""
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
        raise PermissionError(f"{folder.name} is a link, or another user's")
    for entry in os.scandir(folder):
        if entry.is_symlink():
            os.unlink(entry.path)
