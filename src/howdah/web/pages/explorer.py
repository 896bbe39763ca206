"""`/explorer`: the tree of files, whose contents a script reads over WebHDFS; `/blocks`: files
that have lost blocks, and where one block is (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote

from howdah.web.pages.html import Child, Html, tag
from howdah.web.pages.layout import badge, section, table

PATH: Final = "/explorer"
BLOCKS_PATH: Final = "/blocks"
MOST_NAME_CHARS: Final = 64
"""Of a block's name, which has at most 46."""


def page(*, has_webhdfs: bool, own_header: str, are_users_proven: bool) -> list[Child]:
    """The body of the page. Its script sends `own_header` with each change, which no form of
    another server's page can (`dfs.webhdfs.rest-csrf.custom-header`).

    Where users prove who they are, the name in the request (`user.name`) counts for nothing: there
    is one for whom they act (`doas`), if the rules of proxy users let them.
    """
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
            tag(
                "label",
                "Act for user" if are_users_proven else "Act as user",
                tag(
                    "input",
                    id="user",
                    size=12,
                    maxlength=64,
                    data_parameter="doas" if are_users_proven else "user.name",
                ),
            ),
            tag("button", "Go", type="submit"),
            id="go",
            data_own_header=own_header,
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


def standby_page(state: str, places: Mapping[str, str], active: str | None) -> list[Child]:
    """The body of the page of a namenode that does not show files. `places` are the pages of the
    others by their names, `active` is the one that does, if it is known."""
    if active is not None:
        where: list[Child] = [
            "The active one, ",
            active,
            ", does: ",
            _files_at(places[active]),
            ".",
        ]
    elif places:
        where = ["None of the others says that it is active: "]
        for number, place in enumerate(places.values()):
            where += [", " * bool(number), _files_at(place)]
        where.append(".")
    else:
        where = []
    return [
        tag(
            "p",
            f"This namenode is in the state {state}, and shows no files. ",
            *where,
            class_="verdict warn",
        )
    ]


def _files_at(place: str) -> Html:
    return tag("a", place, href=f"{place}{PATH}")


def blocks_page(lost: Sequence[str], most: int, asked: str, report: str) -> list[Child]:
    """Return the body of the page. `lost` has lines of `fsck -list-corruptfileblocks`, at most
    `most`; `report` is what `fsck -blockId` says of the block `asked` for, if one is."""
    return [
        section(
            "lost",
            "Lost blocks",
            table(
                "Files with blocks of which no good replica is left",
                ("Block", "File"),
                [_lost(line) for line in lost],
                empty="No file has lost a block.",
            ),
            tag("p", "There may be more: ", _LIST_ALL, class_="quiet")
            if len(lost) >= most
            else None,
        ),
        section(
            "block",
            "Where is a block?",
            tag(
                "form",
                tag(
                    "label",
                    "Block, as blk_1073741825",
                    tag("input", name="id", value=asked, size=24, maxlength=MOST_NAME_CHARS),
                ),
                tag("button", "Find", type="submit"),
                action=BLOCKS_PATH,
            ),
            tag("pre", report, tabindex="0", aria_label=f"Block {asked}") if report else None,
            is_live=False,
        ),
    ]


def link_to(path: str) -> str:
    """The address of the page of a file or directory. A name from an image may have half a
    character, which no UTF-8 has; its link leads nowhere, and the page is there nevertheless."""
    return f"{PATH}#{quote(path, errors='surrogatepass')}"


_LIST_ALL: Final = tag("code", "howdah fsck / -list-corruptfileblocks")


def _lost(line: str) -> list[Child]:
    """A line has the block, the file's replication, and its path."""
    block, _, rest = line.partition("\t")
    path = rest.rpartition("\t")[2]
    return [_block(block), tag("a", path, href=link_to(path))]


def _block(name: str) -> Html:
    return tag("a", name, href=f"{BLOCKS_PATH}?id={quote(name)}")
