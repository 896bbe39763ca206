"""Requests of those who write, read without messages of protobuf's (pure).

To parse a request and to ask the message for its fields is a tenth of a cheap call. The kernel
reads those that are plain (`kernel/requests.c`): each field once, in order, and no others. Of
any other request, and without the kernel, the handler gets the message as ever; what is not
UTF-8, lacks a field or cannot be parsed is refused there. Handlers take both: `..._of` gives the
fields of a message.

Fields and numbers: ClientNamenodeProtocol.proto of Hadoop. A code of the kernel stands for each
field: a text, a 32-bit or a 64-bit number, a truth, a permission, a block; a capital letter for
one that may be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from howdah.native.loader import kernel
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2

Block = tuple[str, int, int, int]
"""Pool, id, generation stamp and length."""

Create = tuple[str, int, str, int, bool, int, int, int | None, str, str]
"""Path, permission, client, flags, whether parents are made, replication, block size, the
permission before the mask, erasure coding and storage policy."""

AddBlock = tuple[str, str, Block | None, int]
"""Path, client, the block before it, and the file's id."""

Complete = tuple[str, str, Block | None, int]
"""Path, client, the last block, and the file's id."""

Mkdirs = tuple[str, int, bool, int | None]
"""Path, permission, whether parents are made, the permission before the mask."""

Rename = tuple[str, str]
Rename2 = tuple[str, str, bool, bool]
"""From, to, whether it overwrites, whether it goes to the trash."""

Delete = tuple[str, bool]
"""Path, and whether what is below goes too."""


def create_of(message: pb.CreateRequestProto) -> Create:
    return (
        message.src,
        message.masked.perm,
        message.clientName,
        message.createFlag,
        message.createParent,
        message.replication,
        message.blockSize,
        message.unmasked.perm if message.HasField("unmasked") else None,
        message.ecPolicyName,
        message.storagePolicy,
    )


def complete_of(message: pb.CompleteRequestProto) -> Complete:
    last = _block(message.last) if message.HasField("last") else None
    return message.src, message.clientName, last, message.fileId


def add_block_of(message: pb.AddBlockRequestProto) -> AddBlock:
    """Without what only a message has: datanodes that are left out or favoured, and flags."""
    previous = _block(message.previous) if message.HasField("previous") else None
    return message.src, message.clientName, previous, message.fileId


def mkdirs_of(message: pb.MkdirsRequestProto) -> Mkdirs:
    unmasked = message.unmasked.perm if message.HasField("unmasked") else None
    return message.src, message.masked.perm, message.createParent, unmasked


def rename_of(message: pb.RenameRequestProto) -> Rename:
    return message.src, message.dst


def rename2_of(message: pb.Rename2RequestProto) -> Rename2:
    return message.src, message.dst, message.overwriteDest, message.moveToTrash


def delete_of(message: pb.DeleteRequestProto) -> Delete:
    return message.src, message.recursive


def _block(named: types_pb2.ExtendedBlockProto) -> Block:
    return named.poolId, named.blockId, named.generationStamp, named.numBytes


CODES: Final = {
    "create": b"spsvbvliPSS",
    "addBlock": b"ssK-L",
    "complete": b"ssKL",
    "mkdirs": b"spbP",
    "rename": b"ss",
    "rename2": b"ssbB",
    "delete": b"sb",
}
"""Of each method, by the numbers of its request's fields; `-` makes a request not plain, and `i`
is a list of numbers that no handler asks for."""


_CREATE_NEAR_ZONES: Final = b"spsvbvl-PSS"


def readers(has_zones: Callable[[], bool]) -> Mapping[str, Callable[[bytes], Any]]:
    """What reads the requests of a method: the same tuple as `..._of` a message, or None. Where
    the namespace has encryption zones, a `create` that says what its client knows of them is left
    to the message."""
    fields = getattr(kernel(), "request_fields", None)
    if fields is None:
        return {}

    def reader(codes: bytes) -> Callable[[bytes], Any]:
        return lambda request: fields(request, codes)

    def create(request: bytes) -> Any:
        return fields(request, _CREATE_NEAR_ZONES if has_zones() else CODES["create"])

    return {**{method: reader(codes) for method, codes in CODES.items()}, "create": create}
