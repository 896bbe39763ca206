"""`/conf` for people: what a server was configured with, what was set first (pure)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from howdah.web.configuration import Property, without_secrets
from howdah.web.http import Request
from howdah.web.pages.html import Child, tag
from howdah.web.pages.layout import live, table

PATH: Final = "/conf"
_DEFAULT: Final = "default"
_LONGEST: Final = 2000


def wants_page(request: Request) -> bool:
    """A browser says that it takes HTML; Hadoop's tools and scripts get XML or JSON."""
    return "text/html" in request.headers.get("accept", "") and not (
        {"format", "name"} & request.query.keys()
    )


def page(properties: Iterable[Property], query: str) -> list[Child]:
    """Return the body of the page, with the keys and values that contain `query`."""
    text = query.casefold()
    shown = [
        setting
        for setting in without_secrets(properties)
        if not text or text in setting.name.casefold() or text in setting.value.casefold()
    ]
    shown.sort(key=lambda setting: (setting.source == _DEFAULT, setting.name))
    return [
        tag(
            "form",
            tag(
                "label",
                "Key or value",
                tag("input", type="search", name="q", value=query[:200], maxlength=200),
            ),
            tag("button", "Show", type="submit"),
            method="get",
            action=PATH,
            data_filter=True,
            role="search",
        ),
        tag(
            "p",
            "For scripts: ",
            tag("a", "XML", href="/conf?format=xml"),
            ", ",
            tag("a", "JSON", href="/conf?format=json"),
            ". Secrets are not shown.",
        ),
        live(
            "found",
            tag("p", f"{len(shown):,} keys", class_="quiet", data_found=True),
            table(
                "Configuration, what was set first",
                ("Key", "Value", "From"),
                [
                    (
                        _breakable(setting.name),
                        tag("code", setting.value[:_LONGEST]),
                        setting.source,
                    )
                    for setting in shown
                ],
                empty="No key is like that.",
            ),
        ),
    ]


def _breakable(key: str) -> list[Child]:
    """A key that goes on in the next line behind a point, and within no word."""
    first, *others = key.split(".")
    parts: list[Child] = [first]
    for other in others:
        parts += [".", tag("wbr"), other]
    return parts
