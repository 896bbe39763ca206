"""`-move`: what is left of damaged files is copied to `/lost+found` (shell).

Hadoop's `NamenodeFsck.copyBlocksToLostFound`, done by the client. The rest of a file `/a/f`
comes to a directory `/lost+found/a/f`: each run of blocks that can still be read is a file
there, `0`, `1` and so on. The file itself stays, unless it is to be deleted as well: that is
done when everything that has a place was copied. Files that are being written are left alone.
"""

from __future__ import annotations

import sys
from typing import Final

from howdah import errors
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.status import BlockLocation
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream

LOST_FOUND: Final = "/lost+found"
_PIECE_BYTES: Final = 4 << 20


class Salvage:
    """Copies; `problems` are sentences about what could not be copied or deleted."""

    def __init__(self, fs: HdfsFileSystem, *, deletes: bool) -> None:
        self.problems: list[str] = []
        self._fs = fs
        self._deletes = deletes

    def under(self, path: str) -> None:
        """All damaged files below. Raises what hinders the work as a whole."""
        for damaged in dict.fromkeys(self._fs.list_corrupt_files(path)):
            if not self._fs.is_file_closed(damaged):
                continue
            try:
                self._file(damaged)
            except errors.HowdahError as error:
                self._complain(f"{damaged}: {error}")

    def _complain(self, problem: str) -> None:
        self.problems.append(problem)
        print(f"fsck: {problem}", file=sys.stderr)

    def _file(self, path: str) -> None:
        fs = self._fs
        target = f"{LOST_FOUND}{path}"
        if fs.exists(target):
            self._complain(f"{path} is not copied to {LOST_FOUND}: {target} exists already")
            return
        mode = fs.get_file_status(path).permission
        fs.mkdirs(target, mode | 0o700)
        is_whole = True
        blocks = fs.block_locations(path)
        with fs.open(path) as source:
            for number, chain in enumerate(_chains(blocks)):
                is_whole &= self._chain(source, chain, f"{target}/{number}")
        if self._deletes and is_whole:
            fs.delete(path)

    def _chain(self, source: FSDataInputStream, chain: list[BlockLocation], target: str) -> bool:
        """False if some of it cannot be read after all."""
        with self._fs.create(target) as out:
            for block in chain:
                try:
                    _copy(source, block, out)
                except errors.HowdahError as error:
                    self._complain(f"{target} lacks bytes from {block.offset} on: {error}")
                    return False
        return True


def _chains(blocks: list[BlockLocation]) -> list[list[BlockLocation]]:
    """Runs of blocks that somebody has."""
    chains: list[list[BlockLocation]] = []
    follows = False
    for block in blocks:
        is_there = bool(block.names) and not block.corrupt
        if is_there and follows:
            chains[-1].append(block)
        elif is_there:
            chains.append([block])
        follows = is_there
    return chains


def _copy(source: FSDataInputStream, block: BlockLocation, out: FSDataOutputStream) -> None:
    source.seek(block.offset)
    left = block.length
    while left:
        data = source.read(min(left, _PIECE_BYTES))
        if not data:
            raise errors.RemoteError(f"the file ends {left} bytes before the end of a block")
        out.write(data)
        left -= len(data)
