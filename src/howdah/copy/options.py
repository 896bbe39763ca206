"""The options of `distcp`, checked against each other (pure; Hadoop's DistCpOptions).

Names, defaults and the words of refusals are Hadoop's, so that its users and their scripts find
what they know. Two defaults differ on purpose: bandwidth is not limited, and the copy buffer is
larger.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from howdah.errors import IllegalArgument

DEFAULT_MAPS: Final = 20
DEFAULT_BUFFER_BYTES: Final = 4 << 20
MAX_LIST_THREADS: Final = 40
MEBIBYTE: Final = 1 << 20


class InvalidOptions(IllegalArgument):
    """Options that contradict each other or make no sense."""

    java_class = "java.lang.IllegalArgumentException"


class Attribute(enum.Enum):
    """An attribute that is preserved (`-p`), with its letter."""

    REPLICATION = "r"
    BLOCK_SIZE = "b"
    USER = "u"
    GROUP = "g"
    PERMISSION = "p"
    CHECKSUM_TYPE = "c"
    ACL = "a"
    XATTR = "x"
    TIMES = "t"
    ERASURE_CODING_POLICY = "e"
    RAW = "raw"
    """Extended attributes of that namespace. No letter asks for them: they are preserved where
    sources and target are below `/.reserved/raw`, whatever `-p` says."""


DEFAULT_LETTERS: Final = "rbugpct"
"""The attributes that `-p` alone preserves."""


def attributes(letters: str) -> frozenset[Attribute]:
    """Return the attributes of letters such as `rbugp`. Raises InvalidOptions."""
    preserved = set()
    for letter in letters:
        try:
            preserved.add(Attribute(letter.lower()))
        except ValueError:
            raise InvalidOptions(f"No attribute for {letter}") from None
    return frozenset(preserved)


class Strategy(enum.Enum):
    """How files are assigned to tasks."""

    UNIFORM_SIZE = "uniformsize"
    DYNAMIC = "dynamic"

    @classmethod
    def of(cls, name: str) -> Strategy:
        """The strategy of a name; as in Hadoop, an unknown name means the default."""
        return cls.DYNAMIC if name.lower() == cls.DYNAMIC.value else cls.UNIFORM_SIZE


@dataclass(frozen=True, slots=True)
class Options:
    """How to copy. Contradictory options raise InvalidOptions."""

    preserve: frozenset[Attribute] = frozenset()
    overwrite: bool = False
    update: bool = False
    append: bool = False
    delete: bool = False
    skip_trash: bool = False
    ignore_failures: bool = False
    skip_crc: bool = False
    max_maps: int = DEFAULT_MAPS
    strategy: Strategy = Strategy.UNIFORM_SIZE
    bandwidth_mb: float | None = None
    buffer_bytes: int = DEFAULT_BUFFER_BYTES
    blocks_per_chunk: int = 0
    list_threads: int = 1
    use_iterator: bool = False
    update_root: bool = False
    direct: bool = False
    atomic: bool = False
    work_path: str | None = None
    source_listing: str | None = None
    filters_file: str | None = None
    track_path: str | None = None
    log_path: str | None = None
    verbose: bool = False
    diff: tuple[str, str] | None = None
    reverse_diff: tuple[str, str] | None = None
    dry_run: bool = False
    locality: bool | None = None
    """Whether tasks prefer nodes with replicas; None: where that can matter."""
    compares_times: bool = True
    """Whether a file of equal length, whose checksum cannot be compared, is the same if the target
    was modified last. Not an option of commands."""
    resume: bool = False
    """Whether an earlier run of the same `-diff` may have ended: what it changed at the target is
    expected there. Not an option of commands."""
    refuses_encrypted: bool = False
    """Whether an encrypted file of a source ends the copy before anything is copied. Not an option
    of commands."""

    def __post_init__(self) -> None:
        if self.blocks_per_chunk > 0:
            # Chunks are joined by concat, which needs blocks of one size.
            object.__setattr__(self, "preserve", self.preserve | {Attribute.BLOCK_SIZE})
            object.__setattr__(self, "append", False)
        object.__setattr__(self, "max_maps", max(self.max_maps, 1))
        threads = min(max(self.list_threads, 1), MAX_LIST_THREADS)
        object.__setattr__(self, "list_threads", 1 if self.use_iterator else threads)
        if self.buffer_bytes <= 0:
            object.__setattr__(self, "buffer_bytes", DEFAULT_BUFFER_BYTES)
        for is_wrong, message in self._contradictions():
            if is_wrong:
                raise InvalidOptions(message)

    def _contradictions(self) -> Iterable[tuple[bool, str]]:
        by_diff = self.by_snapshots
        snapshots = (*(self.diff or ()), *(self.reverse_diff or ()))
        return (
            (
                by_diff and self.delete,
                "-delete and -diff/-rdiff are mutually exclusive. "
                "The -delete option will be ignored.",
            ),
            (
                self.work_path is not None and not self.atomic,
                "-tmp work-path can only be specified along with -atomic",
            ),
            (
                self.update and self.atomic,
                "Atomic commit can't be used with sync folder or overwrite options",
            ),
            (
                self.delete and not (self.overwrite or self.update),
                "Delete missing is applicable only with update or overwrite options",
            ),
            (
                self.overwrite and self.update,
                "Overwrite and update options are mutually exclusive",
            ),
            (self.append and not self.update, "Append is valid only with update options"),
            (self.append and self.skip_crc, "Append is disallowed when skipping CRC"),
            (by_diff and not self.update, "-diff/-rdiff is valid only with -update option"),
            (
                any(not name.strip() for name in snapshots),
                "Must provide both the starting and ending snapshot names for -diff/-rdiff",
            ),
            (
                self.diff is not None and self.reverse_diff is not None,
                "-diff and -rdiff are mutually exclusive",
            ),
            (
                by_diff and self.track_path is not None,
                "-xtrack and -diff/-rdiff are mutually exclusive: not all of the target is listed",
            ),
            (self.verbose and self.log_path is None, "-v is valid only with -log option"),
            (
                self.bandwidth_mb is not None and self.bandwidth_mb <= 0,
                f"Bandwidth specified is not positive: {self.bandwidth_mb}",
            ),
        )

    @property
    def by_snapshots(self) -> bool:
        """Whether a snapshot report says what to copy (`-diff`, `-rdiff`)."""
        return self.diff is not None or self.reverse_diff is not None

    @property
    def wants_missing(self) -> bool:
        """Whether entries at the target only are needed."""
        return self.delete or (self.track_path is not None and not self.atomic)

    @property
    def preserves(self) -> str:
        """Return the letters of the preserved attributes."""
        letters = self.preserve - {Attribute.RAW}
        return "".join(attribute.value for attribute in Attribute if attribute in letters)
