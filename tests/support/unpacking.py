"""Unpacks archives on every Python that howdah supports."""

from __future__ import annotations

import tarfile
from pathlib import Path


def unpack(archive: Path, place: Path) -> None:
    """Unpack a tar archive. The filter that refuses names outside of `place` came with 3.11.4."""
    with tarfile.open(archive) as packed:
        if hasattr(tarfile, "data_filter"):
            packed.extractall(place, filter="data")
        else:
            packed.extractall(place)
