"""The content of `VERSION` files and the ids that a new filesystem is given.

Mirrors Hadoop's `VERSION`, a Java properties file headed by a comment with the
date, of which there are four kinds: a namenode's, a journal's, a datanode volume's, and
that of a block pool's slice on a volume. Reading is strict about what is there and
does not mind what is there besides.

Pure: text in, values out; time and randomness are arguments.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

from howdah import __version__, errors
from howdah.config.value_types import parse_decimal
from howdah.formats.edits.codec import LAYOUT_VERSION, OLDEST_READABLE_LAYOUT_VERSION

NAMENODE_LAYOUT_VERSION: Final = LAYOUT_VERSION
DATANODE_LAYOUT_VERSION: Final = -57
"""Block files in two levels of 32 directories; unchanged since Hadoop 2.8."""

SHOWN_VERSION: Final = f"howdah {__version__}"
"""What a server says of its version to people, wherever it is asked: a datanode to
`dfsadmin -getDatanodeInfo`, and to namenodes for their pages and logs."""

RandomBelow: TypeAlias = Callable[[int], int]
"""A source of randomness: a number from 0 to one less than the argument
(`secrets.randbelow`)."""

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)


# Java properties.


def format_properties(values: Mapping[str, str], now_ms: int) -> str:
    """A properties file as Java writes it, with `now_ms` in its comment."""
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    date = f"{_DAYS[now.weekday()]} {_MONTHS[now.month - 1]} {now:%d %H:%M:%S} UTC {now.year:04d}"
    lines = [f"#{date}"]
    lines += [f"{_escape(k, key=True)}={_escape(v, key=False)}" for k, v in values.items()]
    return "\n".join(lines) + "\n"


def _escape(text: str, *, key: bool) -> str:
    pieces = []
    for index, char in enumerate(text):
        if char in "\\=:#!" or (char == " " and (key or index == 0)):
            pieces.append("\\" + char)
        elif char in _ESCAPED:
            pieces.append(_ESCAPED[char])
        elif " " <= char <= "~":
            pieces.append(char)
        else:
            units = char.encode("utf-16-be", "surrogatepass").hex().upper()
            pieces += [f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)]
    return "".join(pieces)


_ESCAPED: Final = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
_UNESCAPED: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_SPLIT: Final = re.compile(r"((?:\\.|[^\\=:\s])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)


def parse_properties(text: str) -> dict[str, str]:
    """The keys and values of a Java properties file: comments, continued lines,
    the three separators and all escapes are understood."""
    values: dict[str, str] = {}
    pending = ""
    for line in re.split(r"\r\n|\r|\n", text):
        line = line.lstrip(" \t\f")
        if not pending and (not line or line[0] in "#!"):
            continue
        line = pending + line
        if (len(line) - len(line.rstrip("\\"))) % 2:
            pending = line[:-1]
            continue
        pending = ""
        match = _SPLIT.fullmatch(line)
        assert match is not None, "the pattern matches every line"
        values[_unescape(match[1])] = _unescape(match[2])
    return values


def _unescape(text: str) -> str:
    def char(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else _UNESCAPED.get(code, code)

    plain = _ESCAPE.sub(char, text)
    return plain.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


# The four kinds of VERSION.


class _Fields:
    """Typed look-up in the properties of one file, whose name errors carry."""

    def __init__(self, text: str, source: str) -> None:
        self._values = parse_properties(text)
        self._source = source

    def text(self, key: str) -> str:
        value = self._values.get(key)
        if value is None:
            raise errors.InconsistentStorage(f"{self._source} lacks {key}")
        return value

    def number(self, key: str) -> int:
        value = self.text(key)
        try:
            return parse_decimal(value)
        except ValueError:
            raise errors.InconsistentStorage(
                f"{self._source} has {key}={value}, which is not a number"
            ) from None

    def storage_type(self, expected: str) -> None:
        kind = self.text("storageType")
        if kind != expected:
            raise errors.InconsistentStorage(
                f"{self._source} belongs to a {kind}; a {expected} cannot use it"
            )

    def layout_version(self, newest: int, oldest: int) -> int:
        version = self.number("layoutVersion")
        if not newest <= version <= oldest:
            advice = (
                "it was written by newer software, which has to start on it"
                if version < newest
                else "upgrade it with Hadoop 3 first"
            )
            raise errors.IncorrectVersion(
                f"{self._source} has layout version {version}; "
                f"this software reads {oldest} to {newest}: {advice}"
            )
        return version


@dataclass(frozen=True, slots=True)
class NamenodeVersion:
    """`current/VERSION` of a namenode's directory."""

    namespace_id: int
    cluster_id: str
    block_pool_id: str
    ctime_ms: int
    layout_version: int = NAMENODE_LAYOUT_VERSION

    def format(self, now_ms: int) -> str:
        return format_properties(
            {
                "namespaceID": str(self.namespace_id),
                "clusterID": self.cluster_id,
                "cTime": str(self.ctime_ms),
                "storageType": "NAME_NODE",
                "blockpoolID": self.block_pool_id,
                "layoutVersion": str(self.layout_version),
            },
            now_ms,
        )

    @classmethod
    def parse(cls, text: str, source: str) -> NamenodeVersion:
        """Raises `InconsistentStorage` or `IncorrectVersion`, naming `source`."""
        fields = _Fields(text, source)
        fields.storage_type("NAME_NODE")
        return cls(
            layout_version=fields.layout_version(
                NAMENODE_LAYOUT_VERSION, OLDEST_READABLE_LAYOUT_VERSION
            ),
            namespace_id=fields.number("namespaceID"),
            cluster_id=fields.text("clusterID"),
            block_pool_id=fields.text("blockpoolID"),
            ctime_ms=fields.number("cTime"),
        )


@dataclass(frozen=True, slots=True)
class JournalVersion:
    """`current/VERSION` of one journal of a journal node: the namespace that writes it.

    Any layout version is taken: a journal node does not read what is in an edit.
    """

    namespace_id: int
    cluster_id: str
    ctime_ms: int = 0
    layout_version: int = NAMENODE_LAYOUT_VERSION

    def format(self, now_ms: int) -> str:
        return format_properties(
            {
                "namespaceID": str(self.namespace_id),
                "storageType": "JOURNAL_NODE",
                "cTime": str(self.ctime_ms),
                "clusterID": self.cluster_id,
                "layoutVersion": str(self.layout_version),
            },
            now_ms,
        )

    @classmethod
    def parse(cls, text: str, source: str) -> JournalVersion:
        """Raises `InconsistentStorage`, naming `source`."""
        fields = _Fields(text, source)
        fields.storage_type("JOURNAL_NODE")
        return cls(
            layout_version=fields.number("layoutVersion"),
            namespace_id=fields.number("namespaceID"),
            cluster_id=fields.text("clusterID"),
            ctime_ms=fields.number("cTime"),
        )


@dataclass(frozen=True, slots=True)
class DatanodeVersion:
    """`current/VERSION` of a datanode's volume."""

    storage_id: str
    cluster_id: str
    datanode_uuid: str
    ctime_ms: int = 0
    layout_version: int = DATANODE_LAYOUT_VERSION

    def format(self, now_ms: int) -> str:
        return format_properties(
            {
                "storageID": self.storage_id,
                "clusterID": self.cluster_id,
                "cTime": str(self.ctime_ms),
                "datanodeUuid": self.datanode_uuid,
                "storageType": "DATA_NODE",
                "layoutVersion": str(self.layout_version),
            },
            now_ms,
        )

    @classmethod
    def parse(cls, text: str, source: str) -> DatanodeVersion:
        """Raises `InconsistentStorage` or `IncorrectVersion`, naming `source`."""
        fields = _Fields(text, source)
        fields.storage_type("DATA_NODE")
        return cls(
            layout_version=fields.layout_version(DATANODE_LAYOUT_VERSION, DATANODE_LAYOUT_VERSION),
            storage_id=fields.text("storageID"),
            cluster_id=fields.text("clusterID"),
            datanode_uuid=fields.text("datanodeUuid"),
            ctime_ms=fields.number("cTime"),
        )


@dataclass(frozen=True, slots=True)
class BlockPoolVersion:
    """`current/BP-…/current/VERSION` of a block pool's slice on a volume."""

    namespace_id: int
    block_pool_id: str
    ctime_ms: int
    layout_version: int = DATANODE_LAYOUT_VERSION

    def format(self, now_ms: int) -> str:
        return format_properties(
            {
                "namespaceID": str(self.namespace_id),
                "cTime": str(self.ctime_ms),
                "blockpoolID": self.block_pool_id,
                "layoutVersion": str(self.layout_version),
            },
            now_ms,
        )

    @classmethod
    def parse(cls, text: str, source: str) -> BlockPoolVersion:
        """Raises `InconsistentStorage` or `IncorrectVersion`, naming `source`."""
        fields = _Fields(text, source)
        return cls(
            layout_version=fields.layout_version(DATANODE_LAYOUT_VERSION, DATANODE_LAYOUT_VERSION),
            namespace_id=fields.number("namespaceID"),
            block_pool_id=fields.text("blockpoolID"),
            ctime_ms=fields.number("cTime"),
        )


# New ids.


def _new_uuid(random_below: RandomBelow) -> str:
    return str(uuid.UUID(int=random_below(1 << 128), version=4))


def new_cluster_id(random_below: RandomBelow) -> str:
    return f"CID-{_new_uuid(random_below)}"


def new_namespace_id(random_below: RandomBelow) -> int:
    """Any positive 31-bit number."""
    return 1 + random_below(0x7FFF_FFFE)


def new_block_pool_id(random_below: RandomBelow, address: str, now_ms: int) -> str:
    """`address` is the namenode's IP address; it says where the pool came from, no more."""
    return f"BP-{random_below(0x7FFF_FFFF)}-{address}-{now_ms}"


def new_storage_id(random_below: RandomBelow) -> str:
    """The id of one volume of a datanode."""
    return f"DS-{_new_uuid(random_below)}"


def new_datanode_uuid(random_below: RandomBelow) -> str:
    return _new_uuid(random_below)
