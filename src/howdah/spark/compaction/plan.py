"""Which directories are worth compacting, and into how many files (pure).

A directory must have only data files, all of one format; and the gain must be worth the bytes that
are written again: at most the target size for each file saved.

Where files can stay (`MOST_KEPT`), only those are rewritten that are at most half as long as the
target size: of longer ones no two fit into one. If rows are to be ordered all files are rewritten.

Files that another program lists are left alone: tables of Delta Lake, Iceberg or Hudi and the
output of a streaming query name their files in a log of their own (`compaction.table_formats`).
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, replace
from typing import Final

from howdah.protocol.striping.layout import FileLayout
from howdah.protocol.striping.policies import policy_named

BYTES_AN_OBJECT: Final = 150
"""The memory that a file, directory or block takes in the namenode: HDFS's rule of thumb. As
measured, a file of one block takes 230 to 280 bytes in our namenode, by the length of its name
(280 with the names that Spark gives), and 280 bytes of live heap in Hadoop's."""

MOST_KEPT: Final = 990
"""Files of one directory that stay as they are. Each of them is renamed while the directory is
exchanged, and a namenode makes at most 1000 renames in one turn."""

PREFIX: Final = ".howdah-compact."
_LEFTOVER: Final = re.compile(
    re.escape(PREFIX) + r"(?P<name>.+)~(?P<state>building|ready|part|away|came)"
    r"(?:\.(?P<id>[0-9]+))?\.(?P<run>[0-9a-f]+)(?:\.(?P<digest>[0-9a-f]+))?",
    re.DOTALL,
)

SUCCESS: Final = "_SUCCESS"
KNOWN_HIDDEN: Final = r"^(_SUCCESS|_metadata|_common_metadata|\..*\.crc)$"
"""Hidden files that the new directory need not have: `_SUCCESS` is created again; the others
describe the old files, and go with them. Any other hidden entry, such as `_temporary`, may belong
to a job that is writing there."""

BUCKET: Final = (
    r"^(part-[0-9]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}_[0-9]+|bucket_[0-9]+|[0-9]{6}_[0-9]+)"
    r"([._].*)?$"
)
"""The names that Spark and Hive give to the files of a bucketed table."""

# Spark reads a path with one of these as a pattern.
_PATTERN: Final = re.compile(r"[*?\[\]{}\\]")
_KINDS: Final = r"parquet|orc|avro|jsonl?|csv|tsv|txt|log|text"
SUFFIX: Final = rf"(\.(?:{_KINDS})(?:\.(?:gz|bz2|zstd?|lz4|snappy|deflate|lzo|xz))?)$"
"""The end of a lower-case name that says the format of a file."""
JOINED: Final = ("", ".gz", ".bz2")
"""Compression of lines that can be joined."""
_SUFFIX: Final = re.compile(SUFFIX)
_CODEC: Final = re.compile(r"\.(snappy|gz|zstd|lz4|zlib|brotli)\.(parquet|orc)$", re.I)


class Format(enum.StrEnum):
    PARQUET = "parquet"
    ORC = "orc"
    AVRO = "avro"
    LINES = "lines"
    """Text; files may be concatenated."""
    JSON = "json"
    """Text; files may be concatenated if each line is a JSON value."""
    CSV = "csv"
    """Text; each file may begin with a header."""


_FORMATS: Final = {
    "parquet": Format.PARQUET,
    "orc": Format.ORC,
    "avro": Format.AVRO,
    "csv": Format.CSV,
    "tsv": Format.CSV,
    "json": Format.JSON,
    "jsonl": Format.JSON,
}


def suffix_of(name: str) -> str | None:
    """Return the extension for the format of a file, with that of its compression; None for other
    files.

    >>> suffix_of("part-0.snappy.parquet"), suffix_of("a.JSON.gz"), suffix_of("x.bin")
    ('.parquet', '.json.gz', None)
    """
    match = _SUFFIX.search(name.lower())
    return match.group(1) if match else None


def compression_of(suffix: str) -> str:
    """The extension for the compression of text; "" for none.

    >>> compression_of(".csv.gz"), compression_of(".csv")
    ('.gz', '')
    """
    first, second = suffix.rfind("."), suffix.find(".")
    return suffix[first:] if first != second else ""


def format_of(suffix: str) -> Format:
    kind = suffix.rpartition(".")[2]
    if kind in _BY_SPARK:
        return Format(kind)
    return _FORMATS.get(suffix.removesuffix(compression_of(suffix)).lstrip("."), Format.LINES)


def named_suffix_of(name: str) -> str:
    """Return the extension of a Parquet or ORC file, with that of its codec if the name has one.

    >>> named_suffix_of("part-0.GZ.parquet"), named_suffix_of("x.parquet")
    ('.gz.parquet', '.parquet')
    """
    match = _CODEC.search(name)
    return match.group(0).lower() if match else suffix_of(name) or ""


def codec_of(name: str) -> str | None:
    """Return the codec of a Parquet or ORC file, if its name says it."""
    match = _CODEC.search(name)
    if match is None:
        return None
    codec = match.group(1).lower()
    return "gzip" if codec == "gz" else codec


def is_hidden(name: str) -> bool:
    """Whether Hadoop's and Spark's readers skip the name."""
    return name.startswith(("_", "."))


@dataclass(frozen=True, slots=True)
class Contents:
    """The entries of one directory. `suffixes` and `blocks` are those of its data files; a file
    of unknown format has the suffix "". `unknown` is a hidden entry that is none of the known
    ones, `bucket` a file of a bucketed table.

    `kept`, `kept_bytes` and `kept_blocks` are of those data files that are long enough.

    `coding_policy` is the erasure coding policy of the data files, "" where they are replicated or
    differ; `coded_space` is what those take on disks then that are not kept, parity included."""

    path: str
    files: int
    bytes: int
    blocks: int
    largest_bytes: int
    suffixes: tuple[str, ...]
    directories: int
    has_success: bool = False
    unknown: str = ""
    bucket: str = ""
    coding_policy: str = ""
    coded_space: int = 0
    kept: int = 0
    kept_bytes: int = 0
    kept_blocks: int = 0

    def without_kept(self) -> Contents:
        """Of the files alone that are not long enough; the directory is as it is."""
        return replace(
            self,
            files=self.files - self.kept,
            bytes=self.bytes - self.kept_bytes,
            blocks=self.blocks - self.kept_blocks,
            kept=0,
            kept_bytes=0,
            kept_blocks=0,
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The decision for a directory: `files_after` new files, or `skipped` for a reason. `contents`
    is of the files that are rewritten; `kept` others stay, all of them longer than `most_bytes`
    (None: all files are rewritten).

    `orders`: its rows are to be ordered. `if_ordered`: why it is left alone if they are in that
    order already."""

    contents: Contents
    files_after: int
    skipped: str = ""
    orders: bool = False
    if_ordered: str = ""
    kept: int = 0
    most_bytes: int | None = None

    @property
    def suffix(self) -> str:
        return self.contents.suffixes[0]

    @property
    def format(self) -> Format:
        return format_of(self.suffix)

    @property
    def is_by_spark(self) -> bool:
        """Whether Spark reads and writes rows; otherwise files are joined as they are."""
        return self.format in _BY_SPARK

    @property
    def files_saved(self) -> int:
        return 0 if self.skipped else self.contents.files - self.files_after

    def blocks_saved(self, block_bytes: int) -> int:
        if self.skipped:
            return 0
        full = -(-self.contents.bytes // (block_bytes * self._data_units))
        return max(self.contents.blocks - max(full, self.files_after), 0)

    def space_saved(self, block_bytes: int) -> int:
        """Bytes on disks that are saved: of erasure coded files, since a small one has a whole copy
        for each parity unit. Replicated files take as much as before."""
        if self.skipped or not self.contents.coding_policy:
            return 0
        policy = policy_named(self.contents.coding_policy)
        larger = self.contents.bytes % self.files_after
        length = self.contents.bytes // self.files_after
        after = sum(
            count * FileLayout(policy, each, block_bytes).space
            for count, each in ((larger, length + 1), (self.files_after - larger, length))
        )
        return max(self.contents.coded_space - after, 0)

    @property
    def _data_units(self) -> int:
        named = self.contents.coding_policy
        return policy_named(named).schema.data_units if named else 1

    def memory_saved(self, block_bytes: int) -> int:
        """Bytes of the namenode's memory that are saved."""
        return BYTES_AN_OBJECT * (self.files_saved + self.blocks_saved(block_bytes))


def plan(contents: Contents, target_bytes: int, *, orders: bool = False) -> Plan:
    """Decide, for a directory that is in no table. `orders`: rows are to be ordered, which is worth
    it however many files there are.

    >>> plan(Contents("/d", 100, 5000, 100, 50, (".json",), 0), 1000).files_after
    5
    """
    kept, most_bytes = 0, None
    if contents.kept and not orders and contents.kept <= MOST_KEPT:
        kept, most_bytes = contents.kept, small_bytes(target_bytes)
        contents = contents.without_kept()
        if not contents.files:
            return Plan(contents, 0, "its files are large enough", kept=kept)
    after = max(1, -(-contents.bytes // target_bytes))
    useless = _useless(contents, after, target_bytes)
    if orders:
        reason = _unfit(contents) or _unordered(contents)
        return Plan(contents, after, reason, orders=True, if_ordered=useless)
    few = useless if contents.files < 2 else ""
    skipped = few or _unfit(contents) or useless
    return Plan(contents, after, skipped, kept=kept, most_bytes=most_bytes)


def small_bytes(target_bytes: int) -> int:
    """The length of the longest files that are put together, as two of them fit into one.

    >>> small_bytes(128 << 20) >> 20
    64
    """
    return target_bytes // 2


def _unfit(contents: Contents) -> str:
    """Why the files of a directory cannot be put together; "" if they can."""
    if contents.directories:
        return "it has subdirectories beside its files"
    if contents.unknown:
        return f"it has {contents.unknown} beside its files, so somebody may be at work there"
    if contents.bucket:
        return f"it is of a table with buckets, which names such as {contents.bucket} tell apart"
    if "" in contents.suffixes:
        return "it has files of an unknown format"
    if len(contents.suffixes) > 1:
        return f"it has files of several formats: {', '.join(sorted(contents.suffixes))}"
    (suffix,) = contents.suffixes
    compression = compression_of(suffix)
    if compression not in (JOINED if format_of(suffix) in _JOINABLE else ("",)):
        return f"its files are compressed as {compression}, which can't be joined"
    if _PATTERN.search(contents.path) and format_of(suffix) in _BY_SPARK:
        return "Spark would take its name for a pattern"
    return ""


def _unordered(contents: Contents) -> str:
    """Why the rows of a directory cannot be ordered; "" if they can."""
    (suffix,) = contents.suffixes
    if format_of(suffix) not in (*_BY_SPARK, Format.AVRO):
        return f"rows of {suffix} files are not ordered: those of Parquet, ORC and Avro are"
    return "Spark would take its name for a pattern" if _PATTERN.search(contents.path) else ""


def _useless(contents: Contents, after: int, target_bytes: int) -> str:
    """Why fewer files would not be worth the work; "" if they are."""
    if contents.files < 2:
        return "it has fewer than two files"
    saved = contents.files - after
    if saved < 1:
        return "its files are large enough"
    if contents.bytes > saved * target_bytes:
        return "too many bytes would have to be written for the files that it saves"
    return ""


_BY_SPARK: Final = (Format.PARQUET, Format.ORC)
_JOINABLE: Final = (Format.LINES, Format.JSON, Format.CSV)


class State(enum.StrEnum):
    """How far an exchange came, in the order in which leftovers are recovered."""

    READY = "ready"
    """Complete; it is to get the directory's name."""
    PART = "part"
    """The same of a directory of which some files stay: they are moved into it."""
    AWAY = "away"
    """The old directory, of which the files that stay are moved to its new one."""
    CAME = "came"
    """A directory that another program created while the name was free."""
    BUILDING = "building"
    """New files are being written."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """The parts of a leftover's name: the directory that it replaces, its state, the run that
    created it; for some states the inode id of the old directory (0 where there are no inode
    ids) and a digest of its contents."""

    name: str
    state: State
    run: str
    file_id: int = 0
    digest: str = ""


def building_name(name: str, run: str) -> str:
    """The directory for a run's new files, beside the old directory."""
    return f"{PREFIX}{name}~{State.BUILDING}.{run}"


def ready_name(name: str, file_id: int, run: str, digest: str) -> str:
    """The same directory, once it is complete and is to replace this inode."""
    return f"{PREFIX}{name}~{State.READY}.{file_id}.{run}.{digest}"


def part_name(name: str, file_id: int, run: str, digest: str) -> str:
    """The same directory, if files of the old one are moved into it."""
    return f"{PREFIX}{name}~{State.PART}.{file_id}.{run}.{digest}"


def away_name(name: str, file_id: int, run: str) -> str:
    """The old directory beside its place, while files of it are moved."""
    return f"{PREFIX}{name}~{State.AWAY}.{file_id}.{run}"


def came_name(name: str, file_id: int, run: str) -> str:
    """A directory that another program created while the name was free."""
    return f"{PREFIX}{name}~{State.CAME}.{file_id}.{run}"


def kept_name(name: str, run: str) -> str:
    """The old directory in the trash; no other deleted directory has this name."""
    return f"{name}~{run}"


def parse_name(name: str) -> Leftover | None:
    """Parse the name of a leftover; None for any other name.

    >>> parse_name(".howdah-compact.day=1~ready.16390.5eed.ab").file_id
    16390
    """
    match = _LEFTOVER.fullmatch(name)
    if match is None:
        return None
    return Leftover(
        match["name"],
        State(match["state"]),
        match["run"],
        int(match["id"] or 0),
        match["digest"] or "",
    )
