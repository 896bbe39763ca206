"""Typing errors in names of configuration keys.

A key that nobody knows is no error, since a site file serves many programs. One that is
nearly a known key, and that neither howdah nor Hadoop 3.5 knows, is a typing error.
Those of Hadoop are in `hadoop_names` and `policy_names`.
"""

from __future__ import annotations

from functools import cache, lru_cache

from howdah.config import keys
from howdah.config.keys.names.hadoop_names import HADOOP_NAMES
from howdah.config.keys.names.policy_names import POLICY_NAMES

PREFIXES = (
    "dfs.",
    "fs.",
    "hadoop.",
    "howdah.",
    "io.",
    "ipc.",
    "net.",
    "ha.",
    "file.",
    "rpc.",
    "security.",
)
FAMILIES = ("hadoop.proxyuser.", "hadoop.kms.proxyuser.", "httpfs.proxyuser.")
"""Begins of names that users complete."""
LEAST_RESEMBLANCE = 0.88
"""As `difflib` counts it: 1 is the same name."""


def is_known(name: str) -> bool:
    """Whether howdah or Hadoop has a key of that name, or of a name that it extends.

    `dfs.namenode.rpc-address.ns1.nn1` extends `dfs.namenode.rpc-address`.
    """
    if name in keys.KNOWN or name in keys.DEPRECATED or name.startswith(FAMILIES):
        return True
    known = _names()
    if name in known:
        return True
    parts = name.split(".")
    return any(".".join(parts[:count]) in known for count in range(2, len(parts)))


@lru_cache(maxsize=4096)
def closest_key(name: str) -> str | None:
    """Return the key that an unknown name resembles; None for a known name, or without one.

    It takes milliseconds to know that there is none, and each client asks that of its settings.
    """
    if not name.startswith(PREFIXES) or is_known(name):
        return None
    from difflib import get_close_matches  # rarely needed

    lower = {known.lower(): known for known in _names()}
    near = get_close_matches(name.lower(), lower, 1, LEAST_RESEMBLANCE)
    return lower[near[0]] if near else None


@cache
def _names() -> frozenset[str]:
    return HADOOP_NAMES | POLICY_NAMES | keys.KNOWN.keys() | keys.DEPRECATED.keys()
