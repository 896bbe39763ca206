"""What the pages of a namenode show, collected from its loop (shell).

A namenode may have ten thousand datanodes. So they are read in slices, with turns of the loop
between them, and what was read is shared by all who look within `KEPT_S`: it costs the loop the
same, however many look. A slice of one moment stands beside one of a moment later.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from howdah.namenode.service.calls.reencryption import Reencryptor
from howdah.namenode.service.calls.snapshots.rules import attached_roots
from howdah.namenode.service.encryption_status import encryption_status, zones_shown
from howdah.namenode.service.fsck.block_ids import describe_blocks
from howdah.namenode.service.fsck.corrupt_files import some_corrupt
from howdah.namenode.service.fsck.options import Options
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.blocks.datanodes import Datanode
from howdah.web.pages.namenode import LEAVING, REPAIR, Times
from howdah.web.pages.progress import Paces
from howdah.web.server import Run
from howdah.web.status import (
    EncryptionStatus,
    NamenodeStatus,
    NodeStatus,
    OneSnapshot,
    SnapshotsOf,
    ZoneStatus,
)

KEPT_S: Final = 1.0
SLICE_NODES: Final = 100
_NOTED_S: Final = 5.0
_ROOTS: Final = 200
_ZONES: Final = 500
_SNAPSHOTS: Final = 50

ShowNodes = Callable[[Iterable[Datanode]], list[NodeStatus]]
ShowStatus = Callable[[Sequence[NodeStatus]], NamenodeStatus]


@dataclass(frozen=True, slots=True)
class Collected:
    status: NamenodeStatus
    times: Times


class Figures:
    """Collects the figures of one namenode. `note_progress` is called on the loop, all else from
    other threads."""

    def __init__(
        self,
        namesystem: Namesystem,
        reencryptor: Reencryptor,
        run: Run,
        show_nodes: ShowNodes,
        show_status: ShowStatus,
    ) -> None:
        """`run` does something on the loop, where `show_nodes` and `show_status` are called."""
        self._namesystem = namesystem
        self._reencryptor = reencryptor
        self._run = run
        self._show_nodes = show_nodes
        self._show_status = show_status
        self._paces = Paces()
        self._noted_s = float("-inf")
        self._lock = threading.Lock()
        self._kept: tuple[float, Collected] | None = None

    def note_progress(self) -> None:
        """Now and then: how much is left to be repaired, and on each node that is leaving."""
        namesystem = self._namesystem
        now_s = namesystem.clock.monotonic_ms() / 1000
        if now_s < self._noted_s + _NOTED_S:
            return
        self._noted_s = now_s
        left = {REPAIR: namesystem.block_manager.reconstruction.counts().low_redundancy}
        for node in namesystem.datanode_manager.datanodes:
            if node.admin_state.name in LEAVING:
                left[node.name] = node.leaving.low_redundancy
        self._paces.note(now_s, left)

    def collect(self) -> Collected:
        """Return figures that are at most `KEPT_S` old. Raises Gone where the loop does not
        turn."""
        with self._lock:
            if self._kept is not None and time.monotonic() < self._kept[0] + KEPT_S:
                return self._kept[1]
            collected = self._collect()
            self._kept = time.monotonic(), collected
            return collected

    def status(self) -> NamenodeStatus:
        """Return the status as of now. Raises Gone."""
        all_nodes: list[Datanode] = self._run(
            lambda: list(self._namesystem.datanode_manager.datanodes)
        )
        shown: list[NodeStatus] = []
        for first in range(0, len(all_nodes), SLICE_NODES):
            part = all_nodes[first : first + SLICE_NODES]
            shown += self._run(partial(self._show_nodes, part))
        status: NamenodeStatus = self._run(lambda: self._show_status(shown))
        return status

    def _collect(self) -> Collected:
        status = self.status()
        times: Times = self._run(
            lambda: Times(self._namesystem.clock.wall_ms(), self._paces.estimates())
        )
        return Collected(status, times)

    def blocks(self, name: str) -> tuple[list[str], str]:
        """Return lines about some blocks that are lost, and what is known of the block of that
        name; nothing for none. Raises Gone."""
        shown: tuple[list[str], str] = self._run(lambda: self._blocks(name))
        return shown

    def _blocks(self, name: str) -> tuple[list[str], str]:
        options = Options(maintenance=True)
        said = "".join(describe_blocks(self._namesystem, (name,), options)) if name else ""
        return some_corrupt(self._namesystem), said.strip()

    def snapshots(self) -> tuple[list[SnapshotsOf], int]:
        """Return some of the directories with snapshots, and how many there are. Raises Gone."""
        shown: tuple[list[SnapshotsOf], int] = self._run(self._snapshots)
        return shown

    def encryption(self) -> tuple[EncryptionStatus, list[ZoneStatus], int]:
        """Return what is known of key servers, some of the encryption zones, and how many there
        are. Raises Gone."""
        shown: tuple[EncryptionStatus, list[ZoneStatus], int] = self._run(self._encryption)
        return shown

    def _encryption(self) -> tuple[EncryptionStatus, list[ZoneStatus], int]:
        zones, total = zones_shown(self._namesystem, self._reencryptor, _ZONES)
        return encryption_status(self._namesystem, self._reencryptor), zones, total

    def _snapshots(self) -> tuple[list[SnapshotsOf], int]:
        roots = attached_roots(self._namesystem.namespace)
        shown = [
            SnapshotsOf(
                root.directory.path,
                root.directory.owner,
                len(root.snapshots),
                [
                    OneSnapshot(snapshot.name, snapshot.mtime_ms, snapshot.snapshot_id)
                    for snapshot in root.snapshots[: -_SNAPSHOTS - 1 : -1]
                ],
                group=root.directory.group,
                mode=root.directory.mode,
                mtime_ms=root.directory.mtime_ms,
                most=self._namesystem.settings.max_snapshots_per_directory,
            )
            for root in roots[:_ROOTS]
        ]
        return shown, len(roots)
