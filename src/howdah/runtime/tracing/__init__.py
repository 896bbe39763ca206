"""Traces of OpenTelemetry: one read or write, from the caller to the last datanode.

    context    what goes over the wire, as bytes (pure)
    settings   the keys, read
    span       what a span and a tracer are to the rest of howdah (pure)
    foreign    the log line about contexts that cannot be understood
    otel       OpenTelemetry itself
    spans      what everybody else calls, whether traces are on or off
    programs   which of howdah's programs have traces

Arrows: `programs -> spans -> otel -> span -> context`. Nobody but `spans` imports `otel`, and
only when traces are switched on, so that nothing of OpenTelemetry is loaded where they are off.

A client begins a trace, or goes on with the one of the application around it. A server only
goes on with traces: a call that brings none has none, and heartbeats are no traces.
"""
