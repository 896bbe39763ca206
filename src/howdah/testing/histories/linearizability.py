"""Whether what clients were told can have come from one filesystem that does one thing at a time.

A history is linearizable where its operations can be put in an order such that

1. each answer is the one that a single filesystem gives in that order, and
2. an operation that was answered before another was asked for comes before it.

An operation that was never answered may have happened at any time after it was asked for, or
not at all. The search is Wing and Gong's with Lowe's cache: it tries operations that may come
next, and never tries the same set of operations with the same state twice.

Files hold the tokens that were appended to them. Histories that share no path can be checked
apart, which is much quicker. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Content = tuple[str, ...]
State = frozenset[tuple[str, Content]]
"""The files that exist, each with what was appended to it."""


@dataclass(frozen=True, slots=True)
class Create:
    """Make an empty file that must not exist; answered by whether it didn't."""

    path: str


@dataclass(frozen=True, slots=True)
class Rename:
    """Answered by whether it was done: not from a path without a file, nor to one with a file."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Append:
    """Answered by whether there was a file."""

    path: str
    token: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Answered by whether there was a file."""

    path: str


@dataclass(frozen=True, slots=True)
class Read:
    """Answered by the content, or None where there is no file."""

    path: str


Call = Create | Rename | Append | Delete | Read
Answer = bool | Content | None


@dataclass(frozen=True, slots=True)
class Operation:
    """A call of one client, and what it was told.

    `answered_at` is None where it was told nothing; `answer` means nothing then. Times are
    of one clock, in any unit.
    """

    client: str
    call: Call
    asked_at: float
    answered_at: float | None
    answer: Answer = None

    def __post_init__(self) -> None:
        assert self.answered_at is None or self.asked_at <= self.answered_at, self


def perform(state: State, call: Call) -> tuple[State, Answer]:
    """What a filesystem is after a call, and what it answers."""
    files = dict(state)
    match call:
        case Create(path):
            if path in files:
                return state, False
            files[path] = ()
        case Rename(source, target):
            if source not in files or target in files:
                return state, False
            files[target] = files.pop(source)
        case Append(path, token):
            if path not in files:
                return state, False
            files[path] = (*files[path], token)
        case Delete(path):
            if path not in files:
                return state, False
            del files[path]
        case Read(path):
            return state, files.get(path)
    return frozenset(files.items()), True


@dataclass(frozen=True, slots=True)
class Verdict:
    """`order`: one in which it can have happened, None where there is none.

    Then `longest` is the longest beginning of one, and `stuck` are the operations of which
    one had to come next: what to look at.
    """

    order: tuple[Operation, ...] | None
    longest: tuple[Operation, ...] = ()
    stuck: tuple[Operation, ...] = ()

    def __bool__(self) -> bool:
        return self.order is not None

    def __str__(self) -> str:
        if self.order is not None:
            return f"linearizable: {len(self.order)} operations"
        lines = [f"not linearizable; after {len(self.longest)} operations:"]
        state: State = frozenset()
        for operation in self.longest:
            state, _ = perform(state, operation.call)
        lines += [f"  file {path}: {' '.join(content)}" for path, content in sorted(state)]
        lines += [f"  cannot be next: {operation}" for operation in self.stuck]
        lines += [f"  came before: {operation}" for operation in self.longest[-8:]]
        return "\n".join(lines)


def check(history: Sequence[Operation]) -> Verdict:
    """Search for an order of `history` that explains every answer; it begins with no file."""
    operations = sorted(history, key=lambda operation: operation.asked_at)
    answered = sum(
        1 << number for number, op in enumerate(operations) if op.answered_at is not None
    )
    longest: tuple[int, ...] = ()
    order: list[int] = []
    states: list[State] = [frozenset()]
    done = 0
    # Sets of operations that led to a state from where no order was found.
    seen: set[tuple[int, State]] = set()
    choices = [_next(operations, done)]
    while done & answered != answered:
        chosen = next(choices[-1], None)
        if chosen is None:
            choices.pop()
            if not order:
                stuck = _next(operations, sum(1 << number for number in longest))
                return Verdict(
                    None,
                    tuple(operations[number] for number in longest),
                    tuple(operations[number] for number in stuck),
                )
            done &= ~(1 << order.pop())
            states.pop()
            continue
        operation = operations[chosen]
        state, answer = perform(states[-1], operation.call)
        if operation.answered_at is not None and answer != operation.answer:
            continue
        after = done | 1 << chosen
        if (after, state) in seen:
            continue
        seen.add((after, state))
        done = after
        order.append(chosen)
        states.append(state)
        choices.append(_next(operations, done))
        if len(order) > len(longest):
            longest = tuple(order)
    return Verdict(tuple(operations[number] for number in order))


def _next(operations: Sequence[Operation], done: int) -> Iterator[int]:
    """Operations that may come next: asked for before any that is left was answered.

    Those that were answered come first, soonest answered first: one that was not need never
    have happened.
    """
    first = (~done & (done + 1)).bit_length() - 1  # the lowest that is not done
    deadline: float | None = None
    found = []
    for number in range(first, len(operations)):
        if done >> number & 1:
            continue
        operation = operations[number]
        if deadline is not None and operation.asked_at > deadline:
            break
        found.append(number)
        at = operation.answered_at
        if at is not None:
            deadline = at if deadline is None else min(deadline, at)

    def by_answer(number: int) -> tuple[bool, float]:
        at = operations[number].answered_at
        return at is None, at or 0.0

    return iter(sorted(found, key=by_answer))
