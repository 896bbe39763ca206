"""`howdah httpfs`: the process (shell). Hadoop: HttpFSServerWebServer."""

from __future__ import annotations

import logging
from pathlib import Path

from howdah import errors
from howdah.config import Configuration, keys
from howdah.gateway.httpfs import HttpFs
from howdah.gateway.pages import Pages
from howdah.gateway.security import security_of
from howdah.runtime import serve
from howdah.runtime.process_identity import AskedToEnd
from howdah.runtime.tls.http_policy import Place
from howdah.runtime.tls.server import ServerTls
from howdah.web.channel import Patience
from howdah.web.own_hosts import hosts_of
from howdah.web.server import HttpServer

log = logging.getLogger(__name__)


def run(conf: Configuration, ready_file: Path | None = None) -> int:
    """Serve until SIGTERM; the exit code. What hinders the start is logged and gives 1. `conf` has
    plain keys (`howdah.gateway.security`)."""
    stop = AskedToEnd()
    serve.on_signals(stop.set)
    try:
        security = security_of(conf)
        gateway = HttpFs(conf, security)
        timeout_s = conf.get(keys.HADOOP_HTTP_IDLE_TIMEOUT_MS)
        host, port = conf.get(keys.HTTPFS_HTTP_HOSTNAME), conf.get(keys.HTTPFS_HTTP_PORT)
        place = Place(conf.get(keys.HTTPFS_SSL_ENABLED), host, port)
        pages = Pages(gateway, lambda: place.header)
        server = HttpServer(
            pages.answer,
            timeout_s=timeout_s,
            patience=Patience.of(timeout_s),
            max_connections=conf.get(keys.HADOOP_HTTP_MAX_THREADS),
        )
        server.hosts = hosts_of(conf)
        server.guard = None if security is None else security.web
        tls = None
        if conf.get(keys.HTTPFS_SSL_ENABLED):
            tls = ServerTls.of(conf, conf.get(keys.HADOOP_SSL_SERVER_CONF))
        port = server.start(host, port, tls)
        place = Place(tls is not None, host, port)
    except (errors.HowdahError, OSError) as error:
        log.critical("the gateway cannot start: %s", error)
        return 1
    try:
        serve.warn_if_exposed("gateway", server.bound)
        who = f"{gateway.own_user}, who acts for them" if gateway.acts_for_users else "themselves"
        log.info("users reach the namenode as %s", who)
        log.info("serving hdfs://%s at %s/webhdfs/v1", gateway.authority, place)
        serve.write_ready_file(ready_file, "httpfs", **{place.scheme: place.header})
        stop.wait()
    finally:
        server.stop()
        pages.close()
        gateway.close()
    log.info("stopped")
    return 0
