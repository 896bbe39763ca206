"""When a segment of the log is ended by itself."""

from __future__ import annotations

from howdah.namenode.state.edit_log.auto_roll import AutoRoll


def test_segment_beyond_the_threshold_is_ended() -> None:
    roll = AutoRoll(100.0, 1000, now_ms=0)
    assert not roll.is_due(100, now_ms=1000)
    assert roll.is_due(101, now_ms=2000)


def test_it_is_looked_at_no_more_often_than_asked() -> None:
    roll = AutoRoll(100.0, 1000, now_ms=0)
    assert not roll.is_due(500, now_ms=999)
    assert roll.is_due(500, now_ms=1000)
    assert not roll.is_due(500, now_ms=1999)
