"""A file that is written to a store (shell).

1. Bytes fill a part in memory, by reference where nobody can change them. A full part goes up
   beside the writer, at most `active_parts` of them; who writes faster waits.
2. What fits into the first part is one request, made by `close`.
3. `close` waits for all parts and completes the upload: the object is there, whole, or it
   raises, the parts are removed and the object is not there. Nothing is uploaded twice, and
   closing again does nothing.
4. A stream that was to make a new file says so to the store as well: another one's file, made
   meanwhile, stays (XC-012, LM-055).
5. If an answer of the store was lost, the writer's mark in the object's metadata tells
   whether it is there (LM-056).
6. A stream that is dropped without being closed, and one that is aborted, leaves nothing.
7. Ctrl-C may come at any moment. A part leaves the line of those on their way when it is among
   those that are there, and an upload is completed with all its parts only; a write or a close
   that is interrupted gives up what the store has.
"""

from __future__ import annotations

import _thread
import logging
import sys
import uuid
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.client.thread_pool import Workers
from howdah.fs import capabilities
from howdah.fs.objects.parts import MAX_PARTS, Pieces, part_bytes
from howdah.fs.objects.store import (
    Body,
    NotAsExpected,
    ObjectInfo,
    ObjectStore,
    Part,
    UploadLost,
)
from howdah.fs.output_base import OutputUntilClose
from howdah.options import AbortableResult

log = logging.getLogger(__name__)

_CAPABILITIES: Final = frozenset((capabilities.ABORTABLE_STREAM,))
_PATIENCE_S: Final = 30.0
"""How long a destructor waits until the store has removed what it has of the stream."""


@dataclass(frozen=True, slots=True)
class ObjectOutputStatistics:
    """What a stream has done: bytes that it took, parts and bytes that the store has."""

    bytes_written: int
    parts_uploaded: int
    bytes_uploaded: int
    is_multipart: bool


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be written, and how."""

    path: str
    key: str
    exclusive: bool
    part_bytes: int
    active_parts: int


class ObjectOutput(OutputUntilClose):
    """Writes an object for an `FSDataOutputStream`."""

    store = "a store"

    def __init__(
        self,
        store: ObjectStore,
        target: Target,
        workers: Workers,
        ended: Callable[[ObjectOutput], None],
        progress: Callable[[], None] | None = None,
    ) -> None:
        """`ended` is called once, when the stream is closed or aborted."""
        super().__init__(target.path, progress)
        self._store = store
        self._target = target
        self._workers = workers
        self._ended = ended
        self._writer = uuid.uuid4().hex
        self._upload_id: str | None = None
        self._pending = Pieces()
        self._begun = 0
        self._flying: deque[Future[Part]] = deque()
        self._parts: list[Part] = []
        self._uploading: set[int] = set()
        """Threads that do."""
        self._is_settled = False
        """Whether the upload was completed or given up, or could not be."""

    def _accept(self, view: memoryview) -> None:
        taken = 0
        while taken < len(view):
            room = self._part_bytes() - len(self._pending)
            if not room:
                self._begin_part()
                continue
            piece = view[taken : taken + room]
            self._pending.add(piece)
            taken += len(piece)
            self._position += len(piece)

    def _part_bytes(self) -> int:
        return part_bytes(self._begun + 1, self._target.part_bytes)

    def _begin_part(self) -> None:
        """Send what is pending on its way, when there is room for one part more."""
        if self._begun == MAX_PARTS:
            raise errors.RemoteError(
                f"{self.path} has {self._position} bytes in {MAX_PARTS} parts, which is all "
                "that a store takes"
            )
        if self._upload_id is None:
            self._upload_id = self._store.begin_upload(
                self._target.key, exclusive=self._target.exclusive, writer=self._writer
            )
        while len(self._flying) >= self._target.active_parts:
            self._land()
        self._begun += 1
        self._flying.append(self._workers.submit(self._upload(self._begun, self._pending)))
        self._pending = Pieces()

    def _land(self) -> None:
        """Wait for the oldest of the parts on their way."""
        # It leaves the line last: who interrupts the wait loses no part.
        self._parts.append(self._flying[0].result())
        self._flying.popleft()

    def _upload(self, number: int, body: Body) -> Callable[[], Part]:
        key, upload_id = self._target.key, self._upload_id
        assert upload_id is not None

        def upload() -> Part:
            self._uploading.add(_thread.get_ident())
            try:
                return self._store.upload_part(key, upload_id, number, body)
            finally:
                self._uploading.discard(_thread.get_ident())

        return upload

    def _give_up(self, cause: BaseException) -> None:
        """The store is to keep nothing of it."""
        super()._give_up(cause)
        cleanup = self._discard()
        if cleanup is not None:
            log.warning(
                "parts of %s stay at the store (upload %s), since they could not be removed: %s; "
                "abort_uploads of the filesystem removes them",
                self.path,
                self._upload_id,
                cleanup,
            )

    def _discard(self) -> Exception | None:
        """Remove the parts that are stored or in flight. Return the error that prevented it."""
        self._pending = Pieces()
        for future in self._flying:
            future.cancel()
        for future in self._flying:
            if not future.cancelled():
                future.exception()  # an upload that ends behind the abort would leave its part
        self._flying.clear()
        if self._upload_id is None:
            return None
        failure: Exception | None = None
        try:
            self._store.abort_upload(self._target.key, self._upload_id)
        except UploadLost:
            log.debug("nothing is left of the upload of %s", self.path)
        except (errors.HowdahError, OSError) as error:
            failure = error
        self._is_settled = True
        return failure

    def has_capability(self, capability: str) -> bool:
        return capability in _CAPABILITIES

    def statistics(self) -> ObjectOutputStatistics:
        with self._lock:
            done = [*self._parts, *(e.result() for e in self._flying if _is_well(e))]
            return ObjectOutputStatistics(
                bytes_written=self._position,
                parts_uploaded=len(done),
                bytes_uploaded=sum(part.length for part in done),
                is_multipart=self._upload_id is not None,
            )

    # --- the end ------------------------------------------------------------------------

    def close(self) -> None:
        """The object is whole and visible when this returns; it is not there if it raises."""
        if self._is_parents():
            self._closed = True
            return
        with self._lock:
            if self._closed:
                return
            try:
                self._closed = True
                if self._failure is not None:
                    raise self._failure
                self._finish()
            finally:
                self._pending = Pieces()
                self._ended(self)

    def _finish(self) -> None:
        try:
            if self._upload_id is None:
                self._put()
                return
            if self._pending:
                self._begin_part()
            while self._flying:
                self._land()
            self._check_whole()
            self._complete(self._upload_id)
            self._is_settled = True
        except BaseException as error:
            if self._failure is None:
                self._give_up(error)
            raise

    def _check_whole(self) -> None:
        """A store makes an object of the parts that are named, and misses none."""
        length = sum(part.length for part in self._parts)
        numbers = [part.number for part in self._parts]
        if numbers != [*range(1, self._begun + 1)] or length != self._position:
            raise errors.RemoteError(
                f"{self.path}: the store has {len(numbers)} of {self._begun} parts, and {length} "
                f"of {self._position} bytes; the file is not completed"
            ).about(self.path)

    def _put(self) -> None:
        """All in one request. One that is made again finds what it has made itself."""
        try:
            self._store.put(
                self._target.key,
                self._pending,
                exclusive=self._target.exclusive,
                writer=self._writer,
            )
        except NotAsExpected as error:
            if self._is_there() is None:
                raise self._there_is_another() from error
        except (errors.Unreachable, errors.CallTimeout, errors.RetriableError):
            if self._is_there() is None:
                raise

    def _complete(self, upload_id: str) -> None:
        try:
            self._store.complete_upload(
                self._target.key, upload_id, self._parts, exclusive=self._target.exclusive
            )
        except NotAsExpected as error:
            if self._is_there() is None:
                raise self._there_is_another() from error
        except (
            UploadLost,
            errors.Unreachable,
            errors.CallTimeout,
            errors.RetriableError,
        ) as error:
            if self._is_there() is None:
                if isinstance(error, UploadLost):
                    raise errors.RemoteError(
                        f"{self.path}: its parts were removed before it was closed, and it is "
                        "not there; write it again"
                    ).about(self.path) from error
                raise

    def _there_is_another(self) -> errors.HowdahError:
        return errors.PathExists(
            f"{self.path} was made by somebody else while this stream was writing; what it wrote "
            "is dropped"
        ).about(self.path)

    def _is_there(self) -> ObjectInfo | None:
        """Return the object if this stream wrote it, which means that only the answer was lost."""
        try:
            info = self._store.head(self._target.key)
        except errors.PathNotFound:
            return None
        if info.writer != self._writer or info.length != self._position:
            return None
        log.info("%s is there: only the answer of the store to its close was lost", self.path)
        return info

    def abort(self) -> AbortableResult:
        """Give up: nothing that was written will ever be seen (OS-183)."""
        if self._is_parents():
            already_closed, self._closed = self._closed, True
            return AbortableResult(already_closed)
        with self._lock:
            if self._closed:
                return AbortableResult(already_closed=True)
            try:
                self._closed = True
                if self._failure is not None:
                    return AbortableResult(already_closed=False)
                return AbortableResult(already_closed=False, cleanup_error=self._discard())
            finally:
                self._ended(self)

    def dropped(self) -> None:
        """Nobody has the stream any more. If nobody closed it, half of a file is no file; and
        who was interrupted in cleaning up may have left parts."""
        if self._is_parents() or (self._closed and (self._is_settled or self._upload_id is None)):
            return
        if not self._closed:
            log.warning("%s was dropped without being closed: nothing of it stays", self.path)
            self._closed = True
            self._ended(self)
        # A destructor comes at any moment: this thread may hold a lock that a request needs, or
        # upload the very part for which the clean-up waits. (`threading` has a lock of its own.)
        done = _thread.allocate_lock()
        done.acquire()
        try:
            if sys.is_finalizing():
                raise RuntimeError("no thread runs any more")
            _thread.start_new_thread(self._clean_up, (done,))
        except RuntimeError:
            self._clean_up(done)
        if _thread.get_ident() not in self._uploading:
            done.acquire(timeout=_PATIENCE_S)

    def _clean_up(self, done: _thread.LockType) -> None:
        try:
            with self._lock:
                self._discard()
        finally:
            done.release()


def _is_well(part: Future[Part]) -> bool:
    return part.done() and not part.cancelled() and part.exception() is None
