"""docs/s3.md says of every operation whether it is served."""

from __future__ import annotations

import re
from pathlib import Path

from howdah.config.keys import s3_gateway
from howdah.config.value_types import Key
from howdah.gateway.s3.protocol.operations import OPERATIONS

PAGE = (Path(__file__).parents[4] / "docs" / "s3.md").read_text("utf-8")


def rows(title: str) -> list[list[str]]:
    """The cells of the table that begins with this title."""
    table = PAGE.partition(f"| {title} |")[2].partition("\n\n")[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


def test_the_page_has_every_operation_that_is_served() -> None:
    shown = {row[0].strip("` |"): (row[1] if len(row) > 1 else "") for row in rows("served")}
    assert shown == {each.name: each.note for each in OPERATIONS if each.is_served}


def test_the_page_has_every_operation_that_is_refused_with_the_reason() -> None:
    shown = {
        name: why
        for names, why in rows("refused with `NotImplemented`")
        for name in re.findall(r"`(\w+)`", names)
    }
    assert shown == {each.name: each.note for each in OPERATIONS if not each.is_served}


def test_the_page_has_every_key() -> None:
    declared = [value.name for value in vars(s3_gateway).values() if isinstance(value, Key)]
    assert len(declared) > 10
    assert [name for name in declared if f"`{name}`" not in PAGE] == []
