"""The log of an active namenode, between its loop and the threads that bring it to its end."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from howdah.namenode.journal.directories import directory_set
from howdah.namenode.server.ha.log_writer import LogWriter
from howdah.namenode.service.ha.durability_barrier import DurableBarrier
from howdah.native.loader import kernel
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.testing.in_memory import InMemoryNamenode

MKDIRS = pb.MkdirsRequestProto(
    src="/a", masked=types_pb2.FsPermissionProto(perm=0o755), createParent=True
)


def test_all_answers_leave_at_the_end_of_the_log_whatever_a_look_saw_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop looks while another thread ends the log: what it read before it writes after."""
    if kernel() is None:
        pytest.skip("only what is written by the kernel is looked at")
    namenode = InMemoryNamenode()
    current = tmp_path / "current"
    current.mkdir()
    barrier = DurableBarrier(namenode.namesystem, lambda act: None)
    failures: list[str] = []
    writer = LogWriter(
        namenode.namesystem,
        barrier,
        lambda restored: directory_set([current]),
        lambda act: None,
        failures.append,
        lambda bell, act: lambda: None,
    )
    writer.open()
    sent: list[str] = []
    namenode.call("mkdirs", MKDIRS)
    barrier.when_clear(lambda: sent.append("a"))
    writer.hand_over()
    direct = writer._written()._direct
    assert direct is not None
    seen = direct.look

    def look() -> int:
        txid = seen()
        ends = threading.Thread(target=writer.end)
        ends.start()
        ends.join(60)
        assert not ends.is_alive()
        return txid

    monkeypatch.setattr(direct, "look", look)
    assert writer.durable_txid < writer._written().last_txid, "it wrote over what the end had said"
    writer.close()
    assert (sent, failures) == (["a"], [])
