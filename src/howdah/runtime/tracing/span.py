"""A span and a tracer, as the rest of howdah knows them (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from enum import Enum, auto
from typing import Final, Protocol

from howdah.runtime.tracing.context import TraceContext

Attributes = Mapping[str, str | int | float | bool]

NONE: Final[Attributes] = {}


class Kind(Enum):
    INTERNAL = auto()
    CLIENT = auto()
    SERVER = auto()


class Span(Protocol):
    """A piece of work in a trace. Thread-safe; what comes after its end has no effect."""

    def set(self, attributes: Attributes) -> None:
        """Say more of it."""

    def wire(self) -> bytes:
        """The context for whoever works below it; empty if there is nothing to tell."""

    def current(self) -> AbstractContextManager[object]:
        """Until its end, spans that are begun on this thread are below this one."""

    def child(
        self,
        name: str,
        attributes: Attributes = NONE,
        *,
        kind: Kind = Kind.INTERNAL,
        begin_ns: int | None = None,
    ) -> Span:
        """One below it, whatever is current. `begin_ns` is a time since 1970."""

    def end(self, error: BaseException | None = None) -> None:
        """It is over, or failed. A second time has no effect."""


class Tracer(Protocol):
    """What `howdah.runtime.tracing.otel` is where traces are on."""

    def begin(self, name: str, attributes: Attributes, kind: Kind) -> Span:
        """Below the current span; else the first of a new trace, or nothing in a server."""

    def begin_below_current(self, name: str, attributes: Attributes, kind: Kind) -> Span:
        """Nothing if there is no current span."""

    def serve(
        self, name: str, attributes: Attributes, parent: TraceContext, begin_ns: int | None
    ) -> Span:
        """What a caller asked for, below its span."""

    def stop(self, timeout_s: float) -> None:
        """Send what is not sent yet, and let go."""


_NOWHERE: Final = nullcontext()


class _Nothing:
    """The span of what is not traced."""

    __slots__ = ()

    def set(self, attributes: Attributes) -> None:
        return

    def wire(self) -> bytes:
        return b""

    def current(self) -> AbstractContextManager[object]:
        return _NOWHERE

    def child(
        self,
        name: str,
        attributes: Attributes = NONE,
        *,
        kind: Kind = Kind.INTERNAL,
        begin_ns: int | None = None,
    ) -> Span:
        return self

    def end(self, error: BaseException | None = None) -> None:
        return


NOTHING: Final[Span] = _Nothing()
