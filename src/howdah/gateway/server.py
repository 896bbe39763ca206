"""`howdah httpfs`: the process (shell). Hadoop: HttpFSServerWebServer."""

from __future__ import annotations

import json
import logging
import os
import signal
from pathlib import Path
from types import FrameType

from howdah import errors, exposure, keys
from howdah.config import Configuration
from howdah.gateway.httpfs import HttpFs
from howdah.gateway.pages import Pages
from howdah.processes import AskedToEnd
from howdah.storage.atomic import replace_file
from howdah.tls.places import Place
from howdah.tls.server import ServerTls
from howdah.web.channel import Patience
from howdah.web.own_hosts import hosts_of
from howdah.web.server import HttpServer

log = logging.getLogger(__name__)


def run(conf: Configuration, ready_file: Path | None = None) -> int:
    """Serve until SIGTERM; the exit code. What hinders the start is logged and gives 1."""
    stop = AskedToEnd()

    def told(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, told)
    try:
        gateway = HttpFs(conf)
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
        tls = None
        if conf.get(keys.HTTPFS_SSL_ENABLED):
            tls = ServerTls.of(conf, conf.get(keys.HADOOP_SSL_SERVER_CONF))
        port = server.start(host, port, tls)
        place = Place(tls is not None, host, port)
    except (errors.HowdahError, OSError) as error:
        log.critical("the gateway cannot start: %s", error)
        return 1
    try:
        warning = exposure.warning("gateway", server.bound)
        if warning:
            log.warning("%s", warning)
        who = f"{gateway.own_user}, who acts for them" if gateway.acts_for_users else "themselves"
        log.info("users reach the namenode as %s", who)
        log.info("serving hdfs://%s at %s/webhdfs/v1", gateway.authority, place)
        if ready_file is not None:
            ready = {"pid": os.getpid(), "role": "httpfs", place.scheme: place.header}
            replace_file(ready_file, json.dumps(ready).encode())
        stop.wait()
    finally:
        server.stop()
        pages.close()
        gateway.close()
    log.info("stopped")
    return 0
