"""Uploads in parts (shell). Each is a directory in its user's staging, with a file for each part.

To complete one:

1. the first part gets what is kept with the object, and a name that says which parts are meant,
2. the namenode puts the blocks of the others behind it (`concat`), all at once; no byte is moved,
3. the file is renamed to its key, and the directory is deleted.

Whoever sends the same again after a failure goes on where that ended, or hears that it is done.
Filesystems without `concat` copy the parts into one file.
"""

from __future__ import annotations

import dataclasses
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.fs import capabilities, paths
from howdah.fs.status import FileStatus
from howdah.gateway.s3.objects import Bucket, Written, pieces_of
from howdah.gateway.s3.protocol.metadata import Metadata
from howdah.gateway.s3.protocol.multipart import (
    ABOUT,
    RANDOM_BYTES,
    About,
    Part,
    WantedPart,
    about_of,
    check_parts,
    completed,
    is_upload_id,
    joined_name,
    kind_of_upload,
    part_name,
    part_of,
    parts_there,
    upload_id,
)
from howdah.gateway.s3.protocol.names import Key
from howdah.gateway.s3.protocol.part_sums import PartDigest, SumKind
from howdah.gateway.s3.protocol.refusals import Refused

if TYPE_CHECKING:
    from typing_extensions import Buffer

log = logging.getLogger(__name__)

_UPLOADS: Final = "uploads"
_OBJECTS: Final = "objects"
_COPIED: Final = "-copied"
"""Behind the name of a file into which the parts were copied: they are still there."""
_SWEEP_S: Final = 3600.0
_NOT_THERE: Final = (errors.PathNotFound, errors.ParentNotDirectory)


@dataclasses.dataclass(frozen=True, slots=True)
class Upload:
    """One that is under way."""

    id: str
    key: str
    begun_ms: int


class Uploads:
    """Those of one bucket and user, for one request."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._fs = bucket.fs

    def begin(self, key: Key, metadata: Metadata, kind: SumKind | None = None) -> str:
        """Begin an upload, and return its id."""
        self._bucket.check_may_make(key)
        self._bucket.check_zone(key)
        new_id = upload_id(key.text, secrets.token_bytes(RANDOM_BYTES), kind)
        directory = self._directory(new_id)
        about = About(key.text, dataclasses.replace(metadata, upload=new_id))
        with self._bucket.staged([about.encoded()]) as path:
            self._fs.mkdirs(directory, 0o700)
            self._fs.rename(path, paths.join(directory, ABOUT))
        return new_id

    def add(self, key: Key, text: str, number: int, pieces: Iterable[Buffer]) -> Part:
        """Add a part. One with its number that came before does not count any more; it goes with
        the upload. Raises Refused."""
        directory = self._checked(key, text)
        kind = kind_of_upload(text)
        digest = PartDigest(None if kind is None else kind.algorithm)
        with self._bucket.staged(_digested(pieces, digest)) as path:
            status = self._fs.get_file_status(path)
            target = paths.join(directory, part_name(number, digest))
            try:
                self._fs.rename(path, target, overwrite=True)
            except errors.PathNotFound:
                raise no_such_upload(text) from None
        part = part_of(dataclasses.replace(status, path=target))
        assert part is not None, "its name was made just now"
        return part

    def check(self, key: Key, text: str) -> None:
        """Raises Refused where there is no such upload."""
        directory = self._checked(key, text)
        if not self._fs.exists(paths.join(directory, ABOUT)):
            raise no_such_upload(text)

    def parts(self, key: Key, text: str) -> dict[int, Part]:
        """The parts of an upload, by their numbers, in order. Raises Refused."""
        return parts_there(self._files(self._checked(key, text), text))

    def abort(self, key: Key, text: str) -> None:
        """Raises Refused where there is no such upload."""
        self.check(key, text)
        self._fs.delete(self._directory(text), recursive=True)

    def all(self, prefix: str) -> list[Upload]:
        """The user's uploads for keys with a prefix, in the order of keys and ids."""
        found = []
        for status in self._directories(_UPLOADS):
            try:
                about = self._about(status.path)
                begun = self._fs.get_file_status(paths.join(status.path, ABOUT))
            except _NOT_THERE:
                continue  # It has just ended, or begins.
            if about.key.startswith(prefix):
                found.append(Upload(status.name, about.key, begun.modification_time_ms))
        # Pages go on behind a key and an id, so that these are the order.
        return sorted(found, key=lambda upload: (upload.key, upload.id))

    def complete(
        self, key: Key, text: str, wanted: Sequence[WantedPart], headers: Mapping[str, str]
    ) -> Written:
        """Make the object of these parts. Raises Refused."""
        directory = self._checked(key, text)
        with self._bucket.held(directory):
            try:
                written = self._completed_before(key, text)
                if written is None:
                    written = self._completed(directory, key, text, wanted, headers)
            except _NOT_THERE as error:
                # Another gateway is at it too, or it is aborted.
                raise Refused(
                    "ServiceUnavailable",
                    "this upload is completed or aborted by another request: try again",
                    headers={"Retry-After": "1"},
                ) from error
            self._fs.delete(directory, recursive=True)
        return written

    def _completed(
        self,
        directory: str,
        key: Key,
        text: str,
        wanted: Sequence[WantedPart],
        headers: Mapping[str, str],
    ) -> Written:
        files = {status.name: status for status in self._files(directory, text)}
        about, kind = self._about(directory), kind_of_upload(text)
        self._bucket.check_writable(key, headers)
        path = self._joined(
            directory,
            wanted,
            files,
            kind,
            lambda parts: completed(about.metadata, parts, kind, headers),
        )
        metadata = self._bucket.metadata(path)
        written = self._bucket.publish(path, key, headers)
        return dataclasses.replace(written, metadata=metadata)

    def _completed_before(self, key: Key, text: str) -> Written | None:
        """The object, if this upload has made it already: whoever was not told asks again."""
        status = self._bucket.find(key)
        if status is None:
            return None
        try:
            metadata = self._bucket.metadata(status.path)
            is_made = metadata.upload == text
            return Written(status, metadata.version, metadata) if is_made else None
        except errors.AccessDenied:
            return None  # It is another user's, and may be replaced all the same.

    def _joined(
        self,
        directory: str,
        wanted: Sequence[WantedPart],
        files: Mapping[str, FileStatus],
        kind: SumKind | None,
        kept: Callable[[Sequence[Part]], Metadata],
    ) -> str:
        """Make one file of the parts, with what is kept with it, and return its path. Raises
        Refused."""
        target = paths.join(directory, joined_name(wanted))
        if f"{paths.name_of(target)}{_COPIED}" in files:
            return target + _COPIED
        there = parts_there(list(files.values()))
        behind = [part.number for part in wanted[1:]]
        if paths.name_of(target) in files:
            # A completion before this one has come so far. What is empty was no source.
            if not any(there[number].status.length for number in behind if number in there):
                return target
            check_parts(wanted[1:], there, kind)
        else:
            check_parts(wanted, there, kind)
            first = there[wanted[0].number].status.path
            self._bucket.keep(first, kept([there[part.number] for part in wanted]))
            self._fs.rename(first, target)
        rest = [there[number].status for number in behind]
        # Only the last one may be empty, and an empty file cannot be a source.
        if rest and rest[-1].length == 0:
            rest.pop()
        return self._put_behind(target, [status.path for status in rest]) if rest else target

    def _put_behind(self, target: str, rest: Sequence[str]) -> str:
        """Return the path of the file that has all parts."""
        if self._fs.has_path_capability(target, capabilities.CONCAT):
            try:
                self._fs.concat(target, rest)
                return target
            except (
                errors.IllegalArgument,
                errors.RemoteError,
                errors.UnsupportedOperation,
            ) as error:
                # The first of them is what one hears in an encryption zone.
                log.info("%s is copied together: %s", paths.printable(target), error)
        with self._bucket.staged(self._contents([target, *rest])) as path:
            self._bucket.keep(path, self._bucket.metadata(target))
            if self._fs.has_path_capability(path, capabilities.PERMISSIONS):
                # What others may do is in the mode.
                self._fs.set_permission(path, self._fs.get_file_status(target).permission)
            self._fs.rename(path, target + _COPIED)
        return target + _COPIED

    def _contents(self, sources: Iterable[str]) -> Iterator[memoryview]:
        for source in sources:
            with self._fs.open(source) as stream:
                yield from pieces_of(stream, 0, stream.size)

    # Its directory.

    def _directory(self, text: str) -> str:
        return self._bucket.staging(_UPLOADS, text)

    def _checked(self, key: Key, text: str) -> str:
        if not is_upload_id(text, key.text):
            self._bucket.check_exists()
            raise no_such_upload(text)
        return self._directory(text)

    def _about(self, directory: str) -> About:
        with self._fs.open(paths.join(directory, ABOUT)) as stream:
            return about_of(stream.read())

    def _files(self, directory: str, text: str) -> list[FileStatus]:
        try:
            files = list(self._fs.list_status_iter(directory))
        except _NOT_THERE:
            files = []
        if not any(status.name == ABOUT for status in files):
            self._bucket.check_exists()
            raise no_such_upload(text)
        return files

    def _directories(self, name: str) -> list[FileStatus]:
        try:
            return list(self._fs.list_status_iter(self._bucket.staging(name)))
        except _NOT_THERE:
            return []

    # What nobody goes on with.

    def sweep(self, before_ms: int) -> int:
        """Delete the user's uploads, and files that were never whole, to which nothing has come
        since then; return how many."""
        count = 0
        for name in (_UPLOADS, _OBJECTS):
            for status in self._directories(name):
                if status.modification_time_ms < before_ms:
                    count += self._fs.delete(status.path, recursive=True)
        return count


class Sweeper:
    """Sweeps what a user has left in a bucket, when that user writes there, now and then.
    Thread-safe."""

    def __init__(self, lifetime_s: float, clock: Callable[[], float] = time.time) -> None:
        self._lifetime_s = lifetime_s
        self._clock = clock
        self._lock = threading.Lock()
        self._swept_s: dict[str, float] = {}

    def sweep(self, bucket: Bucket) -> None:
        place, now_s = bucket.staging(), self._clock()
        with self._lock:
            if now_s - self._swept_s.get(place, -_SWEEP_S) < _SWEEP_S:
                return
            self._swept_s = {
                path: since_s
                for path, since_s in self._swept_s.items()
                if now_s - since_s < _SWEEP_S
            }
            self._swept_s[place] = now_s
        try:
            count = Uploads(bucket).sweep(round((now_s - self._lifetime_s) * 1000))
        except errors.HowdahError as error:
            # What the user asked for is done.
            log.warning("%s is swept later: %s", paths.printable(place), error)
            return
        if count:
            log.info(
                "%s: %d unfinished uploads were too old, and are gone",
                paths.printable(place),
                count,
            )


def _digested(pieces: Iterable[Buffer], digest: PartDigest) -> Iterator[Buffer]:
    for piece in pieces:
        digest.update(piece)
        yield piece


def no_such_upload(text: str) -> Refused:
    return Refused(
        "NoSuchUpload",
        "The specified upload does not exist. The upload ID may be invalid, or the upload may have "
        "been aborted or completed.",
        UploadId=text[:100],
    )
