"""Snapshots (pure): the part of ClientProtocol that Hadoop's FSDirSnapshotOp and
SnapshotManager serve.
"""

from __future__ import annotations

from google.protobuf.message import Message

from howdah.namenode.service.calls.at_most_once import AtMostOnce
from howdah.namenode.service.calls.snapshots.changes import SnapshotCalls
from howdah.namenode.service.calls.snapshots.diff import SnapshotDiffCalls
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols import encoders
from howdah.namenode.state.inodes import paths
from howdah.namenode.state.snapshots.diff import Made
from howdah.namenode.state.snapshots.diff import Path as Names
from howdah.namenode.state.tree.snapshot_views import DotSnapshot, root_view
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Slices


class SnapshotMethods:
    """Calls that make, list, compare and delete snapshots."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem
        self._once = AtMostOnce(namesystem)
        self._snapshots = SnapshotCalls(namesystem)
        self._diffs = SnapshotDiffCalls(namesystem)

    def allow_snapshot(
        self, request: pb.AllowSnapshotRequestProto, caller: Caller
    ) -> pb.AllowSnapshotResponseProto:
        self._snapshots.allow(caller, request.snapshotRoot)
        return pb.AllowSnapshotResponseProto()

    def disallow_snapshot(
        self, request: pb.DisallowSnapshotRequestProto, caller: Caller
    ) -> pb.DisallowSnapshotResponseProto:
        self._snapshots.disallow(caller, request.snapshotRoot)
        return pb.DisallowSnapshotResponseProto()

    def create_snapshot(
        self, request: pb.CreateSnapshotRequestProto, caller: Caller
    ) -> pb.CreateSnapshotResponseProto:
        def run() -> pb.CreateSnapshotResponseProto:
            path = self._snapshots.create(caller, request.snapshotRoot, request.snapshotName)
            return pb.CreateSnapshotResponseProto(snapshotPath=path)

        def rebuild() -> pb.CreateSnapshotResponseProto:
            return pb.CreateSnapshotResponseProto(
                snapshotPath=self._snapshots.created(request.snapshotRoot, request.snapshotName)
            )

        return self._once(caller, run, rebuild)

    def rename_snapshot(
        self, request: pb.RenameSnapshotRequestProto, caller: Caller
    ) -> pb.RenameSnapshotResponseProto:
        def run() -> pb.RenameSnapshotResponseProto:
            self._snapshots.rename(
                caller, request.snapshotRoot, request.snapshotOldName, request.snapshotNewName
            )
            return pb.RenameSnapshotResponseProto()

        return self._once(caller, run, pb.RenameSnapshotResponseProto)

    def delete_snapshot(
        self, request: pb.DeleteSnapshotRequestProto, caller: Caller
    ) -> pb.DeleteSnapshotResponseProto:
        def run() -> pb.DeleteSnapshotResponseProto:
            self._snapshots.delete(caller, request.snapshotRoot, request.snapshotName)
            return pb.DeleteSnapshotResponseProto()

        return self._once(caller, run, pb.DeleteSnapshotResponseProto)

    def get_snapshot_diff_report(
        self, request: pb.GetSnapshotDiffReportRequestProto, caller: Caller
    ) -> Slices:
        lines = yield from self._diffs.report(
            caller, request.snapshotRoot, request.fromSnapshot, request.toSnapshot
        )
        return pb.GetSnapshotDiffReportResponseProto(
            diffReport=types_pb2.SnapshotDiffReportProto(
                snapshotRoot=request.snapshotRoot,
                fromSnapshot=request.fromSnapshot,
                toSnapshot=request.toSnapshot,
                diffReportEntries=[
                    types_pb2.SnapshotDiffReportEntryProto(
                        fullpath=_joined(line.path),
                        modificationLabel=line.label,
                        targetPath=None if line.target is None else _joined(line.target),
                    )
                    for line in lines
                ],
            )
        )

    def get_snapshot_diff_report_listing(
        self, request: pb.GetSnapshotDiffReportListingRequestProto, caller: Caller
    ) -> Slices:
        page = yield from self._diffs.page(
            caller,
            request.snapshotRoot,
            request.fromSnapshot,
            request.toSnapshot,
            request.cursor.index if request.HasField("cursor") else -1,
        )
        answer = pb.GetSnapshotDiffReportListingResponseProto()
        told = answer.diffReport
        told.isFromEarlier = page.is_from_earlier
        told.cursor.startPath = b""
        told.cursor.index = page.next_index
        for modified, one in page.entries:
            if one is None:
                told.modifiedEntries.add(
                    fullpath=_joined(modified.path),
                    dirId=modified.inode_id,
                    fileId=modified.inode_id,
                    isReference=modified.is_directory,
                    targetPath=b"",
                )
                continue
            is_made = isinstance(one, Made)
            entries = told.createdEntries if is_made else told.deletedEntries
            target = None if isinstance(one, Made) else one.target
            entries.add(
                fullpath=_joined(one.path),
                dirId=modified.inode_id,
                fileId=one.inode_id,
                isReference=one.is_moved if isinstance(one, Made) else target is not None,
                targetPath=b"" if target is None else _joined(target),
            )
        return answer

    def get_snapshottable_dir_listing(
        self, request: pb.GetSnapshottableDirListingRequestProto, caller: Caller
    ) -> Message:
        answer = pb.GetSnapshottableDirListingResponseProto()
        roots = self._snapshots.snapshottable(caller)
        if roots is None:
            return answer
        answer.snapshottableDirList.SetInParent()
        for root in roots:
            directory = root.directory
            told = answer.snapshottableDirList.snapshottableDirListing.add(
                snapshot_quota=self._namesystem.settings.max_snapshots_per_directory,
                snapshot_number=len(root.snapshots),
                parent_fullpath=(
                    paths.parent_of(directory.path).encode() if directory.parent else b""
                ),
            )
            encoders.file_status(directory, directory.name.encode(), into=told.dirStatus)
        return answer

    def get_snapshot_listing(
        self, request: pb.GetSnapshotListingRequestProto, caller: Caller
    ) -> pb.GetSnapshotListingResponseProto:
        answer = pb.GetSnapshotListingResponseProto()
        answer.snapshotList.SetInParent()
        for snapshot in self._snapshots.listing(caller, request.snapshotRoot):
            told = answer.snapshotList.snapshotListing.add(
                snapshotID=snapshot.snapshot_id,
                parent_fullpath=snapshot.directory.path.encode(),
                isDeleted=False,
            )
            namespace = self._namesystem.namespace
            view = root_view(namespace, snapshot, DotSnapshot(namespace, snapshot.directory))
            encoders.file_status(view, snapshot.name.encode(), into=told.dirStatus)
        return answer


def _joined(names: Names) -> bytes:
    return "/".join(names).encode("utf-8", "surrogatepass")
