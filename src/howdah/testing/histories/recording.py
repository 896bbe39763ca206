"""Clients that do things at once to few files, and note every call with its answer.

What they note is a history for `howdah.testing.histories.linearizability`. A call that fails
in a way that says nothing of the file (no connection, no namenode, a lease of somebody else)
counts as never answered, which is always true; one that certainly changed nothing is left out.

There are two kinds of histories, as an append goes on with the file that it has opened where
that is renamed meanwhile: such a pair is no single step.
"""

from __future__ import annotations

import enum
import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.testing.histories.linearizability import (
    Answer,
    Append,
    Call,
    Create,
    Delete,
    Operation,
    Read,
    Rename,
)

PATHS = 3
_JOIN_TIMEOUT_S = 300.0


class Kind(enum.StrEnum):
    """Which calls are made in one history."""

    NAMES = "names"
    """Create, rename, delete, and ask whether there is a file."""
    CONTENTS = "contents"
    """Create, append, delete, and read."""


class _NothingHappened(Exception):
    """The call changed nothing and said nothing."""


_REFUSED = (errors.AlreadyBeingCreated, errors.RecoveryInProgress)


def perform(fs: FileSystem, call: Call, kind: Kind) -> Answer:
    """Make a call; its answer as the checker has it.

    Raises _NothingHappened, or anything else where it is unknown what happened.
    """
    match call:
        case Create(path):
            return _create(fs, path)
        case Rename(source, target):
            try:
                fs.rename(source, target)
            except (FileNotFoundError, FileExistsError):
                return False
            return True
        case Append(path, token):
            try:
                out = fs.append(path)
            except FileNotFoundError:
                return False
            except _REFUSED:
                raise _NothingHappened from None
            with out:
                out.write(f"{token} ".encode())
            return True
        case Delete(path):
            return fs.delete(path)
        case Read(path):
            return _look(fs, path) if kind is Kind.NAMES else _read(fs, path)


def _create(fs: FileSystem, path: str) -> bool:
    try:
        out = fs.create(path)
    except (FileExistsError, *_REFUSED):
        return False  # who may be writing it has created it
    # The file is there by now. If somebody has renamed or deleted it, closing it may fail,
    # which says nothing of the creation.
    with suppress(OSError):
        out.close()
    return True


def _look(fs: FileSystem, path: str) -> Answer:
    try:
        fs.get_file_status(path)
    except FileNotFoundError:
        return None
    return ()


def _read(fs: FileSystem, path: str) -> Answer:
    try:
        with fs.open(path) as stream:
            found = bytes(stream.read()).decode()
    except FileNotFoundError:
        return None
    except OSError:
        # It is deleted by now, and its blocks are gone.
        raise _NothingHappened from None
    assert not found or found.endswith(" "), f"{path} has part of a token: {found!r}"
    return tuple(found.split())


def record(
    connect: Callable[[], FileSystem],
    directory: str,
    kind: Kind,
    seed: int,
    *,
    clients: int = 4,
    calls: int = 12,
) -> Sequence[Operation]:
    """Have `clients` make `calls` each on the files of a new directory; their history."""
    history: list[Operation] = []
    troubles: list[str] = []
    lock = threading.Lock()
    begin = threading.Barrier(clients)

    def work(name: str) -> None:
        dice = random.Random(f"{name} {directory} {seed}")
        try:
            with connect() as fs:
                begin.wait(_JOIN_TIMEOUT_S)
                for number in range(calls):
                    call = _draw(dice, directory, kind, f"{name}.{number}")
                    operation = _note(fs, name, call, kind)
                    if operation is not None:
                        with lock:
                            history.append(operation)
        # Whatever it is, the test that called us has to say it.
        except Exception as error:  # noqa: BLE001
            troubles.append(f"{name}: {type(error).__name__}: {error}")

    threads = [
        threading.Thread(target=work, args=(f"client{number}",), daemon=True)
        for number in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_JOIN_TIMEOUT_S)
        assert not thread.is_alive(), f"{thread.name} does not end"
    assert not troubles, "\n".join(troubles)
    return history


def _draw(dice: random.Random, directory: str, kind: Kind, token: str) -> Call:
    path, other = (f"{directory}/{n}" for n in dice.sample(range(PATHS), 2))
    calls: list[Call] = [Create(path), Delete(path), Read(path), Read(path)]
    if kind is Kind.NAMES:
        calls += [Create(path), Rename(path, other), Rename(path, other)]
    else:
        calls += [Append(path, token), Append(path, token), Append(path, token), Read(path)]
    return dice.choice(calls)


def _note(fs: FileSystem, client: str, call: Call, kind: Kind) -> Operation | None:
    asked_at = time.monotonic()
    try:
        answer = perform(fs, call, kind)
    except _NothingHappened:
        return None
    except OSError:
        return Operation(client, call, asked_at, None)
    return Operation(client, call, asked_at, time.monotonic(), answer)
