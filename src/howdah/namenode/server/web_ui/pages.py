"""The pages of a namenode (shell). Hadoop: dfshealth.html, explorer.html, federationhealth.html.

All that is shown is put into words on the connection's thread; the loop gives numbers, a slice
at a time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.nameservices import http_addresses, https_addresses
from howdah.namenode.server.web_ui.page_data import Figures
from howdah.namenode.service.fsck.corrupt_files import MAX_SHOWN
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place, is_http_served
from howdah.security.server_checks import has_logins, is_secured, takes_simple
from howdah.web.http import Request, Response
from howdah.web.http_client import fetch
from howdah.web.monitoring.health import ACTIVE_PATH
from howdah.web.pages import cluster, encryption, explorer, namenode, nodes, racks, snapshots
from howdah.web.pages.cluster_reading import ClusterReader
from howdah.web.pages.common import LIVE_S, Common
from howdah.web.server import WORDS, Exchange, Later

# Where the active namenode of a nameservice has its pages.

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


_SLOW_LIVE_S: Final = 10.0


class SitePages:
    """Serves the pages of one namenode."""

    def __init__(
        self,
        common: Common,
        figures: Figures,
        reader: ClusterReader,
        *,
        has_webhdfs: bool,
        own_header: str,
        standing_by: Callable[[], str | None],
        conf: Configuration,
    ) -> None:
        """`standing_by` is the state of a namenode that does not serve reads, else None."""
        self._standing_by = standing_by
        self._conf = conf
        self._common = common
        self.figures = figures
        self._reader = reader
        self._explorer_page = explorer.page(
            has_webhdfs=has_webhdfs,
            own_header=own_header,
            are_users_proven=(is_secured(conf) and not takes_simple(conf)) or has_logins(conf),
        )
        self._pages: dict[str, Callable[[Request], Response]] = {
            "/": self._overview,
            nodes.PATH: self._nodes,
            racks.PATH: self._racks,
            snapshots.PATH: self._snapshots,
            encryption.PATH: self._encryption,
            explorer.PATH: self._explorer,
            explorer.BLOCKS_PATH: self._blocks,
            cluster.PATH: self._cluster,
        }

    def answer(self, request: Request) -> Response | Exchange | None:
        """None for what is no page."""
        page = self._pages.get(request.path)
        if page is None or request.method not in ("GET", "HEAD"):
            return self._common.answer(request)
        return Later(lambda: page(request))

    def _overview(self, request: Request) -> Response:
        collected = self.figures.collect()
        with WORDS:
            return self._common.page(
                "/", "Overview", namenode.overview(collected.status, collected.times)
            )

    def _nodes(self, request: Request) -> Response:
        collected = self.figures.collect()
        wanted = nodes.wanted_of(request.query)
        with WORDS:
            body = nodes.page(
                collected.status.datanodes,
                wanted,
                collected.times.estimates,
                is_secure=request.is_secure,
            )
            return self._common.page(nodes.PATH, "Datanodes", body, live_s=LIVE_S)

    def _racks(self, request: Request) -> Response:
        collected = self.figures.collect()
        with WORDS:
            body = racks.page(collected.status.datanodes)
            return self._common.page(racks.PATH, "Racks", body, live_s=_SLOW_LIVE_S)

    def _snapshots(self, request: Request) -> Response:
        body = snapshots.page(*self.figures.snapshots())
        return self._common.page(snapshots.PATH, "Snapshots", body, live_s=_SLOW_LIVE_S)

    def _encryption(self, request: Request) -> Response:
        body = encryption.page(*self.figures.encryption())
        return self._common.page(encryption.PATH, "Encryption", body, live_s=LIVE_S)

    def _explorer(self, request: Request) -> Response:
        state = self._standing_by()
        if state is not None:
            places = places_of_others(self._conf, is_secure=request.is_secure)
            body = explorer.standby_page(state, places, find_active(self._conf, places))
            return self._common.page(explorer.PATH, "Files", body, live_s=0, scripts=())
        return self._common.page(
            explorer.PATH,
            "Files",
            self._explorer_page,
            live_s=0,
            scripts=("explorer.js",),
        )

    def _blocks(self, request: Request) -> Response:
        asked = request.query.get("id", "").strip()[: explorer.MOST_NAME_CHARS]
        name = f"blk_{asked}" if asked.isascii() and asked.lstrip("-").isdecimal() else asked
        lost, report = self.figures.blocks(name)
        body = explorer.blocks_page(lost, MAX_SHOWN, name, report)
        path = explorer.BLOCKS_PATH
        return self._common.page(path, "Blocks", body, live_s=_SLOW_LIVE_S)

    def _cluster(self, request: Request) -> Response:
        body = cluster.page(self._reader.read())
        return self._common.page(cluster.PATH, "Cluster", body, live_s=_SLOW_LIVE_S)
