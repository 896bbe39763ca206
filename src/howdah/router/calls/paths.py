"""Calls about one path that go on as they are, with the path translated (shell).

Hadoop: RouterClientProtocol, RouterStoragePolicy, RouterSnapshot, ErasureCoding.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from google.protobuf.message import Message

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.router.calls.core import Core
from howdah.router.state.methods import EVERY, ONE
from howdah.router.state.table.mount_table import Location, joined, normalised
from howdah.router.state.table.translation import source_path
from howdah.router.state.table.virtual_directories import ANSWERED, is_virtual

Work = Callable[[Message, Caller], Coroutine[Any, Any, Message]]

_OF_ONE = frozenset({"listCorruptFileBlocks"})
"""Calls that page through one namenode's answers."""


def path_methods(core: Core) -> dict[str, Work]:
    """The calls of `ONE` and `EVERY`, by their names."""
    return {
        **{method: _one(core, method, field) for method, field in ONE.items()},
        **{method: _every(core, method, field) for method, field in EVERY.items()},
    }


def _one(core: Core, method: str, field: str) -> Work:
    async def work(request: Message, caller: Caller) -> Message:
        path = getattr(request, field)
        try:
            resolution = core.resolve(path, caller, method)
        except errors.NoLocation:
            if method not in ANSWERED or not is_virtual(core.table, normalised(path)):
                raise
            return ANSWERED[method](core.owner, normalised(path), request)
        if method in _OF_ONE and len(resolution.locations) > 1:
            places = ", ".join(
                f"{location.nameservice}->{location.path}" for location in resolution.locations
            )
            raise errors.UnsupportedOperation(
                f"{method} of {path}: it is in several places ({places}), and can be asked for "
                f"each of them alone"
            )
        answer, location = await core.first(
            resolution.locations, method, request, caller, field=field, is_found=_has_something
        )
        translate(core, answer, location)
        assert isinstance(answer, Message)
        return answer

    return work


def _every(core: Core, method: str, field: str) -> Work:
    async def work(request: Message, caller: Caller) -> Message:
        resolution = core.resolve(getattr(request, field), caller, method)
        if len(resolution.locations) == 1:
            answer = await core.call_one(
                resolution.locations[0], method, request, caller, field=field
            )
        else:
            places = await core.holding(resolution, caller)
            resolution = replace(resolution, locations=places)
            answers = await core.every(resolution, method, request, caller, field=field)
            answer = answers[0]
            if isinstance(answer, pb.SetReplicationResponseProto):
                answer.result = any(answer.result for answer in answers)
        translate(core, answer, resolution.locations[0])
        assert isinstance(answer, Message)
        return answer

    return work


def _has_something(answer: Message) -> bool:
    """Some answers say that there is nothing by an empty message."""
    for field in ("fs", "locations"):
        if field in answer.DESCRIPTOR.fields_by_name:
            return answer.HasField(field)
    return True


def translate(core: Core, answer: Message, location: Location) -> None:
    """Replace paths of the nameservice in an answer by the router's, in place."""
    if isinstance(answer, pb.CreateSnapshotResponseProto):
        answer.snapshotPath = _back(location, answer.snapshotPath)
    elif isinstance(answer, pb.GetEnclosingRootResponseProto):
        inside = source_path(location, answer.enclosingRootPath)
        answer.enclosingRootPath = location.source if inside is None else inside
    elif isinstance(answer, pb.GetEZForPathResponseProto):
        if answer.HasField("zone"):
            # Of a zone that begins above the mount only what is below it is seen here.
            inside = source_path(location, answer.zone.path)
            answer.zone.path = location.source if inside is None else inside
    elif isinstance(
        answer,
        pb.GetSnapshotDiffReportResponseProto,
    ):
        answer.diffReport.snapshotRoot = _back(location, answer.diffReport.snapshotRoot)
    elif isinstance(answer, pb.GetSnapshotListingResponseProto):
        for snapshot in answer.snapshotList.snapshotListing:
            snapshot.parent_fullpath = back_bytes(location, snapshot.parent_fullpath)
    elif isinstance(answer, pb.ListCorruptFileBlocksResponseProto):
        files = [_back(location, file) for file in answer.corrupt.files]
        del answer.corrupt.files[:]
        answer.corrupt.files.extend(files)
    elif isinstance(answer, pb.GetLinkTargetResponseProto):
        answer.targetPath = target_back(core, location, answer.targetPath)
    elif isinstance(answer, pb.GetFileLinkInfoResponseProto) and answer.fs.HasField("symlink"):
        target = answer.fs.symlink.decode("utf-8", "surrogateescape")
        answer.fs.symlink = target_back(core, location, target).encode("utf-8", "surrogateescape")


def _back(location: Location, path: str) -> str:
    source = source_path(location, path)
    return path if source is None else source


def back_bytes(location: Location, path: bytes) -> bytes:
    return _back(location, path.decode("utf-8", "surrogateescape")).encode(
        "utf-8", "surrogateescape"
    )


def target_back(core: Core, location: Location, target: str) -> str:
    """Where a symbolic link leads, as the router's path: relative targets stay."""
    if not target.startswith("/"):
        return target
    inside = source_path(location, target)
    if inside is not None:
        return inside
    return core.table.source_of(location.nameservice, target) or joined("/", target)
