"""Which directories are encryption zones, and what the namenode keeps of an encrypted file (pure).

Hadoop's `EncryptionZoneManager`, `FSDirEncryptionZoneOp`. All of it is in extended attributes, as
in Hadoop: a directory's says by which key its files' keys are encrypted, and a file's has its own
key, encrypted, from its creation on. So the log, images, snapshots and standbys have it, too.

What is below a zone belongs to the nearest one above. The key of a zone stays; a file keeps its key
where it is moved, which is within its zone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from google.protobuf.message import DecodeError

from howdah import errors
from howdah.formats.edits.edits import XAttr
from howdah.namenode.state.inodes import xattrs
from howdah.namenode.state.inodes.inode_features import NO_FEATURES
from howdah.namenode.state.inodes.inodes import Directory, INode, Inodes, inherits_from
from howdah.namenode.state.inodes.xattrs import ENCRYPTED_FILE, ENCRYPTION_ZONE
from howdah.proto import types_pb2
from howdah.protocol.encryption_zones.messages import (
    AES_CTR,
    ENCRYPTION_ZONES,
    EncryptedKey,
    check_cipher,
)


class Zone(NamedTuple):
    """An encryption zone, and the name of its key."""

    directory: Directory
    key_name: str


class ZoneIndex:
    """The ids of the directories that are zones, or have been."""

    def __init__(self) -> None:
        self._ids: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._ids)

    def follow(self, inode: INode, new: Sequence[XAttr]) -> None:
        """An inode was given attributes."""
        if any(xattrs.name_of(xattr) == ENCRYPTION_ZONE for xattr in new):
            self._ids.add(inode.inode_id)

    def find_all(self, inodes: Inodes) -> None:
        """Those that a namespace from an image has."""
        self._ids = {
            directory.inode_id
            for directory in inodes.directories.values()
            if directory.xattrs and attribute_of(directory.xattrs, ENCRYPTION_ZONE) is not None
        }

    def ids_after(self, inode_id: int) -> Iterator[int]:
        """In their order. Some may be gone."""
        return iter(sorted(each for each in self._ids if each > inode_id))

    def discard(self, inode_id: int) -> None:
        """It is no zone any more, or gone for good."""
        self._ids.discard(inode_id)


def attribute_of(have: Sequence[XAttr], name: tuple[object, str]) -> bytes | None:
    """Return the value of an attribute; None where there is none of that name."""
    for xattr in have:
        if xattrs.name_of(xattr) == name:
            return xattr.value or b""
    return None


def zone_attribute(key_name: str) -> XAttr:
    """Return the attribute by which a directory is a zone."""
    info = types_pb2.ZoneEncryptionInfoProto(
        suite=AES_CTR, cryptoProtocolVersion=ENCRYPTION_ZONES, keyName=key_name
    )
    return XAttr(*ENCRYPTION_ZONE, info.SerializeToString())


def file_attribute(key: EncryptedKey) -> XAttr:
    """Return the attribute in which a file has its key."""
    info = types_pb2.PerFileEncryptionInfoProto(
        key=key.material, iv=key.iv, ezKeyVersionName=key.version_name
    )
    return XAttr(*ENCRYPTED_FILE, info.SerializeToString())


def zone_of(inode: INode | None) -> Zone | None:
    """Return the zone that an inode is in; a directory may be one itself.

    Raises UnsupportedOperation for a zone by a cipher that is not known, and RemoteError for one
    whose attribute is damaged: nothing may be written there in plain.
    """
    while inode is not None:
        # Every call asks this of the directories above, and hardly any has features.
        if inode.features is not NO_FEATURES and isinstance(inode, Directory):
            value = attribute_of(inode.xattrs, ENCRYPTION_ZONE)
            if value is not None:
                return Zone(inode, key_name_in(value, inode.path))
        inode = inherits_from(inode)
    return None


def key_name_in(value: bytes, path: str) -> str:
    """Return the name of the key in the attribute of a zone. Raises as `zone_of`."""
    try:
        info = types_pb2.ZoneEncryptionInfoProto.FromString(value)
    except DecodeError as error:
        raise errors.RemoteError(
            f"the attribute by which {path} is an encryption zone is damaged"
        ) from error
    check_cipher(info.suite, info.cryptoProtocolVersion, path)
    return info.keyName


def file_key(have: Sequence[XAttr], zone: Zone | None) -> EncryptedKey | None:
    """Return the key of a file of a zone by the file's attributes; None for what is not encrypted.
    A file outside of zones has none, whatever its attributes say: whoever reads it gets what is
    there. Raises RemoteError for an attribute that is damaged."""
    if zone is None or not have:
        return None
    value = attribute_of(have, ENCRYPTED_FILE)
    if value is None:
        return None
    try:
        info = types_pb2.PerFileEncryptionInfoProto.FromString(value)
        key = EncryptedKey(zone.key_name, info.ezKeyVersionName, info.iv, info.key)
        key.check()
    except (DecodeError, errors.ProtocolViolation) as error:
        raise errors.RemoteError(
            f"the key of a file in the encryption zone {zone.directory.path} is damaged"
        ) from error
    return key
