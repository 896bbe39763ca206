"""What files on a volume mean for a replica that is not as they are (pure).

The decisions of DirectoryScanner and FsDatasetImpl.checkAndUpdate in Hadoop, by one rule: the
disk is right, and the replica becomes what a start would find. Whoever wrote the files, an
operator or a damaged disk, the namenode hears of the difference and judges. Nothing is deleted:
what makes no replica goes to the quarantine.

    memory            files on this volume    then
    being changed     whatever                nothing: it is in somebody's hands
    here              as they should be       nothing; one that lies in another directory is put
                                              in its place
    here              both, but another       the replica is replaced; another length is damage,
                      stamp or length         and told
    here              one or none             the replica is gone
    elsewhere, whole  whatever                they go to the quarantine
    elsewhere, not    both                    the replica is here now
    nowhere           both                    the replica is here now
    nowhere           one                     it goes to the quarantine

Of several meta files the one of the replica's stamp counts, or else the newest; of several
files of one kind that in the right directory. Others go to the quarantine.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass


class Memory(enum.Enum):
    """Where the map has the replica."""

    NOWHERE = "nowhere"
    HERE = "here"
    ELSEWHERE = "elsewhere"
    """On another volume, and its files are there."""
    LOST_ELSEWHERE = "lost elsewhere"
    """On another volume, and its files are not there."""
    CHANGING = "changing"
    """It is being written, recovered or copied, or was until now."""


@dataclass(frozen=True, slots=True)
class Known:
    """A finalized replica, as the map has it."""

    generation_stamp: int
    length_bytes: int


@dataclass(frozen=True, slots=True)
class BlockFile:
    path: str
    length_bytes: int


@dataclass(frozen=True, slots=True)
class MetaFile:
    path: str
    generation_stamp: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What to do, in this order."""

    forget: bool = False
    """The replica that the map has is not there any more."""
    aside: tuple[str, ...] = ()
    """Files for the quarantine."""
    block: BlockFile | None = None
    """With `meta`: a pair that is to lie where the layout has it."""
    meta: MetaFile | None = None
    take: bool = False
    """That pair becomes the replica."""
    damage: str = ""
    """Why the namenode is to replace it."""

    @property
    def is_nothing(self) -> bool:
        return self == NOTHING


NOTHING = Outcome()


def judge(
    memory: Memory,
    known: Known | None,
    directory: str,
    blocks: Sequence[BlockFile],
    metas: Sequence[MetaFile],
) -> Outcome:
    """Judge the files of a block. `known` is what the map has, where it has something; `directory`
    is where the files of the block belong, and `blocks` and `metas` all that there are on this
    volume."""
    if memory is Memory.CHANGING:
        return NOTHING
    everything = (*(meta.path for meta in metas), *(block.path for block in blocks))
    if memory is Memory.ELSEWHERE:
        return Outcome(aside=everything)
    is_here = memory is Memory.HERE
    assert known is not None or not is_here, "the map has a replica here that is nothing"
    block = min(blocks, key=lambda block: _rank(block.path, directory), default=None)
    stamp = known.generation_stamp if known is not None else None
    meta = min(
        metas,
        key=lambda meta: (
            meta.generation_stamp != stamp,
            -meta.generation_stamp,
            _rank(meta.path, directory),
        ),
        default=None,
    )
    if block is None or meta is None:
        return Outcome(forget=is_here, aside=everything)
    extra = tuple(path for path in everything if path not in (block.path, meta.path))
    is_in_place = all(_directory(path) == directory for path in (block.path, meta.path))
    actual = Known(meta.generation_stamp, block.length_bytes)
    if is_here and known == actual:
        pair = (None, None) if is_in_place else (block, meta)
        return Outcome(aside=extra, block=pair[0], meta=pair[1])
    damage = ""
    if (
        known is not None
        and actual.generation_stamp == stamp
        and actual.length_bytes != known.length_bytes
    ):
        damage = f"it has {actual.length_bytes} bytes, and had {known.length_bytes}"
    has_old = is_here or memory is Memory.LOST_ELSEWHERE
    return Outcome(has_old, extra, block, meta, take=True, damage=damage)


def _directory(path: str) -> str:
    return path.rpartition("/")[0]


def _rank(path: str, directory: str) -> tuple[bool, str]:
    return _directory(path) != directory, path
