"""The image files of a namenode: their names, writing one durably, and checking one.

Mirrors the part of a namenode's `current` directory that is the images:

    fsimage_0000000000000000042          the namespace after transaction 42
    fsimage_0000000000000000042.md5      its sum, as `md5sum` writes it
    fsimage_rollback_0000000000000000042 the same, to go back to from a rolling upgrade
    fsimage.ckpt_0000000000000000042     being written; no reader looks at it

An image comes into being in four steps, and a crash in any of them leaves the
images before it as they were:

1. `fsimage.ckpt_N` is written in every directory, and synced
2. `fsimage_N.md5` is written
3. `fsimage.ckpt_N` is renamed to `fsimage_N`: from here on it counts
4. the directory is synced

This is the shell around `fsimage`, which knows what is in an image.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import queue
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.formats.image.sections import Sink
from howdah.runtime import disk
from howdah.runtime.atomic_files import NewFile, fsync_directory, replace_file

log = logging.getLogger(__name__)

_IMAGE: Final = re.compile(r"fsimage_(rollback_)?(\d+)", re.ASCII)
_UNFINISHED: Final = re.compile(r"fsimage\.ckpt_(\d+)", re.ASCII)
_SUM: Final = re.compile(r"(fsimage_(?:rollback_)?\d+)\.md5(\.tmp)?", re.ASCII)
_SUM_LINE: Final = re.compile(rb"([0-9a-f]{32})[ *]+(\S+)\s*")
_CHUNK_BYTES: Final = 1 << 20
_MOST_GIVEN: Final = 16
"""Pieces of an image, of a quarter of a MiB or so, that wait to be written."""


def image_name(txid: int, *, rollback: bool = False) -> str:
    """`rollback`: of an image to go back to from a rolling upgrade."""
    return f"fsimage_{'rollback_' if rollback else ''}{txid:019d}"


def unfinished_name(txid: int) -> str:
    return f"fsimage.ckpt_{txid:019d}"


def md5_path(image: Path) -> Path:
    return image.with_name(image.name + ".md5")


@dataclass(frozen=True, slots=True)
class ImageFile:
    """One image; the namespace after transaction `txid`. `rollback` says that a rolling
    upgrade may go back to it."""

    txid: int
    path: Path
    rollback: bool = False


@dataclass(frozen=True, slots=True)
class WrittenImage:
    """An image that stands under its unfinished name in `directories`.

    `failed` are the directories that could not be written, with the reasons. `rollback` says
    that it is to be one that a rolling upgrade may go back to.
    """

    txid: int
    md5: str
    size_bytes: int
    directories: tuple[Path, ...]
    failed: tuple[tuple[Path, str], ...] = ()
    rollback: bool = False

    @property
    def name(self) -> str:
        """Of the finished image."""
        return image_name(self.txid, rollback=self.rollback)


def list_images(directories: Iterable[Path]) -> list[ImageFile]:
    """Return all images of some `current` directories, newest first; of both kinds."""
    images = [
        ImageFile(int(match[2]), path, match[1] is not None)
        for directory in directories
        for path in sorted(directory.iterdir())
        if (match := _IMAGE.fullmatch(path.name))
    ]
    return sorted(images, key=lambda image: -image.txid)


def list_readable_images(directories: Iterable[Path]) -> list[ImageFile]:
    """Return the images of those directories that can be read; the others are logged."""
    images: list[ImageFile] = []
    for directory in directories:
        try:
            images += list_images([directory])
        except OSError as error:
            log.error("the images in %s cannot be listed: %s", directory, error)
    return sorted(images, key=lambda image: -image.txid)


class _Tee:
    """One sink for the files of all directories. One that fails is dropped.

    A thread sums and writes what it is given, while the next piece is computed: both give the
    interpreter's lock away.
    """

    def __init__(self, opened: dict[Path, NewFile], failed: dict[Path, str]) -> None:
        self._opened = opened
        self._failed = failed
        self._given: queue.Queue[bytes | None] = queue.Queue(_MOST_GIVEN)
        self._error: BaseException | None = None
        self.md5 = hashlib.md5(usedforsecurity=False)
        self.size_bytes = 0
        self._thread = threading.Thread(target=self._run, name="howdah-image", daemon=True)
        self._thread.start()

    def write(self, data: bytes, /) -> object:
        """Raises OSError for what was given before, if no directory could take that."""
        if self._error is not None:
            raise self._error
        self.size_bytes += len(data)
        self._given.put(data)
        return None

    def end(self) -> None:
        """Everything is written, or was in vain. Raises as `write`; only the first call does
        anything."""
        if self._thread.is_alive():
            self._given.put(None)
            self._thread.join()
            if self._error is not None:
                raise self._error

    def _run(self) -> None:
        # To the end also after an error: who gives more must not wait for ever.
        while (data := self._given.get()) is not None:
            if self._error is None:
                try:
                    self._accept(data)
                except BaseException as error:  # noqa: BLE001 - `write` and `end` raise it
                    self._error = error

    def _accept(self, data: bytes) -> None:
        self.md5.update(data)
        self.for_each(lambda file: file.write(data))

    def for_each(self, do: Callable[[NewFile], object]) -> None:
        for directory, file in list(self._opened.items()):
            try:
                do(file)
            except OSError as error:
                self._failed[directory] = str(error)
                del self._opened[directory]
                _close_quietly(file)
                _unlink_quietly(file.path)
        if not self._opened:
            raise OSError(f"no directory could take the image: {_reasons(self._failed)}")


@dataclass(slots=True)
class _Files:
    opened: dict[Path, NewFile] = field(default_factory=dict)
    failed: dict[Path, str] = field(default_factory=dict)


def write_unfinished(
    directories: Sequence[Path], txid: int, write: Callable[[Sink], object]
) -> WrittenImage:
    """Do step 1: write the image, computed once, into every directory. Durable on return.

    Raises OSError if no directory could take it; what `write` raises.
    """
    files = _Files()
    for directory in directories:
        try:
            files.opened[directory] = NewFile(directory / unfinished_name(txid))
        except OSError as error:
            files.failed[directory] = str(error)
    tee = _Tee(files.opened, files.failed)
    try:
        try:
            write(tee)
        finally:
            tee.end()
        tee.for_each(NewFile.sync)
    except BaseException:
        for file in files.opened.values():
            _close_quietly(file)
            _unlink_quietly(file.path)
        raise
    finally:
        for file in files.opened.values():
            _close_quietly(file)
    return WrittenImage(
        txid,
        tee.md5.hexdigest(),
        tee.size_bytes,
        tuple(files.opened),
        tuple(files.failed.items()),
    )


def _reasons(failed: dict[Path, str]) -> str:
    return "; ".join(f"{directory}: {why}" for directory, why in failed.items())


def _close_quietly(file: NewFile) -> None:
    """What matters was synced before, or the file is given up."""
    try:
        file.close()
    except OSError as error:
        log.warning("closing %s: %s", file.path, error)


def _unlink_quietly(path: Path) -> None:
    """What stays is removed at the next start."""
    with contextlib.suppress(OSError):
        disk.unlink(path, missing_ok=True)


def discard_unfinished(directories: Iterable[Path], txid: int) -> None:
    """Instead of steps 2 to 4: take away what there is of it."""
    for directory in directories:
        _unlink_quietly(directory / unfinished_name(txid))


def finish_image(written: WrittenImage) -> list[Path]:
    """Steps 2 to 4: the sum, the name. The directories in which the image now counts.

    Raises OSError if it is none.
    """
    done = []
    failure = OSError("there was no directory")
    for directory in written.directories:
        final = directory / written.name
        try:
            replace_file(md5_path(final), f"{written.md5} *{final.name}\n".encode())
            disk.rename(directory / unfinished_name(written.txid), final)
            fsync_directory(directory)
        except OSError as error:
            log.error("the image %s could not be finished: %s", final, error)
            failure = error
            _unlink_quietly(directory / unfinished_name(written.txid))
            if not final.exists():
                _unlink_quietly(md5_path(final))
        else:
            done.append(directory)
    if not done:
        raise failure
    return done


def end_rollback_images(directories: Iterable[Path], last_txid: int) -> bool:
    """Make ordinary images of rollback images up to a transaction: there is nothing to go back to
    any more. Return whether there was one.

    The sum of the new name comes first and the one of the old name goes last, so an image
    always has its sum. Raises OSError for a directory that fails, when the others are done.
    """
    has_rollback = False
    failure: OSError | None = None
    for directory in directories:
        try:
            for image in list_images([directory]):
                if image.rollback and image.txid <= last_txid:
                    has_rollback = True
                    _make_ordinary(image)
        except (OSError, errors.CorruptImage) as error:
            log.error("rollback images in %s stay for now: %s", directory, error)
            failure = OSError(f"{directory}: {error}")
    if failure is not None:
        raise failure
    return has_rollback


def _make_ordinary(image: ImageFile) -> None:
    final = image.path.with_name(image_name(image.txid))
    md5 = md5_path(image.path)
    if final.exists():
        disk.unlink(image.path)
    else:
        digest = read_sum(image.path)
        if digest is None:
            raise OSError(f"image {image.path} has no sum beside it")
        replace_file(md5_path(final), f"{digest} *{final.name}\n".encode())
        disk.rename(image.path, final)
    fsync_directory(final.parent)
    disk.unlink(md5, missing_ok=True)
    log.info("%s is %s now", image.path, final.name)


def save_image(
    directories: Sequence[Path], txid: int, write: Callable[[Sink], object]
) -> WrittenImage:
    """All four steps. Raises OSError if no directory could take the image."""
    written = write_unfinished(directories, txid, write)
    for directory, why in written.failed:
        log.error("no image in %s: %s", directory, why)
    finish_image(written)
    return written


def read_sum(image: Path) -> str | None:
    """The sum beside an image, None where there is none. Raises CorruptImage, OSError."""
    try:
        line = md5_path(image).read_bytes()
    except FileNotFoundError:
        return None
    match = _SUM_LINE.fullmatch(line)
    if match is None or match[2] != image.name.encode():
        raise errors.CorruptImage(f"{md5_path(image)} is no sum of {image.name}: {line[:100]!r}")
    return match[1].decode()


def check_image(image: Path) -> None:
    """Hold an image against its sum. Raises CorruptImage, OSError."""
    md5 = read_sum(image)
    if md5 is None:
        raise errors.CorruptImage(f"image {image} has no sum beside it")
    digest = hashlib.md5(usedforsecurity=False)
    with open(image, "rb", buffering=0) as file:
        while data := file.read(_CHUNK_BYTES):
            digest.update(data)
    if digest.hexdigest() != md5:
        raise errors.CorruptImage(
            f"image {image} is damaged: its sum is {digest.hexdigest()}, and should be {md5}"
        )


def set_aside(image: Path) -> None:
    """Rename a damaged image to `….damaged`, so that it counts no more."""
    disk.rename(image, image.with_name(image.name + ".damaged"))
    fsync_directory(image.parent)


def remove_unfinished(directory: Path) -> None:
    """Take away what a process left that died while it wrote, or removed, an image: the
    unfinished image, and a sum that has no image."""
    for path in sorted(directory.iterdir()):
        sum_of = _SUM.fullmatch(path.name)
        if _UNFINISHED.fullmatch(path.name) or (
            sum_of and (sum_of[2] or not (directory / sum_of[1]).exists())
        ):
            log.warning("removing %s, which was not finished", path)
            disk.unlink(path, missing_ok=True)
