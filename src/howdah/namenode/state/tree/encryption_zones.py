"""Which directories are encryption zones, and what the namenode keeps of an encrypted file (pure).

Hadoop's `EncryptionZoneManager`, `FSDirEncryptionZoneOp`. All of it is in extended attributes, as
in Hadoop: a directory's says by which key its files' keys are encrypted, and a file's has its own
key, encrypted, from its creation on. So the log, images, snapshots and standbys have it, too.

What is below a zone belongs to the nearest one above. The key of a zone stays; a file keeps its key
where it is moved, which is within its zone. The attribute of a zone says, too, how far its files'
keys were encrypted anew by another version of the zone's key (`Reencryption`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Reencryption:
    """The last re-encryption of a zone: under way, cancelled or over. Hadoop:
    ReencryptionInfoProto."""

    version_name: str
    """Of the zone's key when it was asked for: files whose keys it encrypts are passed over."""
    submitted_ms: int
    reencrypted: int = 0
    failures: int = 0
    """Files that kept the keys that they had, because key servers failed."""
    last_file: str = ""
    """Where it has come to: all up to this path, in the order of names, is done."""
    completed_ms: int = 0
    """0 as long as it is under way."""
    is_cancelled: bool = False

    @property
    def is_over(self) -> bool:
        return bool(self.completed_ms)


class ZoneIndex:
    """The ids of the directories that are zones, or have been."""

    def __init__(self) -> None:
        self._ids: set[int] = set()
        self._reencrypting: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._ids)

    def follow(self, inode: INode, new: Sequence[XAttr]) -> None:
        """An inode was given attributes."""
        for xattr in new:
            if xattrs.name_of(xattr) == ENCRYPTION_ZONE:
                self._follow(inode.inode_id, xattr.value or b"")

    def _follow(self, inode_id: int, value: bytes) -> None:
        self._ids.add(inode_id)
        reencryption = reencryption_in(value)
        if reencryption is None or reencryption.is_over:
            self._reencrypting.discard(inode_id)
        else:
            self._reencrypting.add(inode_id)

    def find_all(self, inodes: Inodes) -> None:
        """Those that a namespace from an image has."""
        self._ids.clear()
        self._reencrypting.clear()
        for directory in inodes.directories.values():
            if directory.xattrs:
                value = attribute_of(directory.xattrs, ENCRYPTION_ZONE)
                if value is not None:
                    self._follow(directory.inode_id, value)

    @property
    def has_reencryptions(self) -> bool:
        """Whether there may be such a zone."""
        return bool(self._reencrypting)

    @property
    def reencrypting(self) -> list[int]:
        """The zones whose re-encryption is under way, in the order of their ids. Some may be
        gone."""
        return sorted(self._reencrypting)

    def is_reencrypting(self, inode_id: int) -> bool:
        """Whether the keys of the zone's files are being encrypted anew."""
        return inode_id in self._reencrypting

    def ids_after(self, inode_id: int) -> Iterator[int]:
        """In their order. Some may be gone."""
        return iter(sorted(each for each in self._ids if each > inode_id))

    def discard(self, inode_id: int) -> None:
        """It is no zone any more, or gone for good."""
        self._ids.discard(inode_id)
        self._reencrypting.discard(inode_id)


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


def reencryption_in(value: bytes) -> Reencryption | None:
    """Return what the attribute of a zone says of its last re-encryption; None where there was
    none, or the attribute is damaged."""
    try:
        info = types_pb2.ZoneEncryptionInfoProto.FromString(value)
    except DecodeError:
        return None
    if not info.HasField("reencryptionProto"):
        return None
    said = info.reencryptionProto
    return Reencryption(
        said.ezKeyVersionName,
        said.submissionTime,
        said.numReencrypted,
        said.numFailures,
        said.lastFile,
        said.completionTime,
        said.canceled,
    )


def reencryption_of(directory: Directory) -> Reencryption | None:
    """Return the last re-encryption of a zone; None where there was none."""
    return reencryption_in(attribute_of(directory.xattrs, ENCRYPTION_ZONE) or b"")


def with_reencryption(value: bytes, reencryption: Reencryption) -> XAttr:
    """Return the attribute of a zone that says how far its re-encryption has come. Raises
    DecodeError for one that is damaged."""
    info = types_pb2.ZoneEncryptionInfoProto.FromString(value)
    said = types_pb2.ReencryptionInfoProto(
        ezKeyVersionName=reencryption.version_name,
        submissionTime=reencryption.submitted_ms,
        canceled=reencryption.is_cancelled,
        numReencrypted=reencryption.reencrypted,
        numFailures=reencryption.failures,
    )
    if reencryption.completed_ms:
        said.completionTime = reencryption.completed_ms
    if reencryption.last_file:
        said.lastFile = reencryption.last_file
    info.reencryptionProto.CopyFrom(said)
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


def is_in_zone(inode: INode | None) -> bool:
    """Whether an inode is in a zone, or one itself, whatever its cipher."""
    while inode is not None:
        has_features = inode.features is not NO_FEATURES and isinstance(inode, Directory)
        if has_features and attribute_of(inode.xattrs, ENCRYPTION_ZONE) is not None:
            return True
        inode = inherits_from(inode)
    return False


def zone_at(directory: Directory) -> Zone | None:
    """Return the zone that a directory is, for lists of zones: none of them is left out. One of a
    cipher that is not known has its key's name, and one whose attribute is damaged has none."""
    value = attribute_of(directory.xattrs, ENCRYPTION_ZONE)
    if value is None:
        return None
    try:
        return Zone(directory, types_pb2.ZoneEncryptionInfoProto.FromString(value).keyName)
    except DecodeError:
        return Zone(directory, "")


def trouble_with(zone: Zone) -> errors.HowdahError | None:
    """Return why no file can be read or written in a zone; None for one of the usual kind."""
    value = attribute_of(zone.directory.xattrs, ENCRYPTION_ZONE) or b""
    try:
        key_name_in(value, zone.directory.path)
    except (errors.UnsupportedOperation, errors.RemoteError) as error:
        return error
    return None


def cipher_of(zone: Zone) -> tuple[int, int]:
    """Return the cipher of a zone and the version of its protocol, by Hadoop's numbers."""
    value = attribute_of(zone.directory.xattrs, ENCRYPTION_ZONE) or b""
    try:
        info = types_pb2.ZoneEncryptionInfoProto.FromString(value)
    except DecodeError:
        return types_pb2.UNKNOWN, types_pb2.UNKNOWN_PROTOCOL_VERSION
    return info.suite, info.cryptoProtocolVersion


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
