"""NameNodeActivity and the names of `nntop` (pure): what was done since the start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from howdah.namenode.audit.calls import RULES

OPERATIONS: Final[Mapping[str, str]] = {
    method: rule.cmd or ("rename" if method == "rename2" else method)
    for method, rule in RULES.items()
}
"""The operation that the audit log, and with it `nntop`, has for each method."""


def operation_of(method: str) -> str | None:
    """As Hadoop's `nntop` calls it; None for calls that it does not count, such as heartbeats.

    >>> operation_of("getFileInfo")
    'getfileinfo'
    """
    return OPERATIONS.get(method)
