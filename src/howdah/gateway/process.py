"""The process of a gateway (shell): a server before a filesystem that is elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from howdah import errors
from howdah.config import Configuration, keys
from howdah.runtime import serve
from howdah.runtime.process_identity import AskedToEnd
from howdah.runtime.tls.http_policy import Place
from howdah.runtime.tls.server import ServerTls
from howdah.web.channel import Patience
from howdah.web.http import Framing, Guard, Request, Response
from howdah.web.own_hosts import OwnHosts
from howdah.web.server import Exchange, HttpServer

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Service:
    """What a gateway serves, and where."""

    answer: Callable[[Request], Response | Exchange]
    place: Place
    """Where it is to listen; port 0 is any that is free."""
    hosts: OwnHosts
    serves_at: Callable[[Place], None]
    """Called when it listens, with where."""
    close: Callable[[], None]
    guard: Guard | None = None
    framing: Framing = field(default_factory=Framing)


def run_gateway(
    name: str,
    role: str,
    conf: Configuration,
    make: Callable[[], Service],
    ready_file: Path | None = None,
) -> int:
    """Serve until SIGTERM; the exit code. What hinders the start is logged and gives 1."""
    stop = AskedToEnd()
    serve.on_signals(stop.set)
    try:
        service = make()
        timeout_s = conf.get(keys.HADOOP_HTTP_IDLE_TIMEOUT_MS)
        server = HttpServer(
            service.answer,
            timeout_s=timeout_s,
            patience=Patience.of(timeout_s),
            max_connections=conf.get(keys.HADOOP_HTTP_MAX_THREADS),
        )
        server.hosts, server.guard, server.framing = service.hosts, service.guard, service.framing
        wanted = service.place
        tls = None
        if wanted.is_secure:
            tls = ServerTls.of(conf, conf.get(keys.HADOOP_SSL_SERVER_CONF))
        port = server.start(wanted.host, wanted.port, tls)
    except (errors.HowdahError, OSError) as error:
        log.critical("the %s cannot start: %s", name, error)
        return 1
    try:
        serve.warn_if_exposed(name, server.bound)
        place = Place(wanted.is_secure, wanted.host, port)
        service.serves_at(place)
        serve.write_ready_file(ready_file, role, **{place.scheme: place.header})
        stop.wait()
    finally:
        server.stop()
        service.close()
    log.info("stopped")
    return 0
