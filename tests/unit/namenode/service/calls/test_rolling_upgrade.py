"""Rolling upgrades are prepared, asked for and finalized: when, by whom, and what is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah import errors
from howdah.namenode.service.calls.rolling_upgrade import RollingUpgradeCalls, UpgradeInfo
from howdah.protocol.rpc.call import Caller

Saved = Callable[[errors.HowdahError | None], None]


class Disks:
    """Directories and images; takes down what it was told to do."""

    def __init__(self) -> None:
        self.is_finalized = True
        self.shared = False
        self.rolls = 0
        self.saving: list[Saved] = []
        self.begins_image = True
        self.has_rollback_image = False

    def roll_edits(self) -> int:
        self.rolls += 1
        return 17

    def restore_failed_storage(self, restores: bool | None) -> bool:
        raise AssertionError

    def is_upgrade_finalized(self) -> bool:
        return self.is_finalized

    def is_shared(self) -> bool:
        return self.shared

    def finalize_upgrade(self, done: Saved) -> None:
        raise AssertionError

    def is_recent(self, window_ms: int, gap: int) -> bool:
        raise AssertionError

    def save(self, done: Saved, *, rollback_begun: Callable[[], None] | None = None) -> None:
        assert rollback_begun is not None
        self.begin = rollback_begun
        self.saving.append(done)

    def make_rollback_image(self) -> bool:
        return self.begins_image


@pytest.fixture
def disks() -> Disks:
    return Disks()


@pytest.fixture
def namesystem(client: Any) -> Any:
    return client.namenode.namesystem


@pytest.fixture
def calls(namesystem: Any, disks: Disks) -> RollingUpgradeCalls:
    return RollingUpgradeCalls(namesystem, disks, disks)


def caller(user: str = "root") -> Caller:
    return Caller(user, b"", -1, 0, "10.9.9.9")


def nobody_waits(told: UpgradeInfo | errors.HowdahError) -> None:
    raise AssertionError(told)


def with_others(calls: RollingUpgradeCalls, disks: Disks) -> UpgradeInfo:
    disks.shared = True
    info = calls.prepare(caller(), nobody_waits)
    assert info is not None
    return info


@pytest.mark.req("FS-201")
def test_a_namenode_that_is_alone_answers_when_the_image_is_there_and_leaves_safe_mode(
    namesystem: Any, calls: RollingUpgradeCalls, disks: Disks
) -> None:
    told: list[UpgradeInfo | errors.HowdahError] = []
    namesystem.safe_mode.enter()
    before = namesystem.last_txid
    assert calls.prepare(caller(), told.append) is None
    assert namesystem.last_txid == before, "the image comes first"
    disks.begin()
    assert namesystem.last_txid == before + 1
    disks.has_rollback_image = True
    disks.saving[0](None)
    assert not namesystem.safe_mode.on
    (info,) = told
    assert info == calls.query(caller())
    assert isinstance(info, UpgradeInfo)
    assert info.has_rollback_image


def test_a_namenode_that_is_alone_has_to_be_in_safe_mode(
    namesystem: Any, calls: RollingUpgradeCalls
) -> None:
    with pytest.raises(errors.CheckpointFailed, match="Safe mode should be turned ON"):
        calls.prepare(caller(), nobody_waits)
    assert calls.query(caller()) is None


@pytest.mark.parametrize("had_begun", [False, True])
def test_an_image_that_fails_is_told_and_no_upgrade_is_under_way(
    namesystem: Any, calls: RollingUpgradeCalls, disks: Disks, had_begun: bool
) -> None:
    """A process may fail to write it long after the namespace was frozen."""
    told: list[UpgradeInfo | errors.HowdahError] = []
    namesystem.safe_mode.enter()
    calls.prepare(caller(), told.append)
    if had_begun:
        disks.begin()
    failure = errors.CheckpointFailed("no disk")
    disks.saving[0](failure)
    assert told == [failure]
    assert namesystem.safe_mode.on
    assert calls.query(caller()) is None


@pytest.mark.req("FS-201")
@pytest.mark.parametrize("begins", [True, False])
def test_with_others_it_begins_at_once_and_ends_its_segment(
    namesystem: Any, calls: RollingUpgradeCalls, disks: Disks, begins: bool
) -> None:
    disks.begins_image = begins
    info = with_others(calls, disks)
    assert (info.finalize_ms, info.has_rollback_image) == (0, False)
    assert disks.rolls == (not begins), "the image rolls the log, if it is begun"


def test_with_others_it_is_refused_in_safe_mode(
    namesystem: Any, calls: RollingUpgradeCalls, disks: Disks
) -> None:
    disks.shared = True
    namesystem.safe_mode.enter()
    with pytest.raises(errors.SafeMode, match="Failed to start rolling upgrade"):
        calls.prepare(caller(), nobody_waits)


def test_another_upgrade_has_to_be_finalized_first(
    calls: RollingUpgradeCalls, disks: Disks
) -> None:
    disks.is_finalized, disks.shared = False, True
    with pytest.raises(errors.InconsistentStorage, match="Finalize or rollback first"):
        calls.prepare(caller(), nobody_waits)


def test_one_that_is_under_way_is_told_and_not_begun_again(
    namesystem: Any, calls: RollingUpgradeCalls, disks: Disks
) -> None:
    info, txid = with_others(calls, disks), namesystem.last_txid
    assert calls.prepare(caller(), nobody_waits) == info
    assert namesystem.last_txid == txid


def test_a_finalization_is_told_once(
    namesystem: Any, calls: RollingUpgradeCalls, disks: Disks
) -> None:
    info = with_others(calls, disks)
    disks.has_rollback_image = True
    ended = calls.finalize(caller())
    assert ended is not None
    assert (ended.start_ms, ended.has_rollback_image) == (info.start_ms, False)
    assert ended.finalize_ms >= info.start_ms
    txid = namesystem.last_txid
    assert calls.finalize(caller()) is None
    assert calls.query(caller()) is None
    assert namesystem.last_txid == txid


def test_a_finalization_is_refused_in_safe_mode(
    namesystem: Any, calls: RollingUpgradeCalls, disks: Disks
) -> None:
    with_others(calls, disks)
    namesystem.safe_mode.enter()
    with pytest.raises(errors.SafeMode, match="Failed to finalize rolling upgrade"):
        calls.finalize(caller())
    assert calls.query(caller()) is not None


def test_only_the_superuser_may(calls: RollingUpgradeCalls) -> None:
    mallory = caller("mallory")
    attempts: tuple[Callable[[], object], ...] = (
        lambda: calls.query(mallory),
        lambda: calls.prepare(mallory, nobody_waits),
        lambda: calls.finalize(mallory),
    )
    for attempt in attempts:
        with pytest.raises(errors.AccessDenied):
            attempt()
