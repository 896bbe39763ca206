"""What a namespace consists of: paths, and what is at each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from howdah.model.acls import Acl

ROOT = "/"
NAMENODE = "the namenode"


class Refused(Exception):
    """An operation that must not happen; `why` is one of a few words."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Entry:
    """A directory, a file, or a link, which has a `target`. `blocks` are the lengths of
    a file's blocks.

    `is_writing`: its last block is being written; `is_cut`: it is being cut, for
    `writer`. A file that was taken away from its writer has `NAMENODE` for one.

    `acl` is the whole list (see `acls`), or None where the mode says all. `policy` is
    the entry's own storage policy, `bounds` a directory's quotas (see `quotas`), `coding` the
    name of its own erasure coding (see `coding`).
    """

    is_directory: bool
    owner: str = ""
    group: str = ""
    mode: int = 0o755
    mtime_ms: int = 0
    atime_ms: int = 0
    replication: int = 0
    blocks: tuple[int, ...] = ()
    writer: str | None = None
    is_writing: bool = False
    is_cut: bool = False
    block_size_bytes: int = 0
    acl: Acl | None = None
    xattrs: Mapping[str, bytes] = field(default_factory=dict)
    policy: str = ""
    coding: str = ""
    bounds: Mapping[str, int] = field(default_factory=dict)
    target: str = ""
    number: int = 0
    """What stays the same when the path does not."""
    link: int = 0
    """What stays the same until the entry is moved."""
    block_numbers: tuple[int, ...] = ()
    """Which blocks they are: what a snapshot has is shared with it."""

    @property
    def length_bytes(self) -> int:
        return sum(self.blocks)


class Shown(dict[str, Entry]):
    """What a snapshot shows, by the path below its directory (of itself, nothing);
    `order` grows from one snapshot to the next."""

    order = 0


def parent_of(path: str) -> str:
    return path.rpartition("/")[0] or ROOT


def is_under(path: str, ancestor: str) -> bool:
    return path != ancestor and path.startswith(ancestor.rstrip("/") + "/")
