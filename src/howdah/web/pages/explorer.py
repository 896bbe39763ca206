"""`/explorer`: the tree of files, whose contents a script reads over WebHDFS (pure)."""

from __future__ import annotations

from typing import Final

from howdah.web.pages.html import Child, tag
from howdah.web.pages.layout import badge

PATH: Final = "/explorer"


def page(*, has_webhdfs: bool) -> list[Child]:
    """The body of the page."""
    if not has_webhdfs:
        return [
            tag(
                "p",
                "WebHDFS is switched off (dfs.webhdfs.enabled), so files cannot be shown here.",
                class_="verdict warn",
            )
        ]
    return [
        tag(
            "noscript",
            tag(
                "p",
                "Files are shown by a script. Without one there is ",
                tag("a", "WebHDFS", href="/webhdfs/v1/?op=LISTSTATUS"),
                " and ",
                tag("code", "howdah dfs -ls /"),
                ".",
                class_="verdict warn",
            ),
        ),
        tag(
            "form",
            tag("label", "Path", tag("input", id="path", value="/", size=40, maxlength=8000)),
            tag("label", "Act as user", tag("input", id="user", size=12, maxlength=64)),
            tag("button", "Go", type="submit"),
            id="go",
        ),
        tag("nav", id="crumbs", aria_label="Path"),
        tag("p", id="trouble", role="alert", class_="verdict bad", hidden=True),
        tag(
            "section",
            tag("h2", "Directory", id="listing-title"),
            tag("p", id="summary", class_="quiet"),
            tag("div", id="listing"),
            tag("button", "More", type="button", id="more", class_="plain", hidden=True),
            aria_labelledby="listing-title",
            id="directory",
        ),
        tag(
            "section",
            tag("h2", "File", id="file-title", tabindex="-1"),
            tag("div", id="file"),
            aria_labelledby="file-title",
            id="file-part",
            hidden=True,
        ),
        tag(
            "section",
            tag("h2", "Upload to this directory", id="upload-title"),
            tag(
                "form",
                tag("label", "File", tag("input", type="file", id="upload-file", required=True)),
                tag("button", "Upload", type="submit"),
                id="upload",
            ),
            tag("p", id="upload-said", role="status"),
            aria_labelledby="upload-title",
            id="upload-part",
        ),
        tag(
            "p",
            "Health of a block: ",
            badge("ok", "whole"),
            " ",
            badge("warn", "low"),
            " ",
            badge("bad", "no replica"),
            class_="quiet",
        ),
    ]
