# SPDX-License-Identifier: MIT
"""Formats numbers for sentences, tables and plots."""

from math import isfinite


def show_number(value):
    """Four significant digits, or all of a whole number."""
    if isinstance(value, str) or not isfinite(value):
        return str(value)
    if 10000 <= abs(value) < 1e15:
        return f"{round(value):,}"
    if value == int(value):
        return str(int(value))
    return f"{value:.4g}" if abs(value) >= 1e-3 else f"{value:.1e}"
