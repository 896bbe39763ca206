"""The image files of a namenode: their names, writing one durably, and checking one.

Mirrors the part of a namenode's `current` directory that is the images:

    fsimage_0000000000000000042          the namespace after transaction 42
    fsimage_0000000000000000042.md5      its sum, as `md5sum` writes it
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

import hashlib
import logging
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from howdah import errors
from howdah.storage.atomic import fsync_directory, replace_file
from howdah.storage.fsimage_sections import Sink

log = logging.getLogger(__name__)

_IMAGE: Final = re.compile(r"fsimage_(\d+)")
_UNFINISHED: Final = re.compile(r"fsimage\.ckpt_(\d+)")
_SUM_LINE: Final = re.compile(rb"([0-9a-f]{32})[ *]+(\S+)\s*")
_CHUNK_BYTES: Final = 1 << 20


def image_name(txid: int) -> str:
    return f"fsimage_{txid:019d}"


def unfinished_name(txid: int) -> str:
    return f"fsimage.ckpt_{txid:019d}"


def md5_path(image: Path) -> Path:
    return image.with_name(image.name + ".md5")


@dataclass(frozen=True, slots=True)
class ImageFile:
    """One image; the namespace after transaction `txid`."""

    txid: int
    path: Path


@dataclass(frozen=True, slots=True)
class WrittenImage:
    """An image that stands under its unfinished name in `directories`.

    `failed` are the directories that could not be written, with the reasons.
    """

    txid: int
    md5: str
    size_bytes: int
    directories: tuple[Path, ...]
    failed: tuple[tuple[Path, str], ...] = ()


def list_images(directories: Iterable[Path]) -> list[ImageFile]:
    """All images of some `current` directories, newest first."""
    found = [
        ImageFile(int(match[1]), path)
        for directory in directories
        for path in sorted(directory.iterdir())
        if (match := _IMAGE.fullmatch(path.name))
    ]
    return sorted(found, key=lambda image: -image.txid)


class _Tee:
    """One sink for the files of all directories. One that fails is dropped."""

    def __init__(self, files: dict[Path, BinaryIO], failed: dict[Path, str]) -> None:
        self._files = files
        self._failed = failed
        self.md5 = hashlib.md5(usedforsecurity=False)
        self.size_bytes = 0

    def write(self, data: bytes, /) -> object:
        self.md5.update(data)
        self.size_bytes += len(data)
        self.each(lambda file: file.write(data))
        return None

    def each(self, do: Callable[[BinaryIO], object]) -> None:
        for directory, file in list(self._files.items()):
            try:
                do(file)
            except OSError as error:
                self._failed[directory] = str(error)
                del self._files[directory]
                _close_quietly(file)
        if not self._files:
            raise OSError(f"no directory could take the image: {self._failed}")


@dataclass(slots=True)
class _Files:
    opened: dict[Path, BinaryIO] = field(default_factory=dict)
    failed: dict[Path, str] = field(default_factory=dict)


def write_unfinished(
    directories: Sequence[Path], txid: int, write: Callable[[Sink], None]
) -> WrittenImage:
    """Step 1: the image, once computed, into every directory. Durable on return.

    Raises OSError if no directory could take it; what `write` raises.
    """
    files = _Files()
    for directory in directories:
        try:
            # Closed by `_Tee` or below.
            files.opened[directory] = open(directory / unfinished_name(txid), "wb")  # noqa: SIM115
        except OSError as error:
            files.failed[directory] = str(error)
    tee = _Tee(files.opened, files.failed)
    try:
        write(tee)
        tee.each(_sync)
    except BaseException:
        for directory in directories:
            (directory / unfinished_name(txid)).unlink(missing_ok=True)
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


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _close_quietly(file: BinaryIO) -> None:
    """What matters was synced before, or the file is given up."""
    try:
        file.close()
    except OSError as error:
        log.warning("closing %s: %s", file.name, error)


def finish_image(written: WrittenImage) -> list[Path]:
    """Steps 2 to 4: the sum, the name. The directories in which the image now counts.

    Raises OSError if it is none.
    """
    done = []
    failure = OSError("there was no directory")
    for directory in written.directories:
        final = directory / image_name(written.txid)
        try:
            replace_file(md5_path(final), f"{written.md5} *{final.name}\n".encode())
            os.replace(directory / unfinished_name(written.txid), final)
            fsync_directory(directory)
        except OSError as error:
            log.error("the image %s could not be finished: %s", final, error)
            failure = error
        else:
            done.append(directory)
    if not done:
        raise failure
    return done


def save_image(
    directories: Sequence[Path], txid: int, write: Callable[[Sink], None]
) -> WrittenImage:
    """All four steps. Raises OSError if no directory could take the image."""
    written = write_unfinished(directories, txid, write)
    for directory, why in written.failed:
        log.error("no image in %s: %s", directory, why)
    finish_image(written)
    return written


def check_image(image: Path) -> None:
    """Hold an image against its sum. Raises CorruptImage, OSError."""
    try:
        line = md5_path(image).read_bytes()
    except FileNotFoundError as error:
        raise errors.CorruptImage(f"image {image} has no sum beside it") from error
    match = _SUM_LINE.fullmatch(line)
    if match is None or match[2] != image.name.encode():
        raise errors.CorruptImage(f"{md5_path(image)} is no sum of {image.name}: {line[:100]!r}")
    found = hashlib.md5(usedforsecurity=False)
    with open(image, "rb", buffering=0) as file:
        while data := file.read(_CHUNK_BYTES):
            found.update(data)
    if found.hexdigest() != match[1].decode():
        raise errors.CorruptImage(
            f"image {image} is damaged: its sum is {found.hexdigest()}, and should be "
            f"{match[1].decode()}"
        )


def set_aside(image: Path) -> None:
    """Rename a damaged image to `….damaged`, so that it counts no more."""
    os.replace(image, image.with_name(image.name + ".damaged"))
    fsync_directory(image.parent)


def remove_unfinished(directory: Path) -> None:
    """Take away what a process left that died while it wrote an image."""
    for path in directory.iterdir():
        if _UNFINISHED.fullmatch(path.name):
            log.warning("removing %s, which was not finished", path)
            path.unlink()
