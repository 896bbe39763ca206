"""Encryption zones of a namenode in memory, and a key server that answers when it is told to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from howdah import errors
from howdah.namenode.service.calls.encryption_zones import zones_after
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.service.calls.zone_keys import Made, ZoneKeys
from howdah.namenode.state.inodes.xattrs import ENCRYPTION_ZONE
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.encryption_zones.messages import EncryptedKey
from howdah.protocol.rpc.service import Deferred
from howdah.testing.in_memory import InMemoryNamenode

SM4_ZONE = types_pb2.ZoneEncryptionInfoProto(
    suite=types_pb2.SM4_CTR_NOPADDING,
    cryptoProtocolVersion=types_pb2.ENCRYPTION_ZONES,
    keyName="sm4",
)
"""The attribute of a zone whose cipher Hadoop has, and howdah has not."""


class Server:
    """A key server that answers when it is told to. A version of a key encrypts by adding its
    number to each byte."""

    def __init__(self) -> None:
        self.known = {"payroll", "audit"}
        self.versions: dict[str, int] = {}
        self.reencryptions: list[tuple[Sequence[EncryptedKey], Callable[[Made], None]]] = []
        self.asked: list[tuple[str, int, Callable[[Made], None]]] = []
        self.checks: list[tuple[str, Callable[[errors.HowdahError | None], None]]] = []
        self.answers_at_once = True
        self._number = 0

    def generate(self, key_name: str, count: int, done: Callable[[Made], None]) -> None:
        self.asked.append((key_name, count, done))
        if self.answers_at_once:
            self.answer()

    def check(self, key_name: str, done: Callable[[errors.HowdahError | None], None]) -> None:
        self.checks.append((key_name, done))
        if self.answers_at_once:
            self.answer_checks()

    def answer(self, error: errors.HowdahError | None = None) -> None:
        asked, self.asked = self.asked, []
        for key_name, count, done in asked:
            made = [self.key(key_name) for _ in range(count)]
            done(made if error is None else error)

    def answer_checks(self) -> None:
        checks, self.checks = self.checks, []
        for key_name, done in checks:
            missing = errors.RemoteError(f"Key {key_name} doesn't exist.")
            done(None if key_name in self.known else missing)

    def reencrypt(self, wanted: Sequence[EncryptedKey], done: Callable[[Made], None]) -> None:
        self.reencryptions.append((wanted, done))
        if self.answers_at_once:
            self.answer_reencryption()

    def answer_reencryption(self, error: errors.HowdahError | None = None, place: int = 0) -> None:
        """Of those that were asked for, the one at that place."""
        wanted, done = self.reencryptions.pop(place)
        done([self.again(key) for key in wanted] if error is None else error)

    def roll(self, key_name: str) -> None:
        self.versions[key_name] = self.versions.get(key_name, 0) + 1

    def again(self, key: EncryptedKey) -> EncryptedKey:
        return self.encrypted(key.key_name, key.iv, self.plain(key))

    def plain(self, key: EncryptedKey) -> bytes:
        number = int(key.version_name.rpartition("@")[2])
        return bytes((byte - number) % 256 for byte in key.material)

    def encrypted(self, key_name: str, iv: bytes, plain: bytes) -> EncryptedKey:
        number = self.versions.get(key_name, 0)
        material = bytes((byte + number) % 256 for byte in plain)
        return EncryptedKey(key_name, f"{key_name}@{number}", iv, material)

    def key(self, key_name: str) -> EncryptedKey:
        self._number += 1
        data = self._number.to_bytes(16, "big")
        return self.encrypted(key_name, data, data[::-1])


class Scene:
    """A namenode, its key server, and calls."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.server = Server()
        self._begin(InMemoryNamenode(settings))
        self.namenode.join("d0")

    def _begin(self, namenode: InMemoryNamenode) -> None:
        self.namenode = namenode
        self.namesystem = namenode.namesystem
        self.namesystem.zone_keys = ZoneKeys(
            self.server, namenode.clock.monotonic_ms, size=4, low=0.5, expiry_ms=1000_000
        )

    def restart(self, *, from_image: bool = False, lost: int = 0) -> None:
        """A namenode that goes by the log, without its last edits, or by an image."""
        if lost:
            self.namenode.log = self.namenode.log[:-lost]
        self._begin(self.namenode.restarted(from_image=from_image))

    def call(self, method: str, request: Any, **how: Any) -> Any:
        return self.namenode.call(method, request, **how)

    def settled(self, answer: Any) -> Any:
        """What came of a deferred answer."""
        assert isinstance(answer, Deferred)
        outcomes: list[Any] = []
        answer.when_settled(outcomes.append)
        assert outcomes, "it is still open"
        if isinstance(outcomes[0], errors.HowdahError):
            raise outcomes[0]
        return outcomes[0]

    def mkdir(self, path: str) -> None:
        perm = types_pb2.FsPermissionProto(perm=0o755)
        self.call("mkdirs", pb.MkdirsRequestProto(src=path, masked=perm, createParent=True))

    def make_zone(self, path: str, key_name: str = "payroll", **how: Any) -> None:
        request = pb.CreateEncryptionZoneRequestProto(src=path, keyName=key_name)
        self.settled(self.call("createEncryptionZone", request, **how))

    def zone_from_elsewhere(self, path: str, value: bytes) -> None:
        """A zone as the superuser, or the image of another namenode, brings it along."""
        self.mkdir(path)
        xattr = types_pb2.XAttrProto(
            namespace=types_pb2.XAttrProto.RAW, name=ENCRYPTION_ZONE[1], value=value
        )
        request = types_pb2.SetXAttrRequestProto(
            src=f"/.reserved/raw{path}", xAttr=xattr, flag=types_pb2.XATTR_CREATE
        )
        self.call("setXAttr", request)

    def create(self, path: str, *, versions: tuple[int, ...] = (2,), **how: Any) -> Any:
        request = pb.CreateRequestProto(
            src=path,
            masked=types_pb2.FsPermissionProto(perm=0o644),
            clientName="writer",
            createFlag=1,
            createParent=True,
            replication=1,
            blockSize=1 << 20,
            cryptoProtocolVersion=versions,  # type: ignore[arg-type]
        )
        return self.call("create", request, **how)

    def write(self, path: str, length_bytes: int = 100) -> None:
        """A file of one block, which its writer closes."""
        self.create(path)
        added = self.call("addBlock", pb.AddBlockRequestProto(src=path, clientName="writer")).block
        named = added.b
        [node] = self.namenode.nodes
        node.store(named.blockId, named.generationStamp, length_bytes)
        named.numBytes = length_bytes
        request = pb.CompleteRequestProto(src=path, clientName="writer", last=named)
        assert self.call("complete", request).result

    def truncate(self, path: str, length_bytes: int, **how: Any) -> Any:
        request = pb.TruncateRequestProto(src=path, newLength=length_bytes, clientName="writer")
        return self.call("truncate", request, **how)

    def status(self, path: str) -> types_pb2.HdfsFileStatusProto:
        answer = self.call("getFileInfo", pb.GetFileInfoRequestProto(src=path))
        status: types_pb2.HdfsFileStatusProto = answer.fs
        return status

    def rename(self, src: str, dst: str) -> None:
        self.call("rename2", pb.Rename2RequestProto(src=src, dst=dst, overwriteDest=False))

    def zones_counted(self) -> int:
        return len(zones_after(self.namesystem))

    def zones(self) -> list[tuple[str, str]]:
        answer = self.call("listEncryptionZones", pb.ListEncryptionZonesRequestProto(id=0))
        return [(zone.path, zone.keyName) for zone in answer.zones]
