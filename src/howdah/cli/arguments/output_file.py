"""A local file that a command makes of another one."""

from __future__ import annotations

import os

from howdah import errors


def check_output(source: str, target: str) -> None:
    """Raise IllegalArgument if the output is the input, by whatever name: to open it for writing
    would empty what is to be read."""
    try:
        is_same = os.path.samefile(source, target)
    except OSError:
        return  # One is not there, or cannot be looked at: to open it says why.
    if is_same:
        raise errors.IllegalArgument(f"{target} is the input: name another file for the output")
