"""The page that shows a namespace."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from howdah.spark.usage_report.page import Bar, Table, Used, page

EVIL = '/a<b>&"c"/ünï'


def shown(space: list[Used]) -> str:
    return page(
        "Namespace of <x>",
        "2 files",
        space,
        [Bar("1 KB", 3, 3000), Bar("2 KB", 0, 0)],
        [],
        [Table("Owners", ("owner", "files"), ((EVIL, "3"),), frozenset((1,)))],
    )


def test_page_is_well_formed_whatever_the_names_are() -> None:
    text = shown([Used(EVIL, 3, 1000, 3000), Used("/b", 1, 10, 30), Used("/empty", 0, 0, 0)])
    body = text.partition("<body>")[2].partition("</body>")[0]
    tree = ElementTree.fromstring(f"<body>{body}</body>")
    assert len(tree.findall(".//svg")) == 2
    titles = [title.text for title in tree.iter("title")]
    assert f"{EVIL}: 2.93 KB in 3 files" in titles
    assert all("/empty" not in str(title) for title in titles)


def test_page_loads_nothing_from_anywhere() -> None:
    text = shown([Used("/a", 3, 1000, 3000)])
    assert not re.search(r"https?:|src=|@import|url\(", text)


def test_namespace_without_files_has_a_page_too() -> None:
    assert "Nothing takes any space" in shown([])
