"""What a filesystem says about its files, blocks and itself: plain frozen records (pure).

They mirror Hadoop's FileStatus, BlockLocation, ContentSummary, QuotaUsage, FsStatus,
FileChecksum, FsServerDefaults and DatanodeInfo, with units in the field names
where a number has one. Paths are absolute within their filesystem, without
scheme and authority. Nothing here knows a protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from howdah.fs.paths import printable
from howdah.native.records import quickly_made


def permission_string(mode: int, kind: str = "") -> str:
    """`rwxr-x--t` for a mode, with the letter of the kind (`d`, `-`, `l`) in front if given."""
    letters = ["rwxrwxrwx"[bit] if mode & (0o400 >> bit) else "-" for bit in range(9)]
    if mode & 0o1000:
        letters[8] = "t" if mode & 0o001 else "T"
    return kind + "".join(letters)


def time_string(time_ms: int) -> str:
    """A time as listings show it, in this machine's zone: `2026-11-21 00:10:22`. One that no
    calendar has stays a number."""
    from datetime import datetime  # who lists needs none

    try:
        return f"{datetime.fromtimestamp(time_ms // 1000):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):
        return f"{time_ms} ms"


@quickly_made
@dataclass(frozen=True, slots=True)
class FileStatus:
    """One file, directory or link; `length` in bytes, `permission` as mode bits.

    It prints as a line of `ls -l`, and as a row of a table in a notebook.

    >>> print(fs.stat("/docs/a"))
    -rw-r--r-- ... 10 ...-...-... ...:...:... /docs/a
    """

    path: str
    length: int
    is_directory: bool
    replication: int
    block_size: int
    modification_time_ms: int
    access_time_ms: int
    permission: int
    owner: str
    group: str
    symlink: str | None = None
    file_id: int = 0
    children_num: int = -1
    storage_policy: int = 0
    has_acl: bool = False
    is_encrypted: bool = False
    erasure_coding_policy: str | None = None
    etag: str | None = None
    is_snapshot_enabled: bool = False
    """Whether snapshots of this directory are allowed."""

    @property
    def name(self) -> str:
        """The last component of the path; empty for the root."""
        return self.path.rpartition("/")[2]

    @property
    def is_erasure_coded(self) -> bool:
        """Whether this is of an erasure coded file, or of a directory whose new files will be:
        `erasure_coding_policy` says by what. A directory whose files are replicated on purpose has
        the policy `replication`."""
        return self.erasure_coding_policy not in (None, "replication")

    @property
    def is_symlink(self) -> bool:
        """Whether this is of a link itself."""
        return self.symlink is not None

    @property
    def is_file(self) -> bool:
        """Whether this is of a file: no directory, and no link."""
        return not self.is_directory and self.symlink is None

    @property
    def permission_string(self) -> str:
        """As `ls -l` shows it, such as `drwxr-xr-x`."""
        kind = "d" if self.is_directory else "l" if self.is_symlink else "-"
        return permission_string(self.permission, kind) + ("+" if self.has_acl else "")

    def _columns(self) -> tuple[str, str, str, str, str, str]:
        """What stands before the path."""
        replicas = str(self.replication) if self.is_file else "-"
        who = printable(self.owner), printable(self.group)
        when = time_string(self.modification_time_ms)
        return self.permission_string, replicas, *who, str(self.length), when

    def _link(self) -> str:
        return "" if self.symlink is None else f" -> {printable(self.symlink)}"

    def __str__(self) -> str:
        return f"{' '.join(self._columns())} {printable(self.path)}{self._link()}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {' '.join(self._columns())} {self.path!r}{self._link()}>"

    def _repr_html_(self) -> str:
        return Listing([self])._repr_html_()

    if not TYPE_CHECKING:  # else every name would be known

        def __getattr__(self, name: str) -> object:
            from howdah.wrong_names import FILE_STATUS, WrongName

            kind = type(self)
            raise WrongName(kind.__name__, name, lambda: dir(kind), FILE_STATUS)


_MOST_ROWS: Final = 1000


class Listing(list[FileStatus]):
    """Statuses, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        """The first ones as a table; names are escaped."""
        from html import escape

        heads = ("rights", "replicas", "owner", "group", "bytes", "modified", "path")
        rows = ["".join(f"<th>{head}</th>" for head in heads)]
        for status in self[:_MOST_ROWS]:
            cells = (*status._columns(), printable(status.path) + status._link())
            rows.append("".join(f"<td>{escape(cell)}</td>" for cell in cells))
        table = "".join(f"<tr>{row}</tr>" for row in rows)
        more = len(self) - _MOST_ROWS
        note = f"<p>and {more} more</p>" if more > 0 else ""
        return f"<table>{table}</table>{note}"


@dataclass(frozen=True, slots=True)
class BlockLocation:
    """Where a part of a file lies: one entry a replica, nearest first.

    `names` are `ip:port` of the data port, `topology_paths` end in that name.
    """

    offset: int
    length: int
    hosts: tuple[str, ...]
    names: tuple[str, ...]
    topology_paths: tuple[str, ...] = ()
    storage_ids: tuple[str, ...] = ()
    storage_types: tuple[str, ...] = ()
    cached_hosts: tuple[str, ...] = ()
    corrupt: bool = False


@dataclass(frozen=True, slots=True)
class TypeQuota:
    """What a directory may take of one storage type (such as `SSD`), and what it takes."""

    storage_type: str
    quota: int
    consumed: int


@dataclass(frozen=True, slots=True)
class StoragePolicy:
    """On which types of storage replicas belong: one a replica, the last for all further
    ones; and where new blocks and copies go if there is no room."""

    policy_id: int
    name: str
    storage_types: tuple[str, ...]
    creation_fallbacks: tuple[str, ...] = ()
    replication_fallbacks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return (
            f"BlockStoragePolicy{{{self.name}:{self.policy_id}, "
            f"storageTypes=[{', '.join(self.storage_types)}], "
            f"creationFallbacks=[{', '.join(self.creation_fallbacks)}], "
            f"replicationFallbacks=[{', '.join(self.replication_fallbacks)}]}}"
        )


@dataclass(frozen=True, slots=True)
class ErasureCodingPolicy:
    """How files are erasure coded: `data_units` cells of `cell_size` bytes make a stripe, and have
    `parity_units` cells of parity.

    `state` is `ENABLED`, `DISABLED` or `REMOVED`: whether directories may get the policy now.
    """

    name: str
    codec: str
    data_units: int
    parity_units: int
    cell_size: int
    policy_id: int
    state: str = "ENABLED"
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ContentSummary:
    """Totals of a tree. A quota of -1 is none; `space_consumed` counts every replica.

    What exists in snapshots only is in the totals, and by itself in `snapshot_…`.
    """

    length: int
    file_count: int
    directory_count: int
    space_consumed: int
    quota: int = -1
    space_quota: int = -1
    erasure_coding_policy: str = ""
    snapshot_length: int = 0
    snapshot_file_count: int = 0
    snapshot_directory_count: int = 0
    snapshot_space_consumed: int = 0
    type_quotas: tuple[TypeQuota, ...] = ()


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """What a tree takes, and may take. A quota of -1 is none; `names` are files and
    directories, `space_consumed` counts every replica."""

    names: int
    space_consumed: int
    quota: int = -1
    space_quota: int = -1
    type_quotas: tuple[TypeQuota, ...] = ()


@dataclass(frozen=True, slots=True)
class FsStatistics:
    """What one connected filesystem has done in this process, as it was asked to: whatever
    became of an operation, it counts. `large_read_ops` are further pages of listings."""

    bytes_read: int = 0
    bytes_written: int = 0
    read_ops: int = 0
    large_read_ops: int = 0
    write_ops: int = 0


@dataclass(frozen=True, slots=True)
class FsStatus:
    """Bytes of the whole filesystem; replicas are counted each."""

    capacity: int
    used: int
    remaining: int


@dataclass(frozen=True, slots=True)
class ServerDefaults:
    """What a new file gets that doesn't say otherwise."""

    block_size: int
    bytes_per_checksum: int
    checksum_type: str
    replication: int
    write_packet_bytes: int
    file_buffer_bytes: int
    trash_interval_minutes: int = 0
    has_key_provider: bool = False
    """Whether there are keys for encryption zones."""
    has_snapshot_trash: bool = False
    """Whether what Hadoop's clients delete in a snapshottable directory goes to a trash in that."""


@dataclass(frozen=True, slots=True)
class FileChecksum:
    """A checksum of a file's content; equal algorithm and bytes mean equal content."""

    algorithm: str
    bytes: bytes

    def hex(self) -> str:
        """The bytes as hexadecimal digits."""
        return self.bytes.hex()

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.hex()}"


@dataclass(frozen=True, slots=True)
class ServerCopies:
    """Whether a server copies files of one filesystem to another. `why_not` is empty where nobody
    would expect it."""

    are_offered: bool
    why_not: str = ""
    is_same_place: bool = False
    """Whether they are one filesystem by two names, as `s3://a` and `s3a://a`."""


@dataclass(frozen=True, slots=True)
class ServerCopy:
    """A file that a server has copied: the source as it was copied, and what was found to be the
    same of the copy: the algorithm of a checksum, `ETag`, `length`, or nothing."""

    source: FileStatus
    verified_by: str


@dataclass(frozen=True, slots=True)
class DatanodeReport:
    """A datanode as the namenode sees it."""

    uuid: str
    ip: str
    hostname: str
    transfer_port: int
    info_port: int
    ipc_port: int
    rack: str
    admin_state: str
    capacity: int
    dfs_used: int
    non_dfs_used: int
    remaining: int
    block_pool_used: int
    last_update_ms: int
    xceiver_count: int
    block_count: int
    software_version: str = ""

    @property
    def name(self) -> str:
        """`ip:port` of the data port, as Hadoop's reports name a node."""
        return f"{self.ip}:{self.transfer_port}"
