"""All that is below a directory, or an error (shell).

`os.walk` leaves out a directory that cannot be listed, of a disk that fails for example. Whoever
copies a tree, or deletes what it has copied, would take what is left for all of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def all_below(top: str | Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """As `os.walk`. Nothing if `top` is not there; else raises OSError for what cannot be
    listed."""

    def raise_error(error: OSError) -> None:
        if not (isinstance(error, FileNotFoundError) and error.filename == os.fspath(top)):
            raise error

    return os.walk(os.fspath(top), onerror=raise_error)
