"""The half of ClientProtocol that only looks at the tree (pure).

`client_protocol.ClientProtocol` inherits these and adds what changes something.
"""

from __future__ import annotations

from google.protobuf.message import Message

from howdah import errors
from howdah.namenode.calls.batched_listing import batched_listing
from howdah.namenode.calls.core import Core
from howdah.namenode.calls.permissions import Access
from howdah.namenode.calls.queries import Queries
from howdah.namenode.inodes.inodes import File, INode
from howdah.namenode.protocols import messages
from howdah.namenode.tree.quotas import COUNTED_KINDS
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2, types_pb2
from howdah.rpc.service import Caller, Slices


class ClientQueries:
    """What clients ask and do not change."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._queries = Queries(core)
        self._defaults = pb.GetServerDefaultsResponseProto(
            serverDefaults=messages.server_defaults(core.settings)
        )

    def get_server_defaults(
        self, request: pb.GetServerDefaultsRequestProto, caller: Caller
    ) -> pb.GetServerDefaultsResponseProto:
        return self._defaults

    # Without security there are no tokens and no keys; Hadoop answers so, too.

    def get_delegation_token(self, request: Message, caller: Caller) -> Message:
        return rpc_pb2.GetDelegationTokenResponseProto()

    def get_data_encryption_key(
        self, request: pb.GetDataEncryptionKeyRequestProto, caller: Caller
    ) -> pb.GetDataEncryptionKeyResponseProto:
        return pb.GetDataEncryptionKeyResponseProto()

    # Looking.

    def get_file_info(
        self, request: pb.GetFileInfoRequestProto, caller: Caller
    ) -> pb.GetFileInfoResponseProto:
        inode = self._queries.file_info(caller, request.src)
        answer = pb.GetFileInfoResponseProto()
        if inode is not None:
            messages.file_status(inode, b"", into=answer.fs)
            self._mark(inode, answer.fs)
        return answer

    def get_file_link_info(
        self, request: pb.GetFileLinkInfoRequestProto, caller: Caller
    ) -> pb.GetFileLinkInfoResponseProto:
        inode = self._queries.file_info(caller, request.src, follows=False)
        answer = pb.GetFileLinkInfoResponseProto()
        if inode is not None:
            messages.file_status(inode, b"", into=answer.fs)
            self._mark(inode, answer.fs)
        return answer

    def get_located_file_info(
        self, request: pb.GetLocatedFileInfoRequestProto, caller: Caller
    ) -> pb.GetLocatedFileInfoResponseProto:
        inode = self._queries.file_info(caller, request.src)
        if inode is None:
            return pb.GetLocatedFileInfoResponseProto()
        return pb.GetLocatedFileInfoResponseProto(
            fs=messages.file_status(inode, b"", self._all_locations(caller, inode))
        )

    def _mark(self, inode: INode, status: types_pb2.HdfsFileStatusProto) -> None:
        """Clients ask a directory's status whether it may have snapshots."""
        roots = self._core.namespace.snapshots.roots
        if roots:
            root = roots.get(inode.inode_id)
            if root is not None and root.directory is inode:
                status.flags |= types_pb2.HdfsFileStatusProto.SNAPSHOT_ENABLED

    def _all_locations(self, caller: Caller, inode: object) -> types_pb2.LocatedBlocksProto | None:
        if not isinstance(inode, File):
            return None
        found = self._queries.all_locations(inode, caller.address)
        return messages.located_blocks(self._core.settings, found)

    def get_listing(
        self, request: pb.GetListingRequestProto, caller: Caller
    ) -> pb.GetListingResponseProto:
        """One page. With locations it ends early, once it names `dfs.ls.limit` of them."""
        try:
            start_after = request.startAfter.decode()
        except UnicodeDecodeError as error:
            raise errors.IllegalArgument(
                f"the name to list {request.src} from is not UTF-8: {request.startAfter!r}"
            ) from error
        page = self._queries.listing(caller, request.src, start_after)
        if page is None:
            return pb.GetListingResponseProto()
        answer = pb.GetListingResponseProto()
        entries = answer.dirList.partialListing
        places_left = self._core.settings.listing_limit
        files = self._core.namespace.inodes.files
        for name, entry in zip(page.names, page.entries, strict=True):
            if isinstance(entry, int) and not request.needLocation:
                status = entries.add()
                status.path = name.encode()
                messages.show_file(status, entry, files.glance(entry), page.policy_above)
                continue
            if places_left <= 0:
                break
            inode = files[entry] if isinstance(entry, int) else entry
            locations = self._all_locations(caller, inode) if request.needLocation else None
            if locations is not None:
                places_left -= sum(len(block.locs) for block in locations.blocks)
            status = messages.file_status(inode, name.encode(), locations, into=entries.add())
            self._mark(inode, status)
        answer.dirList.remainingEntries = page.remaining + len(page.entries) - len(entries)
        return answer

    def get_batched_listing(
        self, request: pb.GetBatchedListingRequestProto, caller: Caller
    ) -> pb.GetBatchedListingResponseProto:
        settings = self._core.settings
        if len(request.paths) > settings.batched_listing_limit:
            raise errors.IllegalArgument(
                f"Too many source paths: {len(request.paths)}, and dfs.batched.ls.limit is "
                f"{settings.batched_listing_limit}"
            )
        return batched_listing(
            request, lambda one: self.get_listing(one, caller), limit=settings.listing_limit
        )

    def get_block_locations(
        self, request: pb.GetBlockLocationsRequestProto, caller: Caller
    ) -> pb.GetBlockLocationsResponseProto:
        found = self._queries.block_locations(
            caller, request.src, messages.signed(request.offset), messages.signed(request.length)
        )
        return pb.GetBlockLocationsResponseProto(
            locations=messages.located_blocks(self._core.settings, found)
        )

    def get_preferred_block_size(
        self, request: pb.GetPreferredBlockSizeRequestProto, caller: Caller
    ) -> pb.GetPreferredBlockSizeResponseProto:
        inode = self._queries.file_info(caller, request.filename, follows=False)
        if not isinstance(inode, File):
            raise errors.PathNotFound(f"File does not exist: {request.filename}")
        return pb.GetPreferredBlockSizeResponseProto(bsize=inode.block_size_bytes)

    def is_file_closed(
        self, request: pb.IsFileClosedRequestProto, caller: Caller
    ) -> pb.IsFileClosedResponseProto:
        return pb.IsFileClosedResponseProto(result=self._queries.is_closed(caller, request.src))

    def list_open_files(
        self, request: pb.ListOpenFilesRequestProto, caller: Caller
    ) -> pb.ListOpenFilesResponseProto:
        """One page of them all: no node is ever decommissioned here, so none of them
        stands in the way of one."""
        answer = pb.ListOpenFilesResponseProto(hasMore=False)
        if request.types and pb.ALL_OPEN_FILES not in request.types:
            return answer
        files, answer.hasMore = self._queries.open_files(caller, request.id, request.path)
        for file in files:
            answer.entries.add(
                id=file.inode_id,
                path=file.path,
                clientName=file.writer or "",
                clientMachine=file.writer_machine,
            )
        answer.types.append(pb.ALL_OPEN_FILES)
        return answer

    def get_link_target(
        self, request: pb.GetLinkTargetRequestProto, caller: Caller
    ) -> pb.GetLinkTargetResponseProto:
        return pb.GetLinkTargetResponseProto(
            targetPath=self._queries.link_target(caller, request.path)
        )

    def check_access(
        self, request: pb.CheckAccessRequestProto, caller: Caller
    ) -> pb.CheckAccessResponseProto:
        self._queries.check_access(caller, request.path, Access(request.mode))
        return pb.CheckAccessResponseProto()

    def get_content_summary(
        self, request: pb.GetContentSummaryRequestProto, caller: Caller
    ) -> Slices:
        live, kept = yield from self._queries.content_summary(caller, request.path)
        bounds = self._bounds(request.path)
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
                erasureCodingPolicy="" if directories else "Replicated",
            )
        )

    def get_quota_usage(self, request: pb.GetQuotaUsageRequestProto, caller: Caller) -> Slices:
        bounds = self._bounds(request.path)
        if self._queries.quota(request.path) is None:
            for part in (yield from self._queries.content_summary(caller, request.path)):
                bounds.fileAndDirectoryCount += part.files + part.links + part.directories
                bounds.spaceConsumed += part.consumed_bytes
        else:
            self._queries.file_info(caller, request.path, follows=False)
        return pb.GetQuotaUsageResponseProto(usage=bounds)

    def _bounds(self, path: str) -> types_pb2.QuotaUsageProto:
        """A path's quotas, and what it keeps count of. The root has a bound on its names
        that nobody reaches, as in Hadoop."""
        quota = self._queries.quota(path)
        if quota is None:
            is_root = not self._core.resolve(path).components
            names = messages.ROOT_NAMESPACE_QUOTA if is_root else messages.UNLIMITED
            return types_pb2.QuotaUsageProto(
                fileAndDirectoryCount=0, quota=names, spaceConsumed=0, spaceQuota=messages.UNLIMITED
            )
        usage = types_pb2.QuotaUsageProto(
            fileAndDirectoryCount=quota.used_names,
            quota=quota.namespace & messages.LONG_MASK,
            spaceConsumed=quota.used_bytes,
            spaceQuota=quota.space_bytes & messages.LONG_MASK,
        )
        for kind in sorted(COUNTED_KINDS) if quota.by_kind_bytes else ():
            usage.typeQuotaInfos.typeQuotaInfo.add(
                type=kind.name,
                quota=quota.by_kind_bytes.get(kind, -1) & messages.LONG_MASK,
                consumed=quota.used_by_kind_bytes.get(kind, 0),
            )
        return usage

    # Nothing has erasure coding or encryption yet; the paths are looked up all the
    # same, so that a missing one is an error.

    def get_erasure_coding_policy(self, request: Message, caller: Caller) -> Message:
        assert isinstance(request, types_pb2.GetErasureCodingPolicyRequestProto)
        _, found = self._core.resolve_checked(caller, request.src)
        self._core.require(found)
        return types_pb2.GetErasureCodingPolicyResponseProto()

    def get_erasure_coding_policies(self, request: Message, caller: Caller) -> Message:
        return types_pb2.GetErasureCodingPoliciesResponseProto()

    def get_erasure_coding_codecs(self, request: Message, caller: Caller) -> Message:
        return types_pb2.GetErasureCodingCodecsResponseProto()

    def get_ezfor_path(self, request: pb.GetEZForPathRequestProto, caller: Caller) -> Message:
        _, found = self._core.resolve_checked(caller, request.src)
        del found
        return pb.GetEZForPathResponseProto()

    def get_enclosing_root(
        self, request: pb.GetEnclosingRootRequestProto, caller: Caller
    ) -> pb.GetEnclosingRootResponseProto:
        return pb.GetEnclosingRootResponseProto(enclosingRootPath="/")
