"""Who may ask a secured server for which address: a table, and no more than that.

Every address has its rule in the table of its server, and what has none is not answered. A path is
compared as it stands in the request, as the pages themselves do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, unique
from typing import Final

from howdah.web import configuration, jmx
from howdah.web.access import login_pages
from howdah.web.monitoring import health
from howdah.web.monitoring.pages import METRICS_PATHS
from howdah.web.pages import assets, common, log_levels, logs, stacks
from howdah.web.webhdfs.parameters import PREFIX as WEBHDFS


@unique
class Rule(Enum):
    """Who may, in words for people."""

    OPEN = "everybody"
    USER = "everybody who proves who he is"
    """Always: what is answered depends on who asks."""
    PAGE = "everybody who looks"
    """Who proves who he is; where `hadoop.http.authentication.type` is set to simple, everybody."""
    FIGURES = "everybody who looks, or administrators alone"
    """As a page, or as `hadoop.security.instrumentation.requires.admin` says."""
    ADMINISTRATOR = "administrators"
    FILES = "everybody who proves who he is, by a ticket or a delegation token"
    TOKEN = "everybody with a delegation token"
    SERVERS = "the servers that fetch it, and listed administrators"


_ONLY_SHOWN: Final = frozenset((Rule.OPEN, Rule.PAGE, Rule.FIGURES, Rule.FILES))
"""Where a GET changes nothing: what everybody may look at, and files, as WebHDFS has it."""

COMMON: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(login_pages.LOGIN_PATHS, Rule.OPEN),
    health.HEALTH_PATH: Rule.OPEN,
    health.READY_PATH: Rule.OPEN,
    assets.PREFIX: Rule.OPEN,
    "/": Rule.PAGE,
    **dict.fromkeys(common.ELSEWHERE, Rule.PAGE),
    jmx.PATH: Rule.FIGURES,
    **dict.fromkeys(METRICS_PATHS, Rule.FIGURES),
    configuration.PATH: Rule.FIGURES,
    logs.PATH: Rule.ADMINISTRATOR,
    f"{logs.PATH}/": Rule.ADMINISTRATOR,
    logs.RAW: Rule.ADMINISTRATOR,
    log_levels.PATH: Rule.ADMINISTRATOR,
    stacks.PATH: Rule.ADMINISTRATOR,
}
"""What all servers have."""
_BELOW: Final = (assets.PREFIX, f"{WEBHDFS}/")
"""What stands for all below it; every other path stands for itself."""


class AccessRules:
    """Those of one server."""

    def __init__(self, table: Mapping[str, Rule], below: Sequence[str] = ()) -> None:
        """`table` has what the server answers beside `COMMON`. The addresses in `below`, which end
        in a slash, stand for all below them."""
        self.table: Final[Mapping[str, Rule]] = {**COMMON, **table}
        self._below: Final = (*_BELOW, *below)

    def of(self, path: str) -> Rule | None:
        """The rule of an address; None where there is none.

        >>> AccessRules({}).of("/jmx")
        <Rule.FIGURES: 'everybody who looks, or administrators alone'>
        >>> AccessRules({}).of("/jmx/") is None
        True
        """
        rule = self.table.get(path)
        if rule is not None:
            return rule
        for prefix in self._below:
            if path.startswith(prefix):
                return self.table.get(prefix) or self.table.get(prefix.rstrip("/"))
        return None

    def only_shows(self, path: str) -> bool:
        """Whether a GET of an address changes nothing, whatever its query.

        >>> AccessRules({}).only_shows("/jmx"), AccessRules({}).only_shows("/logLevel")
        (True, False)
        """
        return self.of(path) in _ONLY_SHOWN
