"""`howdah groups`, asked of namenodes in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah.cli.main import main
from howdah.client.namenodes import active_cache
from howdah.namenode.service.ha.states import HAState
from howdah.runtime.users.groups import Groups
from tests.support.namenode_pair import ROOT, Pair, become, run

KNOWN = f"{ROOT}=;amy=staff,ops;bob=staff;zoe="


@pytest.fixture(autouse=True)
def _as_amy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HADOOP_USER_NAME", "amy")
    active_cache.forget_all()
    yield
    active_cache.forget_all()


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    settings: dict[str, Any] = {"hadoop.user.group.static.mapping.overrides": KNOWN}
    made = Pair(tmp_path, **settings)
    made.format()
    return made


def options(pair: Pair) -> list[str]:
    """The configuration of a client, as options of the program."""
    path = pair.base / "client.xml"
    path.write_text(pair.conf(pair.names[0]).to_xml())
    return ["-conf", str(path)]


def test_groups_are_those_that_the_namenode_knows(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scenario(pair: Pair) -> None:
        await become(await pair.serve("nn0"), HAState.ACTIVE)
        words = ["amy", "zoe", "no\0body", "bob"]
        assert await asyncio.to_thread(main, ["groups", *options(pair), *words]) == 0
        assert capsys.readouterr().out == "amy : staff ops\nzoe :\nno\0body :\nbob : staff\n"

    run(pair, scenario)


def test_without_a_name_they_are_the_callers_and_a_standby_tells_them(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first namenode does not run, and the other is a standby."""

    async def scenario(pair: Pair) -> None:
        await pair.serve("nn1")
        assert await asyncio.to_thread(main, ["groups", *options(pair)]) == 0
        assert capsys.readouterr().out == "amy : staff ops\n"
        assert await asyncio.to_thread(main, ["groups", *options(pair), "--json", "bob"]) == 0
        assert json.loads(capsys.readouterr().out) == {"bob": ["staff"]}

    run(pair, scenario)


def test_a_filesystem_without_a_namenode_knows_no_groups(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["groups", "-fs", "file:///", "amy"]) == 1
    assert "not an HDFS file system" in capsys.readouterr().err


def test_a_name_that_no_system_can_have_is_in_no_group() -> None:
    assert Groups("")("a\0b") == ()
