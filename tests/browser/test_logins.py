"""The form by which users log in without Kerberos, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah.formats.passwords import Cost, record_of
from howdah.testing import MiniCluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniCluster]:
    passwords: Path = tmp_path_factory.mktemp("logins") / "passwords"
    record = record_of("alice", "alice's password", b"0123456789abcdef", Cost(4, 1, 1))
    passwords.write_text(record.line)
    passwords.chmod(0o600)
    conf = {
        "howdah.http.authentication": "file",
        "howdah.http.authentication.file": str(passwords),
    }
    with MiniCluster(datanodes=1, conf=conf) as cluster, cluster.connect() as fs:
        with fs.create("/file") as out:
            out.write(b"for alice")
        yield cluster


def test_who_logs_in_sees_the_page_that_he_wanted_and_logs_out(
    page: Any, cluster: MiniCluster
) -> None:
    page.goto(f"{cluster.http}/nodes")
    page.get_by_label("User").fill("alice")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()
    assert page.get_by_label("User").input_value() == "alice"
    page.get_by_label("Password").fill("alice's password")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Datanodes").first.wait_for()
    assert page.url == f"{cluster.http}/nodes"
    # What scripts of the page ask for has the cookie; the bytes come from a datanode.
    page.goto(f"{cluster.http}/explorer#/file")
    page.get_by_text("all whole").wait_for()
    page.get_by_role("button", name="First part").click()
    page.locator("pre", has_text="for alice").wait_for()
    page.goto(f"{cluster.http}/login")
    page.get_by_text("You are alice.").wait_for()
    page.get_by_role("button", name="Log out").click()
    page.get_by_label("Password").wait_for()
    page.goto(f"{cluster.http}/nodes")
    page.get_by_label("Password").wait_for()
