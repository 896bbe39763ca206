"""Whether the filesystem of a gateway answers, and what a gateway says of itself to monitoring
(shell).

The filesystem is probed when somebody wants to know, by a call on a thread of its own: a client
tries namenodes for minutes, and nobody waits longer than `PATIENCE_S` to hear that none has
answered yet. The result of a probe counts for `KEPT_S`, however many want to know.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import Any, Final

from howdah import errors
from howdah.gateway.clients import Clients
from howdah.gateway.metrics import Requests
from howdah.gateway.overview import GatewayFacts
from howdah.runtime import background_threads
from howdah.web.monitoring.health import Check, Report
from howdah.web.monitoring.pages import Monitoring

PATIENCE_S: Final = 3.0
KEPT_S: Final = 2.0


class ReadinessProbe:
    """Thread-safe."""

    def __init__(self, probe: Callable[[], object]) -> None:
        """`probe` raises HowdahError or OSError where the filesystem does not answer."""
        self._probe = probe
        self._lock = threading.Lock()
        self._begun_s = 0.0
        self._ended_s = 0.0
        self._running: Future[object] | None = None

    def failure_reason(self) -> str:
        """Why it does not answer; empty if it does."""
        with self._lock:
            probe = self._running
            if probe is None or (probe.done() and time.monotonic() > self._ended_s + KEPT_S):
                self._begun_s = time.monotonic()
                probe = self._running = background_threads.begin(
                    self._probe, "a look at the filesystem"
                )
                probe.add_done_callback(self._note_end)
            begun_s = self._begun_s
        try:
            probe.result(PATIENCE_S)
        except NotYet:
            if not probe.done():
                return f"no namenode has answered for {time.monotonic() - begun_s:.0f} s"
            return "no namenode answered in time"
        except (errors.HowdahError, OSError) as error:
            return str(error)
        return ""

    def _note_end(self, probe: Future[object]) -> None:
        self._ended_s = time.monotonic()


class GatewayMonitoring:
    """What one gateway says of itself: facts, and whether it is well."""

    def __init__(
        self,
        service: str,
        role: str,
        uri: str,
        mode: str,
        probe: Callable[[], object],
        clients: Clients[Any],
        requests: Requests,
        about: Mapping[str, str],
    ) -> None:
        """`about` is what the report on readiness says besides; `probe` is as `ReadinessProbe` has
        it."""
        self.pages: Final = Monitoring(service, alive=self._alive, ready=self._ready)
        self._role = role
        self._uri = uri
        self._mode = mode
        self._readiness = ReadinessProbe(probe)
        self._clients = clients
        self._requests = requests
        self._about = about
        self._started_ms = round(time.time() * 1000)

    def facts(self, *, probes: bool = True) -> GatewayFacts:
        """`probes` the filesystem, which may take a while."""
        read_bytes, written_bytes = self._clients.moved_bytes()
        return GatewayFacts(
            uri=self._uri,
            mode=self._mode,
            started_ms=self._started_ms,
            trouble=self._readiness.failure_reason() if probes else "",
            clients=len(self._clients),
            read_bytes=read_bytes,
            written_bytes=written_bytes,
            requests=self._requests.counts(),
        )

    def _alive(self) -> Report:
        return Report(self._role, [Check("process", True, "it answers")])

    def _ready(self) -> Report:
        trouble = self._readiness.failure_reason()
        return Report(
            self._role,
            [*self._alive().checks, Check("filesystem", not trouble, trouble or "it answers")],
            {"filesystem": self._uri, **self._about},
        )
