"""Defects in the threads of a data process: told in the log, and never the end of others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from howdah.datanode.keeper import keeper
from howdah.datanode.keeper.keeper import Keeper
from howdah.datanode.transfer.operations import Operations
from howdah.transfer.sockets import PeerClosed

Lab = Any


def fails(*_: object) -> NoReturn:
    raise RuntimeError("a defect")


def test_a_defect_in_an_operation_ends_that_connection_alone(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    node = lab.node()
    with monkeypatch.context() as patch:
        patch.setattr(Operations, "serve", fails)
        with node.connect() as connection, pytest.raises(PeerClosed):
            connection.recv_exactly(1)
    node.wait_idle()
    assert "a defect" in caplog.text
    lab.write_block(node, lab.block(), b"data")
    assert node.content(1) == b"data"


def test_a_data_process_never_goes_on_as_the_keeper_that_it_was_forked_from(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(keeper.os, "_exit", ended.append)
    forked: Any = object.__new__(Keeper)
    forked._link = SimpleNamespace(close=fails)
    Keeper._become_data_process(forked, cast(Any, None), cast(Any, None))
    assert ended == [1]
    assert "a defect" in caplog.text
