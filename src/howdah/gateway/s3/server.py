"""`howdah s3`: the process (shell)."""

from __future__ import annotations

import logging
from pathlib import Path

from howdah.config import Configuration, check_protection, keys
from howdah.gateway.process import Service, run_gateway
from howdah.gateway.s3.pages import PREFIX, ROLE, S3Pages
from howdah.gateway.s3.service import S3Gateway
from howdah.runtime.tls.http_policy import Place
from howdah.security.server_checks import THERE_WITH_KERBEROS, check_calls_secured, is_secured
from howdah.web.http import Framing
from howdah.web.known_hosts import ANY
from howdah.web.own_hosts import OwnHosts, hosts_of

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


def hosts_for(conf: Configuration, gateway: S3Gateway) -> OwnHosts:
    """The names under which a gateway is asked."""
    if not gateway.anonymous:
        # A page that leads a browser here by a name of its own can sign nothing.
        return OwnHosts((ANY,))
    return hosts_of(conf, (*gateway.domains, *(f"*.{domain}" for domain in gateway.domains)))


def run(conf: Configuration, ready_file: Path | None = None) -> int:
    """Serve until SIGTERM; the exit code. What hinders the start is logged and gives 1."""
    return run_gateway("gateway for S3", ROLE, conf, lambda: _service(conf), ready_file)


def _service(conf: Configuration) -> Service:
    gateway = S3Gateway(conf)

    def serves_at(place: Place) -> None:
        who = f"{gateway.own_user}, who acts for them" if gateway.acts_for_users else "themselves"
        log.info("users reach %s as %s", gateway.uri, who)
        log.info("serving S3 at %s, and %s%s/health", place, place, PREFIX)

    host, port = conf.get(keys.HOWDAH_S3_ADDRESS)
    return Service(
        S3Pages(gateway).answer,
        Place(conf.get(keys.HOWDAH_S3_SSL_ENABLED), host, port),
        hosts_for(conf, gateway),
        serves_at,
        gateway.close,
        # Objects are shown by pages of anybody.
        framing=Framing(None),
    )
