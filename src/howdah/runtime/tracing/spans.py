"""Spans, as the rest of howdah sees them: cheap where traces are off (shell).

A process has traces on or off as a whole. Off, `tracer` is None: what runs for each call looks
at that and does nothing more, and `begin` gives `NOTHING`, a span without effect.

On, a span is begun and ended by hand, since a stream's life is no block of code:

    span = spans.begin("howdah.create", {"howdah.path": path})
    with span.current():    # what is begun here, on this thread, is below it
        ...
    span.end()              # or span.end(error)

`span.wire()` is what tells a server of it.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Final

from howdah import errors
from howdah.config import Configuration
from howdah.runtime.tracing import context
from howdah.runtime.tracing.settings import TracingSettings
from howdah.runtime.tracing.span import NONE, NOTHING, Attributes, Kind, Span, Tracer

# The log line about a context that cannot be understood.
#
# Whoever sends such contexts sends one with each call. So one line is written a minute, with the
# first bytes of the latest one and how many there were.

log = logging.getLogger(__name__)

EVERY_S: Final = 60.0
_SHOWN_BYTES: Final = 24


class Foreign:
    """Counts contexts that were ignored, and says so now and then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next_s = float("-inf")
        self._since = 0

    def note(self, source: str, data: bytes, why: str) -> None:
        """Log that `source` came with a context that is ignored."""
        with self._lock:
            self._since += 1
            now_s = time.monotonic()
            if now_s < self._next_s:
                return
            self._next_s = now_s + EVERY_S
            count, self._since = self._since, 0
        log.warning(
            "%.100r came with a trace's context that is ignored, and is served without it: %s "
            "(%d bytes, beginning with %r; %d since the last such line)",
            source,
            why,
            len(data),
            data[:_SHOWN_BYTES],
            count,
        )


tracer: Tracer | None = None
"""None where traces are off. Read from here at each use, since it may be switched on later."""

_foreign = Foreign()
_switching = threading.Lock()


def begin(name: str, attributes: Attributes = NONE, kind: Kind = Kind.INTERNAL) -> Span:
    """A span below the current one, or the first one of a new trace."""
    if tracer is None:
        return NOTHING
    return tracer.begin(name, attributes, kind)


def serve(name: str, attributes: Attributes, came: bytes, *, begin_ns: int | None = None) -> Span:
    """The span of what was asked for with the context `came`, which anybody may have written.

    Nothing without a context, and with one that cannot be understood.
    """
    if tracer is None or not came:
        return NOTHING
    try:
        parent = context.decode(came)
    except context.BadContext as error:
        _foreign.note(name, came, error.message)
        return NOTHING
    return tracer.serve(name, attributes, parent, begin_ns)


def provide(settings: TracingSettings, service: str, *, begins: bool) -> None:
    """Switch traces on in a program of ours, which sends them where `OTEL_*` say.

    `service` is its name in a trace, unless `OTEL_SERVICE_NAME` has another; `begins` is False
    in servers. Raises `UnsupportedOperation` where OpenTelemetry is not installed.
    """
    global tracer
    if not settings.enabled:
        return
    with _switching:
        if tracer is None:
            try:
                from howdah.runtime.tracing import otel

                tracer = otel.own_tracer(settings.ratio, service, begins=begins)
            except ImportError as error:
                raise _unavailable(error) from error


def join(conf: Configuration) -> None:
    """Switch traces on in an application that uses our client: they go where the application
    sends its own. Raises `UnsupportedOperation` where OpenTelemetry is not installed."""
    global tracer
    if tracer is not None or not TracingSettings.of(conf).enabled:
        return
    with _switching:
        if tracer is None:
            try:
                from howdah.runtime.tracing import otel
            except ImportError as error:
                raise _unavailable(error) from error
            tracer = otel.joining_tracer()


def stop(timeout_s: float = 2.0) -> None:
    """The process ends: what was recorded is sent, if that can be done in time."""
    if tracer is not None:
        tracer.stop(timeout_s)


def _unavailable(error: ImportError) -> errors.UnsupportedOperation:
    return errors.UnsupportedOperation(
        f"howdah.tracing.enabled is true, and OpenTelemetry cannot be loaded: {error}; "
        "install howdah[tracing], or take the key out"
    )


def parent_from_environment() -> bytes:
    """The context in which a shell or a scheduler started this program (`TRACEPARENT`)."""
    parent, state = os.environ.get("TRACEPARENT", ""), os.environ.get("TRACESTATE", "")
    return f"{parent}\n{state}".rstrip("\n").encode("utf-8", "replace")
