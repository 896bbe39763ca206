"""An image on its way to its directories: its sum, disks that fail, and writers that do."""

from __future__ import annotations

import errno
import hashlib
import threading
from pathlib import Path

import pytest

from howdah.formats.image.sections import Sink
from howdah.runtime import disk
from howdah.runtime.atomic_files import NewFile
from howdah.storage import image_files
from howdah.storage.image_files import unfinished_name, write_unfinished

PIECES = [bytes([number]) * 1000 for number in range(100)]


def write(sink: Sink, count: int = len(PIECES)) -> None:
    for piece in PIECES[:count]:
        sink.write(piece)


@pytest.fixture
def directories(tmp_path: Path) -> list[Path]:
    made = [tmp_path / "a", tmp_path / "b"]
    for each in made:
        each.mkdir()
    return made


def fill_up(monkeypatch: pytest.MonkeyPatch, *full: Path) -> None:
    """No more than ten pieces fit into these directories."""
    taken: dict[Path, int] = {}
    write = NewFile.write

    def limited(self: NewFile, data: bytes) -> int:
        taken[self.path] = taken.get(self.path, 0) + 1
        if self.path.parent in full and taken[self.path] > 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, data)

    monkeypatch.setattr(NewFile, "write", limited)


def writers() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "howdah-image"]


def test_an_image_is_the_same_everywhere_and_has_its_sum(directories: list[Path]) -> None:
    written = write_unfinished(directories, 7, write)
    whole = b"".join(PIECES)
    assert [(each / unfinished_name(7)).read_bytes() for each in directories] == [whole, whole]
    assert written.md5 == hashlib.md5(whole, usedforsecurity=False).hexdigest()
    assert (written.size_bytes, written.failed) == (len(whole), ())
    assert not writers()


def test_a_directory_that_is_full_is_left_out(
    directories: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = directories
    fill_up(monkeypatch, first)
    written = write_unfinished(directories, 7, write)
    assert written.directories == (second,)
    ((failed, why),) = written.failed
    assert failed == first
    assert "No space left" in why
    assert not list(first.iterdir())
    assert (second / unfinished_name(7)).read_bytes() == b"".join(PIECES)


@pytest.mark.parametrize("pieces", [11, 100], ids=["at the end", "long before it"])
def test_without_a_directory_that_takes_it_an_image_fails_and_nobody_hangs(
    directories: list[Path], monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    """However many pieces more are given: there is room for few that wait."""
    assert pieces - 10 < image_files._MOST_GIVEN or pieces - 10 > 2 * image_files._MOST_GIVEN
    fill_up(monkeypatch, *directories)
    with pytest.raises(OSError, match=r"no directory could take the image: .*No space left"):
        write_unfinished(directories, 7, lambda sink: write(sink, pieces))
    assert not [file for each in directories for file in each.iterdir()]
    assert not writers()


def test_a_writer_that_gives_up_leaves_nothing(directories: list[Path]) -> None:
    class Enough(Exception):
        pass

    def give_up(sink: Sink) -> None:
        write(sink)
        raise Enough

    with pytest.raises(Enough):
        write_unfinished(directories, 7, give_up)
    assert not [file for each in directories for file in each.iterdir()]
    assert not writers()


@pytest.mark.parametrize("pieces", [1, 100], ids=["at the end", "long before it"])
def test_whatever_ends_the_thread_that_writes_ends_the_image(
    directories: list[Path], monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    """An image that lacks what came behind must not be taken for a whole one."""

    class Death(BaseException):
        pass

    def die(*_: object) -> None:
        raise Death

    monkeypatch.setattr(disk, "write", die)
    with pytest.raises(Death):
        write_unfinished(directories, 7, lambda sink: write(sink, pieces))
    assert not writers()
