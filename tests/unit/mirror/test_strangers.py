"""What others do to a target while a mirror works on it is never in a point in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from howdah import errors
from howdah.copy.common.failures import CopyFailed
from howdah.mirror.copying import Copying
from howdah.mirror.rounds import alone
from howdah.mirror.sides import Refused
from howdah.mirror.state.names import DIVERGED
from howdah.mirror.state.planner import Wanted
from tests.support.mirrors import MemoryHdfs, content_of, tree_of
from tests.unit.mirror.test_kills import TOP, Bench

REVERTING = Wanted(reverts=True)


@pytest.fixture
def bench() -> Iterator[Bench]:
    """A mirror of which each point in time is compared with the source's after each run."""
    bench = Bench()
    with bench.world.entered():
        bench.source.write_bytes(f"{TOP}/x", b"1")
        yield bench


@pytest.fixture
def behind(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], object]], None]:
    """Have something done once, as soon as a step of the copy has ended."""

    def arrange(step: str, do: Callable[[], object]) -> None:
        real = getattr(Copying, step)
        todo = [do]

        def stepped(*arguments: object) -> object:
            made = real(*arguments)
            while todo:
                todo.pop()()
            return made

        monkeypatch.setattr(Copying, step, stepped)

    return arrange


def kept_by(fs: MemoryHdfs) -> list[dict[str, bytes | None]]:
    """What is in the snapshots that keep what others wrote."""
    names = [status.name for status in fs.list_status(f"{TOP}/.snapshot")]
    return [content_of(fs, f"{TOP}/.snapshot/{name}") for name in names if DIVERGED in name]


@pytest.mark.parametrize(("path", "content"), [("stranger", b"s"), ("x", b"2"), ("x", b"22")])
def test_in_a_first_copy(
    bench: Bench, behind: Callable[[str, Callable[[], object]], None], path: str, content: bytes
) -> None:
    behind("all", lambda: bench.target.write_bytes(f"{TOP}/{path}", content))
    with pytest.raises(CopyFailed, match=f"was changed while it was copied to .*{path}"):
        bench.run()
    assert bench.snapshots(bench.target) == ()
    last = bench.run()
    assert last is not None
    assert tree_of(bench.target, TOP) == bench.then[last]


def test_in_a_new_directory(
    bench: Bench, behind: Callable[[str, Callable[[], object]], None]
) -> None:
    bench.run()
    bench.source.write_bytes(f"{TOP}/new/y", b"1")
    behind("changes", lambda: bench.target.write_bytes(f"{TOP}/new/stranger", b"s"))
    with pytest.raises(Refused, match="somebody else has changed"):
        bench.run()
    last = bench.run(None, REVERTING)
    assert last is not None
    assert tree_of(bench.target, TOP) == bench.then[last]
    assert "/new/stranger" in kept_by(bench.target)[0]


@pytest.mark.parametrize("content", [b"3", b"333"])
def test_in_a_file_that_was_copied(
    bench: Bench, behind: Callable[[str, Callable[[], object]], None], content: bytes
) -> None:
    bench.run()
    bench.source.write_bytes(f"{TOP}/x", b"2")
    behind("changes", lambda: bench.target.write_bytes(f"{TOP}/x", content))
    with pytest.raises(CopyFailed, match=r"are not those that were copied \(M x\)"):
        bench.run()
    last = bench.run()
    assert last is not None
    assert tree_of(bench.target, TOP) == bench.then[last]


@pytest.mark.parametrize("path", ["later", "stranger", "x", "d/y"])
def test_while_it_is_reverted(
    bench: Bench, behind: Callable[[str, Callable[[], object]], None], path: str
) -> None:
    bench.source.write_bytes(f"{TOP}/d/y", b"1")
    bench.run()
    for changed in ("stranger", "x"):
        bench.target.write_bytes(f"{TOP}/{changed}", b"s")
    bench.target.delete(f"{TOP}/d", recursive=True)
    behind("revert", lambda: bench.target.write_bytes(f"{TOP}/{path}", b"more"))
    with pytest.raises(CopyFailed, match=f"was changed while it was reverted .*{path}"):
        bench.run(None, REVERTING)
    last = bench.run(None, REVERTING)
    assert last is not None
    assert tree_of(bench.target, TOP) == bench.then[last]
    assert content_of(bench.target, TOP) == content_of(bench.source, TOP)


def test_what_others_wrote_in_a_round_that_was_begun_outlives_a_promotion(bench: Bench) -> None:
    """Clients may go to the target before anybody promotes it."""
    bench.run()
    for name in "abcd":
        bench.source.write_bytes(f"{TOP}/{name}", b"1")
    assert bench.run(7) is None
    bench.target.write_bytes(f"{TOP}/stranger", b"mine")
    assert bench.promote(None)
    assert content_of(bench.target, TOP) == {"/x": b"1"}
    (kept,) = kept_by(bench.target)
    assert kept["/stranger"] == b"mine"


def test_a_refusal_of_the_source_is_not_said_to_be_one_of_the_target(bench: Bench) -> None:
    target = bench.directory("b")
    with (
        pytest.raises(errors.AccessDenied, match="of the source"),
        alone(target, lambda _: None),
    ):
        raise errors.AccessDenied("of the source")
