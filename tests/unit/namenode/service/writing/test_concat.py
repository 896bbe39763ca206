"""Files are joined."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.state.inodes.inodes import File
from howdah.proto import client_namenode_pb2 as pb
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode

Nodes = list[InMemoryDatanode]


def found(namenode: InMemoryNamenode, path: str) -> File:
    file = namenode.namesystem.namespace.find(path)
    assert isinstance(file, File)
    return file


def test_blocks_go_to_the_end_and_the_sources_go(client: Any, nodes: Nodes) -> None:
    client.write("/d/a", 1024, 10)
    ids = [block.block_id for block in found(client.namenode, "/d/a").blocks]
    for name, length in (("/d/b", 5), ("/d/c", 1024)):
        client.write(name, length)
        ids += [block.block_id for block in found(client.namenode, name).blocks]
    client.namenode.clock.advance(5000)
    client.concat("/d/a", "/d/b", "/d/c")
    for namenode in (client.namenode, client.namenode.restarted()):
        target = found(namenode, "/d/a")
        assert [block.block_id for block in target.blocks] == ids
        assert target.length_bytes == 1024 + 10 + 5 + 1024
        assert all(block.file_id == target.inode_id for block in target.blocks)
        assert target.parent is not None
        assert target.mtime_ms == target.parent.mtime_ms == client.namenode.clock.wall_ms()
        assert len(namenode.namesystem.namespace.inodes) == 3
    assert client.names("/d") == ["a"]


def test_readers_find_every_part(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    client.write("/b", 20)
    client.concat("/a", "/b")
    located = client.locations("/a")
    assert [(b.offset, b.b.numBytes) for b in located.blocks] == [(0, 10), (10, 20)]
    assert located.isLastBlockComplete


def test_no_replica_is_deleted(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    client.write("/b", 20)
    client.concat("/a", "/b")
    client.namenode.tick()
    assert [command for node in nodes for command in node.heartbeat()] == []


def test_parts_get_the_targets_replication(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10, replication=2)
    client.write("/b", 20, replication=1)
    client.concat("/a", "/b")
    client.namenode.tick()
    orders = [command.blkCmd for node in nodes for command in node.heartbeat()]
    assert [order.blocks[0].numBytes for order in orders] == [20]
    answer = client.call("getContentSummary", pb.GetContentSummaryRequestProto(path="/"))
    assert (answer.summary.length, answer.summary.fileCount) == (30, 1)
    assert answer.summary.spaceConsumed == 60


def test_an_empty_file_can_be_the_target(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    client.complete("/a")
    client.write("/b", 20)
    client.concat("/a", "/b")
    assert found(client.namenode, "/a").length_bytes == 20


def test_what_was_joined_can_be_appended_to_and_cut(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    client.write("/b", 20)
    client.concat("/a", "/b")
    last = client.append("/a").block.b
    assert last.numBytes == 20
    client.complete("/a", last)
    assert client.truncate("/a", 10) is True
    assert found(client.namenode, "/a").length_bytes == 10


def test_the_edit_is_hadoops(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    client.write("/b", 20)
    client.concat("/a", "/b", client_id=b"1" * 16, call_id=4)
    assert client.namenode.edits()[-1] == edits.ConcatDeleteOp(
        "/a",
        ("/b",),
        client.namenode.clock.wall_ms(),
        rpc_client_id=b"1" * 16,
        rpc_call_id=4,
    )


def test_a_call_that_is_repeated_is_done_once(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    client.write("/b", 20)
    how = {"client_id": b"1" * 16, "call_id": 4}
    client.concat("/a", "/b", **how)
    client.concat("/a", "/b", **how)
    client.namenode = client.namenode.restarted()
    client.namenode.namesystem.safe_mode.leave()
    client.concat("/a", "/b", **how)
    assert found(client.namenode, "/a").length_bytes == 30


@pytest.mark.parametrize(
    ("sources", "why"),
    [
        (["/d/open"], "invalid or empty or underConstruction"),
        (["/d/empty"], "invalid or empty or underConstruction"),
        (["/d/a"], "is the same with the target file /d/a"),
        (["/d/b", "/d/b"], "at least two of the source files are the same"),
        (["/other"], "not in the same directory"),
        (["/d/large"], "has preferred block size 2048"),
        ([], "No sources given"),
    ],
)
def test_what_cannot_be_joined_is_refused_and_nothing_changes(
    client: Any, nodes: Nodes, sources: list[str], why: str
) -> None:
    for path in ("/d/a", "/d/b", "/other"):
        client.write(path, 10)
    client.write("/d/large", 10, block_size=2048)
    client.create("/d/empty")
    client.complete("/d/empty")
    client.create("/d/open")
    log = len(client.namenode.log)
    with pytest.raises(errors.IllegalArgument, match=why):
        client.concat("/d/a", *sources)
    assert len(client.namenode.log) == log


def test_a_target_that_is_written_is_refused(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    client.write("/b", 10)
    with pytest.raises(errors.IllegalArgument, match="target file /a is under construction"):
        client.concat("/a", "/b")


def test_what_is_no_file_is_refused(client: Any, nodes: Nodes) -> None:
    client.mkdirs("/d")
    client.write("/a", 10)
    for target, source in (("/none", "/a"), ("/d", "/a"), ("/a", "/none"), ("/a", "/d")):
        with pytest.raises(errors.PathNotFound):
            client.concat(target, source)


def test_a_path_by_inode_id_is_refused(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    with pytest.raises(errors.RemoteError, match=r"doesn't support \.reserved"):
        client.concat("/a", "/.reserved/.inodes/16386")


def test_rights_are_those_of_writing_reading_and_deleting(
    alice: Any, client: Any, client_of: Any, nodes: Nodes
) -> None:
    alice.write("/user/alice/a", 10)
    alice.write("/user/alice/b", 10)
    bob = client_of("bob")
    with pytest.raises(errors.AccessDenied, match="access=WRITE"):
        bob.concat("/user/alice/a", "/user/alice/b")
    alice.chmod("/user/alice/a", 0o666)
    with pytest.raises(errors.AccessDenied, match="access=WRITE"):
        bob.concat("/user/alice/a", "/user/alice/b")
    alice.chmod("/user/alice", 0o777)
    alice.chmod("/user/alice/b", 0o600)
    with pytest.raises(errors.AccessDenied, match="access=READ"):
        bob.concat("/user/alice/a", "/user/alice/b")
    alice.chmod("/user/alice/b", 0o644)
    bob.concat("/user/alice/a", "/user/alice/b")


def test_of_a_sticky_directory_only_own_files_are_sources(
    client: Any, client_of: Any, nodes: Nodes
) -> None:
    client.mkdirs("/tmp", 0o1777)
    alice, bob = client_of("alice"), client_of("bob")
    alice.write("/tmp/alices", 10)
    for name in ("/tmp/bobs", "/tmp/too"):
        bob.write(name, 10)
    with pytest.raises(errors.AccessDenied, match=r"by sticky bit: user=bob, .*/tmp/alices"):
        bob.concat("/tmp/bobs", "/tmp/alices")
    bob.concat("/tmp/bobs", "/tmp/too")
    assert client.names("/tmp") == ["alices", "bobs"]


def test_nothing_is_joined_in_safe_mode(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    client.write("/b", 10)
    client.namenode.namesystem.safe_mode.enter()
    with pytest.raises(errors.SafeMode):
        client.concat("/a", "/b")
