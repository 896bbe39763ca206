"""The pages of all other servers, and of a namenode that is starting, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from howdah.config import Configuration
from howdah.namenode.server.monitoring.startup_http import Starting
from howdah.namenode.service.monitoring.startup import Phase
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from howdah.web.http import Request, Response
from howdah.web.pages.layout import Link, Site, live, respond
from tests.support.routers import Routers
from tests.support.started import server

from .accessibility import COLOUR_RULES, violations

SERVERS = ("datanode", "journalnode", "zkfc", "router", "secondarynamenode", "httpfs", "starting")


def starting_at(directory: Path) -> Starting:
    """A namenode that reads its image, and stays there."""
    found = Starting(
        Configuration(
            {"fs.defaultFS": "hdfs://127.0.0.1:8020", "dfs.namenode.http-address": "127.0.0.1:0"}
        )
    )
    found.listen()
    found.progress.begin(Phase.IMAGE)
    found.progress.reads(Phase.IMAGE, str(directory / "fsimage_7"), 5 << 20, lambda: 2 << 20)
    found.progress.counts(Phase.IMAGE, lambda: 43_210, lambda: 100_000)
    return found


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The first page of each server."""
    with ExitStack() as held:
        cluster = held.enter_context(MiniCluster(datanodes=1, namenodes=2))
        found = {
            role: cluster.process(f"{role}0").addresses["http"]
            for role in ("datanode", "journalnode", "zkfc")
        }
        directory = tmp_path_factory.mktemp("routers")
        routers = Routers(directory, {"east": cluster})
        found["router"] = held.enter_context(server("router", routers.values, directory))["http"]
        directory = tmp_path_factory.mktemp("secondary")
        values = {
            "fs.defaultFS": "hdfs://127.0.0.1:1",
            "dfs.namenode.checkpoint.dir": (directory / "2nn").as_uri(),
            "dfs.namenode.checkpoint.check.period": "1s",
            "dfs.namenode.secondary.http-address": "127.0.0.1:0",
        }
        secondary = held.enter_context(server("secondarynamenode", values, directory))
        found["secondarynamenode"] = secondary["http"]
        directory = tmp_path_factory.mktemp("gateway")
        values = {"fs.defaultFS": cluster.uri, "httpfs.http.port": "0"}
        found["httpfs"] = held.enter_context(server("httpfs", values, directory))["http"]
        starting = starting_at(directory)
        held.callback(starting.http.stop)
        found["starting"] = "{}:{}".format(*starting.web.first)
        yield {role: f"http://{at}/" for role, at in found.items()}


@pytest.mark.parametrize("role", SERVERS)
@pytest.mark.req("FS-280", "FS-282")
def test_every_page_is_accessible_and_fits_on_a_phone(
    page: Any, places: dict[str, str], role: str
) -> None:
    page.goto(places[role])
    assert page.locator(".verdict").count() == 1
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page, *COLOUR_RULES) == []
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.req("FS-280")
def test_pages_say_the_same_without_scripts(chromium: Any, places: dict[str, str]) -> None:
    context = chromium.new_context(java_script_enabled=False)
    tab = context.new_page()
    for role, place in places.items():
        tab.goto(place)
        assert tab.locator(".verdict h2").inner_text(), role
        assert "Reload this page" in tab.locator("noscript").inner_text(), role
    context.close()


@pytest.mark.req("FS-269", "FS-280")
def test_the_page_of_a_start_becomes_that_of_the_namenode(page: Any, tmp_path: Path) -> None:
    def serve(request: Request) -> Response:
        site = Site("namenode", "here", "1", (Link("/", "Overview"),))
        return respond(site, "/", "Overview", [live("tiles", "it serves")])

    starting = starting_at(tmp_path)
    try:
        page.goto("http://{}:{}/".format(*starting.web.first))
        assert "the image is read: 40%" in page.locator(".verdict").inner_text()
        starting.progress.end(Phase.IMAGE)
        starting.progress.begin(Phase.EDITS)
        wait_until(
            lambda: "the log is replayed" in page.locator(".verdict").inner_text(), timeout_s=60
        )
        starting.http.serve_by(serve)
        page.locator("#tiles").wait_for(timeout=60_000)
    finally:
        starting.http.stop()
