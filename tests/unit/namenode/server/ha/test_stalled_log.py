"""A log that hangs says nothing: who looks at it notices."""

from __future__ import annotations

import pytest

from howdah.namenode.service.ha.stall_detection import STALL_MS, StalledLog


def test_a_log_that_moves_is_no_trouble_however_busy() -> None:
    log = StalledLog()
    for now_ms in range(0, 10 * STALL_MS, 250):
        txid = now_ms // (STALL_MS // 2)
        assert not log.check(txid + 50, txid, now_ms)
        assert log.trouble == ""


@pytest.mark.req("LM-016")
def test_a_log_that_hangs_is_noticed_once_and_for_as_long() -> None:
    log = StalledLog()
    assert not log.check(7, 7, 0)
    assert not log.check(9, 7, 1000)
    for now_ms in range(1250, 1000 + STALL_MS, 250):
        assert not log.check(12, 7, now_ms)
    assert log.check(12, 7, 1000 + STALL_MS)
    assert "transaction 8 is not durable after 10 s" in log.trouble
    assert not log.check(12, 7, 1000 + STALL_MS + 1)
    assert not log.check(12, 12, 1000 + STALL_MS + 2)
    assert log.trouble == ""


def test_a_log_that_has_nothing_to_do_may_be_idle_for_ever() -> None:
    log = StalledLog()
    assert not log.check(7, 7, 0)
    assert not log.check(7, 7, 100 * STALL_MS)
    assert not log.check(8, 7, 100 * STALL_MS)
    assert log.trouble == ""


@pytest.mark.req("LM-016")
def test_a_process_that_was_stopped_takes_nothing_for_a_hang() -> None:
    """What was under way had no time to become durable, either."""
    log = StalledLog()
    assert not log.check(9, 7, 1000)
    assert not log.check(9, 7, 1000 + 100 * STALL_MS)
    assert log.trouble == ""


@pytest.mark.req("LM-016")
def test_a_log_that_is_closed_leaves_no_trouble_behind() -> None:
    """The namenode is a standby then, and may become active again."""
    log = StalledLog()
    for now_ms in range(0, STALL_MS + 1, 250):
        log.check(9, 7, now_ms)
    assert log.trouble
    log.reset()
    assert log.trouble == ""
    assert not log.check(9, 7, 2 * STALL_MS)
