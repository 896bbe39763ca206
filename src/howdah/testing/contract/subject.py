"""What a check is given: a filesystem, a directory of its own, and what is expected there.

The specification leaves some things to a filesystem (an object store need not show a
file before it is closed; a local one has no leases). Whoever holds a filesystem against
the contract says in `Traits` which of them it has; what a *stream* can do it is asked
itself, by capability.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from howdah.testing.waiting import wait_until

if TYPE_CHECKING:
    from howdah.fs.api import FileSystem
    from howdah.fs.streams import FSDataOutputStream

PATIENCE_S = 60.0
FAULTS = "faults"
"""The need for `write_faults`."""
Faults = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Traits:
    """What a filesystem does where the contract leaves a choice; the default is the strictest.

    `creates_visibly`: a file exists from `create` on (object stores: OS-172).
    `one_writer`: a path that is being written can't be opened for writing again (OS-177).
    `serialises_writes`: a stream may be shared by threads (OS-026, OS-029).
    `exact_length`: a status is exact after each sync (OS-139, XC-003).
    `flush_shows_nothing`: what is flushed stays with the writer (FS-147).
    `typed`: streams have `write_int`, `read_int` and their kin (OS-023).
    `builders`: it has `create_file` and `open_file`.
    `several_clients`: `other` is a client of its own and not the same object.
    """

    creates_visibly: bool = True
    one_writer: bool = True
    serialises_writes: bool = True
    exact_length: bool = True
    flush_shows_nothing: bool = False
    typed: bool = True
    builders: bool = True
    several_clients: bool = False


class ContractViolated(AssertionError):
    """A filesystem does not do what the contract says."""


def expect(condition: bool, complaint: str) -> None:
    """Fail the check that is running unless `condition` holds."""
    if not condition:
        raise ContractViolated(complaint)


def expect_equal(actual: object, wanted: object, subject: str) -> None:
    """Fail the check that is running unless both are the same."""
    if actual != wanted:
        raise ContractViolated(f"{subject}: {_short(actual)}, not {_short(wanted)}")


def expect_refused(
    operation: Callable[[], object],
    kinds: type[Exception] | Sequence[type[Exception]],
    attempt: str,
) -> Exception:
    """Fail the check unless `operation` raises one of `kinds`; returns what it raised."""
    wanted = (kinds,) if isinstance(kinds, type) else tuple(kinds)
    try:
        result = operation()
    except wanted as error:
        return error
    names = " or ".join(kind.__name__ for kind in wanted)
    raise ContractViolated(f"{attempt} was accepted ({_short(result)}), {names} was due")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:100]}… ({len(text)} characters)"


class Subject:
    """A filesystem under test. Checks use paths from `new_path` only.

    `other` looks at what `fs` wrote: another client where there is one. `write_faults`,
    if given, makes a context in which nothing that `fs` writes reaches its store.
    """

    def __init__(
        self,
        fs: FileSystem,
        root: str,
        *,
        other: FileSystem | None = None,
        traits: Traits = Traits(),
        write_faults: Faults | None = None,
    ) -> None:
        self.fs = fs
        self.root = fs.resolve(root)
        self.other = fs if other is None else other
        self.traits = traits
        self.write_faults = write_faults
        self._numbers = itertools.count(1)

    @property
    def scheme(self) -> str:
        return self.fs.uri.partition(":")[0]

    def new_path(self, name: str = "file") -> str:
        """A path that nothing was ever at, in a directory that exists."""
        return f"{self.root}/{name}{next(self._numbers)}"

    # --- what is claimed ----------------------------------------------------------------

    @cached_property
    def _probed(self) -> dict[str, bool]:
        return {}

    def stream_claims(self, capability: str) -> bool:
        """Whether an output stream of this filesystem says that it has a capability."""
        known = self._probed
        if capability not in known:
            path = self.new_path("probe")
            with self.fs.create(path, overwrite=True) as out:
                known[capability] = out.has_capability(capability)
            self.fs.delete(path)
        return known[capability]

    def path_claims(self, capability: str) -> bool:
        """Whether the filesystem says that it offers an operation below the root."""
        return self.fs.has_path_capability(self.root, capability)

    def claims(self, need: str) -> bool:
        """Whether there is what a check needs: a trait, `faults`, a capability; `!` negates."""
        if need.startswith("!"):
            return not self.claims(need[1:])
        if need == FAULTS:
            return self.write_faults is not None
        if hasattr(Traits, need):
            return bool(getattr(self.traits, need))
        if need.startswith("fs.capability.") and "outputstream" not in need:
            return self.path_claims(need)
        return self.stream_claims(need)

    # --- bytes --------------------------------------------------------------------------

    def put(self, path: str, data: bytes) -> None:
        """A closed file with `data`, whatever was there before."""
        with self.fs.create(path, overwrite=True) as out:
            out.write(data)

    def see(self, path: str) -> bytes:
        """What a new reader finds, on the other client if there is one."""
        with self.other.open(path) as stream:
            data: bytes = stream.read()
        return data

    def length(self, path: str) -> int:
        """The length that the status says, on the other client if there is one."""
        return self.other.get_file_status(path).length

    def mtime_ms(self, path: str) -> int:
        return self.other.get_file_status(path).modification_time_ms

    def clock_ms(self) -> int:
        """The filesystem's own clock: the time that a file gets which is closed now."""
        path = self.new_path("clock")
        self.put(path, b"")
        now = self.mtime_ms(path)
        self.fs.delete(path)
        return now

    def until_closed(self, path: str) -> None:
        """Wait for a recovery that the filesystem has announced."""
        wait_until(lambda: self.fs.is_file_closed(path), PATIENCE_S, f"{path} to be closed")

    def open_both_ways(self) -> list[tuple[str, Callable[[str], FSDataOutputStream]]]:
        """The ways to a new stream that this filesystem has, by name."""
        ways: list[tuple[str, Callable[[str], Any]]] = [("create", self.fs.create)]
        if self.traits.builders:
            ways.append(("builder", lambda path: self.fs.create_file(path).recursive().build()))
        return ways
