"""Tables of state transitions, and how the documentation shows them (pure).

A table says in which states a thing can be, which event takes it from one state to
another, and who causes the event. Tests hold each table against the code that it
describes: every transition that they observe is a row, and every row is observed. The
pages in `docs/how-it-works` print the tables with `as_markdown` and draw them with
`as_mermaid`.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

State = TypeVar("State", bound=enum.Enum)


@dataclass(frozen=True, slots=True)
class Transition(Generic[State]):
    """One row. `event` is a short name, such as an edit's; `cause` says who causes it, when."""

    before: State
    event: str
    after: State
    cause: str


def as_markdown(table: Sequence[Transition[State]]) -> str:
    """The table as Markdown, in its own order.

    >>> class Door(enum.Enum):
    ...     OPEN = 1
    ...     SHUT = 2
    >>> print(as_markdown([Transition(Door.OPEN, "push", Door.SHUT, "anybody")]))
    | state | event | next state | cause |
    |---|---|---|---|
    | OPEN | push | SHUT | anybody |
    """
    rows = [
        f"| {row.before.name} | {row.event} | {row.after.name} | {row.cause} |" for row in table
    ]
    return "\n".join(["| state | event | next state | cause |", "|---|---|---|---|", *rows])


def as_mermaid(table: Sequence[Transition[State]], start: State, end: State | None = None) -> str:
    """The table as a Mermaid state diagram. `start` and `end` become its two dots."""
    lines = ["stateDiagram-v2"]
    events: dict[tuple[State, State], list[str]] = {}
    for row in table:
        named = events.setdefault((row.before, row.after), [])
        if row.event not in named:
            named.append(row.event)
    for (before, after), names in events.items():
        source = "[*]" if before is start else before.name
        target = "[*]" if after is end or (end is None and after is start) else after.name
        lines.append(f"    {source} --> {target}: {', '.join(names)}")
    return "\n".join(lines)
