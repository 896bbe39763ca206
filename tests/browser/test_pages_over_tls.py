"""Pages of servers that answer nothing but HTTP over TLS, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from howdah.testing import MiniCluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    conf = {"dfs.http.policy": "HTTPS_ONLY"}
    with MiniCluster(datanodes=2, conf=conf, https=True) as cluster, cluster.connect() as fs:
        with fs.create("/file", replication=2) as out:
            out.write(b"bytes")
        yield cluster


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """A tab that takes the certificates of the test."""
    context = chromium.new_context(ignore_https_errors=True)
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()


@pytest.mark.req("FS-281")
def test_the_datanodes_of_a_block_are_reached_from_the_explorer(
    page: Any, cluster: MiniCluster
) -> None:
    page.goto(f"{cluster.http}/explorer#/file")
    page.get_by_text("all whole").wait_for()
    links = page.locator(".blocks li li a")
    assert links.count() == 2
    links.first.click()
    page.get_by_role("heading", name="Volumes", exact=True).wait_for()
    assert page.url.startswith("https://")
