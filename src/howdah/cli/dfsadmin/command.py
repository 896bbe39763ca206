"""What every command of `dfsadmin` is made of."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from howdah.config import Configuration
from howdah.fs.hdfs.administration import Administration
from howdah.fs.hdfs.filesystem import HdfsFileSystem

EXIT_FAILURE: Final = 255


class Failed(Exception):
    """A failure whose message stands alone, without the command's name before it."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What commands work on."""

    fs: HdfsFileSystem
    conf: Configuration

    @property
    def administration(self) -> Administration:
        return self.fs.administration


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its words behind the name, how many there may be, and what it does."""

    synopsis: str
    help: str
    run: Callable[[list[str], Cluster], None]
    least_words: int = 0
    most_words: int = sys.maxsize

    @property
    def space(self) -> str:
        return " " if self.synopsis else ""
