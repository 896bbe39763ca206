"""`howdah httpfs`: the process (shell).

Hadoop: HttpFSServerWebServer.
"""

from __future__ import annotations

import logging
from pathlib import Path

from howdah.config import Configuration, keys
from howdah.gateway.httpfs import HttpFs
from howdah.gateway.pages import Pages
from howdah.gateway.process import Service, run_gateway
from howdah.gateway.security import security_of
from howdah.runtime.tls.http_policy import Place
from howdah.web.own_hosts import hosts_of

log = logging.getLogger(__name__)


def run(conf: Configuration, ready_file: Path | None = None) -> int:
    """Serve until SIGTERM; the exit code. What hinders the start is logged and gives 1. `conf` has
    plain keys (`howdah.gateway.security`)."""
    return run_gateway("gateway", "httpfs", conf, lambda: _service(conf), ready_file)


def _service(conf: Configuration) -> Service:
    security = security_of(conf)
    gateway = HttpFs(conf, security)
    place = Place(
        conf.get(keys.HTTPFS_SSL_ENABLED),
        conf.get(keys.HTTPFS_HTTP_HOSTNAME),
        conf.get(keys.HTTPFS_HTTP_PORT),
    )
    listens_at = [place]
    pages = Pages(gateway, lambda: listens_at[0].header)

    def serves_at(place: Place) -> None:
        listens_at[0] = place
        who = f"{gateway.own_user}, who acts for them" if gateway.acts_for_users else "themselves"
        log.info("users reach the namenode as %s", who)
        log.info("serving hdfs://%s at %s/webhdfs/v1", gateway.authority, place)

    def close() -> None:
        pages.close()
        gateway.close()

    guard = None if security is None else security.web
    return Service(pages.answer, place, hosts_of(conf), serves_at, close, guard)
