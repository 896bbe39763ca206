"""What a namenode says of an encrypted file (pure)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from google.protobuf.message import DecodeError

from howdah import errors
from howdah.proto import types_pb2
from howdah.protocol.encryption_zones.counter import IV_BYTES, KEY_BYTES

AES_CTR: Final = types_pb2.AES_CTR_NOPADDING
ENCRYPTION_ZONES: Final = types_pb2.ENCRYPTION_ZONES


@dataclass(frozen=True, slots=True)
class EncryptedKey:
    """A key that is encrypted by a version of a key of the key server."""

    key_name: str
    version_name: str
    """Of the key by which it is encrypted: `NAME@NUMBER`."""
    iv: bytes
    material: bytes = field(repr=False)

    def check(self) -> None:
        """Raises ProtocolViolation for what AES has no use for."""
        if len(self.iv) != IV_BYTES:
            raise errors.ProtocolViolation(
                f"an initialization vector of {len(self.iv)} bytes, not of {IV_BYTES}"
            )
        if len(self.material) not in KEY_BYTES:
            raise errors.ProtocolViolation(f"a key of {len(self.material)} bytes, not of 16 to 32")


def check_cipher(suite: int, version: int, path: str) -> None:
    """Raises UnsupportedOperation for another cipher or protocol than Hadoop's usual ones."""
    if suite != AES_CTR:
        name = types_pb2.CipherSuiteProto.Name(suite)
        raise errors.UnsupportedOperation(
            f"{path} is encrypted by {name}, and only AES_CTR_NOPADDING is supported"
        )
    if version != ENCRYPTION_ZONES:
        name = types_pb2.CryptoProtocolVersionProto.Name(version)
        raise errors.UnsupportedOperation(
            f"{path} is in a zone of version {name}, and only ENCRYPTION_ZONES is supported"
        )


def zone_attribute_of_copy(source: bytes, target: bytes | None) -> bytes:
    """Return what a copy of a zone has for its attribute (`raw_paths`). How far the keys of files
    have been encrypted anew is said of the files of one namespace, so the `target` keeps what it
    says of its own. An attribute that is damaged is copied as it is."""
    made, there = _zone_in(source), None if target is None else _zone_in(target)
    if made is None:
        return source
    made.ClearField("reencryptionProto")
    if there is not None and there.keyName == made.keyName and there.HasField("reencryptionProto"):
        made.reencryptionProto.CopyFrom(there.reencryptionProto)
    return made.SerializeToString()


def _zone_in(attribute: bytes) -> types_pb2.ZoneEncryptionInfoProto | None:
    try:
        return types_pb2.ZoneEncryptionInfoProto.FromString(attribute)
    except DecodeError:
        return None


def encrypted_key_of(proto: types_pb2.FileEncryptionInfoProto) -> EncryptedKey:
    """Return the key of a file, as its namenode keeps it.

    Raises UnsupportedOperation for another cipher or protocol than Hadoop's usual ones, and
    ProtocolViolation.
    """
    check_cipher(proto.suite, proto.cryptoProtocolVersion, "it")
    key = EncryptedKey(proto.keyName, proto.ezKeyVersionName, proto.iv, proto.key)
    key.check()
    return key


def encryption_info_of(key: EncryptedKey) -> types_pb2.FileEncryptionInfoProto:
    """Return the message about a file that is encrypted by a key."""
    return types_pb2.FileEncryptionInfoProto(
        suite=AES_CTR,
        cryptoProtocolVersion=ENCRYPTION_ZONES,
        key=key.material,
        iv=key.iv,
        keyName=key.key_name,
        ezKeyVersionName=key.version_name,
    )
