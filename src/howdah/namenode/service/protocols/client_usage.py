"""What a directory holds, and what it may hold: content summary and quotas (pure).

The part of ClientProtocol that Hadoop's ContentSummaryComputationContext, QuotaUsage and
FSDirAttrOp.setQuota serve.
"""

from __future__ import annotations

from typing import Final

from howdah.formats.edits.edits import StorageKind
from howdah.namenode.service.attributes.quotas import QuotaCalls
from howdah.namenode.service.calls.namespace_reads import Queries, Summary
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols import encoders
from howdah.namenode.state.inodes.inodes import File
from howdah.namenode.state.tree import coding_policies
from howdah.namenode.state.tree.quotas import COUNTED_KINDS
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Slices

NO_USAGE: Final = "File/Directory does not exist: {}"


class UsageMethods:
    """Calls about the number of names and bytes below a path."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem
        self._queries = Queries(namesystem)
        self._quotas = QuotaCalls(namesystem)

    def get_content_summary(
        self, request: pb.GetContentSummaryRequestProto, caller: Caller
    ) -> Slices:
        live, kept = yield from self._queries.content_summary(caller, request.path)
        bounds = self._bounds(request.path)
        _add_kinds(bounds, live)
        directories = live.directories + kept.directories
        return pb.GetContentSummaryResponseProto(
            summary=types_pb2.ContentSummaryProto(
                length=live.length_bytes + kept.length_bytes,
                fileCount=live.files + live.links + kept.files + kept.links,
                directoryCount=directories,
                quota=bounds.quota,
                spaceConsumed=live.consumed_bytes + kept.consumed_bytes,
                spaceQuota=bounds.spaceQuota,
                typeQuotaInfos=(
                    bounds.typeQuotaInfos if bounds.HasField("typeQuotaInfos") else None
                ),
                snapshotLength=kept.length_bytes,
                snapshotFileCount=kept.files,
                snapshotDirectoryCount=kept.directories,
                snapshotSpaceConsumed=kept.consumed_bytes,
                erasureCodingPolicy=self._coding(request.path),
            )
        )

    def _coding(self, path: str) -> str:
        """The name of the erasure coding policy of a file or directory. Hadoop has two words for
        replication: one of files, and one of directories that were given it."""
        inode = self._namesystem.resolver.resolve(path).inode
        if not isinstance(inode, File):
            return coding_policies.name_for(inode) or ""
        policy = coding_policies.of(inode, self._namesystem.namespace.coding_policies)
        return "Replicated" if policy is None else policy.name

    def get_quota_usage(self, request: pb.GetQuotaUsageRequestProto, caller: Caller) -> Slices:
        bounds = self._bounds(request.path)
        if self._queries.quota(request.path) is None:
            parts = yield from self._queries.content_summary(caller, request.path, NO_USAGE)
            _add_kinds(bounds, parts[0])
            for part in parts:
                bounds.fileAndDirectoryCount += part.files + part.links + part.directories
                bounds.spaceConsumed += part.consumed_bytes
        else:
            yield from self._queries.check_below(caller, request.path)
        return pb.GetQuotaUsageResponseProto(usage=bounds)

    def set_quota(
        self, request: pb.SetQuotaRequestProto, caller: Caller
    ) -> pb.SetQuotaResponseProto:
        kind = None
        if request.HasField("storageType"):
            kind = StorageKind[types_pb2.StorageTypeProto.Name(request.storageType)]
        self._quotas.set(
            caller,
            request.path,
            encoders.signed(request.namespaceQuota),
            encoders.signed(request.storagespaceQuota),
            kind,
        )
        return pb.SetQuotaResponseProto()

    def _bounds(self, path: str) -> types_pb2.QuotaUsageProto:
        """A path's quotas, and what it keeps count of. The root has a bound on its names
        that nobody reaches, as in Hadoop."""
        quota = self._queries.quota(path)
        if quota is None:
            is_root = not self._namesystem.resolver.resolve(path).components
            names = encoders.ROOT_NAMESPACE_QUOTA if is_root else encoders.UNLIMITED
            return types_pb2.QuotaUsageProto(
                fileAndDirectoryCount=0, quota=names, spaceConsumed=0, spaceQuota=encoders.UNLIMITED
            )
        is_root = not self._namesystem.resolver.resolve(path).components
        names = quota.namespace & encoders.LONG_MASK
        if is_root and names == encoders.UNLIMITED:
            names = encoders.ROOT_NAMESPACE_QUOTA
        usage = types_pb2.QuotaUsageProto(
            fileAndDirectoryCount=quota.used_names,
            quota=names,
            spaceConsumed=quota.used_bytes,
            spaceQuota=quota.space_bytes & encoders.LONG_MASK,
        )
        has_kinds = quota.by_kind_bytes or any(quota.used_by_kind_bytes.values())
        for kind in sorted(COUNTED_KINDS) if has_kinds else ():
            usage.typeQuotaInfos.typeQuotaInfo.add(
                type=kind.name,
                quota=quota.by_kind_bytes.get(kind, -1) & encoders.LONG_MASK,
                consumed=quota.used_by_kind_bytes.get(kind, 0),
            )
        return usage


def _add_kinds(bounds: types_pb2.QuotaUsageProto, found: Summary) -> None:
    """Say what each storage type takes below a directory without bounds of its own."""
    if bounds.HasField("typeQuotaInfos") or not any(found.by_kind_bytes.values()):
        return
    for kind in sorted(COUNTED_KINDS):
        bounds.typeQuotaInfos.typeQuotaInfo.add(
            type=kind.name,
            quota=encoders.UNLIMITED,
            consumed=found.by_kind_bytes.get(kind, 0),
        )
