"""Files: create, append, truncate, concat, complete, and their leases (pure).

The part of ClientProtocol that Hadoop's FSDirWriteFileOp, FSDirAppendOp, FSDirTruncateOp,
FSDirConcatOp and LeaseManager serve. Blocks and pipelines of an open file are in
`client_blocks`.
"""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.namenode.service.block_tokens import WRITE
from howdah.namenode.service.calls.at_most_once import AtMostOnce
from howdah.namenode.service.calls.namespace_reads import Queries
from howdah.namenode.service.calls.zone_keys import KeyAwaited
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols import encoders
from howdah.namenode.service.protocols.fast_path import requests
from howdah.namenode.service.protocols.fast_path.write_responses import WrittenAnswers
from howdah.namenode.service.writing.allocation import Writing
from howdah.namenode.service.writing.block_recovery import BlockRecovery
from howdah.namenode.service.writing.complete import Closing
from howdah.namenode.service.writing.concat import Concat
from howdah.namenode.service.writing.create_append import Opening
from howdah.namenode.service.writing.lease_recovery import LeaseRecovery
from howdah.namenode.service.writing.pending_appends import PendingAppends
from howdah.namenode.service.writing.pending_completes import PendingCompletes
from howdah.namenode.service.writing.pending_creates import PendingCreates
from howdah.namenode.service.writing.truncation import Truncation
from howdah.namenode.state.inodes import paths
from howdah.namenode.state.inodes.inodes import Block, BlockState, File, INode
from howdah.namenode.state.tree import coding_policies
from howdah.namenode.state.tree.encryption_zones import file_key, zone_of
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred, Early, Encoded
from howdah.protocol.striping.policies import Policy

_CREATE: Final = int(pb.CREATE)
_OVERWRITE: Final = int(pb.OVERWRITE)
_LAZY_PERSIST: Final = int(pb.LAZY_PERSIST)
_SHOULD_REPLICATE: Final = int(pb.SHOULD_REPLICATE)


class FileMethods:
    """Calls of those who write files."""

    def __init__(
        self,
        namesystem: Namesystem,
        leases: LeaseRecovery,
        recovery: BlockRecovery,
        writing: Writing,
    ) -> None:
        self._namesystem = namesystem
        self._once = AtMostOnce(namesystem)
        self._queries = Queries(namesystem)
        self._answers = WrittenAnswers(namesystem)
        self._leases = leases
        self._writing = writing
        self._opening = Opening(namesystem, leases)
        self._truncation = Truncation(namesystem, leases, recovery)
        self._concat = Concat(namesystem)
        self.closes = PendingCompletes(Closing(namesystem, writing))
        self.appends = PendingAppends(namesystem, self._append)
        self.awaiting_keys = PendingCreates(namesystem)

    def create(
        self, request: pb.CreateRequestProto | requests.Create, caller: Caller
    ) -> pb.CreateResponseProto | Encoded | Deferred:
        """Answered when there is a key for it, in an encryption zone."""
        fields = request if isinstance(request, tuple) else requests.create_of(request)
        (
            src,
            mode,
            client_name,
            flags,
            create_parent,
            replication,
            block_size,
            unmasked,
            ec_policy,
            storage_policy,
        ) = fields
        # A request that was not read as a message names no version.
        knows_zones = (
            not isinstance(request, tuple)
            and types_pb2.ENCRYPTION_ZONES in request.cryptoProtocolVersion
        )

        def run() -> pb.CreateResponseProto | Encoded:
            file = self._opening.create(
                caller,
                src,
                mode=mode,
                client_name=client_name,
                create=bool(flags & _CREATE),
                overwrite=bool(flags & _OVERWRITE),
                create_parent=create_parent,
                replication=replication,
                block_size_bytes=encoders.signed(block_size),
                storage_policy=storage_policy,
                lazy_persist=bool(flags & _LAZY_PERSIST),
                unmasked=unmasked,
                coding_policy=ec_policy,
                should_replicate=bool(flags & _SHOULD_REPLICATE),
                knows_zones=knows_zones,
            )
            data = self._answers.created(file)
            return self._created(file) if data is None else Encoded(data)

        def rebuild() -> pb.CreateResponseProto | Encoded:
            inode = self._file_of(caller, src, client_name)
            if inode is None:
                raise errors.PathNotFound(f"{src} was created and is gone since")
            if not isinstance(inode, File) or inode.writer != client_name:
                raise errors.LeaseExpired(
                    f"{src} was created, and {client_name} does not write it any more"
                )
            return self._created(inode)

        def create() -> pb.CreateResponseProto | Encoded:
            return self._once(caller, run, rebuild, is_long=True)

        try:
            return create()
        except KeyAwaited as awaited:
            return self.awaiting_keys.hold(awaited.key_name, lambda: _as_message(create()))

    def _created(self, inode: INode) -> pb.CreateResponseProto:
        answer = pb.CreateResponseProto()
        encoders.file_status(inode, b"", into=answer.fs)
        encoders.show_coding(answer.fs, self._coding(inode))
        self._show_encryption(answer.fs, inode)
        return answer

    def _show_encryption(self, status: types_pb2.HdfsFileStatusProto, inode: INode) -> None:
        if self._namesystem.namespace.zones:
            zone = zone_of(inode)
            encoders.show_encryption(status, file_key(inode.xattrs, zone), in_zone=zone is not None)

    def _coding(self, inode: INode) -> Policy | None:
        return coding_policies.of(inode, self._namesystem.namespace.coding_policies)

    def _file_of(self, caller: Caller, path: str, client_name: str) -> INode | None:
        """The file that a call which is repeated was given; None if nothing is there any more. It
        may have been moved since. Raises LeaseExpired if it is gone and another one has its path:
        whoever got that would write it together with its writer, who may go by the same name."""
        inode, made_id = (
            self._queries.file_info(caller, path),
            self._namesystem.retry_cache.made_by(caller),
        )
        if made_id is None or (inode is not None and inode.inode_id == made_id):
            return inode
        namespace = self._namesystem.namespace
        made = namespace.inodes.get(made_id)
        if made is not None and namespace.is_attached(made):
            return made
        if inode is not None:
            raise errors.LeaseExpired(
                f"{path} is not the file any more that {client_name} was given"
            )
        return None

    def append(
        self, request: pb.AppendRequestProto, caller: Caller
    ) -> pb.AppendResponseProto | Deferred:
        """Answered when the replicas that were just written are reported."""
        return self.appends.append(request, caller)

    def _append(self, request: pb.AppendRequestProto, caller: Caller) -> pb.AppendResponseProto:
        def answer(file: File, last: Block | None) -> pb.AppendResponseProto:
            response = pb.AppendResponseProto(stat=encoders.file_status(file, b""))
            encoders.show_coding(response.stat, self._coding(file))
            if not paths.is_raw(request.src):
                self._show_encryption(response.stat, file)
            if last is not None:
                response.block.CopyFrom(
                    encoders.located_block(
                        self._namesystem.settings,
                        last,
                        file.length_bytes - last.length_bytes,
                        list(last.expected),
                    )
                )
                tokens = self._namesystem.block_tokens
                if tokens is not None:
                    tokens.sign(response.block, caller.user, WRITE)
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
            inode = self._file_of(caller, request.src, request.clientName)
            if not isinstance(inode, File) or inode.writer != request.clientName:
                raise errors.LeaseExpired(f"{request.src} was reopened, and closed since")
            last = inode.last_block
            goes_on = last is not None and (
                last.state is BlockState.UNDER_CONSTRUCTION or request.flag & pb.NEW_BLOCK
            )
            return answer(inode, last if goes_on else None)

        return self._once(caller, run, rebuild)

    def truncate(
        self, request: pb.TruncateRequestProto, caller: Caller
    ) -> pb.TruncateResponseProto | Deferred:
        """Asking twice is harmless, and so nothing but the answer's loss is remembered. Answered
        when there is another key for an encrypted file that is emptied."""

        def run() -> pb.TruncateResponseProto:
            done = self._truncation.truncate(
                caller,
                request.src,
                encoders.signed(request.newLength),
                client_name=request.clientName,
            )
            return pb.TruncateResponseProto(result=done)

        def truncate() -> pb.TruncateResponseProto:
            return self._once(caller, run, run)

        try:
            return truncate()
        except KeyAwaited as awaited:
            return self.awaiting_keys.hold(awaited.key_name, truncate)

    def concat(self, request: pb.ConcatRequestProto, caller: Caller) -> pb.ConcatResponseProto:
        def run() -> pb.ConcatResponseProto:
            self._concat.concat(caller, request.trg, request.srcs)
            return pb.ConcatResponseProto()

        return self._once(caller, run, pb.ConcatResponseProto)

    def fsync(self, request: pb.FsyncRequestProto, caller: Caller) -> pb.FsyncResponseProto | Early:
        self._writing.fsync(
            caller,
            request.src,
            client_name=request.client,
            inode_id=request.fileId,
            last_bytes=request.lastBlockLength,
        )
        answer = pb.FsyncResponseProto()
        return Early(answer) if request.visibleOnly else answer

    def renew_lease(
        self, request: pb.RenewLeaseRequestProto, caller: Caller
    ) -> pb.RenewLeaseResponseProto:
        self._writing.renew_lease(request.clientName)
        return pb.RenewLeaseResponseProto()

    def recover_lease(
        self, request: pb.RecoverLeaseRequestProto, caller: Caller
    ) -> pb.RecoverLeaseResponseProto:
        return pb.RecoverLeaseResponseProto(result=self._leases.recover(caller, request.src))

    def complete(
        self, request: pb.CompleteRequestProto | requests.Complete, caller: Caller
    ) -> pb.CompleteResponseProto | Encoded | Deferred:
        """Answered when the file is closed, or at the deadline with False (FS-135)."""
        fields = request if isinstance(request, tuple) else requests.complete_of(request)
        src, client_name, last, inode_id = fields
        return self.closes.complete(
            caller,
            src,
            client_name=client_name,
            inode_id=inode_id,
            last=None if last is None else encoders.named_block(self._namesystem.settings, last),
        )


def _as_message(answer: pb.CreateResponseProto | Encoded) -> pb.CreateResponseProto:
    if isinstance(answer, Encoded):
        return pb.CreateResponseProto.FromString(answer.data)
    return answer
