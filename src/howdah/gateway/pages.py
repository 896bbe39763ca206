"""What a gateway answers over HTTP beside WebHDFS: its page, `/jmx`, figures, and whether it is
well (shell). Hadoop's HttpFS has `/jmx`, `/conf`, `/stacks`, `/logs` and `/logLevel` too."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import Final

from howdah import errors
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.gateway.httpfs import HttpFs
from howdah.gateway.overview import (
    LINKS,
    ROLE,
    SERVICE,
    GatewayFacts,
    bean,
    families,
    overview,
)
from howdah.proto import client_namenode_pb2 as pb
from howdah.runtime import background_threads, unexpected_errors
from howdah.web.http import Request, Response, text_response
from howdah.web.monitoring.health import HEALTH_PATH, Check, Report
from howdah.web.monitoring.pages import METRICS_PATHS, Monitoring
from howdah.web.pages.common import Common, configured
from howdah.web.server import Exchange
from howdah.web.webhdfs.parameters import PREFIX, is_webhdfs

# Whether the filesystem of a gateway answers.
#
# Looked at when somebody asks, by a call on a thread of its own: a client goes on asking namenodes
# for minutes, and nobody waits longer than `PATIENCE_S` to hear that none has answered yet. What a
# look has found is told for `KEPT_S`, however many ask.

PATIENCE_S: Final = 3.0
KEPT_S: Final = 2.0


class ReadinessProbe:
    """Thread-safe."""

    def __init__(self, ask: Callable[[], object]) -> None:
        """`ask` raises HowdahError or OSError where the filesystem does not answer."""
        self._ask = ask
        self._lock = threading.Lock()
        self._begun_s = 0.0
        self._ended_s = 0.0
        self._look: Future[object] | None = None

    def failure_reason(self) -> str:
        """Why it does not answer; empty if it does."""
        with self._lock:
            look = self._look
            if look is None or (look.done() and time.monotonic() > self._ended_s + KEPT_S):
                self._begun_s = time.monotonic()
                look = self._look = background_threads.begin(self._ask, "a look at the filesystem")
                look.add_done_callback(self._note_end)
            begun_s = self._begun_s
        try:
            look.result(PATIENCE_S)
        except NotYet:
            if not look.done():
                return f"no namenode has answered for {time.monotonic() - begun_s:.0f} s"
            return "no namenode answered in time"
        except (errors.HowdahError, OSError) as error:
            return str(error)
        return ""

    def _note_end(self, look: Future[object]) -> None:
        self._ended_s = time.monotonic()


class Pages:
    """Answers requests of a gateway, those of WebHDFS as well; on the thread that asks."""

    def __init__(self, gateway: HttpFs, name: Callable[[], str]) -> None:
        """`name` is where it listens, once it does."""
        self._gateway = gateway
        self._uri = f"hdfs://{gateway.authority}"
        self._started_ms = round(time.time() * 1000)
        self._own: HdfsFileSystem | None = None
        self._reach = ReadinessProbe(self._probe)
        self._common = Common(ROLE, name, LINKS, lambda: configured(gateway.conf))
        self._watch = Monitoring(SERVICE, alive=self._alive, ready=self._ready)

    def answer(self, request: Request) -> Response | Exchange:
        if is_webhdfs(request.path):
            return self._gateway.answer(request)
        if request.method not in ("GET", "HEAD"):
            return text_response(405, f"beside {PREFIX} only GET and HEAD are answered")
        response = self._common.answer(request)
        if response is not None:
            return response
        if request.path == "/":
            return self._common.page("/", "Overview", overview(self._facts()))
        if request.path == HEALTH_PATH:
            return self._watch.health(request)
        if self._watch.wants(request):
            facts = self._facts(looks=request.path in METRICS_PATHS)
            beans = [
                bean(facts),
                {
                    "name": f"Hadoop:service={SERVICE},name=HowdahDefects",
                    "modelerType": "howdah.defects",
                    "Total": sum(unexpected_errors.seen.values()),
                    "ByPlace": json.dumps(dict(unexpected_errors.seen)),
                },
            ]
            return self._watch.answer(request, beans, lambda: families(facts))
        return text_response(
            404, f"this is a gateway: {PREFIX} is what it serves, and / shows how it is"
        )

    def _probe(self) -> None:
        """A call that every namenode answers which serves reads, also in safe mode."""
        if self._own is None:
            gateway = self._gateway
            self._own = HdfsFileSystem(gateway.authority, gateway.conf, gateway.own_user)
        self._own.client.namenode.call(
            "getServerDefaults",
            pb.GetServerDefaultsRequestProto(),
            pb.GetServerDefaultsResponseProto,
        )

    def close(self) -> None:
        if self._own is not None:
            self._own.close()

    def _facts(self, *, looks: bool = True) -> GatewayFacts:
        """`looks` at the filesystem, which may take a while."""
        clients = self._gateway.clients
        read_bytes, written_bytes = clients.moved_bytes()
        return GatewayFacts(
            uri=self._uri,
            mode=self._gateway.mode,
            started_ms=self._started_ms,
            trouble=self._reach.failure_reason() if looks else "",
            clients=len(clients),
            read_bytes=read_bytes,
            written_bytes=written_bytes,
            requests=self._gateway.requests.counts(),
        )

    def _alive(self) -> Report:
        return Report(ROLE, [Check("process", True, "it answers")])

    def _ready(self) -> Report:
        trouble = self._reach.failure_reason()
        return Report(
            ROLE,
            [*self._alive().checks, Check("filesystem", not trouble, trouble or "it answers")],
            {"filesystem": self._uri, "mode": self._gateway.mode},
        )
