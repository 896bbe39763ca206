"""Copies at the store's side, what is compared of them, and renames made of them (shell).

A copy is one request, or an upload of parts that the store copies; each says by its ETag which
object it means. What is compared of a copy that is to be verified:

1. The CRC32C, where the store computes it for copies. A copy that nobody came to compare (its
   program was killed) has it as well: whoever compares checksums later finds a difference.
2. Else the ETag, where it is a sum of the bytes. The object is copied as the only part of an
   upload, which is completed if the part has the ETag of the source: so no copy has its name that
   was not compared, and none could be found out later.
3. Else the MD5 that the store keeps of the source, where the store can hold what it copies
   against that, before the copy has its name (Azure).
4. Where there is none of these, nothing is copied.

A rename is a copy of every object and then the removal of the old ones: it costs as much as
there are objects, and who looks meanwhile sees both. If it fails the old objects are all
there, and some of the new ones may be. Of a directory objects that were replaced while others
were copied stay. An object that is replaced within the moment before its removal is lost, as
stores remove by name.
"""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from howdah import errors
from howdah.client.thread_pool import Workers
from howdah.fs import paths
from howdah.fs.objects.names import key_of, path_of, prefix_of
from howdah.fs.objects.parts import MAX_COPY_BYTES, pieces
from howdah.fs.objects.store import (
    HoldsCopies,
    NotAsExpected,
    ObjectInfo,
    ObjectStore,
    Part,
    Stored,
    UploadLost,
    joined_crc32c,
)
from howdah.fs.objects.tree import Found, Tree
from howdah.fs.objects.tuning import Tuning
from howdah.options import CopyCheck

log = logging.getLogger(__name__)


BY_CRC: Final = "COMPOSITE-CRC32C"
BY_ETAG: Final = "ETag"
BY_MD5: Final = "MD5"
BY_LENGTH: Final = "length"
_IN_PARTS: Final = "-"
"""In the ETag of an object that was put together of parts, before their number."""
_OF_ONE_PART: Final = "-1"
_NOT_REFUSED: Final = (
    errors.FileChanged,
    errors.PathNotFound,
    errors.UnknownStore,
    errors.RetriableError,
    errors.Unreachable,
    errors.CallTimeout,
    errors.ChecksumMismatch,
    errors.NotCopiedByServer,
)


class Copying:
    """Copies objects to one bucket."""

    def __init__(self, store: ObjectStore, settings: Tuning, workers: Workers) -> None:
        self._store = store
        self._settings = settings
        self._workers = workers
        self._gives_own_etags = False

    def verified(self, source: ObjectInfo, key: str, check: CopyCheck) -> str:
        """Copy an object of this or another bucket; what was found to be the same of the copy.
        Raises `NotCopiedByServer` if the store refuses, or tells too little."""
        by_crc = source.crc32c is not None and self._store.sums_copies
        by_etag = not by_crc and self._has_etag_of_its_bytes(source)
        try:
            if check is CopyCheck.CHECKSUM and not by_crc:
                if source.md5 is not None and isinstance(self._store, HoldsCopies):
                    with _naming(source):
                        self._store.copy_with_md5(source, key)
                    return BY_MD5
                if not by_etag:
                    raise errors.NotCopiedByServer(
                        f"the store has no sum of {_named(source)} that its copy has as well"
                    )
                if source.length:  # of nothing a store copies no part
                    self._by_etag(source, key)
                    return BY_ETAG
            made = self.copy(source, key)
        except _NOT_REFUSED:
            raise
        except errors.HowdahError as error:
            raise errors.NotCopiedByServer(f"the store refuses: {error}") from error
        if check is CopyCheck.NOTHING:
            return ""
        return self._compared(source, key, made, check)

    def _has_etag_of_its_bytes(self, source: ObjectInfo) -> bool:
        return (
            self._store.keeps_etags
            and not self._gives_own_etags
            and (_IN_PARTS not in source.etag or source.etag.endswith(_OF_ONE_PART))
            and source.length <= MAX_COPY_BYTES
        )

    def _by_etag(self, source: ObjectInfo, key: str) -> Stored:
        def check(parts: Sequence[Part]) -> None:
            if is_etag_of(source.etag, parts[0].etag):
                return
            self._gives_own_etags = True
            raise errors.NotCopiedByServer(
                f"the store gives the copy of {_named(source)} an ETag of its own, and no checksum"
            )

        with _naming(source):
            return self._copy_in_parts(source, key, source.length, check)

    def _compared(self, source: ObjectInfo, key: str, made: Stored, check: CopyCheck) -> str:
        copied = self._store.head(key)
        if made.etag and copied.etag != made.etag:
            raise errors.RemoteError(f"{path_of(key)} was replaced as soon as it was copied")
        both = copied.crc32c, source.crc32c
        has_crcs = self._store.sums_copies and None not in both
        if copied.length != source.length or (has_crcs and copied.crc32c != source.crc32c):
            self._store.delete(key)
            raise errors.ChecksumMismatch(
                f"{path_of(key)}, which the store copied of {_named(source)}, had "
                f"{copied.length} bytes for {source.length}, and another checksum or none; it is "
                "removed again"
            )
        if has_crcs:
            return BY_CRC
        if self._store.keeps_etags and copied.etag == source.etag:
            return BY_ETAG
        if check is CopyCheck.CHECKSUM:
            # Whoever compares lengths and times later would take it for verified.
            self._store.delete(key)
            raise errors.NotCopiedByServer(
                f"the store gives the copy of {_named(source)} no checksum"
            )
        return BY_LENGTH

    def copy(self, source: ObjectInfo, key: str) -> Stored:
        """An object under another key; raises `FileChanged` if it was replaced meanwhile."""
        with _naming(source):
            if source.length > self._settings.copy_threshold_bytes:
                return self._copy_in_parts(source, key, self._settings.copy_part_bytes)
            return self._store.copy(source, key)

    def _copy_in_parts(
        self,
        source: ObjectInfo,
        key: str,
        part_bytes: int,
        check: Callable[[Sequence[Part]], None] = lambda _: None,
    ) -> Stored:
        """Copy an object in parts, and call `check` before the copy gets its name."""
        # The mark of this copy, as of a stream: it may have to be known again.
        writer = uuid.uuid4().hex
        upload_id = self._store.begin_upload(key, exclusive=False, writer=writer, like=source)
        flying: list[Future[Part]] = []
        try:
            for piece in pieces(source.length, part_bytes):
                where = source, key, upload_id, piece.number, piece.start, piece.end
                flying.append(self._workers.submit(partial(self._store.copy_part, *where)))
            parts = [future.result() for future in flying]
            check(parts)
            joined = joined_crc32c(parts)
            if None not in (joined, source.crc32c) and joined != source.crc32c:
                raise errors.ChecksumMismatch(
                    f"{path_of(key)}: the copies of the parts of {path_of(source.key)} have the "
                    f"CRC32C {joined:08x}, and the whole {source.crc32c:08x}"
                )
            return self._completed(source, key, upload_id, parts, writer)
        except BaseException as error:
            self._give_up(key, upload_id, flying, error)
            raise

    def _completed(
        self, source: ObjectInfo, key: str, upload_id: str, parts: Sequence[Part], writer: str
    ) -> Stored:
        try:
            return self._store.complete_upload(key, upload_id, parts, exclusive=False)
        except (
            UploadLost,
            errors.Unreachable,
            errors.CallTimeout,
            errors.RetriableError,
        ) as error:
            info = self._object_info(key)
            if info is not None and (info.writer, info.length) == (writer, source.length):
                log.info("%s is there: only the answer to its copy was lost", path_of(key))
                return Stored(info.etag, info.version_id, info.crc32c)
            if isinstance(error, UploadLost):
                raise errors.RemoteError(
                    f"{path_of(key)}: the parts of its copy were removed before it was complete, "
                    "and it is not there; copy it again"
                ).about(path_of(key)) from error
            raise

    def _object_info(self, key: str) -> ObjectInfo | None:
        try:
            return self._store.head(key)
        except errors.PathNotFound:
            return None

    def _give_up(
        self, key: str, upload_id: str, flying: Sequence[Future[Part]], cause: BaseException
    ) -> None:
        """Leave no part; what keeps that from being done is a note of the cause."""
        _wait_for_those_that_run(flying)
        try:
            self._store.abort_upload(key, upload_id)
        except UploadLost:
            log.debug("nothing is left of the upload of %s", path_of(key))
        except (errors.HowdahError, OSError) as error:
            cause.add_note(
                f"parts of {path_of(key)} stay at the store (upload {upload_id}), since they "
                f"could not be removed: {error}; abort_uploads of the filesystem removes them"
            )

    def copy_below(self, tree: Tree, source: str, target: str) -> dict[str, set[str]]:
        """Copy every object below a directory, several at a time. Return the old keys, each with
        the ETags of what was copied, as a listing and the object itself tell it."""
        old, new = prefix_of(source), prefix_of(target)
        flying: deque[Future[Stored]] = deque()
        done: dict[str, set[str]] = {}
        limit = min(self._settings.threads, self._settings.connections)
        try:
            for page in tree.below(source):
                for listed in page.objects:
                    if len(flying) >= limit:
                        flying.popleft().result()
                    info = self._store.head(listed.key) if self.is_large(listed) else listed
                    done[info.key] = {listed.etag, info.etag}
                    flying.append(self._begin(info, new + info.key.removeprefix(old)))
            while flying:
                flying.popleft().result()
        finally:
            # Who is told of a failure finds no more copies than there are then.
            _wait_for_those_that_run(flying)
        return done

    def is_large(self, source: ObjectInfo) -> bool:
        """Whether an object is copied in parts."""
        return source.length > self._settings.copy_threshold_bytes

    def _begin(self, source: ObjectInfo, key: str) -> Future[Stored]:
        # Parts are copied by the same threads, which must not wait for each other.
        if self.is_large(source):
            ready: Future[Stored] = Future()
            ready.set_result(self.copy(source, key))
            return ready
        return self._workers.submit(lambda: self.copy(source, key))


def is_etag_of(etag: str, part_etag: str) -> bool:
    """Whether an object with this ETag has the bytes of a part with the other one, as far as
    ETags are made of bytes: an object in one part has the MD5 of its part's.

    >>> is_etag_of("900150983cd24fb0d6963f7d28e17f72", "900150983cd24fb0d6963f7d28e17f72")
    True
    >>> is_etag_of("af5da9f45af7a300e3aded972f8ff687-1", "900150983cd24fb0d6963f7d28e17f72")
    True
    """
    if not etag.endswith(_OF_ONE_PART):
        return etag == part_etag
    try:
        raw = bytes.fromhex(part_etag)
    except ValueError:
        return False
    return etag == hashlib.md5(raw, usedforsecurity=False).hexdigest() + _OF_ONE_PART


@contextmanager
def _naming(source: ObjectInfo) -> Iterator[None]:
    path = path_of(source.key)
    try:
        yield
    except NotAsExpected as error:
        raise errors.FileChanged(f"{path} was replaced while it was copied") from error
    except errors.PathNotFound as error:
        # The store's own error names the copy.
        raise errors.PathNotFound(f"File does not exist: {path}").about(path) from error


def _named(source: ObjectInfo) -> str:
    return path_of(source.key) if source.bucket is None else f"{source.bucket}{path_of(source.key)}"


def _wait_for_those_that_run(flying: Iterable[Future[Any]]) -> None:
    """Cancel the copies that have not begun, and wait for the others."""
    waited = list(flying)
    for future in waited:
        future.cancel()
    for future in waited:
        if not future.cancelled():
            future.exception()


def rename(tree: Tree, copying: Copying, source: str, target: str, *, overwrite: bool) -> None:
    """Copy what is at `source` to `target`, then remove the source.

    Raises `PathNotFound`, `PathExists`, `ParentNotDirectory`, `DirectoryNotEmpty`.
    """
    if paths.SEPARATOR in (source, target):
        raise errors.RemoteError("neither end of a rename can be the root")
    entry = tree.find(source)
    if source == target:
        raise errors.PathExists(f"The source and destination {target} are the same")
    if paths.is_under(target, source):
        raise errors.RemoteError(f"Rename destination {target} is under source {source}")
    _check_target(tree, entry, target, overwrite=overwrite)
    if entry.info is not None:
        copying.copy(entry.info, key_of(target))
        # A small one takes no time in which it could be replaced.
        now = tree.file(source) if copying.is_large(entry.info) else None
        if now is not None and now.etag != entry.info.etag:
            raise errors.FileChanged(
                f"{source} was copied to {target}, but replaced meanwhile: it stays"
            )
        tree.delete_file(source)
    else:
        old = copying.copy_below(tree, source, target)
        replaced = [
            info.key
            for page in tree.below(source)
            for info in page.objects
            if info.key in old and info.etag not in old[info.key]
        ]
        for key in replaced:
            del old[key]
        refused = tree.store.delete_many(list(old))
        if replaced:
            raise errors.FileChanged(
                f"{source} was copied to {target}, but {len(replaced)} of its objects were "
                f"replaced meanwhile, the first is {path_of(replaced[0])}: these stay"
            )
        if refused:
            raise type(refused[0].error)(
                f"{source} was copied to {target}, but {len(refused)} of its objects could not be "
                f"removed, the first is {path_of(refused[0].key)}: {refused[0].error}"
            )
    if paths.parent_of(source) != paths.parent_of(target):
        tree.ensure_directory(paths.parent_of(source))


def _check_target(tree: Tree, source: Found, target: str, *, overwrite: bool) -> None:
    there: Found | None = None
    try:
        there = tree.find(target)
    except errors.PathNotFound:
        parent = paths.parent_of(target) or paths.SEPARATOR
        if not tree.find(parent).is_directory:
            raise errors.ParentNotDirectory(f"{parent} is a file, and no directory") from None
        return
    if not overwrite:
        raise errors.PathExists(f"rename destination {target} already exists")
    if there.is_directory != source.is_directory:
        raise errors.RemoteError(
            f"Source {source.path} and destination {target} must both be directories, or files"
        )
    if there.is_directory and tree.has_entries(target):
        raise errors.DirectoryNotEmpty(f"rename destination {target} is not empty")
