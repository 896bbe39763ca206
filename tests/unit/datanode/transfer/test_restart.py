"""A restart that writers wait for: they are told, and get their replicas back."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.datanode.replicas import reopen
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.transfer import restart
from howdah.protocol.data_transfer.op_requests import Stage, WriteBlock
from howdah.protocol.data_transfer.status import Status

pytestmark = pytest.mark.usefixtures("either_way")

Lab = Any
DATA = bytes(range(256)) * 10


@pytest.fixture
def node(lab: Lab) -> Any:
    return lab.node()


def restart_file(node: Any, lab: Lab) -> Path:
    return Path(node.volumes.all[0].restart_path(lab.POOL, 1))


def write_part(lab: Lab, node: Any, *mirrors: Any, data: bytes = DATA[:700]) -> Any:
    writer = lab.Writer(node, lab.write_request(lab.block(length=1 << 20), *mirrors))
    writer.send(0, data)
    assert writer.ack().is_success
    return writer


@pytest.fixture
def announced(lab: Lab) -> Iterator[Any]:
    """Announce a node's restart while the test plays the client."""
    threads: list[threading.Thread] = []

    def begin(node: Any) -> threading.Thread:
        thread = threading.Thread(target=restart.announce_restart, args=(node.store, node.settings))
        thread.start()
        threads.append(thread)
        return thread

    yield begin
    for thread in threads:
        thread.join(10)


def going_on(lab: Lab, *mirrors: Any, acked: int = 700) -> WriteBlock:
    request = lab.write_request(
        lab.block(length=1 << 20), *mirrors, stage=Stage.PIPELINE_SETUP_STREAMING_RECOVERY
    )
    found: WriteBlock = replace(
        request,
        min_bytes_received=acked,
        max_bytes_received=len(DATA),
        latest_generation_stamp=1002,
    )
    return found


def test_a_client_is_told_between_the_acks_and_hangs_up(
    lab: Lab, node: Any, announced: Any
) -> None:
    writer = write_part(lab, node)
    thread = announced(node)
    assert writer.ack().out_of_band is Status.OOB_RESTART
    writer.close()
    thread.join(30)
    assert len(node.store.writers) == 0


@pytest.mark.req("FS-128")
def test_a_client_goes_on_with_its_replica_after_the_restart(
    lab: Lab, node: Any, announced: Any
) -> None:
    writer = write_part(lab, node)
    thread = announced(node)
    assert writer.ack().out_of_band is not None
    writer.close()
    thread.join(30)
    node.close()
    again = lab.node(root=node.root)
    assert again.replicas.find(lab.POOL, 1).state is ReplicaState.RBW
    assert not restart_file(node, lab).exists()
    writer = lab.Writer(again, going_on(lab))
    assert writer.response.is_success
    writer.send(512, DATA[512:])
    writer.send(len(DATA), b"", last=True)
    assert writer.ack().is_success
    assert writer.ack().is_success
    assert again.content(1) == DATA


def test_a_node_in_the_middle_passes_the_word_on_behind_its_own(
    lab: Lab, node: Any, announced: Any
) -> None:
    mirror = lab.node()
    writer = write_part(lab, node, mirror)
    announced(mirror)
    lab.wait_until(restart_file(mirror, lab).exists)
    # The file comes before the word, which is heard between two acks.
    for offset in range(512, 1 << 20, 512):
        writer.send(offset, bytes(512))
        ack = writer.ack()
        if ack.out_of_band is not None:
            break
        assert ack.is_success
    assert ack.replies == (Status.SUCCESS, Status.OOB_RESTART)
    writer.close()


def test_a_node_in_the_middle_passes_the_word_on_though_no_ack_is_due(
    lab: Lab, node: Any, announced: Any
) -> None:
    mirror = lab.node()
    writer = write_part(lab, node, mirror)
    announced(mirror)
    assert writer.ack().replies == (Status.SUCCESS, Status.OOB_RESTART)
    writer.close()


def test_a_mirror_that_dies_while_no_ack_is_due_is_blamed_at_the_next(
    lab: Lab, node: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mirror = lab.node()
    writer = write_part(lab, node, mirror)
    mirror.close()
    lab.wait_until(lambda: "does not ack" in caplog.text)
    writer.send(512, DATA[512:])
    assert writer.ack().replies == (Status.SUCCESS, Status.ERROR)
    writer.close()


def test_the_word_of_a_mirror_is_heard_though_it_is_gone(
    lab: Lab, node: Any, announced: Any
) -> None:
    mirror = lab.node()
    writer = write_part(lab, node, mirror)
    announced(mirror).join(30)
    mirror.close()
    writer.send(512, DATA[512:])
    assert writer.ack().replies == (Status.SUCCESS, Status.OOB_RESTART)
    writer.close()


def test_a_copy_between_datanodes_is_not_told(lab: Lab, node: Any) -> None:
    copier = lab.Writer(node, lab.write_request(lab.block(), client=""))
    copier.send(0, DATA[:700])
    lab.wait_until(lambda: node.files("tmp") != set())
    assert restart.announce_restart(node.store, node.settings) == 0
    assert not restart_file(node, lab).exists()


@pytest.mark.parametrize("text", ["", "soon", "12", " \n"])
def test_a_replica_is_not_kept_past_its_time(lab: Lab, node: Any, text: str) -> None:
    write_part(lab, node).close()
    node.wait_idle()
    restart_file(node, lab).write_text(text)
    again = lab.node(root=node.root)
    assert again.replicas.find(lab.POOL, 1).state is ReplicaState.RWR
    assert not restart_file(node, lab).exists()


def test_the_restart_file_is_hadoops(lab: Lab, node: Any) -> None:
    write_part(lab, node).close()
    node.wait_idle()
    reopen.expect_back(node.store, lab.POOL, node.replicas.find(lab.POOL, 1), 2_000_000_000_123)
    current = Path(node.volumes.all[0].rbw_path(lab.POOL)).parent
    assert (current / "rbw:.blk_1.restart").read_text() == "2000000000123"
    assert lab.node(root=node.root).replicas.find(lab.POOL, 1).state is ReplicaState.RBW


def test_a_block_that_was_closed_after_all_is_final(lab: Lab, node: Any) -> None:
    write_part(lab, node).close()
    node.wait_idle()
    reopen.expect_back(node.store, lab.POOL, node.replicas.find(lab.POOL, 1), 2_000_000_000_123)
    writer = lab.Writer(node, going_on(lab))
    writer.send(512, DATA[512:])
    writer.send(len(DATA), b"", last=True)
    writer.ack()
    writer.ack()
    again = lab.node(root=node.root)
    assert again.replicas.find(lab.POOL, 1).state is ReplicaState.FINALIZED
    assert not restart_file(node, lab).exists()


def test_a_client_that_reads_nothing_does_not_hold_the_restart_up(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restart, "HANG_UP_S", 0.01)
    node = lab.node(DataSettings(socket_timeout_s=5, restart_notice_s=0.05))
    writer = write_part(lab, node)
    (holder,) = node.store.writers.all()
    with holder._responder_in_use._acks._turn:
        assert restart.announce_restart(node.store, node.settings) == 0
    writer.close()


def test_a_full_disk_does_not_keep_a_datanode_from_restarting(
    lab: Lab, node: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    writer = write_part(lab, node)
    os.mkdir(restart_file(node, lab))
    monkeypatch.setattr(restart, "HANG_UP_S", 0.01)
    assert restart.announce_restart(node.store, node.settings) == 1
    assert "cannot write" in caplog.text
    writer.close()


def test_the_time_for_a_restarts_notice_is_the_first_of_four() -> None:
    settings = DataSettings.of(Configuration({"dfs.datanode.oob.timeout-ms": "200,1,2,3"}))
    assert (settings.restart_notice_s, settings.restart_expiry_s) == (0.2, 50.0)
    with pytest.raises(errors.InvalidConfiguration, match=r"oob\.timeout-ms"):
        DataSettings.of(Configuration({"dfs.datanode.oob.timeout-ms": "soon"}))


def test_what_expires_is_wall_clock_time(lab: Lab, node: Any, announced: Any) -> None:
    writer = write_part(lab, node)
    before_ms = time.time_ns() // 1_000_000
    announced(node)
    assert writer.ack().out_of_band is not None
    until_ms = int(restart_file(node, lab).read_text())
    assert before_ms + 50_000 <= until_ms <= time.time_ns() // 1_000_000 + 50_000
    writer.close()
