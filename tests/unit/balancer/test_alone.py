"""One balancer at a time balances a namespace, also if two begin at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from howdah import errors
from howdah.balancer.namenode import ID_PATH, AnotherOneRuns, BalancedNamenode


class Leases:
    """Files of a namenode, of which only one may be open for writing. `before` is called before
    each call."""

    def __init__(self) -> None:
        self.files: dict[str, object | None] = {}
        """Each with its writer."""
        self.before: Callable[[str], None] = lambda call: None

    def exists(self, path: str) -> bool:
        self.before("exists")
        return path in self.files

    def create(self, path: str, **_: Any) -> Writer:
        self.before("create")
        if path in self.files:
            raise (errors.AlreadyBeingCreated if self.files[path] else errors.PathExists)(path)
        return Writer(self, path)

    def append(self, path: str) -> Writer:
        self.before("append")
        if path not in self.files:
            raise errors.PathNotFound(path)
        if self.files[path] is not None:
            raise errors.AlreadyBeingCreated(path)
        return Writer(self, path)

    def delete(self, path: str) -> bool:
        self.before("delete")
        return self.files.pop(path, self) is not self


class Writer:
    def __init__(self, fs: Leases, path: str) -> None:
        self.fs, self.path = fs, path
        fs.files[path] = self

    def write(self, data: bytes) -> None: ...

    def hflush(self) -> None: ...

    def close(self) -> None:
        if self.fs.files.get(self.path) is not self:
            raise errors.LeaseExpired(self.path)
        self.fs.files[self.path] = None


def balancer(fs: Leases) -> BalancedNamenode:
    made = object.__new__(BalancedNamenode)
    made._fs = fs  # type: ignore[assignment]  # It has what the lock needs.
    return made


def test_a_second_one_is_refused_and_a_file_that_is_left_is_not_in_the_way() -> None:
    fs = Leases()
    with balancer(fs).alone(), pytest.raises(AnotherOneRuns), balancer(fs).alone():
        raise AssertionError("two at once")
    assert fs.files == {}
    fs.files[ID_PATH] = None
    with balancer(fs).alone():
        assert fs.files[ID_PATH] is not None


@pytest.mark.parametrize("turn", range(4))
def test_of_two_that_find_a_file_that_is_left_one_runs(turn: int) -> None:
    """The second one begins before each call of the first one in turn."""
    fs = Leases()
    fs.files[ID_PATH] = None
    first, second = balancer(fs), balancer(fs)
    running: list[BalancedNamenode] = []
    calls = 0

    with ExitStack() as stack:

        def begin(made: BalancedNamenode) -> None:
            with suppress(AnotherOneRuns):
                stack.enter_context(made.alone())
                running.append(made)

        def between(_: str) -> None:
            nonlocal calls
            calls += 1
            if calls == turn + 1:
                begin(second)

        fs.before = between
        begin(first)
        assert len(running) == 1
        assert fs.files[ID_PATH] is not None
