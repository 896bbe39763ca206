"""OpenTelemetry behind `howdah.runtime.tracing.span`: imported only where traces are on (shell).

Programs of howdah have a provider of their own (`own_tracer`), set up from the standard
variables of the environment: `OTEL_TRACES_EXPORTER` (otlp, over HTTP; console; none; or any
exporter that is installed), `OTEL_EXPORTER_OTLP_*`, `OTEL_TRACES_SAMPLER`, `OTEL_BSP_*`,
`OTEL_RESOURCE_ATTRIBUTES`, `OTEL_SERVICE_NAME`, `OTEL_SDK_DISABLED`. An application that uses
our client has configured one, or has none (`joining_tracer`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.metadata import entry_points
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.span import TraceState

from howdah import __version__, errors
from howdah.runtime.tracing.context import TraceContext
from howdah.runtime.tracing.span import NONE, NOTHING, Attributes, Kind, Span

_KINDS: Final = {
    Kind.INTERNAL: SpanKind.INTERNAL,
    Kind.CLIENT: SpanKind.CLIENT,
    Kind.SERVER: SpanKind.SERVER,
}
_MAX_MESSAGE_CHARACTERS: Final = 1000


class _OtelSpan:
    """A span that is recorded."""

    __slots__ = ("_ended", "_span", "_tracer")

    def __init__(self, tracer: trace.Tracer, span: trace.Span) -> None:
        self._tracer = tracer
        self._span = span
        self._ended = False

    def set(self, attributes: Attributes) -> None:
        if not self._ended:
            self._span.set_attributes(dict(attributes))

    def wire(self) -> bytes:
        here = self._span.get_span_context()
        if not here.is_valid or not here.trace_flags.sampled:
            # Servers begin no traces, so there is nothing that they have to be told.
            return b""
        state = here.trace_state.to_header() if here.trace_state else ""
        return TraceContext(here.trace_id, here.span_id, int(here.trace_flags), state).encode()

    def current(self) -> AbstractContextManager[object]:
        return _being(self._span)

    def child(
        self,
        name: str,
        attributes: Attributes = NONE,
        *,
        kind: Kind = Kind.INTERNAL,
        begin_ns: int | None = None,
    ) -> Span:
        span = self._tracer.start_span(
            name,
            trace.set_span_in_context(self._span, otel_context.Context()),
            _KINDS[kind],
            dict(attributes),
            start_time=begin_ns,
        )
        return _OtelSpan(self._tracer, span)

    def end(self, error: BaseException | None = None) -> None:
        if self._ended:
            return
        self._ended = True
        if error is not None:
            message = str(error)[:_MAX_MESSAGE_CHARACTERS]
            # The name that users of Hadoop know, where the error has one.
            known = error.remote_class if isinstance(error, errors.HowdahError) else ""
            self._span.set_attribute("error.type", known or type(error).__name__)
            self._span.set_status(Status(StatusCode.ERROR, message))
        self._span.end()


@contextmanager
def _being(span: trace.Span) -> Iterator[None]:
    token = otel_context.attach(trace.set_span_in_context(span))
    try:
        yield
    finally:
        otel_context.detach(token)


class OtelTracer:
    """Makes spans. `begins`: whether work that nobody traces yet begins a trace."""

    def __init__(self, tracer: trace.Tracer, *, begins: bool) -> None:
        self._tracer = tracer
        self._begins = begins

    def begin(self, name: str, attributes: Attributes, kind: Kind) -> Span:
        if not self._begins:
            return self.begin_below_current(name, attributes, kind)
        # One that no sampler chose is current as well: nothing below it begins a trace.
        span = self._tracer.start_span(name, kind=_KINDS[kind], attributes=dict(attributes))
        return _OtelSpan(self._tracer, span)

    def begin_below_current(self, name: str, attributes: Attributes, kind: Kind) -> Span:
        if not trace.get_current_span().get_span_context().is_valid:
            return NOTHING
        span = self._tracer.start_span(name, kind=_KINDS[kind], attributes=dict(attributes))
        return _OtelSpan(self._tracer, span)

    def serve(
        self, name: str, attributes: Attributes, parent: TraceContext, begin_ns: int | None
    ) -> Span:
        remote = trace.SpanContext(
            parent.trace_id,
            parent.span_id,
            is_remote=True,
            trace_flags=trace.TraceFlags(parent.flags),
            trace_state=TraceState.from_header([parent.state]) if parent.state else None,
        )
        span = self._tracer.start_span(
            name,
            trace.set_span_in_context(trace.NonRecordingSpan(remote), otel_context.Context()),
            SpanKind.SERVER,
            dict(attributes),
            start_time=begin_ns,
        )
        return _OtelSpan(self._tracer, span)

    def stop(self, timeout_s: float) -> None:
        return  # What it records is the application's to send.


class _OwnTracer(OtelTracer):
    def __init__(self, ratio: float | None, service: str, *, begins: bool) -> None:
        from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

        own = {SERVICE_VERSION: __version__}
        if not os.environ.get("OTEL_SERVICE_NAME"):
            own[SERVICE_NAME] = service
        self._provider = TracerProvider(
            sampler=None if ratio is None else ParentBased(TraceIdRatioBased(ratio)),
            resource=Resource.create(own),
            # It is stopped by `stop`, which does not wait for a collector that is away.
            shutdown_on_exit=False,
        )
        for make in _exporters():
            self._provider.add_span_processor(BatchSpanProcessor(make()))
        super().__init__(self._provider.get_tracer("howdah", __version__), begins=begins)

    def stop(self, timeout_s: float) -> None:
        """Waits no longer than that: a collector that does not answer is tried for longer."""
        sender = threading.Thread(target=self._provider.shutdown, name="last spans", daemon=True)
        sender.start()
        sender.join(timeout_s)


def own_tracer(ratio: float | None, service: str, *, begins: bool) -> OtelTracer:
    """Of a program of howdah. Raises ImportError where a part is not installed, and
    `InvalidConfiguration` for an exporter that nobody has."""
    return _OwnTracer(ratio, service, begins=begins)


def joining_tracer() -> OtelTracer:
    """Of our client in an application."""
    return OtelTracer(trace.get_tracer("howdah", __version__), begins=True)


def _exporters() -> list[type]:
    exporters: list[type] = []
    for name in os.environ.get("OTEL_TRACES_EXPORTER", "otlp").split(","):
        if name.strip() == "none":
            continue
        if name.strip() == "otlp":
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            exporters.append(OTLPSpanExporter)
            continue
        known = list(entry_points(group="opentelemetry_traces_exporter", name=name.strip()))
        if not known:
            raise errors.InvalidConfiguration(
                f"OTEL_TRACES_EXPORTER names {name.strip()!r}, which is not installed; "
                "otlp, console and none always are"
            )
        exporters.append(known[0].load())
    return exporters
