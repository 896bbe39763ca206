"""Somebody deletes snapshots of a mirror."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.mirror.copying import Copying
from howdah.mirror.sides import Refused
from howdah.mirror.state.planner import Wanted
from tests.support.mirrors import content_of
from tests.unit.mirror.test_kills import TOP, Bench


@pytest.mark.parametrize("target", ["b", "s"])
def test_the_goal_of_a_round_that_was_begun(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the round has done is in no report any more: the source is what it was before."""
    bench = Bench(target)
    with bench.world.entered():
        source = bench.source
        there: FileSystem = bench.world.store if target == "s" else bench.target
        source.write_bytes(f"{TOP}/a", b"1")
        bench.run()
        (first,) = bench.snapshots(source)
        source.rename(f"{TOP}/a", f"{TOP}/b")
        step = "touched" if target == "s" else "changes"
        copy = getattr(Copying, step)

        def copied(*arguments: Any) -> None:
            copy(*arguments)
            raise errors.Unreachable("the network is gone")

        with monkeypatch.context() as patch:
            patch.setattr(Copying, step, copied)
            with pytest.raises(errors.Unreachable):
                bench.run()
        assert content_of(there, TOP) == {"/b": b"1"}
        for name in bench.snapshots(source):
            if name != first:
                source.delete_snapshot(TOP, name)
        source.rename(f"{TOP}/b", f"{TOP}/a")
        if target == "b":
            with pytest.raises(Refused, match="has changed"):
                bench.run()
        assert bench.run(None, Wanted(reverts=True)) is not None
        assert content_of(there, TOP) == {"/a": b"1"}
