"""ClientProtocol's calls about snapshots, typed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

from google.protobuf.message import Message

from howdah.proto import client_namenode_pb2 as calls
from howdah.proto import types_pb2 as pb
from howdah.rpc.client import AnswerType

M = TypeVar("M")


class SnapshotMethods(ABC):
    """The part of `NamenodeProxy` that is about snapshots."""

    @abstractmethod
    def call(self, method: str, request: Message, response_type: AnswerType[M]) -> M:
        """Any method of the protocol."""

    def allow_snapshot(self, path: str) -> None:
        request = calls.AllowSnapshotRequestProto(snapshotRoot=path)
        self.call("allowSnapshot", request, calls.AllowSnapshotResponseProto)

    def disallow_snapshot(self, path: str) -> None:
        request = calls.DisallowSnapshotRequestProto(snapshotRoot=path)
        self.call("disallowSnapshot", request, calls.DisallowSnapshotResponseProto)

    def create_snapshot(self, path: str, name: str | None) -> str:
        """The path of the snapshot."""
        request = calls.CreateSnapshotRequestProto(snapshotRoot=path, snapshotName=name)
        answer = self.call("createSnapshot", request, calls.CreateSnapshotResponseProto)
        return answer.snapshotPath

    def rename_snapshot(self, path: str, old: str, new: str) -> None:
        request = calls.RenameSnapshotRequestProto(
            snapshotRoot=path, snapshotOldName=old, snapshotNewName=new
        )
        self.call("renameSnapshot", request, calls.RenameSnapshotResponseProto)

    def delete_snapshot(self, path: str, name: str) -> None:
        request = calls.DeleteSnapshotRequestProto(snapshotRoot=path, snapshotName=name)
        self.call("deleteSnapshot", request, calls.DeleteSnapshotResponseProto)

    def snapshottable_directories(self) -> list[pb.SnapshottableDirectoryStatusProto]:
        answer = self.call(
            "getSnapshottableDirListing",
            calls.GetSnapshottableDirListingRequestProto(),
            calls.GetSnapshottableDirListingResponseProto,
        )
        return list(answer.snapshottableDirList.snapshottableDirListing)

    def snapshots(self, path: str) -> list[pb.SnapshotStatusProto]:
        request = calls.GetSnapshotListingRequestProto(snapshotRoot=path)
        answer = self.call("getSnapshotListing", request, calls.GetSnapshotListingResponseProto)
        return list(answer.snapshotList.snapshotListing)

    def snapshot_diff(self, path: str, old: str, new: str) -> pb.SnapshotDiffReportProto:
        """All at once; an empty name stands for the tree as it is."""
        request = calls.GetSnapshotDiffReportRequestProto(
            snapshotRoot=path, fromSnapshot=old, toSnapshot=new
        )
        answer = self.call(
            "getSnapshotDiffReport", request, calls.GetSnapshotDiffReportResponseProto
        )
        return answer.diffReport

    def snapshot_diff_page(
        self, path: str, old: str, new: str, cursor: pb.SnapshotDiffReportCursorProto
    ) -> pb.SnapshotDiffReportListingProto:
        request = calls.GetSnapshotDiffReportListingRequestProto(
            snapshotRoot=path, fromSnapshot=old, toSnapshot=new, cursor=cursor
        )
        answer = self.call(
            "getSnapshotDiffReportListing",
            request,
            calls.GetSnapshotDiffReportListingResponseProto,
        )
        return answer.diffReport
