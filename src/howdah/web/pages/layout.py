"""The frame of every page: head, navigation, landmarks, and headers that keep it shut (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from howdah.web.http import POLICY_HEADER, Response, answer
from howdah.web.pages.html import Child, Html, tag

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'"
)
HTML: Final = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Link:
    """An entry of the navigation."""

    path: str
    text: str


TOOLS: Final = (
    Link("/conf", "Configuration"),
    Link("/logs", "Log"),
    Link("/logLevel", "Log levels"),
    Link("/stacks", "Stacks"),
    Link("/jmx", "Figures (JSON)"),
)


@dataclass(frozen=True, slots=True)
class Site:
    """The pages of one server. `role` is what it is, `name` its address; `asset_query` is put
    behind the address of what is in `static`, and tells one version of it from another."""

    role: str
    name: str
    version: str
    links: Sequence[Link]
    asset_query: str = ""


def respond(
    site: Site,
    current: str,
    title: str,
    body: Iterable[Child],
    *,
    status: int = 200,
    live_s: float = 0,
    scripts: Sequence[str] = ("live.js",),
) -> Response:
    """A page. `current` is the path of its entry in the navigation; with `live_s` its parts
    that have an id and `data-live` are fetched again at that interval."""
    text = _document(site, current, title, body, live_s, scripts)
    headers = {POLICY_HEADER: _POLICY, "Referrer-Policy": "same-origin"}
    return answer(status, text.encode("utf-8", "replace"), HTML, headers)


def _document(
    site: Site,
    current: str,
    title: str,
    body: Iterable[Child],
    live_s: float,
    scripts: Sequence[str],
) -> str:
    asset_query = site.asset_query
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("title", f"{title} · {site.role} {site.name}"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href=f"/static/howdah.svg{asset_query}", type="image/svg+xml"),
        tag("link", rel="stylesheet", href=f"/static/howdah.css{asset_query}"),
        [tag("script", src=f"/static/{name}{asset_query}", defer=True) for name in scripts],
    )
    page = tag(
        "body",
        tag("a", "Skip to the content", class_="skip", href="#content"),
        tag(
            "header",
            tag(
                "p",
                tag("img", src=f"/static/howdah.svg{asset_query}", alt="", width=28, height=28),
                tag("strong", f"howdah {site.role}"),
                tag("span", site.name, class_="name"),
                class_="who",
            ),
            _navigation("Pages", site.links, current),
        ),
        tag("main", tag("h1", title), body, id="content", tabindex="-1"),
        tag(
            "footer",
            _navigation("Tools", TOOLS, current),
            tag("p", f"howdah {site.version}", tag("span", id="freshness"), class_="quiet"),
            tag("p", id="announcement", role="status", aria_live="polite", class_="unseen"),
        ),
        data_live_ms=round(live_s * 1000) if live_s else None,
    )
    return f"<!doctype html>\n{tag('html', head, page, lang='en')}\n"


def _navigation(label: str, links: Iterable[Link], current: str) -> Html:
    return tag(
        "nav",
        tag(
            "ul",
            [
                tag(
                    "li",
                    tag(
                        "a",
                        link.text,
                        href=link.path,
                        aria_current="page" if link.path == current else None,
                    ),
                )
                for link in links
            ],
        ),
        aria_label=label,
    )


# -- pieces --------------------------------------------------------------------------------


def live(name: str, *children: Child, element: str = "div", **more: str) -> Html:
    """A part that is fetched again; `name` is its id."""
    return tag(element, *children, id=name, data_live=True, **more)


def verdict(level: str, headline: str, reasons: Sequence[str]) -> Html:
    """Show whether all is well (`level` is "ok", "warn" or "bad"), and the reasons if it is not."""
    return live(
        "verdict",
        tag("h2", headline, data_say=True),
        tag("ul", [tag("li", reason) for reason in reasons]) if reasons else None,
        class_=f"verdict {level}",
    )


def section(name: str, title: str, *children: Child, is_live: bool = True) -> Html:
    """A part with a heading."""
    return tag(
        "section",
        tag("h2", title, id=f"{name}-title"),
        *children,
        id=name,
        data_live=is_live,
        aria_labelledby=f"{name}-title",
    )


def facts(rows: Iterable[tuple[str, Child]]) -> Html:
    """Names and values."""
    return tag(
        "dl",
        [tag("div", tag("dt", name), tag("dd", value)) for name, value in rows],
        class_="facts",
    )


def table(
    caption: str,
    heads: Sequence[Child],
    rows: Iterable[Sequence[Child]],
    numbers: Iterable[int] = (),
    empty: str = "",
) -> Html:
    """Of its first column the cells are heads of their rows; `numbers` are the columns to be
    set right. `empty` stands for a table without a row."""
    right = frozenset(numbers)
    filled = [
        tag(
            "tr",
            [
                tag(
                    "td" if column else "th",
                    cell,
                    scope=None if column else "row",
                    class_="number" if column in right else None,
                )
                for column, cell in enumerate(row)
            ],
        )
        for row in rows
    ]
    if not filled and empty:
        return tag("p", empty, class_="quiet")
    head = [
        tag("th", cell, scope="col", class_="number" if column in right else None)
        for column, cell in enumerate(heads)
    ]
    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption),
            tag("thead", tag("tr", head)),
            tag("tbody", filled),
        ),
        class_="wide",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def badge(level: str, text: str) -> Html:
    """A word that has a colour as well: `ok`, `warn`, `bad` or `idle`."""
    return tag("span", text, class_=f"badge {level}")


def bar(percent: float, level: str, text: str) -> Html:
    """How full something is: the picture says no more than the text beside it."""
    return tag(
        "span",
        tag(
            "svg",
            tag("rect", class_="room", width=100, height=8, rx=2),
            tag("rect", class_=f"fill {level}", width=f"{percent:.1f}", height=8, rx=2),
            viewBox="0 0 100 8",
            preserveAspectRatio="none",
            class_="bar",
            aria_hidden="true",
        ),
        tag("span", text),
        class_="filled",
    )


def fill_level(percent: float) -> str:
    return "bad" if percent >= 95 else "warn" if percent >= 85 else "ok"


def refresh_hint() -> Html:
    """For those whose browser runs no scripts."""
    return tag("noscript", tag("p", "Reload this page to see newer figures.", class_="quiet"))
