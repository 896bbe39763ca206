"""Copying one file, as an executor does it (Hadoop's RetriableFileCopyCommand).

1. The bytes go to a temporary name, as many as the listing says the file has. The client that
   reads the source checks the bytes against the source's checksums; a CRC of the bytes that were
   read is kept.
2. `close` must succeed; if it fails, the copy has failed (OS-061, OS-065).
3. The target's checksum, which its datanodes compute of the bytes that they stored, must equal
   that CRC. Without checksums, or with `-skipcrccheck`, the length must be right.
4. The status of the source is read again. If the source changed since it was listed, the copy
   is repeated with the new status, a few times.
5. Attributes are set, and the file is renamed to its final name; the rename replaces an existing
   file atomically. So readers see the old file or the new one.
6. A failed copy is tried again, unless the error is permanent. The temporary file is removed in
   any case, unless the process is killed; then the next run of the same copy removes it
   (`common.staging`).

Where the target's server copies files of the source itself it does, instead of steps 1 to 4
(`copy.by_server`).

`-direct` writes to the final name, without step 5's rename. A failed copy leaves no half of a
file there where the target's streams can be aborted, as those of object stores can. What fails
in step 3 or 4 is removed.
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from howdah import errors
from howdah.copy.common.arrow_rows import decode
from howdah.copy.common.checksums import checksum_of
from howdah.copy.common.failures import PERMANENT, CopyFailed, ReadFailed, SourceChanged
from howdah.copy.common.filesystems import Place
from howdah.copy.listing.entries import WHOLE, Entry
from howdah.copy.options import Attribute
from howdah.copy.preserving import has_coding_policies, is_set_afterwards, preserve
from howdah.copy.server_side import Offers
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.local.status import special_kind
from howdah.fs.status import FileStatus
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream, whole_or_none
from howdah.options import CopyCheck
from howdah.protocol.data_transfer.checksum import ChecksumType, crc
from howdah.runtime.byte_rate import Throttle

_log = logging.getLogger(__name__)
COMPOSITE: Final = "COMPOSITE_CRC"
LENGTH: Final = "length"
MOST_TRIES: Final = 3
FIRST_DELAY_S: Final = 0.5
COMPOSITE_TYPES: Final = {
    "COMPOSITE-CRC32C": ChecksumType.CRC32C,
    "COMPOSITE-CRC32": ChecksumType.CRC32,
}
_MD5_OF: Final = re.compile(r"MD5-of-\d*MD5-of-(?P<bytes>\d+)(?P<type>CRC32C?)")


@dataclass(frozen=True, slots=True)
class CopySettings:
    """How a task copies every file."""

    preserve: Set[Attribute] = frozenset()
    skip_crc: bool = False
    direct: bool = False
    buffer_bytes: int = 4 << 20
    place: Place | None = None
    """The target, to connect to it with another checksum type (`-pc`)."""


class Copier:
    """Copies files to one filesystem, one after the other. Each task has its own."""

    def __init__(
        self,
        target_fs: FileSystem,
        settings: CopySettings,
        temporary: Callable[[], str],
        limit: BandwidthLimit,
        progress: Callable[[int], None],
        sleep: Callable[[float], None] = time.sleep,
        confirm: Callable[[], None] = lambda: None,
    ) -> None:
        """`confirm` is called before a file gets its name, and raises if it may not."""
        self._fs = target_fs
        self._confirm = confirm
        self._settings = settings
        self._temporary = temporary
        self._limit = limit
        self._progress = progress
        self._sleep = sleep
        self._buffer = memoryview(bytearray(settings.buffer_bytes))
        self._made: set[str] = set()
        self._in_one_zone: set[str] = set()
        """Directories whose files are where their temporary ones are."""
        self._crc_type: ChecksumType | None = None
        self._offers = Offers(target_fs)
        self.retries = 0
        self.verified_by = LENGTH
        """How the file that was copied last was held against its source: the algorithm of a
        checksum, `ETAG`, or `LENGTH`."""
        self.is_by_server = False
        """Whether the server copied it."""
        self.why_not_by_server = ""
        """Why it did not, though it copies others."""

    def copy(self, source_fs: FileSystem, source: Entry, target: str) -> Entry:
        """Copy a file. Returns the entry that was copied, which differs from `source` if the
        file changed meanwhile."""
        entry = source
        self.is_by_server = False
        self.why_not_by_server = ""
        for attempt in range(MOST_TRIES):
            try:
                if not self.why_not_by_server and self._offers.of(source_fs, entry).are_offered:
                    copied = self._by_server(source_fs, entry, target)
                    if copied is not None:
                        return copied
                if self._once(source_fs, entry, target):
                    return entry
                if entry.chunk_length != WHOLE:
                    break  # the other chunks are of the old file
                entry = _now(source_fs, entry)
            except (errors.HowdahError, OSError) as error:
                cause = error.__cause__ if isinstance(error, ReadFailed) else error
                if isinstance(cause, PERMANENT) or attempt == MOST_TRIES - 1:
                    raise _failed(source_fs, entry, self._fs, target, error) from error
                self._sleep(FIRST_DELAY_S * 2**attempt)
            self.retries += 1
        raise SourceChanged(f"{source_fs.uri}{source.path} is being changed while it is copied")

    def make_parent(self, target: str) -> None:
        """Create the parent directory of a target, once for each directory."""
        parent = paths.parent_of(target)
        if parent is not None and parent not in self._made:
            self._fs.mkdirs(parent)
            self._made.add(parent)

    # --- one try -------------------------------------------------------------------------

    def _once(self, source_fs: FileSystem, source: Entry, target: str) -> bool:
        """Copy once. Returns False, with nothing changed, if the source changed meanwhile."""
        path = target if self._settings.direct else self._temporary()
        self._check_zone(path, target)
        with self._named(path, target):
            total, sum_ = self._transfer(source_fs, source, path)
            with self._kept_if_verified(path, target):
                if _is_changed(source_fs, source):
                    self._fs.delete(path)
                    return False
                self.verified_by = self._verify(path, total, sum_)
                preserve(source_fs, source, self._fs, path, self._settings.preserve)
                # Cipher text and the key of another file decrypt to noise: nobody would see it
                # here.
                if Attribute.RAW in self._settings.preserve and _is_changed(source_fs, source):
                    self._fs.delete(path)
                    return False
            self._give_name(path, target)
        return True

    def _check_zone(self, path: str, target: str) -> None:
        """Raises UnsupportedOperation where the target is in an encryption zone that its temporary
        file would not be in: the bytes would be on disks as plain text, and nothing moves into a
        zone."""
        is_plain = self._fs.scheme == "hdfs" and Attribute.RAW not in self._settings.preserve
        parent = paths.parent_of(target) or paths.SEPARATOR
        if path == target or not is_plain or parent in self._in_one_zone:
            return
        try:
            # What is deleted in a zone stays in it; without key servers nobody is asked.
            is_one = self._fs.trash_root(path) == self._fs.trash_root(target)
        except errors.AccessDenied:
            is_one = True  # Who may not look there may write all the same.
        if not is_one:
            raise errors.UnsupportedOperation(
                f"{target} is in an encryption zone that is a part of the target, and temporary "
                "files are outside of it: copy the zone by itself, or say -direct"
            )
        self._in_one_zone.add(parent)

    @contextmanager
    def _kept_if_verified(self, path: str, target: str) -> Iterator[None]:
        """What fails within leaves nothing under the final name (`-direct`): with the length of
        the source, and younger, it would be taken for a copy by the next run."""
        try:
            yield
        except BaseException as error:
            if path == target:
                self._discard(path, error)
            raise

    def _by_server(self, source_fs: FileSystem, source: Entry, target: str) -> Entry | None:
        """Have the server copy once. Returns the entry that it copied; None if it does not."""
        is_direct = self._settings.direct or not is_set_afterwards(self._settings.preserve)
        path = target if is_direct else self._temporary()
        check = CopyCheck.LENGTH if self._settings.skip_crc else CopyCheck.CHECKSUM
        with self._named(path, target):
            try:
                made = self._fs.copy_from(source_fs, source.path, path, overwrite=True, check=check)
            except errors.NotCopiedByServer as error:
                self.why_not_by_server = error.message
                return None
            entry = _as_now(source, made.source)
            self.verified_by = made.verified_by
            self.is_by_server = True
            self._progress(entry.length)
            self._complete(source_fs, entry, path, target)
        return entry

    @contextmanager
    def _named(self, path: str, target: str) -> Iterator[None]:
        """What fails within leaves nothing under a temporary name."""
        try:
            yield
        except BaseException as error:
            if path != target:
                self._discard(path, error)
            raise

    def _complete(self, source_fs: FileSystem, source: Entry, path: str, target: str) -> None:
        preserve(source_fs, source, self._fs, path, self._settings.preserve)
        self._give_name(path, target)

    def _give_name(self, path: str, target: str) -> None:
        if path != target:
            self._confirm()
            self.make_parent(target)
            self._rename(path, target)

    def _rename(self, path: str, target: str) -> None:
        try:
            self._fs.rename(path, target, overwrite=True)
        except (errors.PathNotFound, errors.ParentNotDirectory):
            # The directory was removed after this task created it.
            self._made.clear()
            self.make_parent(target)
            self._fs.rename(path, target, overwrite=True)

    def _transfer(self, source_fs: FileSystem, source: Entry, path: str) -> tuple[int, int]:
        """Write the bytes; return their number and their CRC."""
        begin, length = source.offset, source.length
        if source.chunk_length != WHOLE:
            length = source.chunk_length
        stream = _open(source_fs, source, begin)
        try:
            # An error of close is an error of the copy.
            with whole_or_none(self._create(source_fs, source, path)) as out:
                return self._pump(stream, source, out, length)
        finally:
            stream.close()

    def append(self, source_fs: FileSystem, source: Entry, target: str) -> str | None:
        """Append to a target what the source has more (`-append`). Returns None, or the reason
        why the target does not equal the source then; the file has to be copied as a whole."""
        try:
            self._add(source_fs, source, target)
            there = checksum_of(self._fs, target, COMPOSITE)
            here = checksum_of(source_fs, source.path, COMPOSITE, source.length)
        except ReadFailed:
            raise
        except (errors.HowdahError, OSError) as error:
            return f"appending to it failed: {error}"
        if (
            here is None
            or there is None
            or (here.algorithm, here.bytes)
            != (
                there.algorithm,
                there.bytes,
            )
        ):
            return "its bytes differed after the append"
        self.verified_by = here.algorithm
        preserve(source_fs, source, self._fs, target, self._settings.preserve)
        return None

    def _add(self, source_fs: FileSystem, source: Entry, target: str) -> None:
        begin = source.target_length
        stream = _open(source_fs, source, begin)
        try:
            # A block group that has ended gets no more bytes.
            new_block = self._fs.get_file_status(target).is_erasure_coded
            with self._fs.append(target, new_block=new_block) as out:
                there = self._fs.get_file_status(target).length
                if there != begin:
                    # Another attempt or another writer has appended to it since.
                    raise CopyFailed(
                        f"{self._fs.uri}{target} has {there} bytes, and no longer {begin}"
                    )
                self._pump(stream, source, out, source.length - begin)
        finally:
            stream.close()
        status = self._fs.get_file_status(target)
        if status.length != source.length:
            raise _mismatch(source_fs, source, self._fs, target, status)

    def _create(self, source_fs: FileSystem, source: Entry, path: str) -> FSDataOutputStream:
        keep = self._settings.preserve
        same_blocks = Attribute.BLOCK_SIZE in keep or Attribute.CHECKSUM_TYPE in keep
        # That of an erasure coded file has no meaning, and is 1.
        keeps_replication = Attribute.REPLICATION in keep and not source.coding_policy
        fs = self._fs
        if Attribute.CHECKSUM_TYPE in keep and source.length:
            fs = self._with_checksums_of(source_fs, source)
        create: Callable[..., FSDataOutputStream] = fs.create
        if source.coding_policy and Attribute.ERASURE_CODING_POLICY in keep:
            if has_coding_policies(fs):
                create = partial(fs.create, ec_policy=source.coding_policy)
            else:
                _log.warning(
                    "%s: %s has no erasure coding policies, so %s is not preserved",
                    source.path,
                    fs.uri,
                    source.coding_policy,
                )
        return create(
            path,
            overwrite=True,
            create_parent=self._settings.direct,
            replication=(source.replication or None) if keeps_replication else None,
            block_size=(source.block_size or None) if same_blocks else None,
        )

    def _with_checksums_of(self, source_fs: FileSystem, source: Entry) -> FileSystem:
        """Return the target's filesystem, set to write checksums of the source's type."""
        place = self._settings.place
        if place is None or self._fs.scheme != "hdfs":
            return self._fs
        checksum = checksum_of(source_fs, source.path, "MD5MD5CRC")
        kind = None if checksum is None else _MD5_OF.fullmatch(checksum.algorithm)
        if kind is None:
            return self._fs
        self._crc_type = ChecksumType[kind["type"]]
        return place.with_settings(
            {"dfs.checksum.type": kind["type"], "dfs.bytes-per-checksum": kind["bytes"]}
        ).connect()

    def _pump(
        self, stream: FSDataInputStream, source: Entry, out: FSDataOutputStream, length: int
    ) -> tuple[int, int]:
        kind = self._checksum_type()
        done = sum_ = 0
        while done < length:
            try:
                count = stream.readinto(self._buffer[: min(length - done, len(self._buffer))])
            except (errors.HowdahError, OSError) as error:
                raise ReadFailed(f"Cannot read {source.path}: {error}") from error
            if not count:
                break
            piece = self._buffer[:count]
            out.write(piece)
            sum_ = crc(kind, piece, sum_)
            done += count
            self._progress(count)
            self._limit.moved(count)
        if done != length:
            raise ReadFailed(f"{source.path} ended after {done} bytes of {length}")
        return done, sum_

    def _checksum_type(self) -> ChecksumType:
        if self._crc_type is None:
            try:
                name = self._fs.server_defaults().checksum_type
            except errors.UnsupportedOperation:
                name = ChecksumType.CRC32C.name
            self._crc_type = ChecksumType.CRC32 if name == "CRC32" else ChecksumType.CRC32C
        return self._crc_type

    def _verify(self, path: str, length: int, sum_: int) -> str:
        if not self._settings.skip_crc and length:
            checksum = checksum_of(self._fs, path, COMPOSITE)
            if (
                checksum is not None
                and COMPOSITE_TYPES.get(checksum.algorithm) == self._checksum_type()
            ):
                if int.from_bytes(checksum.bytes, "big") == sum_:
                    return checksum.algorithm
                # In an encryption zone it is that of the cipher text.
                if not self._fs.get_file_status(path).is_encrypted:
                    raise CopyFailed(
                        f"Checksum mismatch between what was read, {sum_:08x}, "
                        f"and {self._fs.uri}{path}, {checksum.hex()}"
                    )
        status = self._fs.get_file_status(path)
        if status.length != length:
            raise CopyFailed(
                f"Mismatch in length: {length} bytes were written to {self._fs.uri}{path}, "
                f"which has {status.length}"
            )
        return LENGTH

    def _discard(self, path: str, cause: BaseException) -> None:
        try:
            self._fs.delete(path)
        except (errors.HowdahError, OSError) as error:
            cause.add_note(f"removing {path} failed too: {error}")


def _open(fs: FileSystem, source: Entry, offset: int) -> FSDataInputStream:
    try:
        if fs.scheme == "file" and (kind := special_kind(source.path)):
            raise errors.UnsupportedOperation(f"it is {kind}; leave it out with -filters")
        stream = fs.open(source.path)
        if offset:
            stream.seek(offset)
    except (errors.HowdahError, OSError) as error:
        raise ReadFailed(f"Cannot read {fs.uri}{source.path}: {error}") from error
    return stream


def _is_changed(fs: FileSystem, source: Entry) -> bool:
    status = _status(fs, source)
    return (
        status.length != source.length or status.modification_time_ms != source.modification_time_ms
    )


def _now(fs: FileSystem, source: Entry) -> Entry:
    """The entry of a source with its present status."""
    return _as_now(source, _status(fs, source))


def _as_now(source: Entry, status: FileStatus) -> Entry:
    return replace(
        source,
        length=status.length,
        modification_time_ms=status.modification_time_ms,
        access_time_ms=status.access_time_ms,
        permission=status.permission,
        owner=status.owner,
        group=status.group,
        has_acl=status.has_acl,
    )


def _status(fs: FileSystem, source: Entry) -> FileStatus:
    try:
        return fs.get_file_status(source.path)
    except (errors.HowdahError, OSError) as error:
        raise ReadFailed(f"Cannot read {fs.uri}{source.path}: {error}") from error


def _failed(
    source_fs: FileSystem, source: Entry, fs: FileSystem, target: str, error: Exception
) -> CopyFailed:
    kind = ReadFailed if isinstance(error, ReadFailed) else CopyFailed
    return kind(
        f"File copy failed: {source_fs.uri}{source.path} --> {fs.uri}{target}: "
        f"{type(error.__cause__ or error).__name__}: {error}"
    )


def _mismatch(
    source_fs: FileSystem, source: Entry, fs: FileSystem, target: str, status: FileStatus
) -> CopyFailed:
    return CopyFailed(
        f"Mismatch in length of source:{source_fs.uri}{decode(source.source)} "
        f"({source.length}) and target:{fs.uri}{target} ({status.length})"
    )


class BandwidthLimit:
    """Keeps a task below a rate of bytes (`-bandwidth`): sleeps while more bytes were moved
    than the time since the start allows."""

    def __init__(
        self,
        bytes_per_s: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._throttle = Throttle(bytes_per_s or 0, began_s=clock(), credit_s=math.inf)
        self._clock = clock
        self._sleep = sleep
        self.slept_s = 0.0

    def moved(self, count: int) -> None:
        """Account for bytes, and wait if they were too many."""
        delay_s = self._throttle.delay_s(count, self._clock())
        if delay_s:
            self._sleep(delay_s)
            self.slept_s += delay_s
