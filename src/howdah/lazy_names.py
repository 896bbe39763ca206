"""Names that a package shows and imports when they are used first (PEP 562).

Whoever imports such a package for another of its modules does not load these.
"""

from __future__ import annotations

import importlib


def import_name(package: str, homes: dict[str, str], name: str) -> object:
    """Return `name` of the module that `homes` says.

    Raises AttributeError, as every module does for a name that it does not have.
    """
    home = homes.get(name)
    if home is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
