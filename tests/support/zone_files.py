"""Files of an encryption zone that are made without their keys, for tests that want many."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2

_WRITERS: Final = 16
"""Each waits for its edits to be durable."""


def create_empty_files(fs: HdfsFileSystem, paths: Iterable[str]) -> None:
    """Make files, and ask no key server for their keys."""
    with ThreadPoolExecutor(_WRITERS) as pool:
        for made in pool.map(lambda path: _create(fs, path), paths):
            assert made is None


def _create(fs: HdfsFileSystem, path: str) -> None:
    request = pb.CreateRequestProto(
        src=path,
        masked=types_pb2.FsPermissionProto(perm=0o644),
        clientName="writer",
        createFlag=1,
        createParent=True,
        replication=1,
        blockSize=1 << 20,
        cryptoProtocolVersion=[types_pb2.ENCRYPTION_ZONES],
    )
    namenode = fs.client.namenode
    made = namenode.call("create", request, pb.CreateResponseProto).fs
    closed = pb.CompleteRequestProto(src=path, clientName="writer", fileId=made.fileId)
    assert namenode.call("complete", closed, pb.CompleteResponseProto).result
