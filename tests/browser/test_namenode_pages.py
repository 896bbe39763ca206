"""The namenode's pages in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

from .accessibility import COLOUR_RULES, violations

HOSTILE = "<img src=x onerror=alert(1)>.txt"
PAGES = (
    "/",
    "/nodes",
    "/racks",
    "/explorer",
    "/blocks?id=1073741825",
    "/snapshots",
    "/encryption",
    "/cluster",
    "/conf?q=namenode.name",
    "/logs",
    "/logLevel",
)
DATA = b"first line\n" + b"x" * 100_000 + b"\nlast line\n"


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=2, racks=["/north", "/south"]) as cluster, cluster.connect() as fs:
        fs.mkdirs("/data")
        with fs.create(f"/data/{HOSTILE}", replication=2) as out:
            out.write(DATA)
        fs.mkdirs("/open")
        fs.set_permission("/open", 0o777)
        yield cluster


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.req("FS-282")
def test_every_page_is_accessible_and_fits_on_a_phone(
    page: Any, cluster: MiniCluster, path: str
) -> None:
    page.goto(f"{cluster.http}{path}")
    if path == "/explorer":
        page.get_by_role("link", name="data/").wait_for()
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page, *COLOUR_RULES) == []
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.req("FS-280")
def test_the_overview_answers_first_and_stays_up_to_date(page: Any, cluster: MiniCluster) -> None:
    page.goto(cluster.http)
    page.get_by_role("heading", name="All data", exact=False).wait_for()
    with cluster.connect() as fs:
        before = page.locator("#tiles").inner_text()
        fs.mkdirs("/made/while/somebody/looks")
    wait_until(lambda: page.locator("#tiles").inner_text() != before)


@pytest.mark.req("FS-280")
def test_pages_say_the_same_without_scripts(chromium: Any, cluster: MiniCluster) -> None:
    context = chromium.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(f"{cluster.http}/nodes?q=south")
    assert tab.locator("tbody tr").count() == 1
    tab.goto(cluster.http)
    assert "Every block has its replicas" in tab.locator("#verdict").inner_text()
    tab.goto(f"{cluster.http}/explorer")
    assert "howdah dfs -ls" in tab.locator("main").inner_text()
    context.close()


@pytest.mark.req("FS-280")
def test_datanodes_are_filtered_while_one_types(page: Any, cluster: MiniCluster) -> None:
    page.goto(f"{cluster.http}/nodes")
    assert page.locator("tbody tr").count() == 2
    page.get_by_label("Name or rack").fill("north")
    wait_until(lambda: page.locator("tbody tr").count() == 1)
    assert "q=north" in page.url


@pytest.mark.req("FS-281")
def test_a_file_is_found_looked_at_and_downloaded(
    page: Any, cluster: MiniCluster, tmp_path: Path
) -> None:
    page.goto(f"{cluster.http}/explorer")
    page.get_by_role("link", name="data/").click()
    page.get_by_role("link", name=HOSTILE).first.click()
    page.get_by_text("all whole").wait_for()
    assert page.locator(".blocks > li").count() == 1
    assert page.locator(".blocks li li").count() == 2
    page.get_by_role("button", name="First part").click()
    page.get_by_text("first line").wait_for()
    page.get_by_role("button", name="Last part").click()
    page.get_by_text("last line").wait_for()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download").click()
    waiting.value.save_as(tmp_path / "got")
    assert (tmp_path / "got").read_bytes() == DATA


@pytest.mark.req("FS-281")
def test_a_file_is_uploaded(page: Any, cluster: MiniCluster, tmp_path: Path) -> None:
    source = tmp_path / "from here.bin"
    source.write_bytes(DATA)
    # By another name than the configuration has, as through a tunnel.
    page.goto(f"{cluster.http.replace('127.0.0.1', 'localhost')}/explorer#/open")
    page.locator("#upload-file").set_input_files(source)
    page.get_by_role("button", name="Upload").click()
    page.get_by_text("is there, with").wait_for()
    with cluster.connect() as fs, fs.open("/open/from here.bin") as stream:
        assert stream.read() == DATA


@pytest.mark.req("FS-281")
def test_what_may_not_be_done_is_said(page: Any, cluster: MiniCluster, tmp_path: Path) -> None:
    source = tmp_path / "unwanted"
    source.write_bytes(b"x")
    page.goto(f"{cluster.http}/explorer#/data")
    page.locator("#upload-file").set_input_files(source)
    page.get_by_role("button", name="Upload").click()
    page.get_by_text("Permission denied").wait_for()
    page.goto(f"{cluster.http}/explorer#/nowhere")
    page.get_by_text("File does not exist").wait_for()


@pytest.mark.req("FS-280")
def test_a_server_that_is_gone_is_said_to_be(page: Any, cluster: MiniCluster) -> None:
    page.clock.install()
    page.goto(cluster.http)
    page.evaluate("document.body.dataset.marked = 'same page'")
    page.route("**/*", lambda route: route.abort())
    wait_until(
        lambda: (
            page.clock.run_for(5_000)
            or "has not answered for" in page.locator("#freshness").inner_text()
        )
    )
    page.unroute("**/*")
    wait_until(
        lambda: (
            page.clock.run_for(60_000)
            or "updates by itself" in page.locator("#freshness").inner_text()
        ),
        60,
    )
    assert page.evaluate("document.body.dataset.marked") == "same page"
