"""What was deleted long ago goes for good."""

from __future__ import annotations

import time
from typing import Any

import pytest

from howdah.namenode.service.calls.namespace_changes import TreeCalls
from howdah.namenode.service.calls.trash import TrashEmptier
from howdah.proto import client_namenode_pb2 as pb

HOUR_MS = 3_600_000
# The clock of an in-memory namenode begins at 2023-11-14 22:13:20.


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


class Emptier:
    """Of an in-memory namenode: kept for three hours, checkpoints each hour."""

    def __init__(self, client: Any, interval_ms: int = 3 * HOUR_MS, every_ms: int = HOUR_MS):
        self.client = client
        namesystem = client.namenode.namesystem
        self.emptier = TrashEmptier(
            namesystem,
            TreeCalls(namesystem),
            interval_ms=interval_ms,
            checkpoint_interval_ms=every_ms,
        )

    def after(self, ms: int) -> list[str]:
        """Time passes; what is said."""
        self.client.namenode.tick(ms)
        return list(self.emptier.round()) if self.emptier.is_due() else []

    def trash(self, user: str) -> list[str]:
        found = self.client.namenode.namesystem.namespace.find(f"/user/{user}/.Trash")
        return list(found.sorted_names()) if found is not None else []


@pytest.fixture
def emptier(client: Any) -> Emptier:
    return Emptier(client)


def test_what_is_current_becomes_a_checkpoint_at_the_full_interval(
    client: Any, emptier: Emptier
) -> None:
    client.mkdirs("/user/zoe/.Trash/Current/a")
    client.mkdirs("/user/bob/.Trash/Current/b")
    assert emptier.after(HOUR_MS // 2) == []
    emptier.after(HOUR_MS // 2)
    assert (emptier.trash("zoe"), emptier.trash("bob")) == (["231114231320"], ["231114231320"])
    found = client.namenode.namesystem.namespace.find("/user/zoe/.Trash/231114231320/a")
    assert found is not None


def test_checkpoints_go_when_they_are_older_than_the_interval(
    client: Any, emptier: Emptier
) -> None:
    client.mkdirs("/user/zoe/.Trash/Current/a")
    for _ in range(4):
        emptier.after(HOUR_MS)
    assert emptier.trash("zoe") == ["231114231320"]
    emptier.after(HOUR_MS)
    assert emptier.trash("zoe") == []


def test_it_happens_once_an_interval(client: Any, emptier: Emptier) -> None:
    emptier.after(HOUR_MS)
    client.mkdirs("/user/zoe/.Trash/Current/a")
    assert emptier.after(1000) == []
    assert emptier.trash("zoe") == ["Current"]


def test_a_name_that_is_taken_gets_a_number(client: Any, emptier: Emptier) -> None:
    client.mkdirs("/user/zoe/.Trash/Current/a")
    client.mkdirs("/user/zoe/.Trash/231114231320")
    emptier.after(HOUR_MS)
    assert emptier.trash("zoe") == ["231114231320", "231114231320-1"]


def test_old_names_count_and_others_are_left_alone(client: Any, emptier: Emptier) -> None:
    for name in ("2311141800", "notes", "999999999999"):
        client.mkdirs(f"/user/zoe/.Trash/{name}")
    emptier.after(HOUR_MS)
    assert emptier.trash("zoe") == ["999999999999", "notes"]


def test_a_trash_that_cannot_be_emptied_does_not_keep_others_from_it(
    client: Any, emptier: Emptier
) -> None:
    client.mkdirs("/user/a/.Trash/Current")
    client.mkdirs("/user/a/.Trash/2311140000/kept")
    client.call("allowSnapshot", allow("/user/a/.Trash/2311140000/kept"))
    client.call("createSnapshot", snapshot("/user/a/.Trash/2311140000/kept"))
    client.mkdirs("/user/b/.Trash/Current")
    said = emptier.after(HOUR_MS)
    assert "/user/a/.Trash" in said[0]
    assert emptier.trash("b") == ["231114231320"]


def allow(path: str) -> Any:
    return pb.AllowSnapshotRequestProto(snapshotRoot=path)


def snapshot(path: str) -> Any:
    return pb.CreateSnapshotRequestProto(snapshotRoot=path, snapshotName="s")


def test_nothing_happens_in_safe_mode_and_it_is_made_up_for(client: Any, emptier: Emptier) -> None:
    client.mkdirs("/user/zoe/.Trash/Current/a")
    client.namenode.namesystem.safe_mode.enter()
    emptier.after(HOUR_MS)
    assert emptier.trash("zoe") == ["Current"]
    client.namenode.namesystem.safe_mode.leave()
    emptier.after(0)
    assert emptier.trash("zoe") == ["231114231320"]


def test_an_interval_of_nothing_switches_it_off(client: Any) -> None:
    emptier = Emptier(client, 0, HOUR_MS)
    client.mkdirs("/user/zoe/.Trash/Current/a")
    emptier.after(100 * HOUR_MS)
    assert emptier.trash("zoe") == ["Current"]


def test_checkpoints_are_no_rarer_than_the_interval(client: Any) -> None:
    emptier = Emptier(client, HOUR_MS, 10 * HOUR_MS)
    client.mkdirs("/user/zoe/.Trash/Current/a")
    emptier.after(HOUR_MS)
    assert emptier.trash("zoe") == ["231114231320"]


def test_emptying_is_in_the_log(client: Any, emptier: Emptier) -> None:
    client.mkdirs("/user/zoe/.Trash/Current/a")
    emptier.after(HOUR_MS)
    client.namenode.tick()
    fresh = client.namenode.restarted()
    assert fresh.namesystem.namespace.find("/user/zoe/.Trash/231114231320/a") is not None
