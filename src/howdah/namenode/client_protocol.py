"""ClientProtocol: protobuf in, operations on the core, protobuf out (pure).

Methods are named after the protocol's in snake_case; `howdah.rpc.service` finds
them by name. What is not here is refused by name as not supported. Calls that
may not run twice go through the retry cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.namenode import messages
from howdah.namenode.attribute_calls import AttributeCalls
from howdah.namenode.core import Core
from howdah.namenode.datanodes import Storage
from howdah.namenode.file_calls import FileCalls, PendingClose
from howdah.namenode.inodes import STICKY_BIT, Block, File
from howdah.namenode.permissions import Access
from howdah.namenode.queries import Queries
from howdah.namenode.retry_cache import REBUILT, RetryCache
from howdah.namenode.tree_calls import TreeCalls
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import ha_pb2, types_pb2
from howdah.rpc.service import Caller, Deferred, Slices

M = TypeVar("M", bound=Message)


class ClientProtocol:
    """The namenode as its clients see it."""

    PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"

    def __init__(self, core: Core) -> None:
        self._core = core
        self._tree = TreeCalls(core)
        self._files = FileCalls(core)
        self._attributes = AttributeCalls(core)
        self._queries = Queries(core)
        self._closing: dict[int, list[tuple[PendingClose, Deferred]]] = {}
        self._defaults = pb.GetServerDefaultsResponseProto(
            serverDefaults=messages.server_defaults(core.settings)
        )

    def _once(self, caller: Caller, run: Callable[[], M], rebuild: Callable[[], M]) -> M:
        """Run a call that may not run twice; for a repeated one, the first answer.

        `rebuild` makes the answer anew where the first run is known from the log only.
        """
        if not RetryCache.applies(caller):
            return run()
        cache = self._core.retry_cache
        known = cache.find(caller)
        if known is REBUILT:
            return rebuild()
        if known is not None:
            remembered: M = known
            return remembered
        answer = run()
        cache.remember(caller.client_id, caller.call_id, answer, self._core.clock.monotonic_ms())
        return answer

    # The cluster.

    def get_server_defaults(
        self, request: pb.GetServerDefaultsRequestProto, caller: Caller
    ) -> pb.GetServerDefaultsResponseProto:
        return self._defaults

    def get_fs_stats(
        self, request: pb.GetFsStatusRequestProto, caller: Caller
    ) -> pb.GetFsStatsResponseProto:
        nodes = self._core.datanodes.live()
        under, corrupt, missing = self._core.repair.counts()
        return pb.GetFsStatsResponseProto(
            capacity=sum(n.capacity_bytes for n in nodes),
            used=sum(n.used_bytes for n in nodes),
            remaining=sum(n.remaining_bytes for n in nodes),
            under_replicated=under,
            corrupt_blocks=corrupt,
            missing_blocks=missing,
            missing_repl_one_blocks=0,
            blocks_in_future=0,
            pending_deletion_blocks=self._core.blocks.doomed_count,
        )

    def get_datanode_report(
        self, request: pb.GetDatanodeReportRequestProto, caller: Caller
    ) -> pb.GetDatanodeReportResponseProto:
        kind = pb.DatanodeReportTypeProto.Name(request.type).lower()
        clock = self._core.clock
        now_ms, wall_ms = clock.monotonic_ms(), clock.wall_ms()
        return pb.GetDatanodeReportResponseProto(
            di=[
                messages.datanode_info(node, now_ms - node.last_heartbeat_ms, wall_ms)
                for node in self._queries.datanodes(kind)
            ]
        )

    def get_datanode_storage_report(
        self, request: pb.GetDatanodeStorageReportRequestProto, caller: Caller
    ) -> pb.GetDatanodeStorageReportResponseProto:
        kind = pb.DatanodeReportTypeProto.Name(request.type).lower()
        return pb.GetDatanodeStorageReportResponseProto(
            datanodeStorageReports=[
                pb.DatanodeStorageReportProto(
                    datanodeInfo=messages.datanode_info(node),
                    storageReports=[
                        types_pb2.StorageReportProto(
                            storageUuid=storage.storage_id,
                            failed=storage.failed,
                            capacity=storage.capacity_bytes,
                            dfsUsed=storage.used_bytes,
                            remaining=storage.remaining_bytes,
                            blockPoolUsed=storage.pool_used_bytes,
                            nonDfsUsed=storage.non_dfs_used_bytes,
                            storage=types_pb2.DatanodeStorageProto(
                                storageUuid=storage.storage_id,
                                state=types_pb2.DatanodeStorageProto.NORMAL,
                                storageType=storage.storage_type,  # type: ignore[arg-type]
                            ),
                        )
                        for storage in node.storages.values()
                    ],
                )
                for node in self._queries.datanodes(kind)
            ]
        )

    def set_safe_mode(
        self, request: pb.SetSafeModeRequestProto, caller: Caller
    ) -> pb.SetSafeModeResponseProto:
        core = self._core
        if request.action != pb.SAFEMODE_GET:
            who = core.identity(caller)
            core.permissions.check_superuser(who, "change safe mode")
            if request.action == pb.SAFEMODE_ENTER:
                core.safe_mode.enter()
            else:
                core.safe_mode.leave()
        return pb.SetSafeModeResponseProto(result=core.safe_mode.on)

    def msync(self, request: pb.MsyncRequestProto, caller: Caller) -> pb.MsyncResponseProto:
        return pb.MsyncResponseProto()

    def get_haservice_state(
        self, request: pb.HAServiceStateRequestProto, caller: Caller
    ) -> pb.HAServiceStateResponseProto:
        return pb.HAServiceStateResponseProto(state=ha_pb2.ACTIVE)

    # Without security there are no tokens and no keys; Hadoop answers so, too.

    def get_delegation_token(self, request: Message, caller: Caller) -> Message:
        from howdah.proto import rpc_pb2

        return rpc_pb2.GetDelegationTokenResponseProto()

    def get_data_encryption_key(
        self, request: pb.GetDataEncryptionKeyRequestProto, caller: Caller
    ) -> pb.GetDataEncryptionKeyResponseProto:
        return pb.GetDataEncryptionKeyResponseProto()

    # The tree.

    def mkdirs(self, request: pb.MkdirsRequestProto, caller: Caller) -> pb.MkdirsResponseProto:
        done = self._tree.mkdirs(
            caller, request.src, request.masked.perm, create_parent=request.createParent
        )
        return pb.MkdirsResponseProto(result=done)

    def rename(self, request: pb.RenameRequestProto, caller: Caller) -> pb.RenameResponseProto:
        return self._once(
            caller,
            lambda: pb.RenameResponseProto(
                result=self._tree.rename(caller, request.src, request.dst)
            ),
            lambda: pb.RenameResponseProto(result=True),
        )

    def rename2(self, request: pb.Rename2RequestProto, caller: Caller) -> pb.Rename2ResponseProto:
        def run() -> pb.Rename2ResponseProto:
            self._tree.rename2(
                caller,
                request.src,
                request.dst,
                overwrite=request.overwriteDest,
                trash=request.moveToTrash,
            )
            return pb.Rename2ResponseProto()

        return self._once(caller, run, pb.Rename2ResponseProto)

    def delete(self, request: pb.DeleteRequestProto, caller: Caller) -> pb.DeleteResponseProto:
        return self._once(
            caller,
            lambda: pb.DeleteResponseProto(
                result=self._tree.delete(caller, request.src, recursive=request.recursive)
            ),
            lambda: pb.DeleteResponseProto(result=True),
        )

    def create_symlink(self, request: pb.CreateSymlinkRequestProto, caller: Caller) -> Message:
        raise errors.UnsupportedOperation("Symlinks not supported")

    # Attributes.

    def set_permission(
        self, request: pb.SetPermissionRequestProto, caller: Caller
    ) -> pb.SetPermissionResponseProto:
        self._attributes.set_permission(caller, request.src, request.permission.perm)
        return pb.SetPermissionResponseProto()

    def set_owner(
        self, request: pb.SetOwnerRequestProto, caller: Caller
    ) -> pb.SetOwnerResponseProto:
        self._attributes.set_owner(
            caller, request.src, request.username or None, request.groupname or None
        )
        return pb.SetOwnerResponseProto()

    def set_times(
        self, request: pb.SetTimesRequestProto, caller: Caller
    ) -> pb.SetTimesResponseProto:
        self._attributes.set_times(
            caller, request.src, signed(request.mtime), signed(request.atime)
        )
        return pb.SetTimesResponseProto()

    def set_replication(
        self, request: pb.SetReplicationRequestProto, caller: Caller
    ) -> pb.SetReplicationResponseProto:
        return pb.SetReplicationResponseProto(
            result=self._files.set_replication(caller, request.src, request.replication)
        )

    # Looking.

    def get_file_info(
        self, request: pb.GetFileInfoRequestProto, caller: Caller
    ) -> pb.GetFileInfoResponseProto:
        inode = self._queries.file_info(caller, request.src)
        if inode is None:
            return pb.GetFileInfoResponseProto()
        return pb.GetFileInfoResponseProto(fs=messages.file_status(inode, b""))

    def get_file_link_info(
        self, request: pb.GetFileLinkInfoRequestProto, caller: Caller
    ) -> pb.GetFileLinkInfoResponseProto:
        inode = self._queries.file_info(caller, request.src)
        if inode is None:
            return pb.GetFileLinkInfoResponseProto()
        return pb.GetFileLinkInfoResponseProto(fs=messages.file_status(inode, b""))

    def get_located_file_info(
        self, request: pb.GetLocatedFileInfoRequestProto, caller: Caller
    ) -> pb.GetLocatedFileInfoResponseProto:
        inode = self._queries.file_info(caller, request.src)
        if inode is None:
            return pb.GetLocatedFileInfoResponseProto()
        return pb.GetLocatedFileInfoResponseProto(
            fs=messages.file_status(inode, b"", self._all_locations(caller, request.src, inode))
        )

    def _all_locations(
        self, caller: Caller, path: str, inode: object
    ) -> types_pb2.LocatedBlocksProto | None:
        if not isinstance(inode, File):
            return None
        found = self._queries.block_locations(caller, path, 0, (1 << 63) - 1)
        return messages.located_blocks(self._core.settings, found)

    def get_listing(
        self, request: pb.GetListingRequestProto, caller: Caller
    ) -> pb.GetListingResponseProto:
        page = self._queries.listing(caller, request.src, request.startAfter.decode())
        if page is None:
            return pb.GetListingResponseProto()
        return pb.GetListingResponseProto(
            dirList=types_pb2.DirectoryListingProto(
                partialListing=[
                    messages.file_status(
                        inode,
                        b"" if page.is_single else inode.name.encode(),
                        self._all_locations(caller, inode.path, inode)
                        if request.needLocation
                        else None,
                    )
                    for inode in page.entries
                ],
                remainingEntries=page.remaining,
            )
        )

    def get_block_locations(
        self, request: pb.GetBlockLocationsRequestProto, caller: Caller
    ) -> pb.GetBlockLocationsResponseProto:
        found = self._queries.block_locations(
            caller, request.src, signed(request.offset), signed(request.length)
        )
        return pb.GetBlockLocationsResponseProto(
            locations=messages.located_blocks(self._core.settings, found)
        )

    def get_preferred_block_size(
        self, request: pb.GetPreferredBlockSizeRequestProto, caller: Caller
    ) -> pb.GetPreferredBlockSizeResponseProto:
        inode = self._queries.file_info(caller, request.filename)
        if not isinstance(inode, File):
            raise errors.PathNotFound(f"File does not exist: {request.filename}")
        return pb.GetPreferredBlockSizeResponseProto(bsize=inode.block_size_bytes)

    def is_file_closed(
        self, request: pb.IsFileClosedRequestProto, caller: Caller
    ) -> pb.IsFileClosedResponseProto:
        return pb.IsFileClosedResponseProto(result=self._queries.is_closed(caller, request.src))

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
        summary = yield from self._queries.content_summary(caller, request.path)
        return pb.GetContentSummaryResponseProto(
            summary=types_pb2.ContentSummaryProto(
                length=summary.length_bytes,
                fileCount=summary.files,
                directoryCount=summary.directories,
                quota=self._namespace_quota(request.path),
                spaceConsumed=summary.consumed_bytes,
                spaceQuota=messages.UNLIMITED,
                erasureCodingPolicy="" if summary.directories else "Replicated",
            )
        )

    def get_quota_usage(self, request: pb.GetQuotaUsageRequestProto, caller: Caller) -> Slices:
        summary = yield from self._queries.content_summary(caller, request.path)
        return pb.GetQuotaUsageResponseProto(
            usage=types_pb2.QuotaUsageProto(
                fileAndDirectoryCount=summary.files + summary.directories,
                quota=self._namespace_quota(request.path),
                spaceConsumed=summary.consumed_bytes,
                spaceQuota=messages.UNLIMITED,
            )
        )

    def _namespace_quota(self, path: str) -> int:
        """Only the root has one: a bound that nobody reaches, as in Hadoop."""
        found = self._core.resolve(path)
        return messages.UNLIMITED if found.components else messages.ROOT_NAMESPACE_QUOTA

    # Nothing has ACLs, extended attributes, erasure coding or encryption yet; the
    # paths are looked up all the same, so that a missing one is an error.

    def get_acl_status(self, request: Message, caller: Caller) -> Message:
        assert isinstance(request, types_pb2.GetAclStatusRequestProto)
        _, found = self._core.resolve_checked(caller, request.src)
        inode = self._core.require(found)
        return types_pb2.GetAclStatusResponseProto(
            result=types_pb2.AclStatusProto(
                owner=inode.owner,
                group=inode.group,
                sticky=bool(inode.mode & STICKY_BIT),
                permission=types_pb2.FsPermissionProto(perm=inode.mode),
            )
        )

    def get_xattrs(self, request: Message, caller: Caller) -> Message:
        assert isinstance(request, types_pb2.GetXAttrsRequestProto)
        _, found = self._core.resolve_checked(caller, request.src)
        self._core.require(found)
        if request.xAttrs:
            raise errors.RemoteError("At least one of the attributes provided was not found.")
        return types_pb2.GetXAttrsResponseProto()

    def list_xattrs(self, request: Message, caller: Caller) -> Message:
        assert isinstance(request, types_pb2.ListXAttrsRequestProto)
        _, found = self._core.resolve_checked(caller, request.src)
        self._core.require(found)
        return types_pb2.ListXAttrsResponseProto()

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

    # Writing.

    def create(self, request: pb.CreateRequestProto, caller: Caller) -> pb.CreateResponseProto:
        if request.ecPolicyName:
            raise errors.UnsupportedOperation(
                f"erasure coding (policy {request.ecPolicyName}) is not supported: {request.src}"
            )

        def run() -> pb.CreateResponseProto:
            file = self._files.create(
                caller,
                request.src,
                mode=request.masked.perm,
                client_name=request.clientName,
                create=bool(request.createFlag & pb.CREATE),
                overwrite=bool(request.createFlag & pb.OVERWRITE),
                create_parent=request.createParent,
                replication=request.replication,
                block_size_bytes=signed(request.blockSize),
            )
            return pb.CreateResponseProto(fs=messages.file_status(file, b""))

        def rebuild() -> pb.CreateResponseProto:
            inode = self._queries.file_info(caller, request.src)
            if inode is None:
                raise errors.PathNotFound(f"{request.src} was created and is gone since")
            return pb.CreateResponseProto(fs=messages.file_status(inode, b""))

        return self._once(caller, run, rebuild)

    def append(self, request: pb.AppendRequestProto, caller: Caller) -> pb.AppendResponseProto:
        def answer(file: File, last: Block | None) -> pb.AppendResponseProto:
            response = pb.AppendResponseProto(stat=messages.file_status(file, b""))
            if last is not None:
                response.block.CopyFrom(
                    messages.located_block(
                        self._core.settings,
                        last,
                        file.length_bytes - last.length_bytes,
                        list(last.expected),
                    )
                )
            return response

        def run() -> pb.AppendResponseProto:
            file, last = self._files.append(
                caller,
                request.src,
                client_name=request.clientName,
                new_block=bool(request.flag & pb.NEW_BLOCK),
            )
            return answer(file, last)

        def rebuild() -> pb.AppendResponseProto:
            inode = self._queries.file_info(caller, request.src)
            if not isinstance(inode, File) or inode.writer != request.clientName:
                raise errors.LeaseExpired(f"{request.src} was reopened, and closed since")
            last = inode.blocks[-1] if inode.blocks else None
            goes_on = last is not None and (last.state == 0 or request.flag & pb.NEW_BLOCK)
            return answer(inode, last if goes_on else None)

        return self._once(caller, run, rebuild)

    def add_block(
        self, request: pb.AddBlockRequestProto, caller: Caller
    ) -> pb.AddBlockResponseProto:
        file, block = self._files.add_block(
            caller,
            request.src,
            client_name=request.clientName,
            inode_id=request.fileId,
            previous=(
                messages.client_block(request.previous) if request.HasField("previous") else None
            ),
            excluded=frozenset(node.id.datanodeUuid for node in request.excludeNodes),
        )
        return pb.AddBlockResponseProto(
            block=messages.located_block(
                self._core.settings,
                block,
                file.length_bytes - block.length_bytes,
                list(block.expected),
            )
        )

    def abandon_block(
        self, request: pb.AbandonBlockRequestProto, caller: Caller
    ) -> pb.AbandonBlockResponseProto:
        self._files.abandon_block(
            request.src,
            client_name=request.holder,
            inode_id=request.fileId,
            block=messages.client_block(request.b),
        )
        return pb.AbandonBlockResponseProto()

    def fsync(self, request: pb.FsyncRequestProto, caller: Caller) -> pb.FsyncResponseProto:
        self._files.fsync(
            request.src,
            client_name=request.client,
            inode_id=request.fileId,
            last_bytes=request.lastBlockLength,
        )
        return pb.FsyncResponseProto()

    def renew_lease(
        self, request: pb.RenewLeaseRequestProto, caller: Caller
    ) -> pb.RenewLeaseResponseProto:
        self._files.renew_lease(request.clientName)
        return pb.RenewLeaseResponseProto()

    def update_block_for_pipeline(
        self, request: pb.UpdateBlockForPipelineRequestProto, caller: Caller
    ) -> pb.UpdateBlockForPipelineResponseProto:
        _, block, stamp = self._files.update_block_for_pipeline(
            client_name=request.clientName, block=messages.client_block(request.block)
        )
        return pb.UpdateBlockForPipelineResponseProto(
            block=messages.located_block(
                self._core.settings, block, 0, list(block.expected), generation_stamp=stamp
            )
        )

    def update_pipeline(
        self, request: pb.UpdatePipelineRequestProto, caller: Caller
    ) -> pb.UpdatePipelineResponseProto:
        def run() -> pb.UpdatePipelineResponseProto:
            self._files.update_pipeline(
                caller,
                client_name=request.clientName,
                old=messages.client_block(request.oldBlock),
                new=messages.client_block(request.newBlock),
                targets=self._pipeline(request),
            )
            return pb.UpdatePipelineResponseProto()

        return self._once(caller, run, pb.UpdatePipelineResponseProto)

    def _pipeline(self, request: pb.UpdatePipelineRequestProto) -> tuple[Storage, ...]:
        """The storages that the client names, which must be known."""
        if not request.newNodes or len(request.newNodes) != len(request.storageIDs):
            raise errors.RemoteError(
                f"Update pipeline: {len(request.newNodes)} datanodes and "
                f"{len(request.storageIDs)} storages are named"
            )
        targets = []
        for told, storage_id in zip(request.newNodes, request.storageIDs, strict=True):
            node = self._core.datanodes.known(told.datanodeUuid, f"{told.ipAddr}:{told.xferPort}")
            storage = node.storages.get(storage_id)
            if storage is None:
                raise errors.RemoteError(f"datanode {node.name} has no storage {storage_id}")
            targets.append(storage)
        return tuple(targets)

    def report_bad_blocks(
        self, request: pb.ReportBadBlocksRequestProto, caller: Caller
    ) -> pb.ReportBadBlocksResponseProto:
        for located in request.blocks:
            for node in located.locs:
                self._files.report_bad(
                    self._core.datanodes.get(node.id.datanodeUuid),
                    messages.client_block(located.b),
                )
        return pb.ReportBadBlocksResponseProto()

    # Closing.

    def complete(
        self, request: pb.CompleteRequestProto, caller: Caller
    ) -> pb.CompleteResponseProto | Deferred:
        """Answered when the file is closed, or at the deadline with False (FS-135)."""
        pending = self._files.complete(
            request.src,
            client_name=request.clientName,
            inode_id=request.fileId,
            last=messages.client_block(request.last) if request.HasField("last") else None,
        )
        if pending.outcome is not None:
            return pb.CompleteResponseProto(result=pending.outcome)
        answer = Deferred()
        self._closing.setdefault(pending.inode_id, []).append((pending, answer))
        return answer

    def look_at_closing(self, inode_ids: list[int] | None = None) -> None:
        """Datanodes reported, or time passed: answer the `complete` calls that can be."""
        for inode_id in list(self._closing) if inode_ids is None else inode_ids:
            waiting = self._closing.pop(inode_id, None)
            if waiting is None:
                continue
            still = []
            for pending, answer in waiting:
                try:
                    self._files.try_close(pending)
                except errors.HowdahError as error:
                    answer.settle(error)
                    continue
                if pending.outcome is None:
                    still.append((pending, answer))
                else:
                    answer.settle(pb.CompleteResponseProto(result=pending.outcome))
            if still:
                self._closing[inode_id] = still


def signed(value: int) -> int:
    """Java's long in an unsigned field."""
    return value - (1 << 64) if value >> 63 else value
