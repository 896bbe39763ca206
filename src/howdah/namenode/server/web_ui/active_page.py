"""Where the active namenode of a nameservice has its pages (shell)."""

from __future__ import annotations

import contextlib

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.nameservices import http_addresses, https_addresses
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place, is_http_served
from howdah.web.http_client import fetch
from howdah.web.monitoring.health import ACTIVE_PATH

_LIMIT_S = 1.0


def places_of_others(conf: Configuration, *, is_secure: bool) -> dict[str, str]:
    """The pages of the other namenodes of a nameservice, by their names."""
    nameservice = conf.get(keys.DFS_NAMESERVICE_ID)
    own = conf.get(keys.DFS_HA_NAMENODE_ID)
    is_secure = is_secure or not is_http_served(conf)
    addresses = (https_addresses if is_secure else http_addresses)(conf, nameservice)
    return {
        name: str(Place(is_secure, host, port))
        for name, (host, port) in addresses.items()
        if name != own
    }


def find_active(conf: Configuration, places: dict[str, str]) -> str | None:
    """The name of the one that says that it is active; each has a second to say so."""
    for name, place in places.items():
        with contextlib.suppress(errors.HowdahError):
            fetch(
                f"{place}{ACTIVE_PATH}",
                lambda data: None,
                tls=ClientTls(conf),
                connect_timeout_s=_LIMIT_S,
                read_timeout_s=_LIMIT_S,
                max_bytes=1024,
            )
            return name
    return None
