"""A file is opened with its bytes in one request, where that is of use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs.objects import input as object_input
from howdah.fs.objects import read_plan
from howdah.fs.objects.filesystem import ObjectFileSystem
from howdah.fs.objects.read_plan import FEW_BYTES, MOST_WAITING, Manner, Openings
from howdah.fs.objects.retrying import RetryRules
from howdah.fs.objects.settings import Settings, settings_of
from howdah.fs.objects.store import ObjectInfo, ObjectStore, Reading
from howdah.fs.objects.tuning import Tuning
from tests.support.objects.in_memory import InMemoryStore

SMALL = bytes(range(256)) * 40
LARGE = bytes(range(256)) * 1000


class Watched:
    """An answer that is cut after so many bytes."""

    def __init__(self, inner: Reading, left: int | None) -> None:
        self._inner = inner
        self._left = left
        self.closed = 0

    def readinto(self, view: memoryview) -> int:
        if self._left is None:
            return self._inner.readinto(view)
        if not self._left:
            raise errors.Unreachable("cut")
        count = self._inner.readinto(view[: self._left])
        self._left -= count
        return count

    def close(self, left: int) -> None:
        self.closed += 1


class Store(InMemoryStore):
    """What opens is watched; `cut` is after how many bytes answers to it end."""

    def __init__(self) -> None:
        super().__init__()
        self.cut: int | None = None
        self.gives_both = True
        self.opened: list[Watched] = []

    def head_and_get(self, key: str) -> tuple[ObjectInfo, Reading | None]:
        if not self.gives_both:
            return self.head(key), None
        info, reading = super().head_and_get(key)
        assert reading is not None
        self.opened.append(Watched(reading, self.cut))
        return info, self.opened[-1]


class Files(ObjectFileSystem):
    scheme = "memory"

    def _opened(self, authority: str, conf: Configuration) -> tuple[ObjectStore, Tuning]:
        self.store = Store()
        return self.store, settings()


def settings() -> Settings:
    return replace(settings_of(Configuration(), "b"), retries=RetryRules(7, 0, 7, 0))


@pytest.fixture
def fs() -> Iterator[Files]:
    with Files("b", Configuration()) as made:
        for name, data in (("small", SMALL), ("large", LARGE), ("empty", b"")):
            made.store.put(name, data, exclusive=False, writer=None)
        made.store.put("exact", LARGE[:FEW_BYTES], exclusive=False, writer=None)
        made.store.put("longer", LARGE[: FEW_BYTES + 1], exclusive=False, writer=None)
        made.store.put("d/", b"", exclusive=False, writer=None)
        made.store.requests.clear()
        yield made


@pytest.mark.req("FS-189")
@pytest.mark.parametrize("name", ["small", "large", "empty", "exact", "longer"])
def test_a_file_that_is_read_from_its_beginning_on_is_one_request(fs: Files, name: str) -> None:
    expected = fs.store.data(name)
    with fs.open(f"/{name}") as stream:
        assert stream.read() == expected
        assert stream.read() == b""
        found = stream.statistics()
        assert (found.requests, found.bytes_read) == (1, len(expected or b""))
        assert found.is_verified == bool(expected)
    assert fs.store.requests == [f"head and get {name}"]
    assert [each.closed for each in fs.store.opened] == [1]


@pytest.mark.req("FS-189")
def test_all_of_a_small_file_is_had_when_it_is_open(fs: Files) -> None:
    with fs.open("/small", buffer_size=16) as stream:
        assert fs.store.opened[0].closed == 1
        fs.store.put("small", SMALL[::-1], exclusive=False, writer=None)
        assert stream.pread(100, 10) == SMALL[100:110]
        assert stream.pread(len(SMALL) - 3, 10) == SMALL[-3:]
        assert stream.pread(0, len(SMALL)) == SMALL
        stream.seek(-5, 2)
        assert stream.read() == SMALL[-5:]
        stream.seek(0)
        assert stream.read(7) == SMALL[:7]
        assert len(fs.store.requests) == 2
        stream.unbuffer()
        with pytest.raises(errors.FileChanged, match="/small was replaced while it was open"):
            stream.pread(100, 10)
    with fs.open("/small") as stream:
        assert stream.read() == SMALL[::-1]


@pytest.mark.req("FS-189")
def test_bytes_of_a_small_file_that_are_others_than_the_stores_are_refused(fs: Files) -> None:
    info, _ = fs.store.objects["small"]
    fs.store.objects["small"] = info, SMALL[::-1]
    with fs.open("/small") as stream:
        reads: tuple[Callable[[], object], ...] = (stream.read, lambda: stream.pread(0, len(SMALL)))
        for read in reads:
            with pytest.raises(errors.ChecksumMismatch, match=r"^/small: what was read has"):
                read()


@pytest.mark.req("FS-189")
@pytest.mark.parametrize("name", ["small", "large"])
def test_bytes_that_did_not_fit_are_not_given_out_unchecked(fs: Files, name: str) -> None:
    info, data = fs.store.objects[name]
    fs.store.objects[name] = info, data[::-1]
    with fs.open(f"/{name}") as stream:
        for _ in range(2):
            with pytest.raises(errors.ChecksumMismatch):
                stream.read()
        for position in (0, 1, len(data) // 2):
            stream.seek(position)
            with pytest.raises(errors.ChecksumMismatch):
                stream.read()
        with pytest.raises(errors.ChecksumMismatch, match="only a read of the whole file"):
            stream.pread(10, 10)
        # It was on the way that they were damaged.
        fs.store.objects[name] = info, data
        stream.seek(0)
        assert stream.read() == data
        assert stream.pread(10, 10) == data[10:20]


@pytest.mark.req("FS-189")
def test_last_piece_that_did_not_fit_is_checked_again(fs: Files) -> None:
    info, data = fs.store.objects["large"]
    with fs.open("/large") as stream:
        inner = stream._inner
        assert isinstance(inner, object_input.ObjectInput)
        begin = bytearray(len(data) - 5)
        assert inner.readinto(begin) == len(begin)
        inner.unbuffer()
        fs.store.objects["large"] = info, data[:-5] + b"xxxxx"
        for _ in range(2):
            with pytest.raises(errors.ChecksumMismatch):
                inner.readall()
        fs.store.objects["large"] = info, data
        assert begin + inner.readall() == data
        assert inner.statistics().is_verified


@pytest.mark.req("FS-189")
def test_read_that_was_interrupted_is_checked_when_it_is_repeated(
    fs: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    info, data = fs.store.objects["large"]
    fs.store.objects["large"] = info, data[::-1]
    monkeypatch.setattr(object_input, "_PIECE_BYTES", len(data) // 2)
    with fs.open("/large") as stream:
        inner = stream._inner
        assert isinstance(inner, object_input.ObjectInput)
        read = inner._read_some
        calls = iter(range(3))

        def interrupted(view: memoryview) -> int:
            if next(calls) == 1:
                raise KeyboardInterrupt
            return int(read(view))

        monkeypatch.setattr(inner, "_read_some", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stream.read()
        monkeypatch.setattr(inner, "_read_some", read)
        with pytest.raises(errors.ChecksumMismatch):
            stream.read()


@pytest.mark.req("FS-188", "FS-189")
@pytest.mark.parametrize("name", ["small", "large"])
@pytest.mark.parametrize("cut", [0, 100])
def test_an_answer_that_breaks_off_is_gone_on_with(fs: Files, name: str, cut: int) -> None:
    expected = fs.store.data(name)
    fs.store.cut = cut
    with fs.open(f"/{name}") as stream:
        assert stream.read() == expected
        found = stream.statistics()
        assert (found.requests, found.repeated, found.is_verified) == (2, 1, True)
    with fs.open(f"/{name}") as stream:
        fs.store.put(name, b"x" * len(expected or b""), exclusive=False, writer=None)
        with pytest.raises(errors.FileChanged, match=f"/{name} was replaced"):
            stream.read()


@pytest.mark.req("FS-189")
def test_what_is_no_file_is_told_at_the_opening(fs: Files) -> None:
    for path in ("/d", "/"):
        with pytest.raises(errors.PathIsDirectory, match=f"{path} is a directory"):
            fs.open(path)
    with pytest.raises(errors.PathNotFound, match="File does not exist: /none"):
        fs.open("/none")
    assert fs.store.requests == [
        *("head and get d", "list d/"),
        "list ",
        *("head and get none", "list none/"),
    ]


@pytest.mark.req("FS-189")
def test_large_files_that_are_read_elsewhere_are_looked_at(fs: Files) -> None:
    def asked() -> list[str]:
        found = [each.rpartition(" ")[0] for each in fs.store.requests]
        fs.store.requests.clear()
        return found

    with fs.open("/large", buffer_size=16) as stream:
        stream.seek(200_000)
        assert stream.read(10) == LARGE[200_000:200_010]
        assert fs.store.opened[0].closed == 1
    assert asked() == ["head and get", "head"]
    with fs.open("/large") as stream:
        assert stream.pread(200_000, 10) == LARGE[200_000:200_010]
    assert asked() == ["head", "head"]
    with fs.open("/large") as stream:
        assert stream.read() == LARGE
    assert asked() == ["head", "head"]
    with fs.open("/large") as stream:
        assert stream.pread(200_000, 10) == LARGE[200_000:200_010]
        assert stream.read() == LARGE
    assert asked() == ["head and get", "head"]
    with fs.open("/large") as stream:
        stream.pread(200_000, 10)
    # Of a small file they come along, so the first one that is looked at is the last.
    with fs.open("/small") as stream:
        assert stream.read() == SMALL
    asked()
    with fs.open("/small") as stream:
        assert stream.read() == SMALL
    assert asked() == ["head and get"]


@pytest.mark.req("FS-189")
def test_only_so_many_answers_wait_for_their_readers(fs: Files) -> None:
    streams = [fs.open("/large") for _ in range(MOST_WAITING + 2)]
    asked = [each.rpartition(" ")[0] for each in fs.store.requests]
    assert asked == ["head and get"] * MOST_WAITING + ["head"] * 2
    assert streams[0].read() == LARGE
    assert streams[-1].read() == LARGE
    for each in streams:
        each.close()
    assert [each.closed for each in fs.store.opened] == [1] * MOST_WAITING
    fs.store.requests.clear()
    with fs.open("/large"):
        assert fs.store.requests == ["head and get large"]


@pytest.mark.req("FS-189")
def test_an_answer_that_waited_for_long_is_asked_for_again(
    fs: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("howdah.fs.objects.input.WAIT_S", -1.0)
    with fs.open("/large") as stream:
        assert stream.read() == LARGE
        assert stream.statistics().requests == 2
        assert stream.statistics().repeated == 0
    assert read_plan.WAIT_S > 0


@pytest.mark.req("FS-189")
def test_a_store_that_tells_too_little_with_the_bytes_is_looked_at(fs: Files) -> None:
    fs.store.gives_both = False
    for name in ("small", "large", "empty"):
        with fs.open(f"/{name}") as stream:
            assert stream.read() == fs.store.data(name)
    assert fs.store.requests[0] == "head small"


@pytest.mark.req("FS-189")
def test_an_opening_that_fails_leaves_no_answer_open(fs: Files) -> None:
    fs._settings = replace(settings(), requires_version=True)
    with pytest.raises(errors.UnsupportedOperation, match="/large has no version"):
        fs.open("/large")
    assert [each.closed for each in fs.store.opened] == [1]


def test_how_files_are_said_to_be_read_counts_more_than_how_they_were() -> None:
    for manner, expected in (
        (Manner.RANDOM, [False, False, False]),
        (Manner.STRAIGHT, [True, True, True]),
        (Manner.LEARNT, [True, False, True]),
    ):
        openings = Openings(manner)
        found = [openings.takes_bytes]
        for is_straight in (False, True):
            openings.learn(is_straight=is_straight)
            found.append(openings.takes_bytes)
        assert found == expected
