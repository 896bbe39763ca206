"""`LocalFileSystem`: this machine's files with a checksum file beside each (`file:///`).

Mirrors Hadoop's class of that name, and shares its files with it. What is created
has its checksums in `.NAME.crc` (`howdah.fs.local.checksums`); what has checksums is
verified when it is read, what has none is read as it is. Checksum files are not
listed, and go where their files go; those of a file that is opened by a link are beside
the file. (Hadoop lists no name like theirs. Here one that
belongs to no file is somebody's file, and shown: what isn't listed isn't copied.)

`set_write_checksum(False)` makes files without checksums from then on (OS-165,
OS-166): their streams can be synced, and they can be appended to and truncated.
`set_verify_checksum(False)` reads without looking at checksums.

Order matters where two files change that belong together. At every moment, and
after a crash at any moment, a file is beside its own checksums or beside none:
old ones are removed before a file changes, and new ones come after it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from howdah import errors
from howdah.config import Configuration
from howdah.fs import capabilities
from howdah.fs.api import Progress
from howdah.fs.local.checksums import (
    ChecksummedInput,
    ChecksummedOutput,
    encode_header,
    sums_name,
    sums_path,
)
from howdah.fs.local.raw import RawLocalFileSystem, is_regular
from howdah.fs.local.status import from_os_error, translated
from howdah.fs.local.streams import LocalInput, LocalOutput, write_all
from howdah.fs.paths import PathLike
from howdah.fs.streams import FSDataOutputStream

_CHANGING = frozenset((capabilities.APPEND, capabilities.TRUNCATE))
_OPEN_ATTEMPTS = 100


class LocalFileSystem(RawLocalFileSystem):
    """The files of this machine, checksummed."""

    def __init__(
        self, authority: str = "", conf: Configuration | None = None, user: str | None = None
    ) -> None:
        super().__init__(authority, conf, user)
        self._write_checksum = True
        self._verify_checksum = True

    @property
    def raw(self) -> RawLocalFileSystem:
        """The files as they are, checksum files among them."""
        return RawLocalFileSystem(conf=self._conf)

    def set_write_checksum(self, write: bool) -> None:
        """Whether files that are created from now on get checksums."""
        self._write_checksum = write

    def set_verify_checksum(self, verify: bool) -> None:
        """Whether files that are opened from now on are held against their checksums."""
        self._verify_checksum = verify

    # --- streams ----------------------------------------------------------------------

    def _output(
        self,
        target: str,
        descriptor: int,
        *,
        new_in: Sequence[str],
        buffer_bytes: int | None,
        progress: Progress | None,
    ) -> LocalOutput:
        if not self._write_checksum or not is_regular(descriptor):
            # Those of a file that had this name before are not the new one's.
            _remove_sums(_followed(target))
            return super()._output(
                target, descriptor, new_in=new_in, buffer_bytes=buffer_bytes, progress=progress
            )
        return ChecksummedOutput(
            target,
            descriptor,
            self._open_new_sums(target, descriptor),
            bytes_per_checksum=self._bytes_per_checksum,
            buffer_bytes=buffer_bytes,
            progress=progress,
        )

    def _open_new_sums(self, target: str, descriptor: int) -> int:
        """Empty the file, and give it a checksum file with nothing but a header."""
        place = sums_path(_followed(target))
        with translated(place):
            sums = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                # Whoever must not read a file must not read its checksums.
                os.fchmod(sums, stat.S_IMODE(os.fstat(descriptor).st_mode))
                os.ftruncate(descriptor, 0)
                os.ftruncate(sums, 0)
                write_all(sums, memoryview(encode_header(self._bytes_per_checksum)))
            except BaseException:
                os.close(sums)
                raise
        return sums

    def append(
        self,
        path: PathLike,
        *,
        new_block: bool = False,
        sync_block: bool = False,
        buffer_size: int | None = None,
        progress: Progress | None = None,
    ) -> FSDataOutputStream:
        """Only without checksums; those that the file had are removed."""
        self._check_raw("append", path)
        stream = super().append(path, buffer_size=buffer_size, progress=progress)
        try:
            _remove_sums(_followed(stream.name))
        except errors.HowdahError:
            stream.close()
            raise
        return stream

    def truncate(self, path: PathLike, length: int) -> bool:
        """Only without checksums; those that the file had are removed."""
        self._check_raw("truncate", path)
        target = self.resolve(path)
        status = self.get_file_status(target)
        if status.is_file and 0 <= length <= status.length:
            _remove_sums(_followed(target))
        return super().truncate(target, length)

    def _check_raw(self, operation: str, path: PathLike) -> None:
        if self._write_checksum:
            raise errors.UnsupportedOperation(
                f"{self.resolve(path)}: no {operation} with checksums; "
                "set_write_checksum(False) does without them"
            )

    def _input(self, target: str) -> LocalInput:
        if not self._verify_checksum:
            return super()._input(target)
        for _ in range(_OPEN_ATTEMPTS):
            descriptor = self._open_old(target)
            try:
                sums = _open_sums(_followed(target))
            except errors.HowdahError:
                os.close(descriptor)
                raise
            if sums is None:
                return LocalInput(target, descriptor)
            if _is_same(descriptor, target):
                return ChecksummedInput(target, descriptor, sums)
            # Another file has got the name in between: these may be the checksums of that.
            os.close(sums)
            os.close(descriptor)
        raise errors.FileChanged(f"{target} is replaced again and again while it is opened").about(
            target
        )

    # --- what belongs together stays together -----------------------------------------

    def _rename(self, source: str, target: str, overwrite: bool) -> None:
        if os.path.isdir(source) and not os.path.islink(source):
            super()._rename(source, target, overwrite)
            return
        old, new = sums_path(source), sums_path(target)
        has_sums = os.path.lexists(old)
        if has_sums:
            # A name that is too long for checksums is refused before anything has changed.
            with translated(new), suppress(FileNotFoundError):
                os.lstat(new)
        if overwrite or not os.path.lexists(target):
            _remove_sums(target)
        super()._rename(source, target, overwrite)
        if has_sums:
            with translated(new), suppress(FileNotFoundError):
                os.rename(old, new)

    def delete(self, path: PathLike, recursive: bool = False) -> bool:
        target = self.resolve(path)
        if os.path.islink(target) or os.path.isfile(target):
            _remove_sums(target)
        return super().delete(target, recursive)

    def _listed(self, names: list[str]) -> Collection[str]:
        return set(names).difference(map(sums_name, names))

    def set_permission(self, path: PathLike, mode: int) -> None:
        super().set_permission(path, mode)
        self._also(path, lambda sums: super(LocalFileSystem, self).set_permission(sums, mode))

    def set_owner(self, path: PathLike, owner: str | None = None, group: str | None = None) -> None:
        super().set_owner(path, owner, group)
        self._also(path, lambda sums: super(LocalFileSystem, self).set_owner(sums, owner, group))

    def _also(self, path: PathLike, change: Callable[[str], None]) -> None:
        """The same to the checksum file, if there is one."""
        place = sums_path(_followed(self.resolve(path)))
        if os.path.lexists(place):
            with suppress(errors.PathNotFound):
                change(place)

    def path_capabilities(self, path: PathLike) -> frozenset[str]:
        offered = super().path_capabilities(path)
        return offered - _CHANGING if self._write_checksum else offered


def _followed(path: str) -> str:
    """Where the bytes of a file are: what is written by the name of a link belongs to the
    file that the link leads to, and so do its checksums."""
    return os.path.realpath(path) if os.path.islink(path) else path


def _open_sums(path: str) -> int | None:
    place = sums_path(path)
    try:
        return os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return None
        raise from_os_error(place, error) from error


def _is_same(descriptor: int, path: str) -> bool:
    """Whether an open file still has this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _remove_sums(path: str) -> None:
    place = sums_path(path)
    try:
        os.unlink(place)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise from_os_error(place, error) from error
