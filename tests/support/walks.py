"""Which files a call passes through at the namenode, found by running it.

For the walks of docs/how-it-works/house.md. Of the kernel's functions nothing is seen; generated
messages are left out.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final

import howdah
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2, types_pb2
from tests.support.served_namenode import Caller, ServedNamenode

SOURCES: Final = Path(howdah.__file__).parent
_LEFT_OUT: Final = ("proto/", "testing/")


def files_of(act: Callable[[], object]) -> list[str]:
    """The files below src/howdah whose functions `act` runs, in the order of their first call."""
    found: dict[str, None] = {}
    top = f"{SOURCES}/"

    def note(frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(top):
            found.setdefault(name.removeprefix(top))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(before)
    return [name for name in found if not name.startswith(_LEFT_OUT)]


def _create(number: int) -> pb.CreateRequestProto:
    return pb.CreateRequestProto(
        src=f"/walks/{number}",
        masked=types_pb2.FsPermissionProto(perm=0o644),
        clientName="DFSClient_walks",
        createFlag=1,
        createParent=True,
        replication=3,
        blockSize=1 << 20,
    )


def files_of_create() -> list[str]:
    """Of a `create` in a directory that is in use, as a frame comes and its answer goes."""
    return asyncio.run(_trace_create())


async def _trace_create() -> list[str]:
    served = ServedNamenode()
    caller = served.client()

    frames = [caller.frame("create", _create(number), number) for number in range(3)]
    return _files_of_last(served, caller, frames)


def files_of_heartbeat() -> list[str]:
    """Of a heartbeat of a datanode that has reported, with nothing to be done."""
    return asyncio.run(_trace_heartbeat())


async def _trace_heartbeat() -> list[str]:
    served = ServedNamenode()
    caller, node = served.datanode(0), served.nodes[0]
    request = datanode_namenode_pb2.HeartbeatRequestProto(
        registration=node.registration(),
        reports=[
            types_pb2.StorageReportProto(
                storageUuid=storage_id,
                capacity=1 << 40,
                remaining=1 << 40,
                storage=types_pb2.DatanodeStorageProto(storageUuid=storage_id),
            )
            for storage_id in node.replicas
        ],
    )
    frames = [caller.frame("sendHeartbeat", request, number) for number in range(3)]
    return _files_of_last(served, caller, frames)


def _files_of_last(served: ServedNamenode, caller: Caller, frames: list[bytes]) -> list[str]:
    """The first ones do what is done once for a connection, and for a directory."""

    def serve(frame: bytes) -> None:
        caller.feed(frame)
        served.end_turn()

    for frame in frames[:-1]:
        serve(frame)
    caller.answers(len(frames) - 1)
    return files_of(lambda: serve(frames[-1]))


def markdown(files: list[str]) -> str:
    """
    >>> markdown(["rpc/server.py", "errors.py"])
    'Traced, 2 files: `rpc/server.py`, `errors.py`.'
    """
    return f"Traced, {len(files)} files: {', '.join(f'`{name}`' for name in files)}."
