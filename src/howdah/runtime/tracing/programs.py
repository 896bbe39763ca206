"""Which programs of howdah have traces, and what they trace (shell).

- Servers go on with the traces of their callers. A datanode does so in its data process, which
  switches traces on for itself.
- A command is one trace, or a part of the one that `TRACEPARENT` names: all that it asks is
  below a span for the whole command.
- A gateway over HTTP, and a server that moves replicas, have a trace for each of their calls.
- Commands that only start or stop others have none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from howdah.config import Configuration
from howdah.runtime.tracing import spans
from howdah.runtime.tracing.settings import TracingSettings

SERVERS: Final = frozenset(
    ("dfsrouter", "journalnode", "namenode", "router", "secondarynamenode", "zkfc")
)
GATEWAYS: Final = frozenset(("httpfs", "s3", "sps"))
WITHOUT: Final = frozenset(
    ("classpath", "completion", "datanode", "down", "init", "status", "up", "zookeeper")
)


def run_traced(name: str, conf: Configuration, run: Callable[[], int]) -> int:
    """Run the program `name`, with traces if `conf` has them on; its exit code.

    Raises `UnsupportedOperation` if they are on and OpenTelemetry is not installed.
    """
    settings = TracingSettings.of(conf)
    if not settings.enabled or name in WITHOUT:
        return run()
    spans.provide(settings, f"howdah-{name}", begins=name not in SERVERS)
    try:
        if name in SERVERS or name in GATEWAYS:
            return run()
        return _as_one(name, run)
    finally:
        spans.stop()


def _as_one(name: str, run: Callable[[], int]) -> int:
    span = spans.serve(f"howdah {name}", {}, spans.parent_from_environment())
    if not span.wire():
        span = spans.begin(f"howdah {name}")
    try:
        with span.current():
            code = run()
    except BaseException as error:
        span.end(error)
        raise
    span.set({"process.exit.code": code})
    span.end()
    return code
