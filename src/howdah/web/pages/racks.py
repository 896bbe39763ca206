"""`/racks`: which datanodes stand together, and how full they are, as a picture (pure).

A rack is a frame, a datanode a column that is filled from below. A rack of many is drawn as its
fullest and its worst ones; the table beside the picture says the same in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from howdah.runtime.units import iec_size
from howdah.web.pages import units
from howdah.web.pages.html import Child, Html, tag
from howdah.web.pages.layout import badge, bar, fill_level, live, table
from howdah.web.pages.nodes import full
from howdah.web.status import NodeStatus

PATH: Final = "/racks"
_PICTURED_RACKS: Final = 60
_PICTURED_NODES: Final = 40
_LISTED: Final = 500
_WIDTH: Final = 1200
_COLUMN, _GAP, _HEIGHT, _HEAD, _EDGE = 22, 6, 64, 24, 10


@dataclass(frozen=True, slots=True)
class Rack:
    """Sums over the datanodes of a rack; those of capacity and room over the living."""

    name: str
    nodes: Sequence[NodeStatus]

    @property
    def live(self) -> int:
        return sum(node.live for node in self.nodes)

    @property
    def capacity_bytes(self) -> int:
        return sum(node.capacity_bytes for node in self.nodes if node.live)

    @property
    def full(self) -> float:
        live = [node for node in self.nodes if node.live]
        return units.full(
            sum(node.used_bytes + node.non_dfs_used_bytes for node in live),
            sum(node.remaining_bytes for node in live),
        )


def racks_of(nodes: Sequence[NodeStatus]) -> list[Rack]:
    """Return the racks by name."""
    by_name: dict[str, list[NodeStatus]] = {}
    for node in nodes:
        by_name.setdefault(node.rack, []).append(node)
    return [
        Rack(name, sorted(by_name[name], key=lambda node: (node.live, -full(node), node.name)))
        for name in sorted(by_name)
    ]


def page(nodes: Sequence[NodeStatus]) -> list[Child]:
    """The body of the page."""
    racks = racks_of(nodes)
    if not racks:
        return [live("racks", tag("p", "No datanode has registered yet.", class_="quiet"))]
    note: Child = None
    if len(racks) == 1 and len(nodes) > 1:
        note = tag(
            "p",
            "All datanodes are on one rack: a block can be lost with it. "
            "Racks come from net.topology.script.file.name or net.topology.table.file.name.",
            class_="verdict warn",
        )
    return [
        live(
            "racks",
            note,
            tag("section", picture(racks), tag("p", _legend(racks), class_="quiet")),
            table(
                "Racks",
                ("Rack", "Datanodes", "Dead", "Full", "Capacity"),
                [_row(rack) for rack in racks[:_LISTED]],
                numbers=(1, 2, 4),
            ),
        )
    ]


def _legend(racks: Sequence[Rack]) -> str:
    text = "Each column is a datanode, filled as its disks are; a red frame is a dead one."
    left_out = len(racks) - _PICTURED_RACKS
    if left_out > 0:
        text += f" {units.count(left_out, 'rack')} more are in the table only."
    return text


def _row(rack: Rack) -> list[Child]:
    dead = len(rack.nodes) - rack.live
    return [
        tag("a", rack.name, href=f"/nodes?{_query(rack.name)}"),
        f"{len(rack.nodes):,}",
        badge("bad", str(dead)) if dead else "0",
        bar(rack.full, fill_level(rack.full), f"{rack.full:.0f} %"),
        iec_size(rack.capacity_bytes),
    ]


def _query(rack: str) -> str:
    return urlencode({"q": rack, "sort": "rack"})


def picture(racks: Sequence[Rack]) -> Html:
    """One SVG of all."""
    shapes: list[Child] = []
    x = y = 0
    for rack in racks[:_PICTURED_RACKS]:
        shown = rack.nodes[:_PICTURED_NODES]
        width = max(150, 2 * _EDGE + len(shown) * (_COLUMN + _GAP) - _GAP)
        if x and x + width > _WIDTH:
            x, y = 0, y + _HEIGHT + _HEAD + 2 * _EDGE + 8
        shapes += _rack(rack, shown, x, y, width)
        x += width + 12
    height = y + _HEIGHT + _HEAD + 2 * _EDGE + 2
    dead = sum(len(rack.nodes) - rack.live for rack in racks)
    total = sum(len(rack.nodes) for rack in racks)
    said = f"{units.count(len(racks), 'rack')} with {units.count(total, 'datanode')}, {dead} dead"
    return tag(
        "svg",
        shapes,
        viewBox=f"-1 -1 {_WIDTH + 2} {height}",
        role="img",
        aria_label=f"{said}. The table says the same.",
        class_="picture",
    )


def _rack(rack: Rack, shown: Sequence[NodeStatus], x: int, y: int, width: int) -> list[Child]:
    more = len(rack.nodes) - len(shown)
    room = max(10, width // 8)
    name = rack.name if len(rack.name) <= room else "…" + rack.name[1 - room :]
    shapes: list[Child] = [
        tag("rect", x=x, y=y, width=width, height=_HEIGHT + _HEAD + 2 * _EDGE, rx=6, class_="rack"),
        tag("text", f"{name}{f' (+{more})' if more else ''}", x=x + _EDGE, y=y + 18),
    ]
    for number, node in enumerate(shown):
        left, top = x + _EDGE + number * (_COLUMN + _GAP), y + _HEAD + _EDGE
        said = tag(
            "title", f"{node.name}: " + (f"{full(node):.0f} % full" if node.live else "dead")
        )
        if not node.live:
            shapes.append(
                tag(
                    "g",
                    said,
                    tag("rect", x=left, y=top, width=_COLUMN, height=_HEIGHT, class_="down"),
                )
            )
            continue
        level = full(node)
        high = max(1, round(_HEIGHT * level / 100))
        shapes.append(
            tag(
                "g",
                said,
                tag("rect", x=left, y=top, width=_COLUMN, height=_HEIGHT, class_="room"),
                tag(
                    "rect",
                    x=left,
                    y=top + _HEIGHT - high,
                    width=_COLUMN,
                    height=high,
                    class_=f"fill {fill_level(level) if node.in_service else 'idle'}",
                ),
            )
        )
    return shapes
