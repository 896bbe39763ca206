"""A mirror whose rounds Spark copies, above a bound; either goes on where the other was stopped."""

from __future__ import annotations

from typing import Any

import pytest

from howdah.copy.counters import Counters
from howdah.mirror import Settings, mirror_once
from howdah.mirror.copying import Copying, Watcher
from howdah.mirror.rounds import Round
from howdah.mirror.state.planner import Wanted
from tests.support.mirrors import AFTER, BEFORE, change_tree

pytestmark = pytest.mark.timeout(240)


def test_spark_copies_what_is_more_than_a_bound(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.make("src", BEFORE)
    told: list[str] = []

    def mirror(most_bytes: int) -> Round:
        # The session that is there is used, whatever master is named.
        settings = Settings(master="local[1]", most_bytes=most_bytes)
        return mirror_once(
            bench.uri("src"), bench.uri("dst"), settings, watcher=Watcher(tell=told.append)
        )

    first = mirror(most_bytes=5)
    assert any("more than" in line and "Spark copies" in line for line in told)
    assert bench.tree("dst") == BEFORE
    change_tree(bench.fs, bench.path("src"))
    # A round that this machine began, and that was stopped, is gone on with by Spark.
    real = Copying._by_spark

    def stopped(self: Copying, *rest: Any) -> Counters:
        raise KeyboardInterrupt

    monkeypatch.setattr(Copying, "_by_spark", stopped)
    with pytest.raises(KeyboardInterrupt):
        mirror(most_bytes=5)
    monkeypatch.setattr(Copying, "_by_spark", real)
    second = mirror(most_bytes=5)
    assert bench.tree("dst") == AFTER
    assert bench.tree(f"dst/.snapshot/{first.common}") == BEFORE
    assert bench.tree(f"dst/.snapshot/{second.common}") == AFTER
    # And the other way round.
    told.clear()
    bench.make("src", {"same": b"2"})
    mirror(most_bytes=5)
    assert bench.tree("dst") == {**AFTER, "same": b"2"}
    assert not any("Spark copies" in line for line in told)


def test_spark_replaces_files_by_directories_and_the_other_way_round(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a listing is too long for this machine, which then looks at no entry."""
    bench.make("src", {"a": b"now a file", "d/e/f": b"in what was a file", "same": b"1"})
    bench.make("dst", {"a/old": b"x", "d": b"a file", "same": b"1"})
    monkeypatch.setattr("howdah.sync.job.MOST_ENTRIES", 1)
    told: list[str] = []
    settings = Settings(Wanted(adopts=True), master="local[1]", most_files=1000)
    mirror_once(bench.uri("src"), bench.uri("dst"), settings, watcher=Watcher(tell=told.append))
    assert any("Spark copies" in line for line in told)
    assert bench.tree("dst") == bench.tree("src")
