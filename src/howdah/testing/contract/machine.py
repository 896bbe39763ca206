"""Random operations on a filesystem, held against `howdah.model` after each (needs Hypothesis).

    from howdah.testing.contract.machine import check_against_model

    check_against_model(fs, "/tmp/machine", examples=50)

Streams are created, appended to, written, flushed, synced and closed in any order, paths
renamed and deleted between; after every step each path is opened anew and what is found
must be what the model allows: all that was synced or closed, and beyond that a
beginning of what was written (OS-009, OS-016, OS-055, OS-087, OS-096). Statuses may lag
and never lead (OS-158), and agree once nobody writes (OS-142). What a filesystem refuses
the model must refuse as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from howdah.fs import capabilities
from howdah.model import filesystem as model
from howdah.model.entries import Refused
from howdah.model.streams import Stream
from howdah.testing.contract.subject import Subject, expect, expect_equal

if TYPE_CHECKING:
    from howdah.fs.api import FileSystem
    from howdah.fs.streams import FSDataOutputStream

NAMES = ("/a", "/b", "/d/a", "/d/b")
# Around the chunk and packet sizes that filesystems like, and far from them.
SIZES = (0, 1, 5, 511, 512, 513, 4096, 70_000)


class _Writer:
    """An open stream beside its model."""

    def __init__(self, path: str, out: FSDataOutputStream) -> None:
        self.path = path
        self.out = out


_Opened = _Writer | MultipleResults[_Writer]


class StreamMachine(RuleBasedStateMachine):
    """The rules; `subject` and `sizes` are set by `check_against_model`."""

    subject: Subject
    sizes: Sequence[int]
    writers = Bundle("writers")

    def __init__(self) -> None:
        super().__init__()
        self.top = self.subject.new_path("machine")
        self.subject.fs.mkdirs(self.top)
        self.fs = model.FileSystem()
        self.streams: dict[_Writer, Stream] = {}
        self.fill = 0

    def teardown(self) -> None:
        for writer in self.streams:
            if not writer.out.closed:
                writer.out.close()
        self.subject.fs.delete(self.top, recursive=True)

    def _at(self, path: str) -> str:
        return self.top + path

    def _bytes(self, size: int) -> bytes:
        # Each write has bytes of its own, so that one that is lost or doubled is seen.
        self.fill = self.fill % 250 + 1
        return bytes((self.fill,)) * size

    def _both(self, modelled: Callable[[], Any], real: Callable[[], Any]) -> tuple[Any, Any] | None:
        """Do an operation on both; None if both refuse it."""
        try:
            expected = modelled()
        except Refused as refused:
            try:
                real()
            except (OSError, ValueError):
                return None
            raise AssertionError(f"it was accepted, though: {refused.why}") from refused
        return expected, real()

    # --- streams ------------------------------------------------------------------------

    @initialize(target=writers, name=st.sampled_from(NAMES))
    def create_the_first(self, name: str) -> _Opened:
        return self.create(name, False)

    @rule(target=writers, name=st.sampled_from(NAMES), overwrite=st.booleans())
    def create(self, name: str, overwrite: bool) -> _Opened:
        if name in self.fs.writers and (overwrite or not self.subject.traits.one_writer):
            return multiple()  # what becomes of the first writer is undefined (OS-128)
        return self._opened(
            name,
            lambda: model.create(self.fs, name, overwrite=overwrite),
            lambda: self.subject.fs.create(self._at(name), overwrite=overwrite),
        )

    @rule(target=writers, name=st.sampled_from(NAMES))
    def append(self, name: str) -> _Opened:
        if not self.subject.path_claims(capabilities.APPEND):
            return multiple()
        if name in self.fs.writers and not self.subject.traits.one_writer:
            return multiple()
        return self._opened(
            name,
            lambda: model.append(self.fs, name),
            lambda: self.subject.fs.append(self._at(name)),
        )

    def _opened(self, name: str, modelled: Callable[[], Any], real: Callable[[], Any]) -> _Opened:
        both = self._both(modelled, real)
        if both is None:
            return multiple()
        (self.fs, stream), out = both
        writer = _Writer(name, out)
        self.streams[writer] = stream
        expect_equal(out.get_pos(), len(stream.buffer), f"position of a new stream of {name}")
        return writer

    @rule(writer=writers, which=st.integers(0, 99))
    def write(self, writer: _Writer, which: int) -> None:
        self.write_slice(writer, which, 0, None)

    @rule(
        writer=writers,
        which=st.integers(0, 99),
        off=st.integers(0, 3),
        length=st.none() | st.integers(-1, 600),
    )
    def write_slice(self, writer: _Writer, which: int, off: int, length: int | None) -> None:
        data = self._bytes(self.sizes[which % len(self.sizes)])
        stream = self.streams[writer]
        try:
            both = self._both(
                lambda: model.write(self.fs, stream, data, off, length),
                lambda: writer.out.write(data, off, length),
            )
        except IndexError:
            return self._expect_index(stream, data, off, length)
        if both is not None:
            self.fs, self.streams[writer] = both[0]
            expect_equal(
                writer.out.get_pos(), len(self.streams[writer].buffer), "position after a write"
            )

    def _expect_index(self, stream: Stream, data: bytes, off: int, length: int | None) -> None:
        """What raised an IndexError must be a slice that the model refuses for its bounds."""
        try:
            model.write(self.fs, stream, data, off, length)
        except Refused as refused:
            expect_equal(refused.why, "index", "why the model refuses")
            return
        raise AssertionError(f"a slice of {len(data)} bytes was refused: {off}, {length}")

    @rule(writer=writers)
    def flush(self, writer: _Writer) -> None:
        writer.out.flush()

    @rule(writer=writers, name=st.sampled_from(("hflush", "hsync")))
    def sync(self, writer: _Writer, name: str) -> None:
        if not self.subject.stream_claims(name):
            return
        stream = self.streams[writer]
        both = self._both(lambda: model.sync(self.fs, stream), getattr(writer.out, name))
        if both is not None:
            self.fs = both[0]
            if self.subject.traits.exact_length:
                length = self.subject.length(self._at(writer.path))
                expect_equal(length, len(stream.buffer), f"length after {name}")

    @rule(writer=writers)
    def close(self, writer: _Writer) -> None:
        self.fs, self.streams[writer] = model.close(self.fs, self.streams[writer])
        writer.out.close()
        expect(writer.out.closed, "a stream is open after close")

    @rule(writer=consumes(writers))
    def close_and_forget(self, writer: _Writer) -> None:
        self.close(writer)
        del self.streams[writer]

    # --- paths --------------------------------------------------------------------------

    @rule(src=st.sampled_from((*NAMES, "/d")), dst=st.sampled_from((*NAMES, "/e")))
    def rename(self, src: str, dst: str) -> None:
        if self._is_written(src):
            return  # undefined (OS-132)
        both = self._both(
            lambda: model.rename(self.fs, src, dst),
            lambda: self.subject.fs.rename(self._at(src), self._at(dst)),
        )
        if both is not None:
            self.fs = both[0]

    @rule(name=st.sampled_from((*NAMES, "/d", "/e")), recursive=st.booleans())
    def delete(self, name: str, recursive: bool) -> None:
        if self._is_written(name):
            return
        both = self._both(
            lambda: model.delete(self.fs, name, recursive=recursive),
            lambda: self.subject.fs.delete(self._at(name), recursive=recursive),
        )
        if both is not None:
            (self.fs, expected), answer = both
            expect_equal(answer, expected, f"what delete of {name} says")

    def _is_written(self, path: str) -> bool:
        return any(name == path or name.startswith(path + "/") for name in self.fs.writers)

    # --- what readers find ----------------------------------------------------------------

    @invariant()
    def readers_find_what_the_model_allows(self) -> None:
        if not self.subject.traits.creates_visibly and self.fs.writers:
            return
        for path in self.fs.files:
            allowed = model.visible(self.fs, path)
            length = self.subject.length(self._at(path))
            content = self.subject.see(self._at(path))
            expect(
                allowed.allows(content),
                f"{path} has {len(content)} bytes, of at least {len(allowed.at_least)} and at "
                f"most {len(allowed.at_most)}, or others",
            )
            expect(allowed.allows_length(length), f"{path} says that it is {length} bytes long")
            if path not in self.fs.writers:
                expect_equal(length, len(content), f"length of {path}, which nobody writes")

    @invariant()
    def listings_show_what_there_is(self) -> None:
        if not self.subject.traits.creates_visibly and self.fs.writers:
            return
        for directory in self.fs.directories:
            statuses = self.subject.other.list_status(self._at(directory).rstrip("/"))
            names = [status.name for status in statuses]
            expect_equal(sorted(names), model.children(self.fs, directory), f"names in {directory}")


def check_against_model(
    subject: Subject | FileSystem,
    root: str = "/tmp/howdah-machine",
    *,
    examples: int = 30,
    steps: int = 30,
    sizes: Sequence[int] = SIZES,
) -> None:
    """Run `examples` histories of at most `steps` operations; the shortest that fails is shown.

    `sizes` are the lengths of what is written, in bytes: small ones first, and some around
    and beyond what the filesystem keeps together.
    """
    held = subject if isinstance(subject, Subject) else Subject(subject, root)

    class Machine(StreamMachine):
        pass

    Machine.subject = held
    Machine.sizes = sizes
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
