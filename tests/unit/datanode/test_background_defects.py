"""Threads of a datanode that nobody waits for say a defect in the log and go on.

Each handler is entered once. What stands for the thread's owner has only what it uses; a
`SystemExit` ends the thread, which no handler keeps.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest

from howdah.datanode.caching.block_cache import BlockCache
from howdah.datanode.control import pool_upgrade
from howdah.datanode.control.lifeline import LifelineSender
from howdah.datanode.latency.monitor import OutlierReports
from howdah.datanode.lazy_persist import lazy_writer
from howdah.datanode.lazy_persist.lazy_writer import LazyWriter
from howdah.datanode.process.volume_workers import VolumeWorkers
from howdah.datanode.transfer.copies import Copies
from howdah.datanode.transfer.data_server import DataServer
from howdah.storage import transitions
from howdah.storage.layout import PREVIOUS_NAME, StorageDirectory
from howdah.testing.waiting import wait_until

KEY = ("BP-1", 7)


class Defect(Exception):
    """What no code expects."""


class Turns:
    """Raises what is given for each call, and returns True where that is None; the thread ends
    behind the last."""

    def __init__(self, *outcomes: BaseException | None) -> None:
        self._outcomes = deque(outcomes)
        self.calls: list[tuple[object, ...]] = []

    def __call__(self, *arguments: object, **named: object) -> Any:
        self.calls.append(arguments)
        if not self._outcomes:
            raise SystemExit
        outcome = self._outcomes.popleft()
        if outcome is not None:
            raise outcome
        return True


def defect() -> Defect:
    return Defect("a defect of this test")


def run(method: Any, *arguments: object, **owner: object) -> None:
    with pytest.raises(SystemExit):
        method(SimpleNamespace(**owner), *arguments)


def queue_of(*items: object) -> SimpleQueue[Any]:
    made: SimpleQueue[Any] = SimpleQueue()
    for item in items:
        made.put(item)
    return made


def test_the_end_of_caching_a_block(caplog: pytest.LogCaptureFixture) -> None:
    loaded = Turns(defect())
    entry = SimpleNamespace(key=KEY)
    items = queue_of(*[(entry, SimpleNamespace(path="/a"))] * 2)
    run(BlockCache._work, items, _load=lambda entry: None, _loaded=loaded)
    assert len(loaded.calls) == 2
    assert "the end of caching block 7 failed on a defect" in caplog.text


def test_uncaching(caplog: pytest.LogCaptureFixture) -> None:
    tell = Turns(defect())
    run(
        BlockCache._run,
        _changed=threading.Condition(),
        _news=deque(["first", "second"]),
        _polling_s=0.0,
        _store=SimpleNamespace(notify=tell),
        let_go=pytest.fail,
    )
    assert tell.calls == [("first",), ("second",)]
    assert "uncaching failed on a defect" in caplog.text


def test_a_lifeline(caplog: pytest.LogCaptureFixture) -> None:
    send = Turns(defect())
    run(LifelineSender._run, _wait_until_due=lambda: True, _send=send, _name="nn1")
    assert len(send.calls) == 2
    assert "a lifeline to namenode nn1 failed on a defect" in caplog.text


def test_deleting_what_an_upgrade_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / PREVIOUS_NAME).mkdir()
    finalize = Turns(defect(), None)
    monkeypatch.setattr(transitions, "finalize", finalize)
    pool_upgrade.finalize(StorageDirectory(tmp_path))
    wait_until(lambda: tmp_path not in pool_upgrade._deleting)
    assert f"deleting {tmp_path / PREVIOUS_NAME} failed on a defect" in caplog.text
    pool_upgrade.finalize(StorageDirectory(tmp_path))
    wait_until(lambda: len(finalize.calls) == 2)


def test_looking_for_what_is_slow(caplog: pytest.LogCaptureFixture) -> None:
    look = Turns(defect())
    run(OutlierReports._run, _settings=SimpleNamespace(interval_s=0.0), refresh=look)
    assert len(look.calls) == 2
    assert "looking for slow peers and disks failed on a defect" in caplog.text


def test_giving_replicas_in_memory_to_volumes(caplog: pytest.LogCaptureFixture) -> None:
    deal = Turns(defect())
    run(LazyWriter._run, deal=deal, _interval_s=0.0)
    assert len(deal.calls) == 2
    assert "giving replicas in memory to volumes failed on a defect" in caplog.text


def test_saving_a_replica_of_memory(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failed: list[object] = []
    monkeypatch.setattr(lazy_writer, "save", Turns(defect()))
    writer: Any = SimpleNamespace(_store=None, _fail=lambda *record: failed.append(record))
    record: Any = SimpleNamespace(key=KEY)
    volume: Any = SimpleNamespace(path="/a")
    assert not LazyWriter.attempt(writer, record, 3, volume)
    assert failed == [(record, 3)], "another volume may have it"
    assert "saving block 7 of BP-1 failed on a defect" in caplog.text


def test_the_end_of_saving_a_replica_of_memory(caplog: pytest.LogCaptureFixture) -> None:
    attempt = Turns(defect())
    items = queue_of(*[(SimpleNamespace(key=KEY), 3, None)] * 2)
    run(LazyWriter._work, items, attempt=attempt)
    assert len(attempt.calls) == 2
    assert "the end of saving block 7 failed on a defect" in caplog.text


def test_leaving_a_volume_that_hangs(caplog: pytest.LogCaptureFixture) -> None:
    trouble = SimpleNamespace(leave=Turns(defect()))
    workers: Any = SimpleNamespace(_store=SimpleNamespace(trouble=trouble), _check_timeout_s=0.0)
    volume: Any = "/a"
    VolumeWorkers._watch(workers, volume, threading.Event())
    assert "leaving /a, which hangs, failed on a defect" in caplog.text


def test_a_copy_to_other_datanodes(caplog: pytest.LogCaptureFixture) -> None:
    counted: list[int] = []
    copies: Any = SimpleNamespace(_copy=Turns(defect()), count=counted.append)
    command: Any = SimpleNamespace(
        block="blk_7", targets=[SimpleNamespace(transfer_address="dn1:9866")]
    )
    Copies._run(copies, command)
    assert counted == [-1], "it takes up no place any more"
    assert "copying blk_7 to dn1:9866 failed on a defect" in caplog.text


def test_a_connection_that_nobody_serves(caplog: pytest.LogCaptureFixture) -> None:
    begin = Turns(defect(), None)
    accepted, far = socket.socketpair()
    with accepted, far:
        connections = deque([accepted, accepted])

        def accept() -> tuple[Any, None]:
            if not connections:
                raise SystemExit
            return connections.popleft(), None

        run(
            DataServer._accept,
            _closing=False,
            _listener=SimpleNamespace(accept=accept),
            _begin=begin,
        )
        assert accepted.fileno() == -1
    assert len(begin.calls) == 2
    assert "a data connection is closed: nobody serves it" in caplog.text
