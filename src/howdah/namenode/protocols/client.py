"""ClientProtocol: protobuf in, operations on the core, protobuf out (pure).

Methods are named after the protocol's in snake_case; `howdah.rpc.service` finds
them by name. What is not here is refused by name as not supported. Calls that
may not run twice go through the retry cache.
"""

from __future__ import annotations

from collections.abc import Sequence

from howdah import errors
from howdah.namenode.blocks.datanodes import Storage
from howdah.namenode.calls.core import Core
from howdah.namenode.calls.links import LinkCalls
from howdah.namenode.calls.storage import NameStorage
from howdah.namenode.calls.tree import TreeCalls
from howdah.namenode.inodes.inodes import Block, BlockState, File
from howdah.namenode.protocols import messages
from howdah.namenode.protocols.client_administration import ClientAdministration
from howdah.namenode.writing.allocation import Writing
from howdah.namenode.writing.block_recovery import BlockRecovery
from howdah.namenode.writing.closing import Closing, PendingClose
from howdah.namenode.writing.concat import Concat
from howdah.namenode.writing.held_appends import HeldAppends
from howdah.namenode.writing.lease_recovery import LeaseRecovery
from howdah.namenode.writing.opening import Opening
from howdah.namenode.writing.pipelines import PipelineCalls
from howdah.namenode.writing.truncation import Truncation
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.rpc.service import Caller, Deferred, defect


class ClientProtocol(ClientAdministration):
    """The namenode as its clients see it: `ClientQueries`, `ClientAttributes`,
    `ClientSnapshots`, `ClientAdministration`, and what changes the tree and its files."""

    PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"

    def __init__(
        self,
        core: Core,
        leases: LeaseRecovery,
        recovery: BlockRecovery,
        storage: NameStorage | None = None,
    ) -> None:
        super().__init__(core, storage)
        self._tree = TreeCalls(core)
        self._links = LinkCalls(core)
        self._leases = leases
        self._opening = Opening(core, leases)
        self._writing = Writing(core)
        self._completion = Closing(core, self._writing)
        self._pipelines = PipelineCalls(core, self._writing)
        self._truncation = Truncation(core, leases, recovery)
        self._concat = Concat(core)
        self._closing: dict[int, list[tuple[PendingClose, Deferred]]] = {}
        self._appends = HeldAppends(core, self._append)

    # The tree.

    def mkdirs(self, request: pb.MkdirsRequestProto, caller: Caller) -> pb.MkdirsResponseProto:
        done = self._tree.mkdirs(
            caller,
            request.src,
            request.masked.perm,
            create_parent=request.createParent,
            unmasked=request.unmasked.perm if request.HasField("unmasked") else None,
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

    def create_symlink(
        self, request: pb.CreateSymlinkRequestProto, caller: Caller
    ) -> pb.CreateSymlinkResponseProto:
        def run() -> pb.CreateSymlinkResponseProto:
            self._links.create(
                caller,
                request.link,
                request.target,
                parent_mode=request.dirPerm.perm,
                create_parent=request.createParent,
            )
            return pb.CreateSymlinkResponseProto()

        return self._once(caller, run, pb.CreateSymlinkResponseProto)

    # Files.

    def create(self, request: pb.CreateRequestProto, caller: Caller) -> pb.CreateResponseProto:
        if request.ecPolicyName:
            raise errors.UnsupportedOperation(
                f"erasure coding (policy {request.ecPolicyName}) is not supported: {request.src}"
            )

        def run() -> pb.CreateResponseProto:
            file = self._opening.create(
                caller,
                request.src,
                mode=request.masked.perm,
                client_name=request.clientName,
                create=bool(request.createFlag & pb.CREATE),
                overwrite=bool(request.createFlag & pb.OVERWRITE),
                create_parent=request.createParent,
                replication=request.replication,
                block_size_bytes=messages.signed(request.blockSize),
                storage_policy=request.storagePolicy,
                unmasked=request.unmasked.perm if request.HasField("unmasked") else None,
            )
            return pb.CreateResponseProto(fs=messages.file_status(file, b""))

        def rebuild() -> pb.CreateResponseProto:
            inode = self._queries.file_info(caller, request.src)
            if inode is None:
                raise errors.PathNotFound(f"{request.src} was created and is gone since")
            return pb.CreateResponseProto(fs=messages.file_status(inode, b""))

        return self._once(caller, run, rebuild)

    def append(
        self, request: pb.AppendRequestProto, caller: Caller
    ) -> pb.AppendResponseProto | Deferred:
        """Answered when the replicas that were just written are reported."""
        return self._appends.append(request, caller)

    def _append(self, request: pb.AppendRequestProto, caller: Caller) -> pb.AppendResponseProto:
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
            file, last = self._opening.append(
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
            last = inode.last_block
            goes_on = last is not None and (
                last.state is BlockState.UNDER_CONSTRUCTION or request.flag & pb.NEW_BLOCK
            )
            return answer(inode, last if goes_on else None)

        return self._once(caller, run, rebuild)

    def add_block(
        self, request: pb.AddBlockRequestProto, caller: Caller
    ) -> pb.AddBlockResponseProto:
        file, block = self._writing.add_block(
            caller,
            request.src,
            client_name=request.clientName,
            inode_id=request.fileId,
            previous=(
                messages.client_block(self._core.settings, request.previous)
                if request.HasField("previous")
                else None
            ),
            excluded=frozenset(node.id.datanodeUuid for node in request.excludeNodes),
            favored=request.favoredNodes,
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
        self._writing.abandon_block(
            request.src,
            client_name=request.holder,
            inode_id=request.fileId,
            block=messages.client_block(self._core.settings, request.b),
        )
        return pb.AbandonBlockResponseProto()

    def fsync(self, request: pb.FsyncRequestProto, caller: Caller) -> pb.FsyncResponseProto:
        self._writing.fsync(
            request.src,
            client_name=request.client,
            inode_id=request.fileId,
            last_bytes=request.lastBlockLength,
        )
        return pb.FsyncResponseProto()

    def renew_lease(
        self, request: pb.RenewLeaseRequestProto, caller: Caller
    ) -> pb.RenewLeaseResponseProto:
        self._writing.renew_lease(request.clientName)
        return pb.RenewLeaseResponseProto()

    def recover_lease(
        self, request: pb.RecoverLeaseRequestProto, caller: Caller
    ) -> pb.RecoverLeaseResponseProto:
        return pb.RecoverLeaseResponseProto(result=self._leases.recover(caller, request.src))

    def truncate(
        self, request: pb.TruncateRequestProto, caller: Caller
    ) -> pb.TruncateResponseProto:
        """Asking twice is harmless, and so nothing but the answer's loss is remembered."""

        def run() -> pb.TruncateResponseProto:
            done = self._truncation.truncate(
                caller,
                request.src,
                messages.signed(request.newLength),
                client_name=request.clientName,
            )
            return pb.TruncateResponseProto(result=done)

        return self._once(caller, run, run)

    def concat(self, request: pb.ConcatRequestProto, caller: Caller) -> pb.ConcatResponseProto:
        def run() -> pb.ConcatResponseProto:
            self._concat.concat(caller, request.trg, request.srcs)
            return pb.ConcatResponseProto()

        return self._once(caller, run, pb.ConcatResponseProto)

    # Pipelines that are built anew.

    def update_block_for_pipeline(
        self, request: pb.UpdateBlockForPipelineRequestProto, caller: Caller
    ) -> pb.UpdateBlockForPipelineResponseProto:
        block, stamp = self._pipelines.new_stamp(
            client_name=request.clientName,
            block=messages.client_block(self._core.settings, request.block),
        )
        return pb.UpdateBlockForPipelineResponseProto(
            block=messages.located_block(
                self._core.settings, block, messages.UNKNOWN_OFFSET, [], generation_stamp=stamp
            )
        )

    def get_additional_datanode(
        self, request: pb.GetAdditionalDatanodeRequestProto, caller: Caller
    ) -> pb.GetAdditionalDatanodeResponseProto:
        block, places = self._pipelines.additional(
            request.src,
            client_name=request.clientName,
            inode_id=request.fileId,
            block=messages.client_block(self._core.settings, request.blk),
            present=self._storages(request.existings, request.existingStorageUuids),
            excluded=frozenset(node.id.datanodeUuid for node in request.excludes),
            count=request.numAdditionalNodes,
        )
        located = messages.located_block(
            self._core.settings, block, messages.UNKNOWN_OFFSET, places
        )
        located.b.CopyFrom(request.blk)
        return pb.GetAdditionalDatanodeResponseProto(block=located)

    def update_pipeline(
        self, request: pb.UpdatePipelineRequestProto, caller: Caller
    ) -> pb.UpdatePipelineResponseProto:
        def run() -> pb.UpdatePipelineResponseProto:
            nodes = (types_pb2.DatanodeInfoProto(id=told) for told in request.newNodes)
            self._pipelines.update(
                caller,
                client_name=request.clientName,
                old=messages.client_block(self._core.settings, request.oldBlock),
                new=messages.client_block(self._core.settings, request.newBlock),
                targets=self._storages(list(nodes), request.storageIDs),
            )
            return pb.UpdatePipelineResponseProto()

        return self._once(caller, run, pb.UpdatePipelineResponseProto)

    def _storages(
        self, nodes: Sequence[types_pb2.DatanodeInfoProto], storage_ids: Sequence[str]
    ) -> tuple[Storage, ...]:
        """The storages that the client names. Its pipeline may include a datanode that was
        declared dead, which is for the client to find out; an unknown one is refused."""
        if len(nodes) != len(storage_ids):
            raise errors.RemoteError(
                f"{len(nodes)} datanodes and {len(storage_ids)} storages are named"
            )
        found = []
        for told, storage_id in zip(nodes, storage_ids, strict=True):
            node = self._core.datanodes.get(told.id.datanodeUuid)
            if node is None:
                raise errors.UnregisteredNode(
                    f"Data node {told.id.ipAddr}:{told.id.xferPort} ({told.id.datanodeUuid}) "
                    "is not registered"
                )
            storage = node.storages.get(storage_id)
            if storage is None:
                raise errors.RemoteError(f"datanode {node.name} has no storage {storage_id}")
            found.append(storage)
        return tuple(found)

    # Trouble.

    def report_bad_blocks(
        self, request: pb.ReportBadBlocksRequestProto, caller: Caller
    ) -> pb.ReportBadBlocksResponseProto:
        for located in request.blocks:
            for node in located.locs:
                named = messages.client_block(self._core.settings, located.b)
                self._core.blocks.found_corrupt(
                    self._core.datanodes.get(node.id.datanodeUuid),
                    named.block_id,
                    named.generation_stamp,
                )
        return pb.ReportBadBlocksResponseProto()

    # Closing.

    def complete(
        self, request: pb.CompleteRequestProto, caller: Caller
    ) -> pb.CompleteResponseProto | Deferred:
        """Answered when the file is closed, or at the deadline with False (FS-135)."""
        pending = self._completion.complete(
            request.src,
            client_name=request.clientName,
            inode_id=request.fileId,
            last=messages.client_block(self._core.settings, request.last)
            if request.HasField("last")
            else None,
        )
        if pending.outcome is not None:
            return pb.CompleteResponseProto(result=pending.outcome)
        answer = Deferred()
        self._closing.setdefault(pending.inode_id, []).append((pending, answer))
        return answer

    def look_at_waiting(self, inode_ids: list[int] | None = None) -> None:
        """Datanodes reported, or time passed: answer what can be of `complete` and `append`."""
        self._look_at_closing(inode_ids)
        self._appends.look(inode_ids)

    def _look_at_closing(self, inode_ids: list[int] | None) -> None:
        for inode_id in list(self._closing) if inode_ids is None else inode_ids:
            waiting = self._closing.pop(inode_id, None)
            if waiting is None:
                continue
            still = []
            for pending, answer in waiting:
                try:
                    self._completion.try_close(pending)
                except errors.HowdahError as error:
                    answer.settle(error)
                    continue
                except Exception as error:  # noqa: BLE001 - the others get their answers
                    answer.settle(defect("complete", error))
                    continue
                if pending.outcome is None:
                    still.append((pending, answer))
                else:
                    answer.settle(pb.CompleteResponseProto(result=pending.outcome))
            if still:
                self._closing[inode_id] = still
