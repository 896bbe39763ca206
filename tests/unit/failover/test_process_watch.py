"""When the local namenode dies, its controller knows at once, and so do the journal nodes."""

from __future__ import annotations

import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from howdah.failover.process_watch import DeathWatch, resign_for
from howdah.failover.state.service import ServingProcess
from howdah.runtime.process_identity import identity_of
from howdah.testing.waiting import wait_until
from tests.support.journals.quorum import VERSION, Quorum

WAITS = [sys.executable, "-c", "import sys; sys.stdin.read()"]
LEASE = {"howdah.ha.lease.ms": "600s"}
TIMEOUT_S = 30


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(WAITS, stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def serving(child: subprocess.Popen[bytes], epoch: int | None) -> ServingProcess:
    identity = identity_of(child.pid)
    assert identity is not None
    return ServingProcess(identity.pid, identity.start_ticks, identity.boot_id, epoch)


def test_a_death_is_told_once_with_the_epoch_that_was_said_last(
    child: subprocess.Popen[bytes],
) -> None:
    told: queue.SimpleQueue[ServingProcess] = queue.SimpleQueue()
    watch = DeathWatch(told.put)
    for epoch in (None, 7, 8):
        watch.seen(serving(child, epoch))
    last = serving(child, 8)
    assert told.empty()
    child.kill()
    assert told.get(timeout=TIMEOUT_S) == last
    assert told.empty()


def test_a_namenode_that_says_nothing_of_itself_is_not_watched() -> None:
    watch = DeathWatch(lambda process: pytest.fail("nobody has died"))
    watch.seen(None)
    watch.seen(ServingProcess(1, 2, "another machine", 3))


@pytest.fixture
def quorum(tmp_path: Path) -> Iterator[Quorum]:
    made = Quorum(tmp_path)
    yield made
    made.close()


def taken_over(quorum: Quorum) -> int:
    """The epoch of somebody who writes the log now."""
    log = quorum.log(**LEASE)
    if not log.is_formatted():
        log.format(VERSION)
    journal = log.take_over()
    journal.begin_segment(1)
    assert journal.epoch is not None
    return journal.epoch


@pytest.mark.req("FS-069", "LM-008")
def test_nobody_waits_for_the_lease_of_a_writer_that_has_died(quorum: Quorum) -> None:
    epoch = taken_over(quorum)
    assert resign_for(quorum.uri, "ns", epoch) == 3
    assert quorum.log(**LEASE).take_over().serve_from_ms() == 0


@pytest.mark.req("FS-069", "LM-016")
def test_the_lease_of_another_writer_than_the_one_that_died_is_waited_for(quorum: Quorum) -> None:
    epoch = taken_over(quorum)
    quorum.log(**LEASE).take_over().begin_segment(1)
    # A majority has promised the other writer. One node may hear of it later.
    assert resign_for(quorum.uri, "ns", epoch) <= 1
    assert quorum.log(**LEASE).take_over().serve_from_ms() > 0


@pytest.mark.req("FS-069", "LM-008", "LM-015")
def test_a_journal_node_that_says_nothing_is_not_waited_for(quorum: Quorum) -> None:
    epoch = taken_over(quorum)
    quorum.stop(2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        nodes = (*quorum.uri.nodes[:2], ("127.0.0.1", silent.getsockname()[1]))
        assert resign_for(replace(quorum.uri, nodes=nodes), "ns", epoch) == 2
    assert quorum.log(**LEASE).take_over().serve_from_ms() == 0


def test_the_death_of_a_process_that_was_followed_by_another_is_not_the_namenodes(
    child: subprocess.Popen[bytes],
) -> None:
    told: queue.SimpleQueue[ServingProcess] = queue.SimpleQueue()
    watch = DeathWatch(told.put)
    with subprocess.Popen(WAITS, stdin=subprocess.PIPE) as former:
        try:
            watch.seen(serving(former, 7))
            watch.seen(serving(child, None))
        finally:
            former.kill()
    wait_until(lambda: len(watchers()) == 1, what="the first watch ends")
    assert told.empty()
    present = serving(child, None)
    child.kill()
    assert told.get(timeout=TIMEOUT_S) == present


def watchers() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "death watch"]


def test_a_process_that_no_thread_could_watch_is_watched_after_its_next_answer(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    told: queue.SimpleQueue[ServingProcess] = queue.SimpleQueue()
    watch = DeathWatch(told.put)
    last = serving(child, 7)
    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", no_thread)
        watch.seen(last)
    watch.seen(last)
    child.kill()
    assert told.get(timeout=TIMEOUT_S) == last
