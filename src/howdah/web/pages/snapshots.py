"""`/snapshots`: directories that may have snapshots, and those that they have (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from howdah.web.pages import explorer, units
from howdah.web.pages.html import Child, tag
from howdah.web.pages.layout import live, table
from howdah.web.status import SnapshotsOf

PATH: Final = "/snapshots"


def page(directories: Sequence[SnapshotsOf], total: int) -> list[Child]:
    """The body of the page."""
    rest = total - len(directories)
    return [
        live(
            "snapshots",
            table(
                "Directories that may have snapshots",
                ("Directory", "Owner", "Snapshots", "Newest first"),
                [_row(directory) for directory in directories],
                numbers=(2,),
                empty="No directory may have snapshots yet: howdah dfsadmin -allowSnapshot PATH.",
            ),
            tag("p", f"{rest:,} more are not shown.", class_="quiet") if rest > 0 else None,
        )
    ]


def _row(directory: SnapshotsOf) -> list[Child]:
    shown = tag(
        "ul",
        [
            tag(
                "li",
                tag("a", snapshot.name, href=_address(directory.path, snapshot.name)),
                " ",
                units.utc_text(snapshot.mtime_ms),
            )
            for snapshot in directory.newest
        ],
        tag("li", "…") if directory.count > len(directory.newest) else None,
    )
    return [
        tag("a", directory.path, href=explorer.link_to(directory.path)),
        directory.owner,
        f"{directory.count:,}",
        shown if directory.newest else "none",
    ]


def _address(path: str, name: str) -> str:
    return explorer.link_to(f"{path.rstrip('/')}/.snapshot/{name}")
