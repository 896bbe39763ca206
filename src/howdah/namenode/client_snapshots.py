"""The part of ClientProtocol that is about snapshots (pure).

Protobuf in, operations on the core, protobuf out. `client_protocol.ClientProtocol`
inherits these.
"""

from __future__ import annotations

from google.protobuf.message import Message

from howdah.namenode import messages, paths
from howdah.namenode.client_attributes import ClientAttributes
from howdah.namenode.core import Core
from howdah.namenode.snapshot_calls import SnapshotCalls
from howdah.namenode.snapshot_views import DotSnapshot, root_view
from howdah.proto import client_namenode_pb2 as pb
from howdah.rpc.service import Caller


class ClientSnapshots(ClientAttributes):
    """`ClientAttributes`, and snapshots."""

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._snapshots = SnapshotCalls(core)

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

    # Looking.

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
                snapshot_quota=self._core.settings.max_snapshots_per_directory,
                snapshot_number=len(root.snapshots),
                parent_fullpath=(
                    paths.parent_of(directory.path).encode() if directory.parent else b""
                ),
            )
            messages.file_status(directory, directory.name.encode(), into=told.dirStatus)
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
            namespace = self._core.namespace
            view = root_view(namespace, snapshot, DotSnapshot(namespace, snapshot.directory))
            messages.file_status(view, snapshot.name.encode(), into=told.dirStatus)
        return answer
