"""What the role of this namenode allows: making edits, and giving orders to datanodes (pure).

`Namesystem.become_active` and `become_standby` change it; the managers of blocks and datanodes
read it.
"""

from __future__ import annotations

from typing import Final

from howdah.namenode.state.blocks.safe_mode import SafeMode


class Role:
    """Whether this namenode is active and has left safe mode, and since when it is active."""

    def __init__(self, safe_mode: SafeMode, now_ms: int) -> None:
        self.safe_mode: Final = safe_mode
        self.writable = True
        """Whether edits may be made: in an active namenode only."""
        self.started_ms: Final = now_ms
        self.active_since_ms = now_ms

    @property
    def gives_orders(self) -> bool:
        """Whether datanodes are told to copy, delete and cache replicas."""
        return self.writable and not self.safe_mode.on
