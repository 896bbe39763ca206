"""A file that is read from a store (shell).

`ReadPlan` says what to ask for: straight on one answer is read as it comes, at random each
request has its bounds. Positioned reads have requests of their own and disturb nobody;
vectored ones are merged and run side by side. An answer that breaks off is asked for again
from where it ended.

A file may come with an answer that has all its bytes (`Openings`): a small one's are read at
once, and kept, so that it needs no further request; a large one's answer waits for the first
read. If it breaks off, or waits for too long, the bytes are asked for again when they are read.

The object is the one that was there at the opening, by its ETag (or its version): when there
is another one, reading raises `FileChanged`. Bytes that are read in one go from the first to
the last are held against the store's CRC32C of the whole. If they do not fit, nothing more is given
out unchecked: who reads once more, from where it failed or from the beginning, gets them from the
store again, and they are held against it again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Final

from howdah import errors
from howdah.client.reading.vectored import read_vectored
from howdah.client.state.reading.ranges import MergeRules
from howdah.client.statistics import Count, Tally
from howdah.config import keys
from howdah.fs import capabilities
from howdah.fs.input_base import RemoteInput
from howdah.fs.objects.read_plan import FEW_BYTES, WAIT_S, Openings, ReadPlan
from howdah.fs.objects.retrying import Retrying
from howdah.fs.objects.store import NotAsExpected, ObjectInfo, ObjectStore, Reading
from howdah.fs.objects.tuning import Tuning
from howdah.options import FileRange
from howdah.protocol.data_transfer.checksum import ChecksumType, crc

log = logging.getLogger(__name__)

_PIECE_BYTES: Final = 1 << 20
_CAPABILITIES: Final = frozenset(
    (
        capabilities.UNBUFFER,
        capabilities.READAHEAD,
        capabilities.READ_BYTE_BUFFER,
        capabilities.PREAD_BYTE_BUFFER,
        capabilities.READ_VECTORED,
    )
)


@dataclass(frozen=True, slots=True)
class ObjectInputStatistics:
    """What a stream has done. `is_verified`: all bytes were read in one go, and have the
    checksum that the store has of the object."""

    bytes_read: int = 0
    requests: int = 0
    bytes_discarded: int = 0
    repeated: int = 0
    is_verified: bool = False


class _GivenUp(Exception):
    """A request that the store has made again in vain, other than an answer that broke off."""

    def __init__(self, error: errors.HowdahError) -> None:
        super().__init__(str(error))
        self.error = error


class ObjectInput(RemoteInput):
    """Reads an object for an `FSDataInputStream`."""

    store = "a store"

    def __init__(
        self,
        store: ObjectStore,
        path: str,
        info: ObjectInfo,
        settings: Tuning,
        tally: Tally,
        openings: Openings | None = None,
        first: Reading | None = None,
    ) -> None:
        """`first` has all bytes of the object, and is the reader's from here on."""
        super().__init__(path)
        try:
            self._check_version(path, info, settings)
        except errors.HowdahError:
            if first is not None:
                first.close(0)
            raise
        self._store = store
        self._info = info
        self._settings = settings
        self._tally = tally
        self._retrying = Retrying(settings.retries)
        self._rules = MergeRules(settings.vectored_gap_bytes, settings.vectored_read_bytes)
        self._plan = ReadPlan(info.length, settings.readahead_bytes, settings.manner)
        self._answer: Reading | None = None
        self._answer_at = 0
        self._answer_end = 0
        self._summed = (0, 0)
        """The CRC32C of the bytes up to an offset, if they were read without a gap."""
        self._mismatch: errors.ChecksumMismatch | None = None
        """Why the bytes are not to be trusted, until all of them were read and fit."""
        self._counts = ObjectInputStatistics()
        self._openings = openings or Openings(settings.manner)
        self._whole = memoryview(b"")
        """All bytes of a small object, if they came when it was opened."""
        self._is_unread = True
        """Whether nobody has asked for any bytes, and so told how the file is read."""
        self._opened_s = 0.0
        if first is not None:
            self._adopt(first)
        elif info.length <= FEW_BYTES:
            self._is_unread = False
            self._openings.learn(is_straight=True)

    @staticmethod
    def _check_version(path: str, info: ObjectInfo, settings: Tuning) -> None:
        if settings.needs_version and info.version_id is None:
            raise errors.UnsupportedOperation(
                f"{path} has no version, as the bucket {settings.bucket} keeps none: set "
                f"{keys.FS_S3A_CHANGE_DETECTION_SOURCE.name} to etag, or "
                f"{keys.FS_S3A_CHANGE_DETECTION_VERSION_REQUIRED.name} to false"
            ).about(path)

    def _adopt(self, first: Reading) -> None:
        """Use an answer that came with the opening."""
        self._counts = ObjectInputStatistics(requests=1)
        length = self._info.length
        if length > FEW_BYTES:
            self._answer, self._answer_end = first, length
            self._opened_s = time.monotonic()
            self._openings.waits(self)
            return
        self._is_unread = False
        buffer = memoryview(bytearray(length))
        filled = 0
        try:
            while filled < length:
                count = first.readinto(buffer[filled:])
                if not count:
                    raise self._broken_off(filled)
                filled += count
            self._whole = buffer
        except (errors.Unreachable, errors.CallTimeout) as error:
            log.info("%s; its bytes are asked for again when they are read", error)
            self._counts = ObjectInputStatistics(requests=1, repeated=1)
        finally:
            first.close(0)

    def _is_begun(self) -> None:
        """Somebody reads on: the answer of the opening is of use, or was one too many."""
        self._is_unread = False
        self._openings.waits_no_more(self)
        is_straight = self._position <= self._plan.readahead_bytes
        self._openings.learn(is_straight=is_straight)
        if self._answer is not None and not (
            is_straight and time.monotonic() - self._opened_s < WAIT_S
        ):
            self._drop(drain=False)

    @property
    def length(self) -> int:
        """Bytes in the object, as of its opening."""
        return self._info.length

    # `io` says "any buffer", for which Python 3.11 has no name in its types.
    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """At least one byte, unless the file ends here or `buffer` is empty. Who is interrupted,
        by Ctrl-C say, has read nothing: the next read is of the same bytes."""
        begin = self._position, self._summed
        try:
            return self._read_some(memoryview(buffer).cast("B"))
        except BaseException:
            self._position, self._summed = begin
            raise

    def readall(self) -> bytes:
        """All bytes from here on, in memory that is made once."""
        begin = self._position, self._summed
        try:
            return self._read_all()
        except BaseException:
            self._position, self._summed = begin
            raise

    def _read_some(self, view: memoryview) -> int:
        with self._own():
            self._check_open()
            left = self.length - self._position
            if left <= 0 or not len(view):
                return 0
            count = self._tried(lambda: self._read_on(view[: min(left, _PIECE_BYTES)], len(view)))
            self._verify(view[:count])
            self._position += count
            return count

    def _read_all(self) -> bytes:
        with self._own():
            buffer = bytearray(max(self.length - self.tell(), 0))
            view = memoryview(buffer)
            filled = 0
            while filled < len(view):
                count = self._read_some(view[filled:])
                if not count:
                    break
                filled += count
        return bytes(view[:filled])

    def _read_on(self, view: memoryview, wanted: int) -> int:
        if whole := self._whole:
            count = _copied(whole, self._position, view)
            self._count(bytes_read=count)
            return count
        try:
            answer = self._here(wanted)
            count = answer.readinto(view[: self._answer_end - self._position])
            if not count:
                raise self._broken_off(self._position)
            self._answer_at = self._position + count
        except BaseException:
            # Between bytes that were taken and their count, what comes next is anybody's guess.
            self._drop(drain=False)
            raise
        self._count(bytes_read=count)
        return count

    def _here(self, wanted: int) -> Reading:
        """An answer that goes on at the position."""
        if self._is_unread:
            self._is_begun()
        if self._answer is not None and self._position == self._answer_end:
            self._drop()
        if self._answer is not None and self._position != self._answer_at:
            ahead = self._position - self._answer_at
            if self._position < self._answer_end and self._plan.skip(ahead):
                self._read_over(ahead)
            else:
                if self._position >= self._answer_end:
                    self._plan.skip(-1)
                self._drop()
        elif self._answer is None and self._position != self._answer_at:
            self._plan.skip(-1 if self._answer_at else self._plan.readahead_bytes)
        if self._answer is None:
            end = self._plan.end_of(self._position, wanted)
            self._answer = self._request_range(self._position, end)
            self._answer_at, self._answer_end = self._position, end
        return self._answer

    def _read_over(self, ahead: int) -> None:
        assert self._answer is not None
        waste = memoryview(bytearray(ahead))
        while ahead:
            count = self._answer.readinto(waste[:ahead])
            if not count:
                raise self._broken_off(self._position - ahead)
            ahead -= count
            self._count(bytes_discarded=count)
        self._answer_at = self._position

    def _request_range(self, start: int, end: int) -> Reading:
        """Request bytes of the opened object. Raises `FileChanged` if the object was replaced or
        deleted."""
        settings = self._settings
        by_version = settings.by_version and self._info.version_id is not None
        guards = settings.is_compared_by_store and not by_version
        try:
            reading, etag = self._store.get(
                self._info.key,
                start,
                end,
                etag=self._info.etag if guards else None,
                version_id=self._info.version_id if by_version else None,
            )
        except (errors.Unreachable, errors.CallTimeout) as error:
            raise _GivenUp(error) from error
        except NotAsExpected as error:
            raise self._changed() from error
        except errors.EndOfFile as error:
            raise self._changed() from error
        except errors.PathNotFound as error:
            raise errors.FileChanged(
                f"{self._path} was deleted while it was open for reading"
            ).about(self._path) from error
        self._count(requests=1)
        if etag and etag != self._info.etag:
            if settings.detects_changes and not settings.warns_of_changes:
                reading.close(end - start)
                raise self._changed()
            if settings.warns_of_changes:
                log.warning("%s was replaced while it was open, and is read on", self._path)
            self._info = replace(self._info, etag=etag, crc32c=None)
        return reading

    def _changed(self) -> errors.HowdahError:
        return errors.FileChanged(
            f"{self._path} was replaced while it was open for reading (it is no more the object "
            f"with the ETag {self._info.etag}); open it again"
        ).about(self._path)

    def _broken_off(self, at: int) -> errors.HowdahError:
        return errors.Unreachable(
            f"{self._path}: the store's answer ended at {at} of {self.length} bytes"
        ).about(self._path)

    def _tried(self, read: Callable[[], int]) -> int:
        failures = 0
        while True:
            try:
                return read()
            except _GivenUp as given_up:
                # The store has made the request as often as it is to be made.
                raise given_up.error from given_up.error.__cause__
            except (errors.Unreachable, errors.CallTimeout) as error:
                self._check_open()
                failures += 1
                self._retrying.wait(f"reading {self._path}", error, failures)
                self._count(repeated=1)

    def _verify(self, data: memoryview) -> None:
        """Sum up what is read without a gap from the first byte on."""
        if self._info.crc32c is None:
            return
        sum_, at = self._summed if self._position else (0, 0)
        if at != self._position:
            self._check_trusted()
            return
        sum_, at = crc(ChecksumType.CRC32C, data, sum_), at + len(data)
        self._summed = sum_, at  # at once: an interrupt in between would sum bytes up twice
        if at == self.length:
            self._compare(sum_)

    def _compare(self, crc32c: int) -> None:
        if crc32c != self._info.crc32c:
            with self._own():
                self._drop(drain=False)
                self._whole = memoryview(b"")
            self._mismatch = errors.ChecksumMismatch(
                f"{self._path}: what was read has the CRC32C {crc32c:08x}, and the object "
                f"{self._info.crc32c:08x} by what the store says"
            ).about(self._path)
            raise self._mismatch
        self._mismatch = None
        self._count(is_verified=True)

    def _check_trusted(self) -> None:
        """Raise for bytes that cannot be compared, if the file as a whole did not fit."""
        if self._mismatch is not None and self._info.crc32c is not None:
            raise errors.ChecksumMismatch(
                f"{self._mismatch.message}; only a read of the whole file can show that it is "
                "sound by now"
            ).about(self._path)

    # --- positioned reads ---------------------------------------------------------------

    def pread_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        """Fill `buffer` from `offset`; how many bytes, fewer only at the end of the file."""
        self._check_range(offset)
        view = memoryview(buffer).cast("B")
        view = view[: max(min(len(view), self.length - offset), 0)]
        filled = 0

        def read() -> int:
            nonlocal filled
            if whole := self._whole:
                filled = _copied(whole, offset, view)
                return filled
            if self._is_unread:
                # What waits for who reads on does so; further files are rather looked at.
                self._openings.learn(is_straight=False)
            answer = self._request_range(offset + filled, offset + len(view))
            try:
                while filled < len(view):
                    count = answer.readinto(view[filled : filled + _PIECE_BYTES])
                    if not count:
                        raise self._broken_off(offset + filled)
                    filled += count
            finally:
                answer.close(0)
            return filled

        if len(view):
            self._tried(read)
            self._count(bytes_read=filled)
            if filled != self.length:
                self._check_trusted()
            elif self._info.crc32c is not None:
                self._compare(crc(ChecksumType.CRC32C, view))
        return filled

    def read_vectored(self, ranges: Sequence[FileRange]) -> list[Future[bytes | memoryview]]:
        """A future for each; ranges near each other are one request."""
        self._check_open()
        return read_vectored(self, ranges, self._rules)

    # --- the rest -----------------------------------------------------------------------

    def statistics(self) -> ObjectInputStatistics:
        return self._counts

    def _count(
        self,
        bytes_read: int = 0,
        requests: int = 0,
        bytes_discarded: int = 0,
        repeated: int = 0,
        is_verified: bool = False,
    ) -> None:
        if bytes_read:
            self._tally.add(Count.BYTES_READ, bytes_read)
        with self._own():
            known = self._counts
            self._counts = ObjectInputStatistics(
                known.bytes_read + bytes_read,
                known.requests + requests,
                known.bytes_discarded + bytes_discarded,
                known.repeated + repeated,
                known.is_verified or is_verified,
            )

    def _forget_connection(self) -> None:
        self._answer = None
        self._openings.waits_no_more(self)

    def _drop(self, *, drain: bool = True) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            self._openings.waits_no_more(self)
            left = self._answer_end - self._answer_at
            answer.close(left if drain else 0)

    def has_capability(self, capability: str) -> bool:
        return capability in _CAPABILITIES

    def unbuffer(self) -> None:
        with self._own():
            self._drop(drain=False)
            self._whole = memoryview(b"")

    def set_readahead(self, length: int | None) -> None:
        """How many bytes are read at least when reads are at random; None: as configured."""
        if length is not None and length < 0:
            raise errors.IllegalArgument(f"cannot read {length} bytes ahead")
        with self._own():
            self._plan.readahead_bytes = (
                self._settings.readahead_bytes if length is None else max(length, 1)
            )


def _copied(whole: memoryview, offset: int, view: memoryview) -> int:
    data = whole[offset : offset + len(view)]
    view[: len(data)] = data
    return len(data)
