"""Hadoop's namenode opens a log in which a file was closed that only a snapshot shows."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message

from howdah.config import Configuration
from howdah.formats.image.sections import Sink
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.state.images.image import write_image
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.storage.image_files import save_image
from howdah.storage.segments import SegmentWriter
from howdah.testing.in_memory import InMemoryNamenode
from tests.support.repairs import Repairs

MODE = types_pb2.FsPermissionProto(perm=0o755)
CLIENT_ID = bytes(range(16))


def deleted_while_open() -> InMemoryNamenode:
    """One file was closed by its recovery after that, another one before a copy of its last
    block was made."""
    namenode = InMemoryNamenode()
    calls = itertools.count(1)

    def call(method: str, request: Message) -> Any:
        return namenode.call(method, request, client_id=CLIENT_ID, call_id=next(calls))

    repairs = Repairs(namenode)
    for number in range(3):
        namenode.join(f"dn{number}")
    call("mkdirs", pb.MkdirsRequestProto(src="/d/sub", masked=MODE, createParent=True))
    call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d"))
    for path, length in (("/d/sub/f", 300), ("/d/g", 20)):
        call(
            "create",
            pb.CreateRequestProto(
                src=path,
                masked=MODE,
                clientName="w",
                createFlag=1,
                createParent=True,
                replication=3,
                blockSize=1 << 20,
            ),
        )
        block = call("addBlock", pb.AddBlockRequestProto(src=path, clientName="w")).block.b
        for node in namenode.nodes:
            node.store(block.blockId, block.generationStamp, length + 7, finalized=False)
        call("fsync", pb.FsyncRequestProto(src=path, client="w", lastBlockLength=length))
    call("createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/d", snapshotName="s"))
    call("delete", pb.DeleteRequestProto(src="/d/sub", recursive=True))
    call("delete", pb.DeleteRequestProto(src="/d/g", recursive=True))
    repairs.pass_time()
    assert repairs.faults() == []
    return namenode


@pytest.mark.req("FS-022")
@pytest.mark.parametrize("from_image", [False, True], ids=["log", "image"])
def test_hadoop_shows_what_the_snapshot_shows(
    hadoop_tools: Callable[..., None], tmp_path: Path, from_image: bool
) -> None:
    namenode = deleted_while_open()
    name = tmp_path / "name"
    version = format_namenode(Configuration({"dfs.namenode.name.dir": name.as_uri()}))
    if from_image:

        def write(sink: Sink) -> None:
            write_image(namenode.namesystem.namespace, version.namespace_id, 0, sink)

        save_image([name / "current"], 0, write)
    else:
        segment = SegmentWriter(name / "current", 1)
        for record in namenode.log:
            segment.append(record)
        segment.finalize(len(namenode.log))
    hadoop_tools("start", tmp_path)
    try:
        hadoop_tools("list", tmp_path / "list", "/", "/d/.snapshot/s")
    finally:
        hadoop_tools("stop")
    lines = [line.split("\t") for line in (tmp_path / "list").read_text().splitlines()]
    lengths = {path: words[0] for path, kind, *words in lines if kind == "file"}
    # From a log Hadoop keeps no version of what is below a deleted directory: the file is shown
    # with all that its datanodes had.
    below = "300" if from_image else "307"
    assert lengths == {"/d/.snapshot/s/sub/f": below, "/d/.snapshot/s/g": "20"}
