"""Hadoop's namenode starts from a log and from an image of ours, whatever callers chose.

Each request that changes the namespace is made with each of its texts and bytes replaced by odd
ones, and with each of its numbers at its extremes. Our namenode refuses it, or Hadoop's reads what
it left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.formats.edits import edits
from howdah.formats.edits.codec import LAYOUT_VERSION, encode_record
from howdah.formats.image.sections import Sink
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.images.image import write_image
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.storage.image_files import save_image
from howdah.testing.in_memory import POOL_ID, InMemoryNamenode
from tests.support.extremes import extremes

pytestmark = pytest.mark.timeout(300)

CLIENT = "DFSClient_1"
TEXTS = (
    "",
    " ",
    "a b",
    "nul\0",
    "\x01\x1f\x7f",
    "line\nfeed\r",
    "\ufffe\uffff",
    "\U0001f418",
    "<&>\"'",
    "a:b,c/d",
    "ü" * 200,
    "n" * 255,
    "n" * 300,
    "n" * 21_845,
    "ü" * 30_000,
    "n" * 70_000,
    "\0" * 30_000,
)
VALUES = (b"", b"\0", b"\xff\xfe", bytes(16_000), bytes(20_000))
DIR, FILE = types_pb2.FsPermissionProto(perm=0o755), types_pb2.FsPermissionProto(perm=0o644)


def requests(path: str) -> Iterator[tuple[str, Message]]:
    """Calls about `path`, a directory, and `path`/f, a file."""
    entry = types_pb2.AclEntryProto(
        type=types_pb2.AclEntryProto.USER,
        scope=types_pb2.AclEntryProto.ACCESS,
        permissions=types_pb2.AclEntryProto.READ_EXECUTE,
        name="bob",
    )
    attribute = types_pb2.XAttrProto(
        namespace=types_pb2.XAttrProto.USER, name="colour", value=b"red"
    )
    yield "mkdirs", pb.MkdirsRequestProto(src=f"{path}/made", masked=DIR, createParent=True)
    yield (
        "create",
        pb.CreateRequestProto(
            src=f"{path}/new",
            masked=FILE,
            unmasked=FILE,
            clientName=CLIENT,
            createFlag=1,
            createParent=True,
            replication=1,
            blockSize=1024,
            ecPolicyName="",
            storagePolicy="",
        ),
    )
    yield "append", pb.AppendRequestProto(src=f"{path}/f", clientName=CLIENT, flag=4)
    yield (
        "createSymlink",
        pb.CreateSymlinkRequestProto(
            target="/elsewhere", link=f"{path}/link", dirPerm=DIR, createParent=True
        ),
    )
    yield "rename", pb.RenameRequestProto(src=f"{path}/f", dst=f"{path}/g")
    yield (
        "rename2",
        pb.Rename2RequestProto(
            src=f"{path}/f", dst=f"{path}/g", overwriteDest=True, moveToTrash=False
        ),
    )
    yield "setOwner", pb.SetOwnerRequestProto(src=path, username="bob", groupname="staff")
    yield "setPermission", pb.SetPermissionRequestProto(src=path, permission=DIR)
    yield "setReplication", pb.SetReplicationRequestProto(src=f"{path}/f", replication=2)
    yield "setTimes", pb.SetTimesRequestProto(src=f"{path}/f", mtime=5, atime=6)
    yield (
        "setQuota",
        pb.SetQuotaRequestProto(path=path, namespaceQuota=100, storagespaceQuota=1 << 40),
    )
    yield (
        "setQuota",
        pb.SetQuotaRequestProto(
            path=path, namespaceQuota=100, storagespaceQuota=1 << 40, storageType=types_pb2.SSD
        ),
    )
    yield "setStoragePolicy", pb.SetStoragePolicyRequestProto(src=path, policyName="COLD")
    yield "setXAttr", types_pb2.SetXAttrRequestProto(src=path, xAttr=attribute, flag=1)
    yield "setAcl", types_pb2.SetAclRequestProto(src=path, aclSpec=[entry])
    yield "modifyAclEntries", types_pb2.ModifyAclEntriesRequestProto(src=path, aclSpec=[entry])
    yield (
        "createSnapshot",
        pb.CreateSnapshotRequestProto(snapshotRoot=path, snapshotName="one"),
    )
    yield (
        "renameSnapshot",
        pb.RenameSnapshotRequestProto(
            snapshotRoot=path, snapshotOldName="first", snapshotNewName="two"
        ),
    )
    name = path.replace("/", "-")
    yield (
        "addCachePool",
        pb.AddCachePoolRequestProto(
            info=pb.CachePoolInfoProto(
                poolName=f"pool{name}",
                ownerName="bob",
                groupName="staff",
                mode=0o755,
                limit=5,
                maxRelativeExpiry=7,
                defaultReplication=1,
            )
        ),
    )
    yield (
        "modifyCachePool",
        pb.ModifyCachePoolRequestProto(
            info=pb.CachePoolInfoProto(
                poolName="known", ownerName="bob", groupName="staff", mode=0o755
            )
        ),
    )
    yield (
        "addCacheDirective",
        pb.AddCacheDirectiveRequestProto(
            info=pb.CacheDirectiveInfoProto(
                path=path,
                replication=1,
                pool="known",
                expiration=pb.CacheDirectiveInfoExpirationProto(millis=5, isRelative=True),
            )
        ),
    )
    yield "truncate", pb.TruncateRequestProto(src=f"{path}/f", newLength=0, clientName=CLIENT)


def variants(request: Message) -> Iterator[Message]:
    yield from (each for _, each in extremes(request))
    for change in _changes(request):
        changed = type(request)()
        changed.CopyFrom(request)
        change(changed)
        yield changed


def _changes(part: Message, way: tuple[str, ...] = ()) -> Iterator[Callable[[Message], None]]:
    for field, found in part.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            inner = found[0] if field.is_repeated else found
            yield from _changes(inner, (*way, field.name))
            continue
        odd: tuple[str | bytes, ...] = ()
        if field.type == FieldDescriptor.TYPE_STRING:
            # A path keeps its place, and has an odd name at its end.
            odd = tuple(f"{found}{each}" if found.startswith("/") else each for each in TEXTS)
        elif field.type == FieldDescriptor.TYPE_BYTES:
            odd = VALUES
        for value in odd:

            def change(message: Any, name: str = field.name, value: str | bytes = value) -> None:
                for step in way:
                    part = getattr(message, step)
                    message = part if isinstance(part, Message) else part[0]
                setattr(message, name, value)

            yield change


def grown() -> InMemoryNamenode:
    namenode = InMemoryNamenode(Settings(POOL_ID, min_block_size_bytes=512, block_size_bytes=1024))
    namenode.join("dn0")
    namenode.call(
        "addCachePool",
        pb.AddCachePoolRequestProto(
            info={"poolName": "known", "ownerName": "bob", "groupName": "staff"}
        ),
    )
    number = 0
    for which in range(len(list(requests("/")))):
        _, plain = list(requests("/d"))[which]
        for nth in range(len(list(variants(plain)))):
            path, number = f"/d{number}", number + 1
            namenode.call("mkdirs", pb.MkdirsRequestProto(src=path, masked=DIR, createParent=True))
            namenode.call(
                "create",
                pb.CreateRequestProto(
                    src=f"{path}/f",
                    masked=FILE,
                    clientName=CLIENT,
                    createFlag=1,
                    createParent=True,
                    replication=1,
                    blockSize=1024,
                ),
            )
            namenode.call("complete", pb.CompleteRequestProto(src=f"{path}/f", clientName=CLIENT))
            namenode.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot=path))
            namenode.call(
                "createSnapshot",
                pb.CreateSnapshotRequestProto(snapshotRoot=path, snapshotName="first"),
            )
            method, request = list(requests(path))[which]
            changed = list(variants(request))[nth]
            try:
                namenode.call(method, changed)
            except errors.HowdahError:
                continue
    of_users(namenode)
    return namenode


def of_users(namenode: InMemoryNamenode) -> None:
    """What belongs to callers of odd names."""
    anyone = types_pb2.FsPermissionProto(perm=0o777)
    namenode.call("mkdirs", pb.MkdirsRequestProto(src="/open", masked=anyone, createParent=True))
    for number, user in enumerate(TEXTS):
        for method, request in requests(f"/open/{number}"):
            try:
                namenode.call(method, request, user=user)
            except errors.HowdahError:
                continue


@pytest.fixture(scope="module")
def namenode() -> InMemoryNamenode:
    return grown()


def formatted(directory: Path) -> Path:
    name = directory / "name"
    format_namenode(Configuration({"dfs.namenode.name.dir": name.as_uri()}))
    return name


def test_the_log(
    namenode: InMemoryNamenode, hadoop_tools: Callable[..., None], tmp_path: Path
) -> None:
    name = formatted(tmp_path)
    log = [edits.StartLogSegmentOp(), *namenode.edits()]
    records = [encode_record(number, each) for number, each in enumerate(log, 1)]
    data = LAYOUT_VERSION.to_bytes(4, "big", signed=True) + bytes(4) + b"".join(records)
    (name / "current" / f"edits_inprogress_{1:019}").write_bytes(data)
    log_file = tmp_path / "edits"
    log_file.write_bytes(data)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    assert main(["oev", "-i", str(log_file), "-o", str(ours)]) == 0
    hadoop_tools("oev", "-i", log_file, "-o", theirs)
    assert ours.read_bytes() == theirs.read_bytes()
    (name / "current" / "seen_txid").write_text("1\n")
    hadoop_tools("start", tmp_path)
    hadoop_tools("stop")


def test_the_image(
    namenode: InMemoryNamenode, hadoop_tools: Callable[..., None], tmp_path: Path
) -> None:
    name = formatted(tmp_path)
    namespace = namenode.namesystem.namespace

    def write(sink: Sink) -> None:
        write_image(namespace, 1, 0, sink)

    save_image([name / "current"], 0, write)
    image = name / "current" / f"fsimage_{0:019}"
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    arguments = ("-p", "XML", "-i", str(image), "-o")
    assert main(["oiv", *arguments, str(ours)]) == 0
    hadoop_tools("oiv", *arguments, theirs)
    shown = [re.sub(b"oivRevision>[^<]*<", b"", each.read_bytes()) for each in (ours, theirs)]
    assert shown[0] == shown[1]
    hadoop_tools("start", tmp_path)
    hadoop_tools("stop")
