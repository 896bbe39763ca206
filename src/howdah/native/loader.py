"""The kernel, if there is one."""

from __future__ import annotations

import functools
import os
from types import ModuleType
from typing import Final

from howdah.native import zip_loader

REVISION: Final = 26
"""What a kernel has to be; one that was built from earlier sources is left alone."""
SWITCHED_OFF: Final = "HOWDAH_KERNEL=off is set"


@functools.cache
def kernel() -> ModuleType | None:
    """Return `howdah.native._kernel`; None where it could not be built, or `HOWDAH_KERNEL=off` is
    set."""
    if _is_off():
        return None
    module = _built()
    return module if getattr(module, "REVISION", None) == REVISION else None


def why_none() -> str:
    """Return why `kernel` is None; empty if it is not."""
    if kernel() is not None:
        return ""
    if _is_off():
        return SWITCHED_OFF
    module = _built()
    if module is None:
        return "it is not built for this Python"
    was = getattr(module, "REVISION", "unknown")
    return f"it was built of other sources (its revision is {was}, and not {REVISION})"


def warning() -> str:
    """What a server, or who starts a cluster, says where a kernel is missed; pip builds without
    one in silence. Empty where one runs, or was switched off."""
    why = why_none()
    if not why or why == SWITCHED_OFF:
        return ""
    return (
        f"howdah's native kernel does not run here ({why}): its twins in Python do the same, and "
        "take a server about twice the time. Install a C compiler and Python's headers, and then "
        "howdah anew (pip install --force-reinstall --no-cache-dir)"
    )


def _is_off() -> bool:
    return os.environ.get("HOWDAH_KERNEL", "").lower() == "off"


@functools.cache
def _built() -> ModuleType | None:
    try:
        from howdah.native import _kernel
    except ImportError:
        # Not built on this machine, or it is in a zip.
        return zip_loader.load()
    return _kernel
