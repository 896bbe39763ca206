"""Every edit has its place in each table of the namenode, or is named as left out."""

from __future__ import annotations

from typing import Final

import pytest

from howdah.formats.edits import edits
from howdah.formats.edits.codec import BODIES
from howdah.namenode.state.edit_log import inotify
from howdah.namenode.state.snapshots.edits import CHANGES_THE_INODE, CHANGES_THE_PARENT
from howdah.namenode.state.tree.namespace import Namespace

CACHING: Final = {kind for kind in BODIES if kind.__module__.endswith("cache_edits")}
OF_THE_LOG: Final = {edits.StartLogSegmentOp, edits.EndLogSegmentOp}
OF_UPGRADES: Final = {edits.RollingUpgradeStartOp, edits.RollingUpgradeFinalizeOp}
OF_BLOCK_NUMBERS: Final = {edits.SetGenstampV2Op, edits.AllocateBlockIdOp}
OF_SNAPSHOTS: Final = {
    edits.AllowSnapshotOp,
    edits.DisallowSnapshotOp,
    edits.CreateSnapshotOp,
    edits.DeleteSnapshotOp,
    edits.RenameSnapshotOp,
}
OF_CODING_POLICIES: Final = {
    edits.AddErasureCodingPolicyOp,
    edits.EnableErasureCodingPolicyOp,
    edits.DisableErasureCodingPolicyOp,
    edits.RemoveErasureCodingPolicyOp,
}
OF_TOKENS: Final = {
    edits.GetDelegationTokenOp,
    edits.RenewDelegationTokenOp,
    edits.CancelDelegationTokenOp,
    edits.UpdateMasterKeyOp,
}
REFUSED: Final = {
    # Of blocks with random ids, which Hadoop before 2.0 made.
    edits.SetGenstampV1Op,
}
"""Of what is not supported: a namenode that finds one in its log says so and ends."""
SHOWS_NOTHING: Final = {
    edits.ReassignLeaseOp,
    *CACHING,
    *OF_THE_LOG,
    *OF_UPGRADES,
    *OF_BLOCK_NUMBERS,
    *OF_SNAPSHOTS,
    *OF_CODING_POLICIES,
    *OF_TOKENS,
    *REFUSED,
}
"""They change nothing that a snapshot shows."""
CHANGES_SEVERAL: Final = {edits.ConcatDeleteOp, edits.RenameOp, edits.RenameOldOp}
SILENT: Final = {
    edits.AddBlockOp,
    edits.UpdateBlocksOp,
    edits.SetQuotaOp,
    edits.SetQuotaByStorageTypeOp,
    edits.SetStoragePolicyOp,
    *SHOWS_NOTHING,
}
"""Clients of inotify get no event of them, from Hadoop's namenode neither."""


@pytest.mark.parametrize("kind", BODIES, ids=lambda kind: kind.__name__)
def test_an_edit_is_applied_or_refused(kind: type[edits.Edit]) -> None:
    assert (kind in Namespace()._appliers) is (kind not in REFUSED)


@pytest.mark.parametrize("kind", BODIES, ids=lambda kind: kind.__name__)
def test_what_an_edit_changes_of_snapshots_is_said_once(kind: type[edits.Edit]) -> None:
    groups = (set(CHANGES_THE_INODE), set(CHANGES_THE_PARENT), CHANGES_SEVERAL, SHOWS_NOTHING)
    assert sum(kind in group for group in groups) == 1


@pytest.mark.parametrize("kind", BODIES, ids=lambda kind: kind.__name__)
def test_an_edit_is_an_event_or_silent(kind: type[edits.Edit]) -> None:
    assert (kind in inotify._TRANSLATIONS) is (kind not in SILENT)
