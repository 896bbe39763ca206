"""A log that hangs says nothing: who looks at it notices."""

from __future__ import annotations

import pytest

from howdah.namenode.ha.stalled_log import STALL_MS, StalledLog


def test_a_log_that_moves_is_no_trouble_however_busy() -> None:
    log = StalledLog()
    for now_ms in range(0, 10 * STALL_MS, STALL_MS // 2):
        txid = now_ms // 100
        assert not log.look(txid + 50, txid, now_ms)
        assert log.trouble == ""


@pytest.mark.req("LM-016")
def test_a_log_that_hangs_is_noticed_once_and_for_as_long() -> None:
    log = StalledLog()
    assert not log.look(7, 7, 0)
    assert not log.look(9, 7, 1000)
    assert not log.look(12, 7, 1000 + STALL_MS - 1)
    assert log.look(12, 7, 1000 + STALL_MS)
    assert "transaction 8 is not durable after 10 s" in log.trouble
    assert not log.look(12, 7, 1000 + STALL_MS + 1)
    assert not log.look(12, 12, 1000 + STALL_MS + 2)
    assert log.trouble == ""


def test_a_log_that_has_nothing_to_do_may_be_idle_for_ever() -> None:
    log = StalledLog()
    assert not log.look(7, 7, 0)
    assert not log.look(7, 7, 100 * STALL_MS)
    assert not log.look(8, 7, 100 * STALL_MS)
    assert log.trouble == ""
