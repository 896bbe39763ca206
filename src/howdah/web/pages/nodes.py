"""`/nodes`: the datanodes of a namespace, filtered, sorted and a hundred at a time (pure)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from howdah.runtime.units import iec_size
from howdah.web.pages import units
from howdah.web.pages.html import Child, Html, tag
from howdah.web.pages.layout import badge, bar, fill_level, live, table
from howdah.web.pages.progress import Estimate
from howdah.web.status import NodeStatus

PATH: Final = "/nodes"
ROWS: Final = 100

STATES: Final[Mapping[str, tuple[str, Callable[[NodeStatus], bool]]]] = {
    "": ("all", lambda node: True),
    "live": ("alive", lambda node: node.live),
    "dead": ("dead", lambda node: not node.live),
    "stale": ("silent (stale)", lambda node: node.live and node.stale),
    "leaving": ("leaving or out of service", lambda node: not node.in_service),
    "volumes": ("with failed volumes", lambda node: node.failed_volumes > 0),
}
SORTS: Final[Mapping[str, tuple[str, Callable[[NodeStatus], tuple[float | str, ...]]]]] = {
    "": ("worst first", lambda node: (-_severity(node), node.name)),
    "name": ("name", lambda node: (node.name,)),
    "rack": ("rack", lambda node: (node.rack, node.name)),
    "full": ("fullest first", lambda node: (-full(node), node.name)),
    "contact": ("longest silent first", lambda node: (-node.last_heartbeat_s, node.name)),
    "blocks": ("most blocks first", lambda node: (-node.blocks, node.name)),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Holds what a request asks for; what it does not understand is as if it were not there."""

    text: str = ""
    state: str = ""
    sort: str = ""
    first: int = 0

    def query(self, first: int) -> str:
        parameters = {
            "q": self.text,
            "state": self.state,
            "sort": self.sort,
            "from": str(first or ""),
        }
        return urlencode({name: value for name, value in parameters.items() if value})


def wanted_of(query: Mapping[str, str]) -> Wanted:
    first = query.get("from", "")
    state, sort = query.get("state", ""), query.get("sort", "")
    return Wanted(
        query.get("q", "")[:200],
        state if state in STATES else "",
        sort if sort in SORTS else "",
        int(first) if first.isascii() and first.isdigit() and len(first) < 9 else 0,
    )


def full(node: NodeStatus) -> float:
    """Percent of a node that is taken, by whatever."""
    return units.full(node.used_bytes + node.non_dfs_used_bytes, node.remaining_bytes)


def _severity(node: NodeStatus) -> int:
    if not node.live:
        return 1 if node.admin_state in ("DECOMMISSIONED", "IN_MAINTENANCE") else 5
    if node.failed_volumes:
        return 4
    if node.stale:
        return 3
    return 0 if node.in_service else 2


def state_of(node: NodeStatus) -> Html:
    """As a word with a colour."""
    if not node.in_service:
        dead = "" if node.live else ", dead"
        return badge("idle", f"{node.admin_words}{dead}")
    if not node.live:
        return badge("bad", "dead")
    return badge("warn", "stale") if node.stale else badge("ok", "live")


def page(
    nodes: Sequence[NodeStatus],
    wanted: Wanted,
    leaving: Mapping[str, Estimate],
    *,
    is_secure: bool = False,
) -> list[Child]:
    """Return the body of the page. `leaving` has an estimate for each node that is on its way out;
    `is_secure` says that the page is read over TLS."""
    text = wanted.text.casefold()
    matching = [
        node
        for node in nodes
        if STATES[wanted.state][1](node)
        and (not text or text in node.name.casefold() or text in node.rack.casefold())
    ]
    matching.sort(key=SORTS[wanted.sort][1])
    last_part = max(0, (len(matching) - 1) // ROWS * ROWS)
    first = wanted.first if wanted.first < len(matching) else last_part
    shown = matching[first : first + ROWS]
    return [
        _form(wanted),
        live(
            "found",
            tag(
                "p",
                f"{len(matching):,} of {units.count(len(nodes), 'datanode')}"
                + (
                    f", {first + 1:,} to {first + len(shown):,} shown"
                    if len(matching) > ROWS
                    else ""
                ),
                data_found=True,
                class_="quiet",
            ),
            table(
                "Datanodes",
                (
                    "Datanode",
                    "Rack",
                    "State",
                    "Last contact",
                    "Full",
                    "Capacity",
                    "Pool",
                    "Blocks",
                    "Volumes",
                    "Version",
                ),
                [_row(node, leaving.get(node.name), is_secure) for node in shown],
                numbers=(3, 5, 6, 7),
                empty="No datanode is like that.",
            ),
            _pages(wanted, first, len(matching)),
        ),
    ]


def _page_of(node: NodeStatus, is_secure: bool) -> str:
    """Where a datanode has its pages; over TLS for those who see this page over TLS, and where
    there is nothing else."""
    plain, secure = (
        "" if address.endswith(":0") else address
        for address in (node.info_address, node.info_secure_address)
    )
    if secure and (is_secure or not plain):
        return f"https://{secure}/"
    return f"http://{plain}/" if plain else ""


def _row(node: NodeStatus, leaving: Estimate | None, is_secure: bool) -> list[Child]:
    level = full(node)
    page = _page_of(node, is_secure)
    volumes: Child = "ok"
    if node.failed_volumes:
        volumes = [
            badge("bad", f"{node.failed_volumes} failed"),
            tag("br"),
            tag("small", ", ".join(node.failed_locations[:10])),
        ]
    state: list[Child] = [state_of(node)]
    if leaving is not None:
        left = units.count(leaving.left, "block")
        state += [tag("br"), tag("small", f"{left} left, {leaving}")]
    return [
        tag("a", node.name, href=page) if node.live and page else node.name,
        node.rack,
        state,
        f"{units.span(node.last_heartbeat_s)} ago",
        bar(level, fill_level(level), f"{level:.0f} %") if node.capacity_bytes else "",
        iec_size(node.capacity_bytes),
        iec_size(node.pool_used_bytes),
        f"{node.blocks:,}",
        volumes,
        node.version,
    ]


def _form(wanted: Wanted) -> Html:
    return tag(
        "form",
        tag(
            "label",
            "Name or rack",
            tag("input", type="search", name="q", value=wanted.text, maxlength=200),
        ),
        tag("label", "State", _choice("state", STATES, wanted.state)),
        tag("label", "Order", _choice("sort", SORTS, wanted.sort)),
        tag("button", "Show", type="submit"),
        method="get",
        action=PATH,
        data_filter=True,
        role="search",
    )


def _choice(
    name: str, choices: Mapping[str, tuple[str, Callable[[NodeStatus], object]]], chosen: str
) -> Html:
    return tag(
        "select",
        [
            tag("option", text, value=value, selected=value == chosen)
            for value, (text, _) in choices.items()
        ],
        name=name,
    )


def _pages(wanted: Wanted, first: int, total: int) -> Html | None:
    links = []
    if first:
        links.append(
            tag("a", f"← {ROWS} before", href=f"{PATH}?{wanted.query(max(0, first - ROWS))}")
        )
    if first + ROWS < total:
        links.append(tag("a", f"{ROWS} more →", href=f"{PATH}?{wanted.query(first + ROWS)}"))
    return tag("nav", links, aria_label="Parts of the list", class_="pages") if links else None
