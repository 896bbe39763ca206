"""Calls in a trace: their spans at the caller's and at the server's (shell: it reads a clock).

Both spans of a call bear its name, `ClientProtocol.mkdirs`: one of the kind CLIENT, and below it
one of the kind SERVER, for which the header of the call brings the context. Below that are the
waits that are long enough to be seen: for a turn on the server's loop, and for the journal.
"""

from __future__ import annotations

import time
from typing import Final

from google.protobuf.message import Message

from howdah.config.value_types import Address
from howdah.protocol.rpc.call import Call
from howdah.runtime.tracing import spans
from howdah.runtime.tracing.span import NOTHING, Kind, Span

VISIBLE_WAIT_NS: Final = 1_000_000
"""A call that waited so long for its turn has a span for it."""

ALONE: Final = frozenset(("renewLease",))
"""Calls that a client makes by itself every now and then: they begin no trace."""


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


def server_span(call: Call, waited_ns: int) -> Span:
    """The span of a call that brought a context, which began when the call came; its turn comes
    now."""
    if spans.tracer is None:
        return NOTHING
    now_ns = time.time_ns()
    span = spans.serve(
        _name(call.protocol, call.method),
        {
            "rpc.system": "hadoop",
            "rpc.service": call.protocol,
            "rpc.method": call.method,
            "client.address": call.caller.address,
            "user.name": call.caller.user,
        },
        call.trace,
        begin_ns=now_ns - waited_ns,
    )
    if waited_ns >= VISIBLE_WAIT_NS:
        span.child("wait for a turn", begin_ns=now_ns - waited_ns).end()
    return span
