"""ClientProtocol as typed methods: what a client asks of its namenode.

One method per RPC, named as Hadoop names it in Python's spelling. Blocks come and
go as `howdah.client.state.blocks`; statuses and summaries stay protobuf, since only
`howdah.fs.hdfs.filesystem` looks into them and turns them into its own records.

Which namenode is called, and how often, is decided by `howdah.client.namenodes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.client.located_blocks_decoder import Located
from howdah.client.namenode_attributes import AttributeMethods
from howdah.client.namenode_caching import CachingMethods
from howdah.client.namenode_encryption import EncryptionMethods
from howdah.client.namenode_erasure_coding import ErasureCodingMethods
from howdah.client.namenode_snapshots import SnapshotMethods
from howdah.client.namenodes.calls import NamenodeCalls, PreparesCalls
from howdah.client.state.blocks import LocatedBlock, LocatedBlocks
from howdah.client.state.create_flags import block_flags, namenode_bits
from howdah.options import CreateFlag, check_mode
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2, types_pb2
from howdah.protocol.client_methods import METHODS
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.rpc.client import AnswerType
from howdah.rpc.connection import PreparedCall

M = TypeVar("M")


def _permission(mode: int) -> types_pb2.FsPermissionProto:
    return types_pb2.FsPermissionProto(perm=check_mode(mode))


def _fsync(
    path: str, client_name: str, last_block_length: int, file_id: int, durable: bool
) -> pb.FsyncRequestProto:
    request = pb.FsyncRequestProto(
        src=path, client=client_name, lastBlockLength=last_block_length, fileId=file_id
    )
    if not durable:
        request.visibleOnly = True
    return request


def _paths_of(method: str, request: Message) -> tuple[str | None, str | None]:
    """The path that a request is about, and where it is to lead."""
    row = METHODS.get(method)
    path = getattr(request, row.path) if row is not None and row.path else None
    if not isinstance(path, str):
        return None, None
    return path, getattr(request, "dst", None)


class NamenodeProxy(
    AttributeMethods, EncryptionMethods, ErasureCodingMethods, SnapshotMethods, CachingMethods
):
    """A namespace's ClientProtocol. Thread-safe and fork-safe, as `RpcClient` is."""

    def __init__(self, calls: NamenodeCalls) -> None:
        self._calls = calls
        self._prepares = calls if isinstance(calls, PreparesCalls) else None

    @property
    def address(self) -> tuple[str, int]:
        """Of the namenode that is asked next."""
        return self._calls.address

    @property
    def user(self) -> str:
        return self._calls.user

    def close(self) -> None:
        self._calls.close()

    def call(self, method: str, request: Message, response_type: AnswerType[M]) -> M:
        """Any method of the protocol."""
        try:
            return self._calls.call(method, request, response_type)
        except errors.HowdahError as error:
            error.about(*_paths_of(method, request))
            raise

    # --- namespace ----------------------------------------------------------------

    def create(
        self,
        path: str,
        client_name: str,
        *,
        masked: int,
        unmasked: int,
        flags: CreateFlag,
        create_parent: bool,
        replication: int,
        block_size: int,
        ec_policy: str | None = None,
    ) -> types_pb2.HdfsFileStatusProto:
        request = pb.CreateRequestProto(
            src=path,
            masked=_permission(masked),
            clientName=client_name,
            createFlag=namenode_bits(flags),
            createParent=create_parent,
            replication=replication,
            blockSize=block_size,
            unmasked=_permission(unmasked),
            ecPolicyName=ec_policy,
            cryptoProtocolVersion=[types_pb2.ENCRYPTION_ZONES],
        )
        return self.call("create", request, pb.CreateResponseProto).fs

    def append(
        self, path: str, client_name: str, flags: CreateFlag = CreateFlag.APPEND
    ) -> tuple[LocatedBlock | None, types_pb2.HdfsFileStatusProto | None]:
        """The last block if it has room, and the file's status.

        With NEW_BLOCK the block is the one to name as the one before; it has no nodes.
        """
        request = pb.AppendRequestProto(
            src=path, clientName=client_name, flag=namenode_bits(flags | CreateFlag.APPEND)
        )
        answer = self.call("append", request, pb.AppendResponseProto)
        block = LocatedBlock.from_proto(answer.block) if answer.HasField("block") else None
        return block, answer.stat if answer.HasField("stat") else None

    def complete(
        self, path: str, client_name: str, last: ExtendedBlock | None, file_id: int
    ) -> bool:
        request = pb.CompleteRequestProto(
            src=path,
            clientName=client_name,
            last=last.to_proto() if last else None,
            fileId=file_id,
        )
        return self.call("complete", request, pb.CompleteResponseProto).result

    def truncate(self, path: str, new_length: int, client_name: str) -> bool:
        """Cut a file; false when its last block has to be recovered first."""
        request = pb.TruncateRequestProto(src=path, newLength=new_length, clientName=client_name)
        return self.call("truncate", request, pb.TruncateResponseProto).result

    def concat(self, target: str, sources: Sequence[str]) -> None:
        """Move the blocks of `sources` to the end of `target`, and delete the sources."""
        request = pb.ConcatRequestProto(trg=target, srcs=sources)
        self.call("concat", request, pb.ConcatResponseProto)

    def mkdirs(self, path: str, *, masked: int, unmasked: int, create_parent: bool) -> bool:
        request = pb.MkdirsRequestProto(
            src=path,
            masked=_permission(masked),
            createParent=create_parent,
            unmasked=_permission(unmasked),
        )
        return self.call("mkdirs", request, pb.MkdirsResponseProto).result

    def rename2(self, src: str, dst: str, *, overwrite: bool, to_trash: bool = False) -> None:
        request = pb.Rename2RequestProto(
            src=src, dst=dst, overwriteDest=overwrite, moveToTrash=to_trash
        )
        self.call("rename2", request, pb.Rename2ResponseProto)

    def rename_in_turn(
        self,
        renames: Sequence[tuple[str, str]],
        *,
        to_trash: bool,
        known: pb.KnownFileProto | None = None,
    ) -> int:
        """Rename several, the first one with its checks; how many were renamed."""
        (src, dst), *others = renames
        request = pb.Rename2RequestProto(
            src=src,
            dst=dst,
            overwriteDest=False,
            moveToTrash=to_trash,
            next=[pb.NextRenameProto(src=src, dst=dst) for src, dst in others],
            known=known,
        )
        return 1 + self.call("rename2", request, pb.Rename2ResponseProto).nextDone

    def rename_over(self, src: str, dst: str, known: pb.KnownFileProto) -> None:
        request = pb.Rename2RequestProto(src=src, dst=dst, overwriteDest=False, replaces=known)
        self.call("rename2", request, pb.Rename2ResponseProto)

    def delete(self, path: str, *, recursive: bool) -> bool:
        request = pb.DeleteRequestProto(src=path, recursive=recursive)
        return self.call("delete", request, pb.DeleteResponseProto).result

    def delete_known(self, path: str, known: pb.KnownFileProto) -> bool:
        request = pb.DeleteRequestProto(src=path, recursive=False, known=known)
        return self.call("delete", request, pb.DeleteResponseProto).result

    def get_file_info(self, path: str) -> types_pb2.HdfsFileStatusProto | None:
        answer = self.call(
            "getFileInfo", pb.GetFileInfoRequestProto(src=path), pb.GetFileInfoResponseProto
        )
        return answer.fs if answer.HasField("fs") else None

    def get_file_link_info(self, path: str) -> types_pb2.HdfsFileStatusProto | None:
        answer = self.call(
            "getFileLinkInfo",
            pb.GetFileLinkInfoRequestProto(src=path),
            pb.GetFileLinkInfoResponseProto,
        )
        return answer.fs if answer.HasField("fs") else None

    def get_link_target(self, path: str) -> str:
        """What the link says; of a path that goes through one, where that leads."""
        return self.call(
            "getLinkTarget",
            pb.GetLinkTargetRequestProto(path=path),
            pb.GetLinkTargetResponseProto,
        ).targetPath

    def create_symlink(
        self, target: str, link: str, *, parent_mode: int, create_parent: bool
    ) -> None:
        request = pb.CreateSymlinkRequestProto(
            target=target,
            link=link,
            dirPerm=_permission(parent_mode),
            createParent=create_parent,
        )
        self.call("createSymlink", request, pb.CreateSymlinkResponseProto)

    def get_listing(
        self, path: str, start_after: bytes, *, need_location: bool = False
    ) -> types_pb2.DirectoryListingProto | None:
        request = pb.GetListingRequestProto(
            src=path, startAfter=start_after, needLocation=need_location
        )
        answer = self.call("getListing", request, pb.GetListingResponseProto)
        return answer.dirList if answer.HasField("dirList") else None

    def get_content_summary(self, path: str) -> types_pb2.ContentSummaryProto:
        return self.call(
            "getContentSummary",
            pb.GetContentSummaryRequestProto(path=path),
            pb.GetContentSummaryResponseProto,
        ).summary

    def get_quota_usage(self, path: str) -> types_pb2.QuotaUsageProto:
        return self.call(
            "getQuotaUsage",
            pb.GetQuotaUsageRequestProto(path=path),
            pb.GetQuotaUsageResponseProto,
        ).usage

    def set_permission(self, path: str, mode: int) -> None:
        request = pb.SetPermissionRequestProto(src=path, permission=_permission(mode))
        self.call("setPermission", request, pb.SetPermissionResponseProto)

    def set_owner(self, path: str, owner: str | None, group: str | None) -> None:
        request = pb.SetOwnerRequestProto(src=path, username=owner, groupname=group)
        self.call("setOwner", request, pb.SetOwnerResponseProto)

    def set_replication(self, path: str, replication: int) -> bool:
        request = pb.SetReplicationRequestProto(src=path, replication=replication)
        return self.call("setReplication", request, pb.SetReplicationResponseProto).result

    def set_times(self, path: str, mtime_ms: int, atime_ms: int) -> None:
        # The fields are unsigned; Java sends -1, "leave it", as all bits set.
        mask = (1 << 64) - 1
        request = pb.SetTimesRequestProto(src=path, mtime=mtime_ms & mask, atime=atime_ms & mask)
        self.call("setTimes", request, pb.SetTimesResponseProto)

    def check_access(self, path: str, action: str) -> None:
        """`action` is a name of FsActionProto, such as `READ_WRITE`."""
        request = pb.CheckAccessRequestProto(path=path, mode=action)
        self.call("checkAccess", request, pb.CheckAccessResponseProto)

    # --- blocks of a file that is being written ---------------------------------------

    def add_block(
        self,
        path: str,
        client_name: str,
        previous: ExtendedBlock | None,
        excluded: Sequence[DatanodeAddress],
        file_id: int,
        flags: CreateFlag = CreateFlag.NONE,
        favored_nodes: Sequence[str] = (),
    ) -> LocatedBlock:
        request = pb.AddBlockRequestProto(
            src=path,
            clientName=client_name,
            previous=previous.to_proto() if previous else None,
            excludeNodes=[node.to_proto() for node in excluded],
            fileId=file_id,
            flags=block_flags(flags),
            favoredNodes=favored_nodes,
        )
        return LocatedBlock.from_proto(
            self.call("addBlock", request, pb.AddBlockResponseProto).block
        )

    def abandon_block(
        self, path: str, client_name: str, block: ExtendedBlock, file_id: int
    ) -> None:
        request = pb.AbandonBlockRequestProto(
            b=block.to_proto(), src=path, holder=client_name, fileId=file_id
        )
        self.call("abandonBlock", request, pb.AbandonBlockResponseProto)

    def fsync(
        self,
        path: str,
        client_name: str,
        last_block_length: int,
        file_id: int,
        *,
        durable: bool = True,
    ) -> None:
        """Tell the length of the last block. Not `durable`, everybody sees it from now on, but a
        namenode that is killed in the next moment may have forgotten it."""
        request = _fsync(path, client_name, last_block_length, file_id, durable)
        self.call("fsync", request, pb.FsyncResponseProto)

    def prepare_fsync(
        self,
        path: str,
        client_name: str,
        last_block_length: int,
        file_id: int,
        *,
        durable: bool = True,
    ) -> PreparedCall | None:
        """`fsync`, for somebody else to make; None where that cannot be."""
        if self._prepares is None:
            return None
        request = _fsync(path, client_name, last_block_length, file_id, durable)
        return self._prepares.prepare("fsync", request)

    def update_block_for_pipeline(self, block: ExtendedBlock, client_name: str) -> LocatedBlock:
        """The block with a new generation stamp, and a token for it."""
        request = pb.UpdateBlockForPipelineRequestProto(
            block=block.to_proto(), clientName=client_name
        )
        answer = self.call(
            "updateBlockForPipeline", request, pb.UpdateBlockForPipelineResponseProto
        )
        return LocatedBlock.from_proto(answer.block)

    def update_pipeline(
        self, client_name: str, old: ExtendedBlock, new: ExtendedBlock, block: LocatedBlock
    ) -> None:
        request = pb.UpdatePipelineRequestProto(
            clientName=client_name,
            oldBlock=old.to_proto(),
            newBlock=new.to_proto(),
            newNodes=[node.id_to_proto() for node in block.nodes],
            storageIDs=block.storage_ids,
        )
        self.call("updatePipeline", request, pb.UpdatePipelineResponseProto)

    def get_additional_datanode(
        self,
        path: str,
        client_name: str,
        block: LocatedBlock,
        excluded: Sequence[DatanodeAddress],
        file_id: int,
    ) -> LocatedBlock:
        """The block's nodes and, if there is any, one more that is not among `excluded`."""
        request = pb.GetAdditionalDatanodeRequestProto(
            src=path,
            blk=block.block.to_proto(),
            existings=[node.to_proto() for node in block.nodes],
            excludes=[node.to_proto() for node in excluded],
            numAdditionalNodes=1,
            clientName=client_name,
            existingStorageUuids=block.storage_ids,
            fileId=file_id,
        )
        answer = self.call("getAdditionalDatanode", request, pb.GetAdditionalDatanodeResponseProto)
        return LocatedBlock.from_proto(answer.block)

    def renew_lease(self, client_name: str, namespaces: Sequence[str] = ()) -> None:
        """`namespaces` are those in which the files are, where a router told of them: it renews
        there alone. Namenodes do not look at them."""
        self.call(
            "renewLease",
            pb.RenewLeaseRequestProto(clientName=client_name, namespaces=namespaces),
            pb.RenewLeaseResponseProto,
        )

    def recover_lease(self, path: str, client_name: str) -> bool:
        """Close a file whose writer is gone; true when it is closed already."""
        request = pb.RecoverLeaseRequestProto(src=path, clientName=client_name)
        return self.call("recoverLease", request, pb.RecoverLeaseResponseProto).result

    def is_file_closed(self, path: str) -> bool:
        return self.call(
            "isFileClosed", pb.IsFileClosedRequestProto(src=path), pb.IsFileClosedResponseProto
        ).result

    # --- blocks of a file that is being read ------------------------------------------

    def get_block_locations(self, path: str, offset: int, length: int) -> LocatedBlocks:
        request = pb.GetBlockLocationsRequestProto(src=path, offset=offset, length=length)
        try:
            answer = self.call("getBlockLocations", request, Located)
        except errors.PathNotFound as error:
            # Namenodes say so of directories too, which Python users expect to tell apart.
            if error.message.startswith("Path is not a file"):
                raise errors.PathIsDirectory(error.message).about(path) from error
            raise
        if isinstance(answer, LocatedBlocks):
            return answer
        if not answer.HasField("locations"):
            raise errors.PathNotFound(f"File does not exist: {path}").about(path)
        return LocatedBlocks.from_proto(answer.locations)

    def report_bad_blocks(self, blocks: Sequence[LocatedBlock]) -> None:
        request = pb.ReportBadBlocksRequestProto(blocks=[block.to_proto() for block in blocks])
        self.call("reportBadBlocks", request, pb.ReportBadBlocksResponseProto)

    # --- the filesystem as a whole ------------------------------------------------------

    def get_server_defaults(self) -> types_pb2.FsServerDefaultsProto:
        return self.call(
            "getServerDefaults",
            pb.GetServerDefaultsRequestProto(),
            pb.GetServerDefaultsResponseProto,
        ).serverDefaults

    def get_delegation_token(self, renewer: str) -> rpc_pb2.TokenProto | None:
        """A token for who asks; None from a namenode that issues none."""
        answer = self.call(
            "getDelegationToken",
            rpc_pb2.GetDelegationTokenRequestProto(renewer=renewer),
            rpc_pb2.GetDelegationTokenResponseProto,
        )
        return answer.token if answer.HasField("token") else None

    def renew_delegation_token(self, token: rpc_pb2.TokenProto) -> int:
        """Until when it is good now, in milliseconds since 1970."""
        return self.call(
            "renewDelegationToken",
            rpc_pb2.RenewDelegationTokenRequestProto(token=token),
            rpc_pb2.RenewDelegationTokenResponseProto,
        ).newExpiryTime

    def cancel_delegation_token(self, token: rpc_pb2.TokenProto) -> None:
        self.call(
            "cancelDelegationToken",
            rpc_pb2.CancelDelegationTokenRequestProto(token=token),
            rpc_pb2.CancelDelegationTokenResponseProto,
        )

    def get_data_encryption_key(self) -> types_pb2.DataEncryptionKeyProto | None:
        """The key that data connections are encrypted by; None where they are not."""
        answer = self.call(
            "getDataEncryptionKey",
            pb.GetDataEncryptionKeyRequestProto(),
            pb.GetDataEncryptionKeyResponseProto,
        )
        return answer.dataEncryptionKey if answer.HasField("dataEncryptionKey") else None

    def msync(self) -> None:
        """Have the client know of all that anybody has done so far."""
        self.call("msync", pb.MsyncRequestProto(), pb.MsyncResponseProto)

    def get_fs_stats(self) -> pb.GetFsStatsResponseProto:
        return self.call("getFsStats", pb.GetFsStatusRequestProto(), pb.GetFsStatsResponseProto)

    def set_safe_mode(self, action: str, *, checked: bool = False) -> bool:
        """`action` is a name of SafeModeActionProto; whether the namenode is in safe mode now.

        `checked` asks for an answer of the active namenode.
        """
        request = pb.SetSafeModeRequestProto(action=action, checked=checked)
        return self.call("setSafeMode", request, pb.SetSafeModeResponseProto).result

    def get_datanode_report(self, kind: str) -> list[types_pb2.DatanodeInfoProto]:
        """`kind` is a name of DatanodeReportTypeProto, such as `LIVE`."""
        answer = self.call(
            "getDatanodeReport",
            pb.GetDatanodeReportRequestProto(type=kind),
            pb.GetDatanodeReportResponseProto,
        )
        return list(answer.di)
