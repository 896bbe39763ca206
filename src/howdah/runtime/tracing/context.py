"""The context of a trace as it goes over the wire (pure).

Hadoop's messages have a place for it: `RPCTraceInfoProto` in a call's header, and
`DataTransferTraceInfoProto` in the header of an operation at a data port. Both have three
fields: two numbers of 64 bits, which HTrace used until Hadoop 3.2, and bytes called
`spanContext`. Hadoop 3.3 to 3.5 has an empty Tracer: it neither writes nor reads those bytes,
so no format of Hadoop's own exists.

What howdah sends:

- `spanContext` is the text of the W3C's `traceparent` header (55 bytes), and after a line feed
  that of `tracestate`, where there is one;
- `traceId` is the lower half of the trace's number and `parentId` that of the span. A peer with
  HTrace takes them for a span's number, and others pass over them.

What is read is `spanContext` alone. It comes from anybody: its length is checked first, then
every character.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from howdah import errors

MAX_CONTEXT_BYTES: Final = 55 + 1 + 512
"""The W3C asks that 512 characters of tracestate be passed on; more than that is not taken."""

SAMPLED: Final = 1
"""The bit of `flags` that says that the trace is recorded."""

_PARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_KEY: Final = r"[a-z0-9][a-z0-9_\-*/@]{0,255}"
_VALUE: Final = r"[ -+\--<>-~]{0,255}[!-+\--<>-~]"
_MEMBER: Final = re.compile(f"{_KEY}={_VALUE}")
_MAX_MEMBERS: Final = 32


class BadContext(errors.HowdahError, ValueError):
    """Bytes that are no context; the operation that brought them goes on without."""


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A span somewhere else. `state` is what vendors keep in `tracestate`, as it came."""

    trace_id: int
    span_id: int
    flags: int = SAMPLED
    state: str = ""

    @property
    def is_sampled(self) -> bool:
        return bool(self.flags & SAMPLED)

    @property
    def parent(self) -> str:
        """The text of `traceparent`."""
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{self.flags & 0xFF:02x}"

    def encode(self) -> bytes:
        """The bytes for `spanContext`; a state that is too long to be passed on is left out."""
        text = f"{self.parent}\n{self.state}" if self.state else self.parent
        encoded = text.encode("ascii", "replace")
        return encoded if len(encoded) <= MAX_CONTEXT_BYTES else self.parent.encode()


def decode(data: bytes) -> TraceContext:
    """Return the context that `encode` wrote, here or elsewhere.

    Raises `BadContext` for what is too long, is no text, has another form, or names no trace.
    A later version than 00 is read as far as 00 goes, as the W3C asks.
    """
    if len(data) > MAX_CONTEXT_BYTES:
        raise BadContext(f"it has {len(data)} bytes, at most {MAX_CONTEXT_BYTES} are read")
    try:
        parent, _, state = data.decode("ascii").partition("\n")
    except UnicodeDecodeError as error:
        raise BadContext("it is no text of ASCII") from error
    match = _PARENT.fullmatch(parent)
    if match is None:
        raise BadContext("it does not begin with a traceparent of the W3C")
    version, trace, span, flags, rest = match.groups()
    if version == "ff" or (version == "00" and rest is not None):
        raise BadContext(f"its traceparent is none of version {version}")
    if not int(trace, 16) or not int(span, 16):
        raise BadContext("it names no trace, or no span of it")
    if not _is_state(state):
        # As the W3C asks: what is wrong with the vendors' part does not end the trace.
        state = ""
    return TraceContext(int(trace, 16), int(span, 16), int(flags, 16), state)


def _is_state(text: str) -> bool:
    # Member by member: one expression for all of them may take years over blanks and commas.
    first, *others = [member.strip(" \t") for member in text.split(",")]
    return (
        len(others) < _MAX_MEMBERS
        and _MEMBER.fullmatch(first) is not None
        and all(not member or _MEMBER.fullmatch(member) for member in others)
    )


def ids_of(encoded: bytes) -> tuple[int, int]:
    """`traceId` and `parentId` beside bytes of `encode`; two zeros beside any others."""
    try:
        context = decode(encoded)
    except BadContext:
        return 0, 0
    return context.trace_id & 0xFFFFFFFFFFFFFFFF, context.span_id
