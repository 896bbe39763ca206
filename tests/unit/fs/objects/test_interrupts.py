"""Ctrl-C at any moment: what is written is whole, or it is not there, and nothing stays."""

from __future__ import annotations

import gc
import io
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, cast

import pytest

from howdah import errors
from howdah.client.statistics import Tally
from howdah.client.thread_pool import Workers
from howdah.config import Configuration
from howdah.fs import input_base, output_base
from howdah.fs.objects import input, output
from howdah.fs.objects.input import ObjectInput
from howdah.fs.objects.output import ObjectOutput, Target
from howdah.fs.objects.settings import settings_of
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream
from howdah.fs.viewfs import streams as viewfs_streams
from howdah.fs.viewfs.delegation import Reached
from tests.support.objects.in_memory import InMemoryStore

PART = 4
DATA = b"0123456789abcdefghi"
OURS = tuple(each.__file__ for each in (output, output_base, input, input_base))
WORKERS = Workers(4, "test")


def make(store: InMemoryStore, active_parts: int = 2) -> FSDataOutputStream:
    target = Target("/file", "file", exclusive=False, part_bytes=PART, active_parts=active_parts)
    return FSDataOutputStream(ObjectOutput(store, target, WORKERS, lambda _: None))


@contextmanager
def interrupted_by_hand() -> Iterator[threading.Event]:
    """The first SIGINT raises, and the event says that it came."""
    came = threading.Event()

    def raise_(number: int, frame: FrameType | None) -> None:
        if not came.is_set():
            came.set()
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, raise_)
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)


def interrupting(store: InMemoryStore, came: threading.Event, number: int) -> None:
    """Have the main thread interrupted while it waits for the part of that number."""
    lock, main, seen = threading.Lock(), threading.main_thread().ident, [0]
    assert main is not None

    def before(what: str, key: str) -> None:
        if what != "part":
            return
        with lock:
            seen[0] += 1
            is_it = seen[0] == number
        # One that comes just before the wait does not end it.
        while is_it and not came.wait(0.05):
            signal.pthread_kill(main, signal.SIGINT)

    store.before = before


@pytest.mark.req("FS-188", "OS-182")
def test_a_write_that_is_interrupted_makes_no_file_of_the_rest() -> None:
    """The wait for a part is where an interrupt comes: the part must not be left out."""
    store = InMemoryStore()
    with interrupted_by_hand() as came:
        interrupting(store, came, 1)
        with pytest.raises(KeyboardInterrupt) as caught, make(store, active_parts=1) as out:
            out.write(DATA)
    assert store.data("file") is None
    assert store.open == {}
    assert caught.value.__notes__ == [
        "/file could not be closed: /file: a write was interrupted half-way, nothing of it stays; "
        "write it again"
    ]
    with pytest.raises(errors.ClosedStream):
        out.write(b"more")


@pytest.mark.req("FS-188", "OS-182")
def test_who_goes_on_after_an_interrupt_is_told_at_each_call() -> None:
    store = InMemoryStore()
    with interrupted_by_hand() as came:
        interrupting(store, came, 1)
        out = make(store, active_parts=1)
        with pytest.raises(KeyboardInterrupt):
            out.write(DATA)
    for call in (lambda: out.write(b"x"), out.close):
        with pytest.raises(errors.WriteInterrupted, match="/file: a write was interrupted"):
            call()
    assert store.data("file") is None
    assert store.open == {}


@pytest.mark.req("FS-188", "OS-182", "FS-191")
def test_a_close_that_is_interrupted_leaves_no_parts() -> None:
    store = InMemoryStore()
    with interrupted_by_hand() as came:
        interrupting(store, came, 4)
        out = make(store, active_parts=9)
        out.write(DATA)
        with pytest.raises(KeyboardInterrupt):
            out.close()
    assert store.data("file") is None
    assert store.open == {}
    out.close()


def test_an_upload_that_lacks_a_part_is_not_completed() -> None:
    """Whatever the reason: a store would make an object of the others."""
    store = InMemoryStore()
    out = make(store)
    out.write(DATA)
    inner: Any = out._inner
    inner._flying[0].result()
    inner._flying.popleft()
    with pytest.raises(errors.RemoteError, match=r"/file: .* 4 of 5 parts, .* is not completed"):
        out.close()
    assert store.data("file") is None
    assert store.open == {}


class At:
    """Raises in this thread at one step of the code of streams. A step is where the interpreter
    looks for signals: a function begins, or one that is not Python's has returned."""

    def __init__(self, step: int) -> None:
        self.left = step

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        if frame.f_code.co_filename not in OURS or event not in ("call", "c_return"):
            return
        above: FrameType | None = frame
        while above is not None:
            if above.f_code.co_name == "__del__":
                return  # nobody gets what is raised there
            above = above.f_back
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    @contextmanager
    def set(self) -> Iterator[None]:
        before = sys.getprofile()
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(before)


@pytest.mark.req("FS-188", "OS-182", "FS-191")
@pytest.mark.parametrize("length", [3, len(DATA)], ids=["one request", "parts"])
def test_an_interrupt_at_any_step_leaves_a_whole_file_or_none(length: int) -> None:
    data = DATA[:length]

    def write(store: InMemoryStore) -> int:
        """What was written by calls that returned."""
        done = 0
        with suppress(KeyboardInterrupt), make(store) as out:
            for start in range(0, length, 7):
                done += out.write(data[start : start + 7])
        return done

    counting = At(-1)
    with counting.set():
        write(InMemoryStore())
    count = -1 - counting.left
    assert count > 10
    for step in range(1, count + 1):
        store = InMemoryStore()
        gc.freeze()
        with At(step).set():
            done = write(store)
        gc.collect()
        gc.unfreeze()
        found = store.data("file")
        # A write that was just about to return has written.
        assert found in (None, data[:done], data[: done + 7]), step
        # The store may have begun an upload, and not have said under which name: it has no parts.
        assert all(not each.parts for each in store.open.values()), step


# --- reading ------------------------------------------------------------------------------


def reads(stream: FSDataInputStream) -> bytes:
    """All of it, piece by piece; who is interrupted goes on from where the stream says it is."""
    raw: Any = stream.raw
    found = bytearray()
    piece = bytearray(3)
    while True:
        try:
            count = raw.readinto(piece)
        except KeyboardInterrupt:
            assert raw.tell() == len(found)
            continue
        if not count:
            return bytes(found)
        found += piece[:count]


def opened(store: InMemoryStore) -> FSDataInputStream:
    settings = settings_of(Configuration(), "b")
    return FSDataInputStream(ObjectInput(store, "/file", store.head("file"), settings, Tally()))


@pytest.mark.req("FS-188", "FS-189")
@pytest.mark.parametrize("whole", [False, True], ids=["piece by piece", "at once"])
def test_a_read_that_is_interrupted_at_any_step_is_gone_on_with(whole: bool) -> None:
    """Bytes that were taken from the answer, and not counted, would move all that follow."""
    store = InMemoryStore()
    store.put("file", DATA, exclusive=False, writer=None)

    def read() -> bytes:
        with opened(store) as stream:
            if not whole:
                return reads(stream)
            try:
                return stream.read()
            except KeyboardInterrupt:
                return stream.read()

    counting = At(-1)
    with counting.set():
        assert read() == DATA
    count = -1 - counting.left
    assert count > 10
    for step in range(1, count + 1):
        try:
            with At(step).set():
                found = read()
        except KeyboardInterrupt:
            continue  # at the opening or the close, which are not gone on with
        assert found == DATA, step


def as_text(out: FSDataOutputStream) -> io.TextIOWrapper:
    return io.TextIOWrapper(out, "utf-8", None, "")


def in_a_view(out: FSDataOutputStream) -> FSDataOutputStream:
    return viewfs_streams.output(
        out, Reached("/mount/file", cast(Any, None), "/file", cast(Any, None))
    )


@pytest.mark.parametrize("around", [lambda out: out, as_text, in_a_view, FSDataOutputStream])
def test_what_is_dropped_without_a_close_is_no_file_whatever_is_around_it(
    around: Callable[[Any], Any],
) -> None:
    store = InMemoryStore()
    with make(store) as out:
        out.write(b"the old file")
    out = around(make(store))
    out.write("half" if isinstance(out, io.TextIOWrapper) else b"half")
    del out
    gc.collect()
    _, content = store.objects["file"]
    assert content == b"the old file"
