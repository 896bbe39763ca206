"""The kernel, if there is one."""

from __future__ import annotations

import functools
import os
from types import ModuleType
from typing import Final

from howdah.native import packed

REVISION: Final = 7
"""What a kernel has to be; one that was built from earlier sources is left alone."""


@functools.cache
def kernel() -> ModuleType | None:
    """`howdah._kernel`; None where it could not be built, or `HOWDAH_KERNEL=off` is set."""
    if os.environ.get("HOWDAH_KERNEL", "").lower() == "off":
        return None
    found: ModuleType | None
    try:
        from howdah import _kernel

        found = _kernel
    except ImportError:
        # Not built on this machine, or it is in a zip.
        found = packed.load()
    return found if getattr(found, "REVISION", None) == REVISION else None
