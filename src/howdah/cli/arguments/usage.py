"""What a command tells the program that called it: exit codes, and that a call is wrong (pure)."""

from __future__ import annotations

from typing import Final

EXIT_FAILURE: Final = 1
EXIT_USAGE: Final = 255
EXIT_INTERRUPTED: Final = 130
EXIT_BROKEN_PIPE: Final = 141


class UsageError(Exception):
    """Arguments that a command cannot make sense of."""
