"""An edit that fails in `apply` ends the namenode: nothing of it is answered, logged or saved."""

from __future__ import annotations

import io
from typing import Any, cast

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.ha.durability_barrier import DurableBarrier, WrittenLog
from howdah.namenode.state.images.image import write_image
from howdah.namenode.state.inodes.block_events import NamespaceBroken
from howdah.namenode.state.tree.namespace import Namespace


def fail(*args: object) -> None:
    raise ZeroDivisionError("of a test")


@pytest.fixture
def told(client: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The namespace of the client is broken by a delete that fails in its middle."""
    why: list[str] = []
    namesystem = client.namenode.namesystem
    namesystem.when_broken = why.append
    client.write("/f")
    monkeypatch.setattr(Namespace, "_detach", fail)
    with pytest.raises(NamespaceBroken):
        client.delete("/f")
    monkeypatch.undo()
    return why


def test_failed_edit_is_told_with_its_transaction_and_what_comes_next(
    client: Any, told: list[str]
) -> None:
    txid = len(client.namenode.log) + 1
    (why,) = told
    assert f"OP_DELETE as transaction {txid}" in why
    assert "this process ends" in why
    assert "replays the log up to the last transaction that is durable" in why
    assert client.namenode.namesystem.broken == why


def test_error_line_names_the_edit(client: Any, caplog: pytest.LogCaptureFixture) -> None:
    client.namenode.namesystem.namespace._appliers[edits.MkdirOp] = fail
    with pytest.raises(NamespaceBroken):
        client.mkdirs("/d")
    (line,) = [record for record in caplog.records if record.levelname == "CRITICAL"]
    assert "path='/d'" in line.getMessage()
    assert line.exc_info


def test_failed_edit_is_not_in_the_log_and_none_follows_it(client: Any, told: list[str]) -> None:
    log = list(client.namenode.log)
    assert not any(isinstance(edit, edits.DeleteOp) for edit in client.namenode.edits())
    with pytest.raises(NamespaceBroken):
        client.mkdirs("/d")
    assert client.namenode.log == log
    assert len(told) == 1


def test_no_image_is_written_of_a_broken_namespace(client: Any, told: list[str]) -> None:
    image = io.BytesIO()
    with pytest.raises(errors.CheckpointFailed, match="DeleteOp"):
        write_image(client.namenode.namesystem.namespace, 1, 1, image)
    assert not image.getvalue()


def test_start_from_the_log_has_what_was_before(client: Any, told: list[str]) -> None:
    assert client.namenode.restarted().namesystem.namespace.find("/f") is not None


def test_no_answer_that_was_computed_since_is_sent(client: Any, told: list[str]) -> None:
    class AllDurable:
        durable_txid = last_txid = 1 << 60

        def want(self, txid: int) -> bool:
            return True

        def returned(self, txid: int) -> tuple[()]:
            return ()

    sent: list[str] = []
    barrier = DurableBarrier(client.namenode.namesystem, lambda run: None)
    barrier.log = cast(WrittenLog, AllDurable())
    assert barrier.must_wait()
    barrier.when_clear(lambda: sent.append("an answer"))
    barrier.durable(1 << 60)
    assert not sent
