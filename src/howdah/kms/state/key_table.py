"""The keys of a key server and their versions, and their text in a file (pure).

A key is rolled by adding a version: new keys of files are encrypted by the last one, and those that
were encrypted by others stay readable. Names and versions are as Hadoop's: `NAME@NUMBER`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from howdah import errors
from howdah.protocol.encryption_zones.counter import KEY_BYTES
from howdah.protocol.encryption_zones.key_calls import decode, encode

DEFAULT_CIPHER: Final = "AES/CTR/NoPadding"
DEFAULT_LENGTH_BITS: Final = 128
_FORMAT: Final = 1
_MOST_NAME_CHARACTERS: Final = 255
_MOST_DESCRIPTION_CHARACTERS: Final = 4096
_MOST_ATTRIBUTES: Final = 64


@dataclass(frozen=True, slots=True)
class Key:
    """A key. The bytes of its versions begin with those of version 0."""

    name: str
    created_ms: int
    versions: tuple[bytes, ...] = field(repr=False)
    description: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    cipher: str = DEFAULT_CIPHER

    @property
    def length_bits(self) -> int:
        return len(self.versions[0]) * 8

    @property
    def current_version(self) -> str:
        return version_name(self.name, len(self.versions) - 1)

    def rolled(self, material: bytes) -> Key:
        """Return the key with one more version. Raises IllegalArgument for one of another
        length."""
        if len(material) != len(self.versions[0]):
            raise errors.IllegalArgument(
                f"a version of {len(material) * 8} bits for the key {self.name}, which has "
                f"{self.length_bits}"
            )
        return replace(self, versions=(*self.versions, material))

    def metadata(self) -> dict[str, Any]:
        """Return what everybody may know who may read metadata. Hadoop: KMSUtil.toJSON."""
        return {
            "name": self.name,
            "cipher": self.cipher,
            "length": self.length_bits,
            "description": self.description,
            "attributes": dict(self.attributes),
            "created": self.created_ms,
            "versions": len(self.versions),
        }


def version_name(name: str, number: int) -> str:
    """Return the name of a version of a key.

    >>> version_name("payroll", 2)
    'payroll@2'
    """
    return f"{name}@{number}"


def split_version(version: str) -> tuple[str, int]:
    """Return the key and the number of a version. Raises IllegalArgument.

    >>> split_version("payroll@2")
    ('payroll', 2)
    """
    name, mark, number = version.rpartition("@")
    if not (mark and name and number.isascii() and number.isdigit() and len(number) < 10):
        raise errors.IllegalArgument(f"{version!r} is no version of a key, as NAME@NUMBER")
    return name, int(number)


def check_new_key(key: Key) -> None:
    """Raises IllegalArgument for what cannot be a key."""
    name = key.name
    if not name or len(name) > _MOST_NAME_CHARACTERS or not name.isprintable():
        raise errors.IllegalArgument(
            f"a key's name has 1 to {_MOST_NAME_CHARACTERS} characters that can be printed"
        )
    if name != name.lower():
        # Hadoop's keystore, to which a key may have to move, knows no other.
        raise errors.IllegalArgument(f"Uppercase key names are unsupported: {name}")
    if "/" in name or "@" in name:
        raise errors.IllegalArgument(f"the name {name!r} of a key has a slash or an @ in it")
    if key.cipher != DEFAULT_CIPHER:
        raise errors.IllegalArgument(
            f"the cipher {key.cipher!r} is not supported: {DEFAULT_CIPHER} is"
        )
    if not all(len(material) in KEY_BYTES for material in key.versions):
        raise errors.IllegalArgument("a key has 128, 192 or 256 bits")
    if len(key.description) > _MOST_DESCRIPTION_CHARACTERS:
        raise errors.IllegalArgument("the description of a key is too long")
    if len(key.attributes) > _MOST_ATTRIBUTES:
        raise errors.IllegalArgument("a key has too many attributes")


def written(keys: Mapping[str, Key]) -> str:
    """Return the text of keys. It is a secret."""
    return json.dumps(
        {
            "format": _FORMAT,
            "keys": [
                {
                    **key.metadata(),
                    "versions": [encode(material) for material in key.versions],
                }
                for key in keys.values()
            ],
        },
        indent=1,
    )


def parse(text: str) -> dict[str, Key]:
    """Return the keys of a text. Raises ProtocolViolation, which says nothing of what is in it."""
    try:
        document = json.loads(text)
        if document["format"] != _FORMAT:
            raise errors.ProtocolViolation("the keys are in a format that is not known here")
        found: dict[str, Key] = {}
        for entry in document["keys"]:
            key = Key(
                str(entry["name"]),
                int(entry["created"]),
                tuple(decode(material, "a version of a key") for material in entry["versions"]),
                str(entry["description"]),
                {str(name): str(value) for name, value in entry["attributes"].items()},
                str(entry["cipher"]),
            )
            check_new_key(key)
            if not key.versions or key.name in found:
                raise errors.ProtocolViolation("a key is there twice, or has no version")
            found[key.name] = key
    except errors.IllegalArgument as error:
        raise errors.ProtocolViolation(error.message) from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise errors.ProtocolViolation("the keys are not as they are written") from None
    return found
