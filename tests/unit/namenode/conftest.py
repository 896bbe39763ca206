"""A namenode without sockets or clocks, and a client that speaks to it briefly."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from google.protobuf.message import Message

from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.inodes.inodes import File
from howdah.native import compiled
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.service import Deferred
from howdah.testing.in_memory import POOL_ID, InMemoryDatanode, InMemoryNamenode, outcome
from tests.support.observed_states import Recorder

BLOCK_BYTES = 1024
Block = types_pb2.ExtendedBlockProto


@dataclass
class Client:
    """Calls of one user under one client name. Where answers are one value, it is that."""

    namenode: InMemoryNamenode
    user: str = "root"
    name: str = "DFSClient_1"
    address: str = "10.9.9.9"

    def call(self, method: str, request: Message, **how: Any) -> Any:
        how.setdefault("user", self.user)
        how.setdefault("address", self.address)
        return self.namenode.call(method, request, **how)

    # Files.

    def create(self, path: str, **fields: Any) -> types_pb2.HdfsFileStatusProto:
        how = {key: fields.pop(key) for key in ("client_id", "call_id") if key in fields}
        mode = fields.pop("mode", 0o644)
        request = pb.CreateRequestProto(
            src=path,
            masked=types_pb2.FsPermissionProto(perm=mode),
            clientName=fields.pop("client_name", self.name),
            createFlag=fields.pop("flag", 1),
            createParent=fields.pop("create_parent", True),
            replication=fields.pop("replication", 1),
            blockSize=fields.pop("block_size", BLOCK_BYTES),
            **fields,
        )
        made: types_pb2.HdfsFileStatusProto = self.call("create", request, **how).fs
        return made

    def add_block(
        self, path: str, previous: Block | None = None, **fields: Any
    ) -> types_pb2.LocatedBlockProto:
        request = pb.AddBlockRequestProto(
            src=path, clientName=self.name, previous=previous, **fields
        )
        added: types_pb2.LocatedBlockProto = self.call("addBlock", request).block
        return added

    def complete(self, path: str, last: Block | None = None, **fields: Any) -> bool | Deferred:
        answer = self.call(
            "complete",
            pb.CompleteRequestProto(src=path, clientName=self.name, last=last, **fields),
        )
        return answer if isinstance(answer, Deferred) else answer.result

    def append(self, path: str, *, new_block: bool = False, **how: Any) -> Any:
        flag = pb.APPEND | (pb.NEW_BLOCK if new_block else 0)
        return self.call(
            "append", pb.AppendRequestProto(src=path, clientName=self.name, flag=flag), **how
        )

    def abandon(self, path: str, block: Block, **fields: Any) -> None:
        self.call(
            "abandonBlock",
            pb.AbandonBlockRequestProto(b=block, src=path, holder=self.name, **fields),
        )

    def fsync(self, path: str, length: int = -1, **fields: Any) -> None:
        self.call(
            "fsync",
            pb.FsyncRequestProto(src=path, client=self.name, lastBlockLength=length, **fields),
        )

    def store(self, block: types_pb2.LocatedBlockProto, length: int) -> Block:
        """Every datanode of the pipeline finalizes the block; as the client names it then."""
        for told in block.locs:
            node = next(n for n in self.namenode.nodes if n.uuid == told.id.datanodeUuid)
            node.store(block.b.blockId, block.b.generationStamp, length)
        named = Block()
        named.CopyFrom(block.b)
        named.numBytes = length
        return named

    def write(self, path: str, *lengths: int, **fields: Any) -> File:
        """A whole file with blocks of these lengths."""
        self.create(path, **fields)
        previous = None
        for length in lengths:
            previous = self.store(self.add_block(path, previous), length)
        assert self.complete(path, previous) is True
        file = self.namenode.namesystem.namespace.find(path)
        assert isinstance(file, File)
        return file

    def recover_lease(self, path: str, **how: Any) -> bool:
        request = pb.RecoverLeaseRequestProto(src=path, clientName=self.name)
        return bool(self.call("recoverLease", request, **how).result)

    def renew_lease(self) -> None:
        self.call("renewLease", pb.RenewLeaseRequestProto(clientName=self.name))

    def truncate(self, path: str, length: int, **how: Any) -> bool:
        request = pb.TruncateRequestProto(
            src=path, newLength=length & (1 << 64) - 1, clientName=self.name
        )
        return bool(self.call("truncate", request, **how).result)

    def concat(self, target: str, *sources: str, **how: Any) -> None:
        self.call("concat", pb.ConcatRequestProto(trg=target, srcs=sources), **how)

    # The tree.

    def mkdirs(self, path: str, mode: int = 0o755, *, create_parent: bool = True) -> bool:
        request = pb.MkdirsRequestProto(
            src=path, masked=types_pb2.FsPermissionProto(perm=mode), createParent=create_parent
        )
        return bool(self.call("mkdirs", request).result)

    def rename(self, src: str, dst: str, **how: Any) -> bool:
        return bool(self.call("rename", pb.RenameRequestProto(src=src, dst=dst), **how).result)

    def rename2(self, src: str, dst: str, *, overwrite: bool = False, **how: Any) -> None:
        request = pb.Rename2RequestProto(src=src, dst=dst, overwriteDest=overwrite)
        self.call("rename2", request, **how)

    def rename_in_turn(self, *renames: tuple[str, str], **how: Any) -> int:
        """Several renames in one turn; how many of them were done."""
        (src, dst), *others = renames
        following = [pb.NextRenameProto(src=src, dst=dst) for src, dst in others]
        request = pb.Rename2RequestProto(
            src=src, dst=dst, overwriteDest=False, next=following, known=how.pop("known", None)
        )
        return 1 + int(self.call("rename2", request, **how).nextDone)

    def known(self, path: str) -> pb.KnownFileProto:
        """A file as it is now."""
        status = self.status(path)
        assert status is not None
        return pb.KnownFileProto(
            fileId=status.fileId,
            modificationTime=status.modification_time,
            length=status.length,
        )

    def rename_over(self, src: str, dst: str, known: pb.KnownFileProto, **how: Any) -> None:
        request = pb.Rename2RequestProto(src=src, dst=dst, overwriteDest=False, replaces=known)
        self.call("rename2", request, **how)

    def delete_known(self, path: str, known: pb.KnownFileProto) -> bool:
        request = pb.DeleteRequestProto(src=path, recursive=False, known=known)
        return bool(self.call("delete", request).result)

    def delete(self, path: str, *, recursive: bool = True, **how: Any) -> bool:
        request = pb.DeleteRequestProto(src=path, recursive=recursive)
        return bool(self.call("delete", request, **how).result)

    # Attributes.

    def chmod(self, path: str, mode: int) -> None:
        self.call(
            "setPermission",
            pb.SetPermissionRequestProto(
                src=path, permission=types_pb2.FsPermissionProto(perm=mode)
            ),
        )

    def chown(self, path: str, owner: str = "", group: str = "") -> None:
        self.call("setOwner", pb.SetOwnerRequestProto(src=path, username=owner, groupname=group))

    def set_times(self, path: str, mtime_ms: int = -1, atime_ms: int = -1) -> None:
        mask = (1 << 64) - 1
        self.call(
            "setTimes",
            pb.SetTimesRequestProto(src=path, mtime=mtime_ms & mask, atime=atime_ms & mask),
        )

    def set_replication(self, path: str, replication: int) -> bool:
        request = pb.SetReplicationRequestProto(src=path, replication=replication)
        return bool(self.call("setReplication", request).result)

    # Looking.

    def status(self, path: str) -> types_pb2.HdfsFileStatusProto | None:
        answer = self.call("getFileInfo", pb.GetFileInfoRequestProto(src=path))
        return answer.fs if answer.HasField("fs") else None

    def exists(self, path: str) -> bool:
        return self.status(path) is not None

    def page(
        self, path: str, start_after: bytes = b"", *, locations: bool = False
    ) -> types_pb2.DirectoryListingProto | None:
        request = pb.GetListingRequestProto(
            src=path, startAfter=start_after, needLocation=locations
        )
        answer = self.call("getListing", request)
        return answer.dirList if answer.HasField("dirList") else None

    def names(self, path: str) -> list[str]:
        """All names in a directory, page by page."""
        found: list[str] = []
        while True:
            page = self.page(path, found[-1].encode() if found else b"")
            assert page is not None, f"{path} exists"
            found += [entry.path.decode() for entry in page.partialListing]
            if not page.remainingEntries:
                return found

    def locations(
        self, path: str, offset: int = 0, length: int = 1 << 40
    ) -> types_pb2.LocatedBlocksProto:
        request = pb.GetBlockLocationsRequestProto(
            src=path, offset=offset & (1 << 64) - 1, length=length & (1 << 64) - 1
        )
        found: types_pb2.LocatedBlocksProto = self.call("getBlockLocations", request).locations
        return found


ClientOf = Callable[..., Client]


@pytest.fixture
def settings() -> Settings:
    """Small blocks; a module overrides it for settings of its own."""
    return Settings("", min_block_size_bytes=512, block_size_bytes=BLOCK_BYTES)


@pytest.fixture
def namenode(settings: Settings) -> InMemoryNamenode:
    return InMemoryNamenode(
        settings, groups={"alice": ("staff",), "bob": ("staff", "web"), "admin": ("supergroup",)}
    )


@pytest.fixture
def nodes(namenode: InMemoryNamenode) -> list[InMemoryDatanode]:
    """Three datanodes on two racks."""
    return [namenode.join(f"dn{n}", rack=f"/r{n % 2}") for n in range(3)]


@pytest.fixture
def client_of(namenode: InMemoryNamenode) -> ClientOf:
    """`client_of("alice")`: that user's client, with a client name of its own."""
    numbers = itertools.count(1)

    def make(user: str = "root", **fields: Any) -> Client:
        return Client(namenode, user, f"DFSClient_{user}_{next(numbers)}", **fields)

    return make


@pytest.fixture
def client(client_of: ClientOf) -> Client:
    """The superuser's."""
    return client_of()


@pytest.fixture
def alice(client: Client, client_of: ClientOf) -> Client:
    """A user, with a home directory."""
    client.mkdirs("/user/alice")
    client.chown("/user/alice", "alice", "staff")
    return client_of("alice")


@pytest.fixture
def settled() -> Callable[[Any], Any]:
    """What a deferred answer has come to; None while it waits."""

    def look(answer: Any) -> Any:
        found = outcome(answer) if isinstance(answer, Deferred) else answer
        return found.result if isinstance(found, pb.CompleteResponseProto) else found

    return look


@pytest.fixture
def named() -> Callable[..., Block]:
    """A block as a client names it."""

    def make(block_id: int, stamp: int, length: int) -> Block:
        return Block(poolId=POOL_ID, blockId=block_id, generationStamp=stamp, numBytes=length)

    return make


@pytest.fixture(scope="module", autouse=True)
def observed_states() -> Iterator[Recorder]:
    """Whatever happens to blocks and leases in these tests is in the tables of their states."""
    recorder = Recorder()
    with pytest.MonkeyPatch.context() as monkeypatch:
        # What is compiled can't be replaced.
        if not compiled.is_used():
            recorder.install(monkeypatch)
        yield recorder
