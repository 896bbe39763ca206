"""Two renames that nobody sees half done, where the server makes that possible."""

from __future__ import annotations

from typing import Final

from howdah.rpc.call_pair import CallPair as CallPair

_RENAMES: Final = ("rename", "rename2")


def together() -> CallPair:
    """For two renames of two threads, each within its `slot` (0 is the first).

    They reach the namenode in one piece. Ours serves them in one turn, and no call of anybody
    comes in between; Hadoop's serves them with other calls, in any order. Filesystems that call
    nobody by Hadoop's RPC rename as always.
    """
    return CallPair(*_RENAMES)
