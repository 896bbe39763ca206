"""The explorer of a namenode whose users prove who they are, in a real browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from howdah.testing import MiniCluster, NoKdc


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    conf = {"hadoop.proxyuser.alice.users": "bob", "hadoop.proxyuser.alice.hosts": "*"}
    try:
        made = MiniCluster(datanodes=1, conf=conf, secure=True)
    except NoKdc as missing:
        pytest.skip(missing.message)
    with made, made.connect("bob") as bob:
        bob.mkdirs("/user/bob/of-bob")
        bob.set_permission("/user/bob", 0o700)
        yield made


def cookie_of(cluster: MiniCluster, user: str) -> str:
    """What a browser has that has shown a ticket."""
    command = ["curl", "-sS", "-i", "--negotiate", "-u", ":", f"{cluster.http}/explorer"]
    done = subprocess.run(
        command,
        env={**os.environ, **cluster.environment(user)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = re.search(r'^Set-Cookie: hadoop\.auth="([^"]+)"', done.stdout, re.M | re.I)
    assert found is not None, done.stdout[:2000]
    return found[1]


@pytest.mark.req("FS-281")
def test_a_user_acts_for_another_by_the_explorer(page: Any, cluster: MiniCluster) -> None:
    host = urlsplit(cluster.http).hostname
    cookie = {"name": "hadoop.auth", "value": f'"{cookie_of(cluster, "alice")}"'}
    page.context.add_cookies([{**cookie, "domain": host, "path": "/"}])
    page.goto(f"{cluster.http}/explorer#/user/bob")
    page.get_by_text("Permission denied: user=alice").wait_for()
    page.get_by_label("Act for user").fill("bob")
    page.get_by_role("button", name="Go").click()
    page.get_by_role("link", name="of-bob/").wait_for()
    page.get_by_label("Act for user").fill("mallory")
    page.get_by_role("button", name="Go").click()
    page.get_by_text("User: alice is not allowed to impersonate mallory").wait_for()
