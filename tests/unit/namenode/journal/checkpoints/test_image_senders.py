"""From where a namenode takes images."""

from __future__ import annotations

from typing import Any, cast

import pytest

from howdah.config import Configuration
from howdah.namenode.journal.checkpoints.image_senders import Senders
from howdah.namenode.journal.checkpoints.image_server import ImageServer, TransferSettings, Unwanted
from howdah.web.http import Request

CONF = Configuration(
    {
        "fs.defaultFS": "hdfs://10.0.0.1:8020",
        "dfs.namenode.http-address": "0.0.0.0:9870",
        "dfs.namenode.secondary.http-address": "10.0.0.2:9868",
    }
)


@pytest.mark.parametrize("peer", ["10.0.0.1", "10.0.0.2", "127.0.0.1", "::1", "::ffff:10.0.0.2"])
def test_images_come_from_this_machine_and_from_configured_namenodes(peer: str) -> None:
    assert Senders(CONF)(peer)


@pytest.mark.parametrize("peer", ["10.6.6.6", "0.0.0.0", "::", "", "example", "10.0.0.20"])
def test_images_come_from_nowhere_else(peer: str) -> None:
    assert not Senders(CONF)(peer)
    assert not Senders(Configuration({"fs.defaultFS": "hdfs://127.0.0.1:8020"}))(peer)


def test_a_name_without_an_address_lets_nobody_in(caplog: pytest.LogCaptureFixture) -> None:
    key = "dfs.namenode.secondary.http-address"
    here = {"fs.defaultFS": "hdfs://127.0.0.1:8020", key: "nowhere.invalid:9868"}
    senders = Senders(Configuration(here))
    assert not senders("10.0.0.2")
    assert "nowhere.invalid has no address" in caplog.text


def test_an_image_from_a_stranger_is_read_past_and_refused() -> None:
    """Before anything is looked up or held for it."""
    nothing = cast(Any, None)
    server = ImageServer(
        "info", 1, nothing, nothing, nothing, TransferSettings(0, 0, 60.0), Senders(CONF)
    )
    request = Request("PUT", "/imagetransfer", headers={"content-length": "9"}, peer="10.6.6.6")
    answer = server(request)
    assert isinstance(answer, Unwanted)
    assert answer.done().status == 403
    assert b"10.6.6.6 is none of them" in answer.done().body
