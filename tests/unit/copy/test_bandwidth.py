"""The limit of `-bandwidth`."""

from __future__ import annotations

from howdah.copy.copier import BandwidthLimit


def test_throttle_waits_for_what_was_moved_too_early() -> None:
    now_s, slept = [0.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now_s[0] += seconds

    limit = BandwidthLimit(100, clock=lambda: now_s[0], sleep=sleep)
    limit.moved(50)
    now_s[0] += 1.0
    limit.moved(100)
    assert slept == [0.5]
    assert limit.slept_s == 0.5


def test_no_limit_is_no_waiting() -> None:
    def sleep(_: float) -> None:
        raise AssertionError

    BandwidthLimit(None, sleep=sleep).moved(1 << 40)
