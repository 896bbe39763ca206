"""`howdah s3`: the process (shell)."""

from __future__ import annotations

import logging
from pathlib import Path

from howdah import errors
from howdah.config import Configuration, check_protection, keys
from howdah.gateway.s3.pages import PREFIX, ROLE, S3Pages
from howdah.gateway.s3.service import S3Gateway
from howdah.runtime import serve
from howdah.runtime.process_identity import AskedToEnd
from howdah.runtime.tls.http_policy import Place
from howdah.runtime.tls.server import ServerTls
from howdah.security.server_checks import THERE_WITH_KERBEROS, check_calls_secured, is_secured
from howdah.web.channel import Patience
from howdah.web.http import Framing
from howdah.web.own_hosts import hosts_of
from howdah.web.server import HttpServer

log = logging.getLogger(__name__)

_MAY_BE_ASKED_OF_CLIENTS = frozenset(
    {keys.DFS_ENCRYPT_DATA_TRANSFER.name, keys.DFS_BLOCK_ACCESS_TOKEN_ENABLE.name}
)


def check_s3_protection(conf: Configuration) -> None:
    """Raises InvalidConfiguration for a protection that is asked for and that a gateway lacks."""
    if not is_secured(conf):
        check_protection(conf, _MAY_BE_ASKED_OF_CLIENTS)
        return
    check_calls_secured(conf)
    check_protection(conf, THERE_WITH_KERBEROS | _MAY_BE_ASKED_OF_CLIENTS)


def run(conf: Configuration, ready_file: Path | None = None) -> int:
    """Serve until SIGTERM; the exit code. What hinders the start is logged and gives 1."""
    stop = AskedToEnd()
    serve.on_signals(stop.set)
    try:
        gateway = S3Gateway(conf)
        pages = S3Pages(gateway)
        timeout_s = conf.get(keys.HADOOP_HTTP_IDLE_TIMEOUT_MS)
        server = HttpServer(
            pages.answer,
            timeout_s=timeout_s,
            patience=Patience.of(timeout_s),
            max_connections=conf.get(keys.HADOOP_HTTP_MAX_THREADS),
        )
        server.framing = Framing(None)
        if gateway.anonymous:
            # Pages of others may lead a browser here, which signs nothing.
            server.hosts = hosts_of(conf)
        tls = None
        if conf.get(keys.HOWDAH_S3_SSL_ENABLED):
            tls = ServerTls.of(conf, conf.get(keys.HADOOP_SSL_SERVER_CONF))
        host, port = conf.get(keys.HOWDAH_S3_ADDRESS)
        place = Place(tls is not None, host, server.start(host, port, tls))
    except (errors.HowdahError, OSError) as error:
        log.critical("the gateway for S3 cannot start: %s", error)
        return 1
    try:
        serve.warn_if_exposed("gateway for S3", server.bound)
        who = f"{gateway.own_user}, who acts for them" if gateway.acts_for_users else "themselves"
        log.info("users reach %s as %s", gateway.uri, who)
        log.info("serving S3 at %s, and %s%s/health", place, place, PREFIX)
        serve.write_ready_file(ready_file, ROLE, **{place.scheme: place.header})
        stop.wait()
    finally:
        server.stop()
        gateway.close()
    log.info("stopped")
    return 0
