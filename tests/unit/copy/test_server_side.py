"""What a task makes of files that the target's server copies, or does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common.failures import CopyFailed
from howdah.copy.copier import BandwidthLimit, Copier, CopySettings
from howdah.copy.counters import Counters
from howdah.copy.listing.entries import Entry, Kind
from howdah.copy.options import attributes
from howdah.copy.server_side import notes_of
from howdah.fs.api import FileSystem, PathLike
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.fs.status import ServerCopies, ServerCopy
from howdah.options import CopyCheck

OFFERED = ServerCopies(are_offered=True)


class CopyingFileSystem(MemoryFileSystem):
    """Files in memory, whose server copies those of another name."""

    offer = OFFERED
    error: errors.HowdahError | None = None
    verified_by = "ETag"

    def __init__(self, authority: str, conf: Configuration) -> None:
        super().__init__(authority, conf)
        self.asked: list[tuple[str, str, CopyCheck]] = []
        self.before: Callable[[], object] = lambda: None

    def server_copies(self, source: FileSystem) -> ServerCopies:
        return self.offer

    def copy_from(
        self,
        source: FileSystem,
        src: PathLike,
        dst: PathLike,
        *,
        overwrite: bool = False,
        check: CopyCheck = CopyCheck.CHECKSUM,
    ) -> ServerCopy:
        self.asked.append((str(src), str(dst), check))
        self.before()
        if self.error is not None:
            raise self.error
        # Reading moves the source's time of access; a server that copies does not read.
        copied = source.get_file_status(src)
        self.write_bytes(str(dst), source.read_bytes(src), overwrite=overwrite)
        return ServerCopy(copied, self.verified_by)


@pytest.fixture
def source() -> Iterator[MemoryFileSystem]:
    fs = MemoryFileSystem("here", Configuration())
    fs.write_bytes("/f", b"content")
    yield fs
    forget("here")


@pytest.fixture
def target() -> Iterator[CopyingFileSystem]:
    fs = CopyingFileSystem("there", Configuration())
    fs.mkdirs("/staging")
    yield fs
    forget("there")


def entry_of(fs: FileSystem, path: str = "/f") -> Entry:
    return Entry.of(Kind.FILE, 0, fs.get_file_status(path), b"/f", None)


def copier(fs: FileSystem, moved: list[int] | None = None, **settings: Any) -> Copier:
    counted = [] if moved is None else moved
    return Copier(
        fs,
        CopySettings(buffer_bytes=7, **settings),
        lambda: "/staging/1",
        BandwidthLimit(1, sleep=lambda _: None),
        counted.append,
        sleep=lambda _: None,
    )


@pytest.mark.req("FS-190", "FS-194")
def test_a_file_gets_its_name_at_once_and_no_byte_counts_for_the_bandwidth(
    source: MemoryFileSystem, target: CopyingFileSystem
) -> None:
    moved: list[int] = []
    works = copier(target, moved)
    entry = entry_of(source)
    assert works.copy(source, entry, "/t/f") == entry
    assert target.asked == [("/f", "/t/f", CopyCheck.CHECKSUM)]
    assert target.read_bytes("/t/f") == b"content"
    assert (works.is_by_server, works.verified_by, works.why_not_by_server) == (True, "ETag", "")
    assert moved == [7]


@pytest.mark.req("FS-190")
def test_without_checksums_the_length_is_all_that_is_asked_for(
    source: MemoryFileSystem, target: CopyingFileSystem
) -> None:
    copier(target, skip_crc=True).copy(source, entry_of(source), "/f")
    assert target.asked == [("/f", "/f", CopyCheck.LENGTH)]


@pytest.mark.req("FS-190", "FS-194")
def test_what_the_server_does_not_copy_comes_by_here_and_the_reason_is_kept(
    source: MemoryFileSystem, target: CopyingFileSystem
) -> None:
    target.error = errors.NotCopiedByServer("it refuses")
    works = copier(target)
    works.copy(source, entry_of(source), "/f")
    assert target.read_bytes("/f") == b"content"
    assert (works.is_by_server, works.why_not_by_server) == (False, "it refuses")
    assert len(target.asked) == 1
    # Of the next file nothing is kept.
    target.error = None
    works.copy(source, entry_of(source), "/g")
    assert (works.is_by_server, works.why_not_by_server) == (True, "")


@pytest.mark.req("FS-190")
@pytest.mark.parametrize("offer", [ServerCopies(False), ServerCopies(False, "two stores")])
def test_a_server_that_does_not_offer_it_is_not_asked(
    source: MemoryFileSystem, target: CopyingFileSystem, offer: ServerCopies
) -> None:
    target.offer = offer
    works = copier(target)
    works.copy(source, entry_of(source), "/f")
    assert (target.asked, works.is_by_server) == ([], False)


@pytest.mark.req("FS-190")
def test_a_chunk_of_a_file_is_never_the_server_s(
    source: MemoryFileSystem, target: CopyingFileSystem
) -> None:
    copier(target).copy(source, replace(entry_of(source), offset=2, chunk_length=3), "/f")
    assert target.asked == []
    assert target.read_bytes("/f") == b"nte"


@pytest.mark.req("FS-190", "LM-056")
def test_a_source_that_changed_since_it_was_listed_counts_as_it_is_now(
    source: MemoryFileSystem, target: CopyingFileSystem
) -> None:
    listed = entry_of(source)
    source.write_bytes("/f", b"another content", overwrite=True)
    copied = copier(target).copy(source, listed, "/f")
    assert copied.length == 15
    assert target.read_bytes("/f") == b"another content"


@pytest.mark.req("FS-190", "LM-056")
def test_a_source_that_is_replaced_during_its_copy_is_copied_again(
    source: MemoryFileSystem, target: CopyingFileSystem
) -> None:
    errors_left = [errors.FileChanged("/f was replaced while it was copied")]

    def replaced() -> None:
        if errors_left:
            source.write_bytes("/f", b"new", overwrite=True)
            raise errors_left.pop()

    target.before = replaced
    works = copier(target)
    assert works.copy(source, entry_of(source), "/f").length == 3
    assert target.read_bytes("/f") == b"new"
    assert works.retries == 1


@pytest.mark.req("FS-190", "FS-188")
def test_trouble_of_the_server_is_no_refusal_and_is_tried_again(
    source: MemoryFileSystem, target: CopyingFileSystem
) -> None:
    target.error = errors.Unreachable("nobody there")
    target.write_bytes("/f", b"old")
    with pytest.raises(CopyFailed, match="nobody there"):
        copier(target).copy(source, entry_of(source), "/f")
    assert len(target.asked) == 3
    assert target.read_bytes("/f") == b"old"


@pytest.mark.req("FS-190")
def test_attributes_that_are_set_afterwards_are_set_under_a_temporary_name(
    source: MemoryFileSystem, target: CopyingFileSystem
) -> None:
    source.set_times("/f", 5000, 6000)
    copier(target, preserve=attributes("t")).copy(source, entry_of(source), "/f")
    assert target.asked == [("/f", "/staging/1", CopyCheck.CHECKSUM)]
    assert target.get_file_status("/f").modification_time_ms == 5000
    assert not target.exists("/staging/1")


@pytest.mark.req("FS-190")
def test_attributes_that_cannot_be_set_leave_nothing(
    source: MemoryFileSystem, target: CopyingFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise errors.UnsupportedOperation("no times")

    monkeypatch.setattr(target, "set_times", refused)
    with pytest.raises(CopyFailed, match="no times"):
        copier(target, preserve=attributes("t")).copy(source, entry_of(source), "/f")
    assert not target.exists("/f")
    assert not target.exists("/staging/1")


@pytest.mark.req("FS-194")
def test_notes_say_which_bytes_came_by_and_why(
    source: MemoryFileSystem, target: CopyingFileSystem
) -> None:
    assert list(notes_of(target, [source], Counters(files_copied=3, copied_by_server=3))) == []
    [refused] = notes_of(target, [source], Counters(files_copied=3, refused_by_server=2))
    assert refused.startswith(f"2 files were not copied by {target.uri} itself, which refused")
    target.offer = ServerCopies(are_offered=False, why_not="they are two stores")
    [note] = notes_of(target, [source], Counters(files_copied=3))
    assert note == (
        f"{target.uri} does not copy {source.uri}: they are two stores; the bytes came by here"
    )
    assert list(notes_of(target, [source], Counters())) == []
    target.offer = ServerCopies(are_offered=False)
    assert list(notes_of(target, [source], Counters(files_copied=3))) == []
