"""Calls of those who write files (shell).

A new file is made at the first destination, unless it is at another one already, which each of
them is asked for. What is
written then belongs to a block pool, and goes to the nameservice of that pool. A call without
a block is about a file that is open: where several destinations may have it, the one is asked
for that has the file of this id, since ids of several namenodes are alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.message import Message

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.router.calls.core import Core, is_tolerant, is_unavailable
from howdah.router.state.methods import ANSWERS
from howdah.router.state.table.mount_table import Location, Resolution


class FileCalls:
    def __init__(self, core: Core) -> None:
        self._core = core

    async def create(self, request: pb.CreateRequestProto, caller: Caller) -> Message:
        core = self._core
        resolution = core.resolve(request.src, caller, "create")
        if resolution.path in core.table.entries:
            core.check_no_mount(resolution.path)
        place = await self._place_of(resolution, caller)
        if place is None:
            place = resolution.locations[0]
            if resolution.is_all and request.createParent:
                await self._make_parent(resolution, request, caller)
        try:
            answer = await core.call_one(place, "create", request, caller, field="src")
        except errors.HowdahError as error:
            others = [location for location in resolution.locations if location != place]
            if not is_unavailable(error) or not is_tolerant(resolution.entry) or not others:
                raise
            answer, place = await core.first(others, "create", request, caller, field="src")
        if answer.HasField("fs"):
            answer.fs.namespace = place.nameservice
        assert isinstance(answer, Message)
        return answer

    async def _make_parent(
        self, resolution: Resolution, request: pb.CreateRequestProto, caller: Caller
    ) -> None:
        """Make the parent directory in all destinations: otherwise it would be in one of them
        only."""
        parent = resolution.path.rpartition("/")[0] or "/"
        above = self._core.resolve(parent, caller, "mkdirs")
        if above.entry is not resolution.entry:
            return
        mode = request.unmasked if request.HasField("unmasked") else request.masked
        bits = 0o300  # those who make directories on the way have to get in
        make = pb.MkdirsRequestProto(
            src=parent,
            masked=types_pb2.FsPermissionProto(perm=request.masked.perm & 0o777 | bits),
            unmasked=types_pb2.FsPermissionProto(perm=mode.perm & 0o777 | bits),
            createParent=True,
        )
        await self._core.every(above, "mkdirs", make, caller, field="src")

    async def _place_of(self, resolution: Resolution, caller: Caller) -> Location | None:
        """Return where the file is already, if it is. Raises the failure of a destination that
        could not be asked: the file may be there, and one of the two would hide the other."""
        locations = resolution.locations
        if len(locations) == 1:
            return locations[0]
        tolerant = is_tolerant(resolution.entry)
        return await self._core.existing(locations, caller, tolerant=tolerant)

    async def append(self, request: pb.AppendRequestProto, caller: Caller) -> Message:
        resolution = self._core.resolve(request.src, caller, "append")
        answer, place = await self._core.first(
            resolution.locations, "append", request, caller, field="src"
        )
        if answer.HasField("stat"):
            answer.stat.namespace = place.nameservice
        assert isinstance(answer, Message)
        return answer

    # -- blocks ----------------------------------------------------------------------------

    async def add_block(self, request: pb.AddBlockRequestProto, caller: Caller) -> Message:
        block = request.previous if request.HasField("previous") else None
        return await self._of_file("addBlock", request, caller, block)

    async def complete(self, request: pb.CompleteRequestProto, caller: Caller) -> Message:
        block = request.last if request.HasField("last") else None
        return await self._of_file("complete", request, caller, block)

    async def abandon_block(self, request: pb.AbandonBlockRequestProto, caller: Caller) -> Message:
        return await self._of_file("abandonBlock", request, caller, request.b)

    async def get_additional_datanode(
        self, request: pb.GetAdditionalDatanodeRequestProto, caller: Caller
    ) -> Message:
        return await self._of_file("getAdditionalDatanode", request, caller, request.blk)

    async def fsync(self, request: pb.FsyncRequestProto, caller: Caller) -> Message:
        return await self._of_file("fsync", request, caller, None)

    async def _of_file(
        self, method: str, request: Any, caller: Caller, block: types_pb2.ExtendedBlockProto | None
    ) -> Message:
        core = self._core
        locations: Sequence[Location] = core.resolve(request.src, caller, method).locations
        if len(locations) > 1 and block is not None:
            nameservice = await core.nameservices.of_block_pool(block.poolId)
            here = [location for location in locations if location.nameservice == nameservice]
            locations = here or locations
        if len(locations) > 1:
            place = await core.existing(locations, caller, file_id=request.fileId)
            if place is not None:
                locations = [place]
        answer, _ = await core.first(locations, method, request, caller, field="src")
        assert isinstance(answer, Message)
        return answer

    async def update_block_for_pipeline(
        self, request: pb.UpdateBlockForPipelineRequestProto, caller: Caller
    ) -> Message:
        return await self._of_pool("updateBlockForPipeline", request, caller, request.block.poolId)

    async def update_pipeline(
        self, request: pb.UpdatePipelineRequestProto, caller: Caller
    ) -> Message:
        return await self._of_pool("updatePipeline", request, caller, request.oldBlock.poolId)

    async def report_bad_blocks(
        self, request: pb.ReportBadBlocksRequestProto, caller: Caller
    ) -> Message:
        pools: dict[str, list[types_pb2.LocatedBlockProto]] = {}
        for block in request.blocks:
            pools.setdefault(block.b.poolId, []).append(block)
        for pool, blocks in pools.items():
            part = pb.ReportBadBlocksRequestProto(blocks=blocks)
            await self._of_pool("reportBadBlocks", part, caller, pool)
        return pb.ReportBadBlocksResponseProto()

    async def _of_pool(
        self, method: str, request: Message, caller: Caller, block_pool: str
    ) -> Message:
        nameservice = await self._core.nameservices.of_block_pool(block_pool)
        answer = await self._core.call_one(_root_location(nameservice), method, request, caller)
        assert isinstance(answer, ANSWERS[method])
        return answer

    async def renew_lease(self, request: pb.RenewLeaseRequestProto, caller: Caller) -> Message:
        """Renew the lease in the nameservices that the client names, in which it writes. If it
        names none, or an unknown one, renew it in all: then one answer is enough."""
        known = self._core.nameservices.members
        named = list(dict.fromkeys(request.namespaces))
        are_known = bool(named) and all(name in known for name in named)
        names = named if are_known else self._core.nameservices.enabled
        plain = pb.RenewLeaseRequestProto(clientName=request.clientName)
        done = await self._core.call_all(
            [_root_location(name) for name in names], "renewLease", plain, caller
        )
        failures = [outcome for _, outcome in done if isinstance(outcome, errors.HowdahError)]
        if failures and (are_known or len(failures) == len(done)):
            raise failures[0]
        return pb.RenewLeaseResponseProto()


def _root_location(nameservice: str) -> Location:
    """A nameservice, for a call without a path."""
    return Location(nameservice, "/", "/", "/")
