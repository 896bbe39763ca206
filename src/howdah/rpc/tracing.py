"""Calls in a trace: their spans at the caller's and at the server's (shell: it reads a clock).

Both spans of a call bear its name, `ClientProtocol.mkdirs`: one of the kind CLIENT, and below it
one of the kind SERVER, for which the header of the call brings the context. Below that are the
waits that are long enough to be seen: for a turn on the server's loop, and for the journal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from google.protobuf.message import Message

from howdah import errors
from howdah.config.value_types import Address
from howdah.protocol.rpc.session import Call
from howdah.runtime.tracing import spans
from howdah.runtime.tracing.span import NOTHING, Kind, Span

VISIBLE_WAIT_NS: Final = 1_000_000
"""A call that waited so long for its turn has a span for it."""

ALONE: Final = frozenset(("renewLease",))
"""Calls that a client makes by itself every now and then: they begin no trace."""

GAVE_UP: Final = errors.RetriableError("the journal did not take the edit in time")


def _name(protocol: str, method: str) -> str:
    return f"{protocol.rpartition('.')[2]}.{method}"


def _path_of(request: Message) -> str:
    """The path that a request of ClientProtocol is about, where it has one."""
    path: object = getattr(request, "src", "")
    return path if isinstance(path, str) else ""


def client_span(protocol: str, method: str, request: Message, address: Address) -> Span:
    """The caller's span."""
    if spans.tracer is None:
        return NOTHING
    attributes: dict[str, str | int | float | bool] = {
        "rpc.system": "hadoop",
        "rpc.service": protocol,
        "rpc.method": method,
        "server.address": address[0],
        "server.port": address[1],
    }
    if path := _path_of(request):
        attributes["howdah.path"] = path
    begin = spans.tracer.begin_below_current if method in ALONE else spans.tracer.begin
    return begin(_name(protocol, method), attributes, Kind.CLIENT)


def begin(call: Call, address: str, waited_ns: int) -> None:
    """Give the call its span, which began when the call came; its turn comes now."""
    now_ns = time.time_ns()
    span = spans.serve(
        _name(call.protocol, call.method),
        {
            "rpc.system": "hadoop",
            "rpc.service": call.protocol,
            "rpc.method": call.method,
            "client.address": address,
            "user.name": call.user,
        },
        call.trace,
        begin_ns=now_ns - waited_ns,
    )
    if span is NOTHING:
        return
    call.span = span
    if waited_ns >= VISIBLE_WAIT_NS:
        span.child("wait for a turn", begin_ns=now_ns - waited_ns).end()


def error_of(outcome: object) -> errors.HowdahError | None:
    return outcome if isinstance(outcome, errors.HowdahError) else None


def held_back(span: Span, outcome: object) -> Callable[[errors.HowdahError | None], None]:
    """The answer waits for the journal; what is given back is called when it does no more,
    with what went wrong, if something did."""
    waiting = span.child("journal sync")

    def over(error: errors.HowdahError | None) -> None:
        waiting.end(error)
        span.end(error or error_of(outcome))

    return over
