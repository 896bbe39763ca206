"""Blocks of an open file, and the pipelines to them (pure).

The part of ClientProtocol that Hadoop's FSDirWriteFileOp and FSNamesystem.updatePipeline
serve: a writer asks for a block, gives it up, gets a new generation stamp after a datanode
failed, and reports replicas that are bad.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from howdah import errors
from howdah.namenode.service.block_tokens import COPY, WRITE
from howdah.namenode.service.calls.at_most_once import AtMostOnce
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols import bad_blocks, encoders
from howdah.namenode.service.protocols.fast_path import requests
from howdah.namenode.service.protocols.fast_path.write_responses import WrittenAnswers
from howdah.namenode.service.writing.allocation import Writing
from howdah.namenode.service.writing.pipelines import PipelineCalls
from howdah.namenode.state.blocks.datanodes import Storage
from howdah.namenode.state.inodes.group_table import Group
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Encoded
from howdah.protocol.striping.layout import is_striped


class BlockMethods:
    """Calls of output streams about one block."""

    def __init__(self, namesystem: Namesystem, writing: Writing) -> None:
        self._namesystem = namesystem
        self._once = AtMostOnce(namesystem)
        self._answers = WrittenAnswers(namesystem)
        self._writing = writing
        self._pipelines = PipelineCalls(namesystem, writing)

    def add_block(
        self, request: pb.AddBlockRequestProto | requests.AddBlock, caller: Caller
    ) -> pb.AddBlockResponseProto | Encoded:
        excluded: frozenset[str] = frozenset()
        favored: Sequence[str] = ()
        flags: Collection[int] = ()
        if isinstance(request, tuple):
            src, client_name, previous, inode_id = request
        else:
            src, client_name, previous, inode_id = requests.add_block_of(request)
            excluded = frozenset(node.id.datanodeUuid for node in request.excludeNodes)
            favored, flags = request.favoredNodes, request.flags
        file, block = self._writing.add_block(
            caller,
            src,
            client_name=client_name,
            inode_id=inode_id,
            previous=(
                None
                if previous is None
                else encoders.named_block(self._namesystem.settings, previous)
            ),
            excluded=excluded,
            favored=favored,
            spare_writer=pb.NO_LOCAL_WRITE in flags,
            ignore_locality=pb.IGNORE_CLIENT_LOCALITY in flags,
        )
        offset_bytes = file.length_bytes - block.length_bytes
        if isinstance(block, Group):
            answer = pb.AddBlockResponseProto()
            self._locate_group(block, offset_bytes, into=answer.block)
            self._sign(caller, answer.block)
            return answer
        if self._namesystem.block_tokens is not None:
            answer = pb.AddBlockResponseProto()
            places = list(block.expected)
            settings = self._namesystem.settings
            encoders.located_block(settings, block, offset_bytes, places, into=answer.block)
            self._sign(caller, answer.block)
            return answer
        return Encoded(self._answers.placed(block, offset_bytes, block.expected))

    def _sign(
        self, caller: Caller, located: types_pb2.LocatedBlockProto, mode: str = WRITE
    ) -> None:
        """Let a writer write the block, or have it copied, where datanodes ask for that."""
        tokens = self._namesystem.block_tokens
        if tokens is not None:
            tokens.sign(located, caller.user, mode)

    def _locate_group(
        self,
        group: Group,
        offset_bytes: int,
        *,
        generation_stamp: int | None = None,
        into: types_pb2.LocatedBlockProto,
    ) -> None:
        """A block group that is being written: where each of its internal blocks goes."""
        parts = group.expected_parts
        encoders.located_block(
            self._namesystem.settings,
            group,
            offset_bytes,
            [storage for _, storage in parts],
            indices=[index for index, _ in parts],
            generation_stamp=generation_stamp,
            into=into,
        )

    def abandon_block(
        self, request: pb.AbandonBlockRequestProto, caller: Caller
    ) -> pb.AbandonBlockResponseProto:
        self._writing.abandon_block(
            caller,
            request.src,
            client_name=request.holder,
            inode_id=request.fileId,
            block=encoders.client_block(self._namesystem.settings, request.b),
        )
        return pb.AbandonBlockResponseProto()

    def update_block_for_pipeline(
        self, request: pb.UpdateBlockForPipelineRequestProto, caller: Caller
    ) -> pb.UpdateBlockForPipelineResponseProto:
        block, stamp = self._pipelines.new_stamp(
            client_name=request.clientName,
            block=encoders.client_block(self._namesystem.settings, request.block),
        )
        if isinstance(block, Group):
            answer = pb.UpdateBlockForPipelineResponseProto()
            offset_bytes = encoders.UNKNOWN_OFFSET
            self._locate_group(block, offset_bytes, generation_stamp=stamp, into=answer.block)
            self._sign(caller, answer.block)
            return answer
        located = encoders.located_block(
            self._namesystem.settings, block, encoders.UNKNOWN_OFFSET, [], generation_stamp=stamp
        )
        self._sign(caller, located)
        return pb.UpdateBlockForPipelineResponseProto(block=located)

    def get_additional_datanode(
        self, request: pb.GetAdditionalDatanodeRequestProto, caller: Caller
    ) -> pb.GetAdditionalDatanodeResponseProto:
        block, places = self._pipelines.additional(
            caller,
            request.src,
            client_name=request.clientName,
            inode_id=request.fileId,
            block=encoders.client_block(self._namesystem.settings, request.blk),
            present=self._storages(request.existings, request.existingStorageUuids),
            excluded=frozenset(node.id.datanodeUuid for node in request.excludes),
            count=request.numAdditionalNodes,
        )
        located = encoders.located_block(
            self._namesystem.settings, block, encoders.UNKNOWN_OFFSET, places
        )
        located.b.CopyFrom(request.blk)
        self._sign(caller, located, COPY)
        return pb.GetAdditionalDatanodeResponseProto(block=located)

    def update_pipeline(
        self, request: pb.UpdatePipelineRequestProto, caller: Caller
    ) -> pb.UpdatePipelineResponseProto:
        def run() -> pb.UpdatePipelineResponseProto:
            old = encoders.client_block(self._namesystem.settings, request.oldBlock)
            if is_striped(old.block_id):
                self._pipelines.update_group(
                    caller,
                    client_name=request.clientName,
                    old=old,
                    new=encoders.client_block(self._namesystem.settings, request.newBlock),
                    targets=self._parts(request),
                )
                return pb.UpdatePipelineResponseProto()
            nodes = (types_pb2.DatanodeInfoProto(id=told) for told in request.newNodes)
            self._pipelines.update(
                caller,
                client_name=request.clientName,
                old=old,
                new=encoders.client_block(self._namesystem.settings, request.newBlock),
                targets=self._storages(list(nodes), request.storageIDs),
            )
            return pb.UpdatePipelineResponseProto()

        return self._once(caller, run, pb.UpdatePipelineResponseProto)

    def report_bad_blocks(
        self, request: pb.ReportBadBlocksRequestProto, caller: Caller
    ) -> pb.ReportBadBlocksResponseProto:
        bad_blocks.note(self._namesystem, request.blocks)
        return pb.ReportBadBlocksResponseProto()

    def _storages(
        self, nodes: Sequence[types_pb2.DatanodeInfoProto], storage_ids: Sequence[str]
    ) -> tuple[Storage, ...]:
        """The storages that the client names. Its pipeline may include a datanode that was
        declared dead, which is for the client to find out; an unknown one is refused. When
        this namenode has just become active, the pipeline is older than that, and its
        datanodes may be about to register: then the client is to ask again."""
        if len(nodes) != len(storage_ids):
            raise errors.RemoteError(
                f"{len(nodes)} datanodes and {len(storage_ids)} storages are named"
            )
        found = []
        for told, storage_id in zip(nodes, storage_ids, strict=True):
            node = self._namesystem.datanode_manager.datanodes.get(told.id.datanodeUuid)
            if node is None:
                raise self._unknown(
                    errors.UnregisteredNode(
                        f"Data node {told.id.ipAddr}:{told.id.xferPort} ({told.id.datanodeUuid}) "
                        "is not registered"
                    )
                )
            storage = node.storages.get(storage_id)
            if storage is None:
                raise self._unknown(
                    errors.RemoteError(f"datanode {node.name} has no storage {storage_id}")
                )
            found.append(storage)
        return tuple(found)

    def _parts(self, request: pb.UpdatePipelineRequestProto) -> list[tuple[int, Storage]]:
        """Index and storage of each internal block that is still written: the place in the list
        is the index, and those that have failed are there without a storage."""
        if len(request.newNodes) != len(request.storageIDs):
            raise errors.RemoteError(
                f"{len(request.newNodes)} datanodes and {len(request.storageIDs)} storages are "
                "named"
            )
        parts = []
        for index, (node, storage_id) in enumerate(
            zip(request.newNodes, request.storageIDs, strict=True)
        ):
            if storage_id:
                named = types_pb2.DatanodeInfoProto(id=node)
                parts.append((index, self._storages([named], [storage_id])[0]))
        return parts

    def _unknown(self, refusal: errors.HowdahError) -> errors.HowdahError:
        left_ms = self._namesystem.block_manager.return_left_ms
        if not left_ms:
            return refusal
        return errors.RetriableError(
            f"{refusal.message}; this namenode became active a moment ago, and datanodes have "
            f"{left_ms / 1000:g} s more to come back"
        )
