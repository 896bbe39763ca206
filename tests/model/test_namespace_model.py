"""The namenode against a dict: any sequence of operations does the same to both.

And what was logged on the way makes the same namespace again, from every prefix of
the log, as edits and through their records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from howdah import errors
from howdah.model.namespace import NAMENODE, ModelNamespace, Refused, parent_of
from howdah.namenode.core import Settings
from howdah.namenode.inodes import BlockState, Directory, File, INode
from howdah.namenode.namespace import Namespace
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.rpc.service import Deferred
from howdah.storage.edit_codec import decode_record
from howdah.testing.in_memory import POOL_ID, InMemoryNamenode, Replica

BLOCK = 1024
REFUSALS: dict[str, tuple[type[errors.HowdahError], ...]] = {
    "parent is a file": (errors.ParentNotDirectory,),
    "exists": (errors.PathExists,),
    "not found": (errors.PathNotFound,),
    "not empty": (errors.DirectoryNotEmpty, errors.RemoteError),
    "root": (errors.RemoteError,),
    "under itself": (errors.RemoteError,),
    "kinds differ": (errors.RemoteError,),
    "is written": (errors.AlreadyBeingCreated, errors.RecoveryInProgress),
    "is cut": (errors.RecoveryInProgress,),
    "too long": (errors.IllegalArgument,),
    "cannot be joined": (errors.IllegalArgument,),
    "not the writer": (errors.LeaseExpired,),
}

names = st.sampled_from(["a", "b", "ü €"])
paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
paths_and_root = st.just("/") | paths
modes = st.sampled_from([0o755, 0o700, 0o1777, 0o644])
writers = st.sampled_from(["DFSClient_1", "DFSClient_2"])
lengths = st.integers(0, BLOCK) | st.just(BLOCK)

# Paths that are there, names in directories that are there, closed files, and open ones
# with their writers: drawn at random they would hardly ever be met.
there = st.runner().flatmap(lambda machine: st.sampled_from(machine.paths_there()) | paths_and_root)
beside = st.runner().flatmap(
    lambda machine: st.tuples(st.sampled_from(machine.directories()), names).map(
        lambda pair: pair[0].rstrip("/") + "/" + pair[1]
    )
)
closed = st.runner().flatmap(lambda machine: st.sampled_from(machine.closed_files()) | paths)
opened = st.runner().flatmap(
    lambda machine: st.sampled_from(machine.open_files()) | st.tuples(paths, writers)
)


def fingerprint(namespace: Namespace) -> dict[str, Any]:
    """Everything that a log has to restore."""
    found: dict[str, Any] = {
        "counters": (
            namespace.last_inode_id,
            namespace.last_block_id,
            namespace.generation_stamp,
        )
    }
    open_files = {}
    stack: list[tuple[str, INode]] = [("/", namespace.root)]
    while stack:
        path, inode = stack.pop()
        facts: list[Any] = [
            type(inode).__name__,
            inode.inode_id,
            inode.owner,
            inode.group,
            inode.mode,
            inode.mtime_ms,
            inode.atime_ms,
        ]
        if isinstance(inode, Directory):
            stack += [(path.rstrip("/") + "/" + n, child) for n, child in inode.children.items()]
        elif isinstance(inode, File):
            facts += [
                inode.replication,
                inode.block_size_bytes,
                inode.writer,
                inode.writer_machine,
                [
                    (
                        block.block_id,
                        block.generation_stamp,
                        block.length_bytes,
                        block.state is BlockState.UNDER_CONSTRUCTION,
                        block.truncating,
                    )
                    for block in inode.blocks
                ],
            ]
            if inode.writer is not None:
                open_files[inode.inode_id] = inode.writer
        assert inode.path == path
        assert namespace.inodes[inode.inode_id] == inode
        found[path] = tuple(facts)
    held = {i: namespace.leases.holder_of(i) for i in namespace.inodes}
    assert {i: holder for i, holder in held.items() if holder} == open_files
    assert namespace.leases.open_files == len(open_files)
    assert len(namespace.inodes) == len(found) - 1
    assert set(namespace.blocks) == {
        block.block_id
        for inode in namespace.inodes.values()
        if isinstance(inode, File)
        for block in inode.blocks
    }
    return found


class NamespaceMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.namenode = InMemoryNamenode(
            Settings("", min_block_size_bytes=512, block_size_bytes=BLOCK)
        )
        self.node = self.namenode.join("dn0")
        self.model = ModelNamespace("root", "supergroup")
        self.points: list[tuple[int, dict[str, Any]]] = []

    def paths_there(self) -> list[str]:
        return sorted(self.model.entries)

    def directories(self) -> list[str]:
        return sorted(path for path, entry in self.model.entries.items() if entry.is_directory)

    def closed_files(self) -> list[str]:
        entries = self.model.entries.items()
        return sorted(p for p, e in entries if not e.is_directory and not e.writer) or ["/a"]

    def open_files(self) -> list[tuple[str, str]]:
        entries = self.model.entries.items()
        return sorted((p, e.writer) for p, e in entries if e.writer) or [("/a", "DFSClient_1")]

    def writer_of(self, path: str) -> str | None:
        """As the model knows it."""
        file = self.namenode.core.namespace.find(path)
        if not isinstance(file, File):
            return None
        return NAMENODE if file.writer == self.namenode.leases.holder else file.writer

    # Both sides.

    def both(self, real: Callable[[], object], model: Callable[[], object]) -> bool:
        """Run an operation on both; True if it happened."""
        try:
            expected = model()
        except Refused as refusal:
            before = len(self.namenode.log)
            try:
                real()
            except REFUSALS[refusal.why]:
                assert len(self.namenode.log) == before, "what is refused is not logged"
                return False
            raise AssertionError(f"the namenode does what the model refuses: {refusal}") from None
        assert real() == expected
        return True

    def call(self, method: str, request: Any) -> Any:
        answer = self.namenode.call(method, request)
        assert not isinstance(answer, Deferred), "all replicas are reported in time"
        return answer

    def now(self) -> int:
        """Every operation has a time of its own."""
        self.namenode.clock.advance(1)
        return self.namenode.clock.wall_ms()

    # The tree.

    @rule(path=paths_and_root, mode=modes)
    def mkdirs(self, path: str, mode: int) -> None:
        now_ms = self.now()
        request = pb.MkdirsRequestProto(
            src=path, masked=types_pb2.FsPermissionProto(perm=mode), createParent=True
        )

        def model() -> bool:
            self.model.mkdirs(path, mode, now_ms=now_ms)
            return True

        self.both(lambda: self.call("mkdirs", request).result, model)

    @rule(path=there, recursive=st.booleans())
    def delete(self, path: str, recursive: bool) -> None:
        now_ms = self.now()
        request = pb.DeleteRequestProto(src=path, recursive=recursive)
        self.both(
            lambda: self.call("delete", request).result,
            lambda: self.model.delete(path, recursive=recursive, now_ms=now_ms),
        )

    @rule(src=there | beside, dst=beside | there)
    def rename(self, src: str, dst: str) -> None:
        now_ms = self.now()
        request = pb.RenameRequestProto(src=src, dst=dst)
        self.both(
            lambda: self.call("rename", request).result,
            lambda: self.model.rename(src, dst, now_ms=now_ms),
        )

    @rule(src=there | beside, dst=beside | there, overwrite=st.booleans(), trash=st.booleans())
    def rename2(self, src: str, dst: str, overwrite: bool, trash: bool) -> None:
        now_ms = self.now()
        request = pb.Rename2RequestProto(
            src=src, dst=dst, overwriteDest=overwrite, moveToTrash=trash
        )

        def real() -> None:
            self.call("rename2", request)

        self.both(real, lambda: self.model.rename2(src, dst, overwrite=overwrite, now_ms=now_ms))

    # Attributes.

    @rule(path=there, mode=modes)
    def set_permission(self, path: str, mode: int) -> None:
        request = pb.SetPermissionRequestProto(
            src=path, permission=types_pb2.FsPermissionProto(perm=mode)
        )

        def real() -> None:
            self.call("setPermission", request)

        self.both(real, lambda: self.model.set_mode(path, mode))

    @rule(
        path=paths_and_root, owner=st.sampled_from(["", "alice"]), group=st.sampled_from(["", "g"])
    )
    def set_owner(self, path: str, owner: str, group: str) -> None:
        request = pb.SetOwnerRequestProto(src=path, username=owner, groupname=group)

        def real() -> None:
            self.call("setOwner", request)

        self.both(real, lambda: self.model.set_owner(path, owner, group))

    @rule(path=there, mtime=st.integers(-5, 5), atime=st.integers(-5, 5))
    def set_times(self, path: str, mtime: int, atime: int) -> None:
        mask = (1 << 64) - 1
        request = pb.SetTimesRequestProto(src=path, mtime=mtime & mask, atime=atime & mask)

        def real() -> None:
            self.call("setTimes", request)

        self.both(real, lambda: self.model.set_times(path, mtime, atime))

    @rule(path=there, replication=st.integers(1, 5))
    def set_replication(self, path: str, replication: int) -> None:
        request = pb.SetReplicationRequestProto(src=path, replication=replication)
        self.both(
            lambda: self.call("setReplication", request).result,
            lambda: self.model.set_replication(path, replication),
        )

    # Files.

    @rule(path=beside | paths, writer=writers, overwrite=st.booleans(), mode=modes)
    def create(self, path: str, writer: str, overwrite: bool, mode: int) -> None:
        now_ms = self.now()
        request = pb.CreateRequestProto(
            src=path,
            masked=types_pb2.FsPermissionProto(perm=mode),
            clientName=writer,
            createFlag=pb.CREATE | (pb.OVERWRITE if overwrite else 0),
            createParent=True,
            replication=1,
            blockSize=BLOCK,
        )

        def real() -> None:
            self.call("create", request)

        self.both(
            real,
            lambda: self.model.create(
                path, mode, writer=writer, replication=1, overwrite=overwrite, now_ms=now_ms
            ),
        )

    @rule(path=closed, writer=writers, new_block=st.booleans())
    def append(self, path: str, writer: str, new_block: bool) -> None:
        request = pb.AppendRequestProto(
            src=path, clientName=writer, flag=pb.APPEND | (pb.NEW_BLOCK if new_block else 0)
        )

        def real() -> None:
            self.call("append", request)

        self.both(real, lambda: self.model.append(path, writer=writer))

    def last(self, path: str, length: int) -> types_pb2.ExtendedBlockProto | None:
        """The last block of an open file as its writer names it, now `length` bytes long
        if it is still being written; its datanode has it."""
        file = self.namenode.core.namespace.find(path)
        if not isinstance(file, File) or not file.blocks:
            return None
        block = file.blocks[-1]
        told = block.known_bytes
        if block.state is BlockState.UNDER_CONSTRUCTION:
            told = max(length, told)
            self.node.store(block.block_id, block.generation_stamp, told)
        return types_pb2.ExtendedBlockProto(
            poolId=POOL_ID,
            blockId=block.block_id,
            generationStamp=block.generation_stamp,
            numBytes=told,
        )

    def blocks_with(self, path: str, last: types_pb2.ExtendedBlockProto | None) -> tuple[int, ...]:
        known = self.model.entries.get(path)
        blocks = known.blocks if known else ()
        return (*blocks[:-1], last.numBytes) if last is not None else blocks

    @rule(which=opened, length=lengths)
    def add_block(self, which: tuple[str, str], length: int) -> None:
        path, writer = which
        entry = self.model.entries.get(path)
        last = self.last(path, length) if entry and entry.writer == writer else None
        request = pb.AddBlockRequestProto(src=path, clientName=writer, previous=last)

        def real() -> None:
            self.call("addBlock", request)

        self.both(
            real,
            lambda: self.model.set_blocks(path, (*self.blocks_with(path, last), 0), writer=writer),
        )

    @rule(which=opened, length=lengths)
    def fsync(self, which: tuple[str, str], length: int) -> None:
        path, writer = which
        file = self.namenode.core.namespace.find(path)
        blocks = self.blocks_with(path, None)
        if (
            isinstance(file, File)
            and file.blocks
            and file.blocks[-1].state is BlockState.UNDER_CONSTRUCTION
        ):
            blocks = (*blocks[:-1], max(blocks[-1], length))
        request = pb.FsyncRequestProto(src=path, client=writer, lastBlockLength=length)

        def real() -> None:
            self.call("fsync", request)

        self.both(real, lambda: self.model.set_blocks(path, blocks, writer=writer))

    @rule(which=opened)
    def look(self, which: tuple[str, str]) -> None:
        """A length that was told is in the log."""
        path, _ = which
        entry = self.model.entries.get(path)
        status = self.call("getFileInfo", pb.GetFileInfoRequestProto(src=path))
        assert status.HasField("fs") is (entry is not None)
        if entry is not None:
            assert status.fs.length == entry.length_bytes
            inode = self.namenode.core.namespace.find(path)
            assert not isinstance(inode, File) or inode.length_bytes == entry.length_bytes

    @rule(which=opened)
    def abandon(self, which: tuple[str, str]) -> None:
        path, writer = which
        file = self.namenode.core.namespace.find(path)
        if not isinstance(file, File) or file.writer != writer or not file.blocks:
            return
        block = file.blocks[-1]
        if block.state is not BlockState.UNDER_CONSTRUCTION or block.known_bytes:
            return
        request = pb.AbandonBlockRequestProto(b=self.last(path, 0), src=path, holder=writer)

        def real() -> None:
            self.call("abandonBlock", request)

        self.both(
            real,
            lambda: self.model.set_blocks(path, self.blocks_with(path, None)[:-1], writer=writer),
        )

    @rule(which=opened, length=lengths)
    def complete(self, which: tuple[str, str], length: int) -> None:
        path, writer = which
        now_ms = self.now()
        entry = self.model.entries.get(path)
        if entry is not None and not entry.is_directory and entry.writer is None:
            return  # A close that is repeated succeeds; that has tests of its own.
        last = self.last(path, length) if entry and entry.writer == writer else None
        request = pb.CompleteRequestProto(src=path, clientName=writer, last=last)

        def model() -> bool:
            self.model.set_blocks(path, self.blocks_with(path, last), writer=writer)
            self.model.close(path, writer=writer, now_ms=now_ms)
            return True

        self.both(lambda: self.call("complete", request).result, model)

    # Several steps at once, which would hardly ever come about by themselves.

    @rule(path=beside, writer=writers, blocks=st.lists(st.integers(1, BLOCK), max_size=3))
    def whole_file(self, path: str, writer: str, blocks: list[int]) -> None:
        self.create(path, writer, False, 0o644)
        for before in [0, *blocks][: len(blocks)]:
            self.add_block((path, writer), before)
        self.complete((path, writer), blocks[-1] if blocks else 0)

    @rule(path=beside, writer=writers, length=st.integers(1, BLOCK))
    def file_that_is_given_up(self, path: str, writer: str, length: int) -> None:
        self.create(path, writer, False, 0o644)
        self.add_block((path, writer), 0)
        self.fsync((path, writer), length)

    # Cut, joined, taken away.

    @rule(path=closed | there, writer=writers, length=st.integers(0, 3 * BLOCK))
    def truncate(self, path: str, writer: str, length: int) -> None:
        now_ms = self.now()
        request = pb.TruncateRequestProto(src=path, newLength=length, clientName=writer)
        self.both(
            lambda: self.call("truncate", request).result,
            lambda: self.model.truncate(path, length, writer=writer, now_ms=now_ms),
        )

    @rule(data=st.data(), path=closed)
    def truncate_to_a_part(self, data: st.DataObject, path: str) -> None:
        """Drawn at random the length is mostly more than there is."""
        entry = self.model.entries.get(path)
        if entry is not None:
            self.truncate(path, "DFSClient_1", data.draw(st.integers(0, entry.length_bytes)))

    @rule(data=st.data(), whole=closed)
    def concat_neighbours(self, data: st.DataObject, whole: str) -> None:
        for name in ("a", "b", "ü €"):
            self.whole_file(parent_of(whole).rstrip("/") + "/" + name, "DFSClient_1", [1, 2])
        beside = [p for p in self.closed_files() if parent_of(p) == parent_of(whole) and p != whole]
        sources = st.lists(st.sampled_from(beside), min_size=1, max_size=3, unique=True)
        self.concat(whole, data.draw(sources) if beside else [whole])

    @rule(whole=closed, sources=st.lists(closed | there, min_size=1, max_size=3))
    def concat(self, whole: str, sources: list[str]) -> None:
        now_ms = self.now()
        request = pb.ConcatRequestProto(trg=whole, srcs=sources)

        def real() -> None:
            self.call("concat", request)

        self.both(real, lambda: self.model.concat(whole, sources, now_ms=now_ms))

    @rule(path=there, writer=writers)
    def recover_lease(self, path: str, writer: str) -> None:
        self.take_over(path, writer)

    @rule(which=opened, writer=writers)
    def recover_the_lease_of_an_open_file(self, which: tuple[str, str], writer: str) -> None:
        self.take_over(which[0], writer)

    def take_over(self, path: str, writer: str) -> None:
        now_ms = self.now()
        request = pb.RecoverLeaseRequestProto(src=path, clientName=writer)
        file = self.namenode.core.namespace.find(path)
        keep: int | None = None
        if isinstance(file, File):
            count = len(file.blocks)
            if not count or file.blocks[-1].state is BlockState.COMPLETE:
                keep = count
            elif self.namenode.core.blocks.is_unwritten(file.blocks[-1]):
                keep = count - 1
        self.both(
            lambda: self.call("recoverLease", request).result,
            lambda: self.model.take_over(path, keep=keep, now_ms=now_ms),
        )

    @rule(length=lengths)
    def recover_blocks(self, length: int) -> None:
        """The datanode does what it is told as a primary, and has so many bytes, or what
        was synced if that is more."""
        now_ms = self.now()
        for order in self.node.orders():
            block = self.namenode.core.namespace.blocks[order.block.b.blockId]
            told = max(length, block.known_bytes)
            if order.HasField("truncateBlock"):
                told = order.truncateBlock.numBytes
            self.node.replicas[self.node.first_storage].setdefault(
                block.block_id, Replica(block.generation_stamp, told)
            )
            self.model.recovered(block.file.path, told, now_ms=now_ms)
            self.node.recover(order, told, [self.node])

    # What must hold.

    @invariant()
    def note(self) -> None:
        self.points.append((len(self.namenode.log), fingerprint(self.namenode.core.namespace)))

    @invariant()
    def tree_is_the_models(self) -> None:
        namespace = self.namenode.core.namespace
        assert len(namespace.inodes) == len(self.model.entries)
        for path, entry in self.model.entries.items():
            inode = namespace.find(path)
            assert inode is not None, path
            assert isinstance(inode, Directory) == entry.is_directory
            assert (inode.owner, inode.group, inode.mode) == (entry.owner, entry.group, entry.mode)
            assert (inode.mtime_ms, inode.atime_ms) == (entry.mtime_ms, entry.atime_ms), path
            if isinstance(inode, File):
                assert tuple(b.known_bytes for b in inode.blocks) == entry.blocks
                assert (inode.replication, self.writer_of(path)) == (
                    entry.replication,
                    entry.writer,
                )
            elif isinstance(inode, Directory):
                assert inode.sorted_names() == self.model.children(path)

    def teardown(self) -> None:
        """The log makes the same namespace, at every point at which it was looked at."""
        fresh = Namespace()
        points = iter(self.points)
        at, expected = next(points)
        for number in range(len(self.namenode.log) + 1):
            while at == number:
                while fresh.must_reap:
                    fresh.reap(10)
                assert fingerprint(fresh) == expected
                at, expected = next(points, (-1, {}))
            if number < len(self.namenode.log):
                logged = decode_record(self.namenode.log[number])
                assert logged.txid == number + 1
                fresh.apply(logged.edit)
        assert at == -1, "every point was passed"


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_long_histories() -> None:
    run_state_machine_as_test(
        NamespaceMachine,
        settings=settings(
            max_examples=1000,
            stateful_step_count=100,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )


TestNamespace = NamespaceMachine.TestCase
TestNamespace.settings = settings(
    max_examples=60,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
