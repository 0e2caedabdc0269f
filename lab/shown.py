# SPDX-License-Identifier: MIT
"""Formats numbers and texts for sentences, tables and plots."""

import re
from math import isfinite

TEXT_MOST = 2000  # characters of a text that is shown


def show_number(value):
    """Four significant digits, or all of a whole number."""
    if isinstance(value, str) or not isfinite(value):
        return str(value)
    if 10000 <= abs(value) < 1e15:
        return f"{round(value):,}"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.4g}" if abs(value) >= 1e-3 else f"{value:.1e}"


def fill_in(sentence, texts):
    """Puts texts in the place of {names}; dots if there is none. Nothing else may be in braces,
    since sentences also come from files."""
    if re.search(r"[{}]", re.sub(r"{\w+}", "", sentence)):
        raise ValueError("a sentence may have nothing but names in braces")
    return re.sub(r"{(\w+)}", lambda name: texts.get(name[1], "..."), sentence)


def plain(text):
    """A text for a terminal: what is no letter, digit or sign is escaped, and a long one is cut."""
    text = str(text)
    cut = text if len(text) <= TEXT_MOST else text[:TEXT_MOST] + " ..."
    return "".join(letter if letter.isprintable() else
                   letter.encode("unicode_escape").decode("ascii") for letter in cut)


def markdown(text):
    """A text for Markdown, where it is nothing but text."""
    return re.sub(r"([\\`*_\[\]<>&|~])", r"\\\1", plain(text))
