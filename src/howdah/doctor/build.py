"""Which build of howdah runs here (shell)."""

from __future__ import annotations

import sys

from howdah import __version__
from howdah.doctor.inputs import Build
from howdah.native import compiled, loader


def build_here() -> Build:
    """Nothing of howdah is imported for it that could be compiled."""
    kernel = loader.kernel()
    return Build(
        __version__,
        f"{sys.version.split()[0]}, {sys.executable}",
        "" if kernel is None else f"revision {kernel.REVISION}, CRC32C by {kernel.CRC32C_METHOD}",
        loader.why_none(),
        compiled.fresh(),
    )
