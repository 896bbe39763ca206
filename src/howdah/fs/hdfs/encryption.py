"""Encryption zones as an administrator sees them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.fs import paths
from howdah.protocol.encryption_zones.messages import EncryptedKey, encrypted_key_of
from howdah.protocol.trash_names import TRASH_NAME

if TYPE_CHECKING:
    from howdah.client.namenode import NamenodeProxy
    from howdah.proto import client_namenode_pb2

_TRASH_MODE: Final = 0o1777


@dataclass(frozen=True, slots=True)
class EncryptionZone:
    """A directory below which all files are encrypted, and the key for it."""

    path: str
    key_name: str
    zone_id: int


@dataclass(frozen=True, slots=True)
class ReencryptionStatus:
    """How far the keys of a zone's files have been encrypted anew. Times are in milliseconds since
    1970."""

    path: str
    """Of the zone."""
    state: str
    """`Submitted`, `Processing` or `Completed`."""
    version_name: str
    """Of the zone's key, when it was submitted."""
    submitted_ms: int
    is_cancelled: bool
    completed_ms: int | None
    reencrypted: int
    """Files that have got new keys."""
    failures: int
    """Files that kept their keys, because key servers failed."""
    last_file: str | None
    """Up to which path, in the order of names, all is done."""


@dataclass(frozen=True, slots=True)
class FileEncryptionInfo:
    """How a file is encrypted: its own key, encrypted by a version of its zone's key."""

    key_name: str
    version_name: str
    iv: bytes
    encrypted_key: bytes = field(repr=False)

    @classmethod
    def of(cls, key: EncryptedKey) -> FileEncryptionInfo:
        return cls(key.key_name, key.version_name, key.iv, key.material)


def _reencryption(proto: client_namenode_pb2.ZoneReencryptionStatusProto) -> ReencryptionStatus:
    from howdah.proto import client_namenode_pb2 as pb

    return ReencryptionStatus(
        proto.path,
        pb.ReencryptionStateProto.Name(proto.state).capitalize(),
        proto.ezKeyVersionName,
        proto.submissionTime,
        proto.canceled,
        proto.completionTime if proto.HasField("completionTime") else None,
        proto.numReencrypted,
        proto.numFailures,
        proto.lastFile if proto.HasField("lastFile") else None,
    )


def _zone(proto: client_namenode_pb2.EncryptionZoneProto) -> EncryptionZone:
    return EncryptionZone(proto.path, proto.keyName, proto.id)


class EncryptionZones:
    """What is asked of a namenode about them."""

    def __init__(self, namenode: NamenodeProxy) -> None:
        self._namenode = namenode

    def create(self, path: str, key_name: str, *, provision_trash: bool) -> None:
        self._namenode.create_encryption_zone(path, key_name)
        if provision_trash:
            self.provision_trash(path)

    def of(self, path: str) -> EncryptionZone | None:
        zone = self._namenode.get_encryption_zone(path)
        return None if zone is None else _zone(zone)

    def list(self) -> Iterator[EncryptionZone]:
        behind_id, has_more = 0, True
        while has_more:
            zones, has_more = self._namenode.list_encryption_zones(behind_id)
            if not zones:
                return
            behind_id = zones[-1].id
            yield from map(_zone, zones)

    def reencrypt(self, path: str, *, cancel: bool) -> None:
        self._namenode.reencrypt_encryption_zone(path, cancel=cancel)

    def reencryption_statuses(self) -> Iterator[ReencryptionStatus]:
        behind_id, has_more = 0, True
        while has_more:
            statuses, has_more = self._namenode.list_reencryption_status(behind_id)
            if not statuses:
                return
            behind_id = statuses[-1].id
            yield from map(_reencryption, statuses)

    def provision_trash(self, path: str) -> None:
        """Make the directory in which users of a zone have their trash. Raises IllegalArgument
        where there is no zone, or this is not its root, and PathExists."""
        zone = self.of(path)
        if zone is None:
            raise errors.IllegalArgument(f"{path} is not an encryption zone.")
        if zone.path != path:
            raise errors.IllegalArgument(
                f"{path} is not the root of an encryption zone. Do you mean {zone.path}?"
            )
        trash = paths.join(path, TRASH_NAME)
        if self._namenode.get_file_info(trash) is not None:
            raise errors.PathExists(
                f"Will not provision new trash directory for encryption zone {path}. Path already "
                "exists."
            ).about(trash)
        self._namenode.mkdirs(trash, masked=_TRASH_MODE, unmasked=_TRASH_MODE, create_parent=False)
        # A umask that the namenode knows of may have taken bits.
        self._namenode.set_permission(trash, _TRASH_MODE)

    def info_of(self, path: str) -> FileEncryptionInfo | None:
        """How a file is encrypted; None for what is not. Raises PathNotFound."""
        status = self._namenode.get_file_info(path)
        if status is None:
            raise errors.PathNotFound(f"File does not exist: {path}").about(path)
        if not status.HasField("fileEncryptionInfo"):
            return None
        return FileEncryptionInfo.of(encrypted_key_of(status.fileEncryptionInfo))
