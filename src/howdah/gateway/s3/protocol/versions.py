"""Versions of objects: their ids, the names of their files, and what a bucket says of them.

The current version of a key is the file at its path. The others are files in a directory of their
own beside it, `.howdah-s3-versions/NAME`, whose names stand in the order of a listing: newest
first. Such a name is the time of the version, counted backwards, some random digits, and a letter
that says what it is:

- `v`, a version; `d`, a delete marker: the name is the version's id;
- `n`, `m`: the same, of which the id is `null`. S3 calls that so which was written while the bucket
  had no versions, or had suspended them.

A current version that has an id has it in an extended attribute; one without it is `null`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from howdah.gateway.s3.protocol.documents import Child, parsed
from howdah.gateway.s3.protocol.refusals import Refused

ATTRIBUTE: Final = "user.howdah.s3.version"
"""On a file: the id of the version that it is."""
BUCKET_ATTRIBUTE: Final = "user.howdah.s3.versioning"
"""On the directory of a bucket: its state."""
NULL: Final = "null"
ID_HEADER: Final = "x-amz-version-id"
MARKER_HEADER: Final = "x-amz-delete-marker"
MAX_DOCUMENT_BYTES: Final = 64 << 10
_LAST: Final = (1 << 64) - 1
RANDOM_BYTES: Final = 4
_NAME: Final = re.compile(r"([0-9a-f]{16})[0-9a-f]{8}([vdnm])\Z")


class Versioning(enum.Enum):
    """What a bucket does with the version that a new one replaces."""

    OFF = ""
    """It replaces it, as in a bucket that never had versions."""
    ENABLED = "Enabled"
    SUSPENDED = "Suspended"
    """It keeps those that have ids, and replaces the one that is `null`."""


class Kind(enum.Enum):
    """What a file among older versions is."""

    VERSION = "v"
    MARKER = "d"
    NULL_VERSION = "n"
    NULL_MARKER = "m"


@dataclass(frozen=True, slots=True)
class VersionName:
    """The name of a file among older versions."""

    text: str

    @property
    def kind(self) -> Kind:
        return Kind(self.text[-1])

    @property
    def is_marker(self) -> bool:
        return self.kind in (Kind.MARKER, Kind.NULL_MARKER)

    @property
    def is_null(self) -> bool:
        return self.kind in (Kind.NULL_VERSION, Kind.NULL_MARKER)

    @property
    def id(self) -> str:
        """What clients call it."""
        return NULL if self.is_null else self.text

    @property
    def time_us(self) -> int:
        """When it was made, in microseconds since 1970, or a little later: behind the one before
        it."""
        return _LAST - int(self.text[:16], 16)


def version_name(text: str) -> VersionName | None:
    """Return the name that this text is; None for what is none of ours."""
    return VersionName(text) if _NAME.match(text) else None


def id_in(attributes: Mapping[str, bytes]) -> str:
    """Return the id that the attributes of a file say; empty without one. Whoever may write a file
    may set its attributes."""
    text = attributes.get(ATTRIBUTE, b"").decode("ascii", "replace")
    name = version_name(text)
    return text if name is not None and name.kind is Kind.VERSION else ""


def name_for(
    kind: Kind, now_us: int, newest: VersionName | None, random_bytes: bytes
) -> VersionName:
    """Return the name of a version that comes behind `newest`, whatever the clocks say.

    >>> first = name_for(Kind.VERSION, 5, None, b"abcd")
    >>> second = name_for(Kind.MARKER, 3, first, b"abcd")
    >>> second.text < first.text, first.time_us, second.time_us
    (True, 5, 6)
    """
    time_us = now_us if newest is None else max(now_us, newest.time_us + 1)
    return VersionName(f"{_LAST - min(time_us, _LAST):016x}{random_bytes.hex()}{kind.value}")


def checked_id(text: str) -> VersionName | None:
    """Return the file name of a version with this id, None for `null`. Raises Refused where no
    version is called so."""
    if text == NULL:
        return None
    name = version_name(text)
    if name is None or name.is_null:
        raise no_such_version(text)
    return name


def is_behind(name: VersionName | None, marker: str) -> bool:
    """Return whether a version of a key comes behind a marker in a listing. `name` is None for a
    current version that is `null`, which stands first.

    >>> is_behind(None, ""), is_behind(None, "null"), is_behind(VersionName("1v"), "null")
    (True, False, True)
    """
    if not marker:
        return True
    if name is None:
        return False
    return marker == NULL or name.text > marker


def no_such_version(text: str) -> Refused:
    return Refused("NoSuchVersion", "The specified version does not exist.", VersionId=text[:100])


def versioning_of_document(document: bytes) -> Versioning:
    """Return the state that a client asks for. Raises Refused."""
    root = parsed(document, "VersioningConfiguration")
    if (root.value("MfaDelete") or "Disabled").lower() != "disabled":
        raise Refused("NotImplemented", "MfaDelete is not supported: keys here are all there is")
    status = root.value("Status")
    if status not in (Versioning.ENABLED.value, Versioning.SUSPENDED.value):
        raise Refused("MalformedXML", "Status of a VersioningConfiguration is Enabled or Suspended")
    return Versioning(status)


def children(state: Versioning) -> list[Child]:
    """Return what a document `VersioningConfiguration` has in it."""
    return [] if state is Versioning.OFF else [("Status", state.value)]


def decoded(data: bytes | None) -> Versioning:
    """Return the state that the attribute of a bucket says. Raises Refused for another one:
    versions may not be lost where somebody wanted them."""
    try:
        return Versioning.OFF if data is None else Versioning(data.decode())
    except ValueError:
        raise Refused(
            "InternalError",
            f"the attribute {BUCKET_ATTRIBUTE} of this bucket is none of the gateway's: set its "
            "versioning again",
        ) from None


def encoded(state: Versioning) -> bytes:
    return state.value.encode()
