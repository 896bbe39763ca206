"""Directories of images learn how far the log has reached, and hold nobody up."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from howdah.config import keys
from howdah.namenode.journal.directories import Witnesses
from howdah.namenode.service.ha.states import HAState
from howdah.storage.layout import StorageDirectory
from tests.support.namenode_pair import Pair, become, run

TIMEOUT_S = 60


def made(root: Path) -> StorageDirectory:
    root.mkdir()
    storage = StorageDirectory(root)
    storage.create()
    storage.write_seen_txid(0)
    return storage


class Hanging(StorageDirectory):
    """One on a mount whose server is gone, until `goes_on`."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.hangs, self.goes_on = threading.Event(), threading.Event()

    def write_seen_txid(self, txid: int) -> None:
        self.hangs.set()
        self.goes_on.wait()
        super().write_seen_txid(txid)


@pytest.mark.req("FS-030")
def test_each_learns_it(tmp_path: Path) -> None:
    storages = [made(tmp_path / "a"), made(tmp_path / "b")]
    witnesses = Witnesses(storages)
    witnesses.note(7)
    assert witnesses.wait(TIMEOUT_S)
    assert [storage.read_seen_txid() for storage in storages] == [7, 7]


@pytest.mark.req("FS-030")
def test_one_that_hangs_keeps_nobody_waiting_and_learns_the_newest_when_it_is_back(
    tmp_path: Path,
) -> None:
    other = made(tmp_path / "a")
    made(tmp_path / "b")
    hanging = Hanging(tmp_path / "b")
    witnesses = Witnesses([hanging, other])
    try:
        witnesses.note(7)
        assert hanging.hangs.wait(TIMEOUT_S)
        witnesses.note(9)
        witnesses.note(11)
        assert not witnesses.wait(0)
        assert hanging.read_seen_txid() == 0
    finally:
        hanging.goes_on.set()
    assert witnesses.wait(TIMEOUT_S)
    assert [hanging.read_seen_txid(), other.read_seen_txid()] == [11, 11]


def test_one_that_fails_is_named_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    storage = made(tmp_path / "a")
    storage.current.rename(tmp_path / "away")
    witnesses = Witnesses([storage])
    witnesses.note(7)
    assert witnesses.wait(TIMEOUT_S)
    assert f"{storage.root} does not learn how far the log has reached" in caplog.text
    (tmp_path / "away").rename(storage.current)
    witnesses.note(9)
    assert witnesses.wait(TIMEOUT_S)
    assert storage.read_seen_txid() == 9


def test_a_system_without_a_thread_to_spare_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    storage = made(tmp_path / "a")
    witnesses = Witnesses([storage])
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_thread)
        witnesses.note(7)
    assert "can't start new thread" in caplog.text
    witnesses.note(9)
    assert witnesses.wait(TIMEOUT_S)
    assert storage.read_seen_txid() == 9


@pytest.mark.req("FS-030")
def test_a_namenode_tells_its_directories_of_images(tmp_path: Path) -> None:
    images, root = tmp_path / "images", tmp_path / "nn0"
    settings: dict[str, Any] = {f"{keys.DFS_NAMENODE_NAME_DIR.name}.ns.nn0": f"{root},{images}"}
    pair = Pair(tmp_path, **settings)
    pair.format()

    async def scenario(pair: Pair) -> None:
        namenode = pair.start("nn0")
        await become(namenode, HAState.ACTIVE)
        assert await asyncio.to_thread(namenode._witnesses.wait, TIMEOUT_S)
        first_txid = namenode.log_writer._segment_txid
        assert StorageDirectory(images).read_seen_txid() == first_txid > 0

    run(pair, scenario)
