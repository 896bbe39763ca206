"""`howdah mirror` between directories of running clusters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.mirror.rounds import Round, mirror_once
from howdah.mirror.settings import Settings
from howdah.mirror.sides import Refused
from howdah.mirror.state.planner import Wanted
from howdah.testing import MiniCluster
from howdah.testing.trees import Tree, make_tree, read_tree
from tests.support.mirrors import AFTER, BEFORE, change_tree

pytestmark = pytest.mark.timeout(240)


@dataclass
class Pair:
    """Two directories of one cluster."""

    fs: HdfsFileSystem
    top: str

    @property
    def source(self) -> str:
        return f"{self.fs.uri}{self.top}/src"

    @property
    def target(self) -> str:
        return f"{self.fs.uri}{self.top}/dst"

    def at(self, name: str) -> str:
        return f"{self.top}/{name}"

    def make(self, name: str, tree: Tree) -> None:
        make_tree(self.fs, self.at(name), tree)

    def tree(self, name: str) -> Tree:
        return read_tree(self.fs, self.at(name))

    def snapshots(self, name: str) -> list[str]:
        return [status.name for status in self.fs.list_status(f"{self.at(name)}/.snapshot")]

    def mirror(self, **wanted: bool | int) -> Round:
        settings = Settings(wanted=Wanted(**wanted))  # type: ignore[arg-type]
        return mirror_once(self.source, self.target, settings)


@pytest.fixture
def pair(howdah_cluster: MiniCluster, request: pytest.FixtureRequest) -> Iterator[Pair]:
    fs = howdah_cluster.connect()
    assert isinstance(fs, HdfsFileSystem)
    name = "".join(char if char.isalnum() else "-" for char in request.node.name)
    pair = Pair(fs, f"/mirror/{name}")
    with fs:
        pair.make("src", BEFORE)
        yield pair
        for side in ("src", "dst"):
            if fs.exists(pair.at(side)) and fs.exists(f"{pair.at(side)}/.snapshot"):
                for snapshot in pair.snapshots(side):
                    fs.delete_snapshot(pair.at(side), snapshot)
        fs.delete(pair.top, recursive=True)


def test_rounds_make_the_target_what_the_source_is(pair: Pair) -> None:
    first = pair.mirror()
    assert first.counters.files_copied == 8
    assert pair.tree("dst") == BEFORE
    assert pair.tree(f"dst/.snapshot/{first.common}") == BEFORE
    change_tree(pair.fs, pair.at("src"))
    second = pair.mirror()
    assert pair.tree("dst") == AFTER
    # Readers have both points in time.
    assert pair.tree(f"dst/.snapshot/{first.common}") == BEFORE
    assert pair.tree(f"dst/.snapshot/{second.common}") == AFTER
    assert second.counters.entries_renamed == 3
    assert second.counters.bytes_copied < 30
    assert pair.snapshots("src") == pair.snapshots("dst") == [first.common, second.common]
    # Nothing has changed, so nothing is done.
    third = pair.mirror()
    assert (third.common, third.is_current, third.lag_s) == (second.common, True, 0)


def test_old_snapshots_go_on_both_sides(pair: Pair) -> None:
    found = []
    for number in range(4):
        pair.fs.write_bytes(f"{pair.at('src')}/file", b"%d" % number)
        found.append(pair.mirror(keep=2).common)
    assert pair.snapshots("src") == pair.snapshots("dst") == found[-2:]


def test_a_target_with_files_is_refused_unless_it_is_adopted(pair: Pair) -> None:
    pair.make("dst", {"theirs": b"x", "d": b"a file"})
    with pytest.raises(Refused, match="is not empty, and has no snapshot in common"):
        pair.mirror()
    assert pair.tree("dst") == {"theirs": b"x", "d": b"a file"}
    pair.mirror(adopts=True)
    assert pair.tree("dst") == BEFORE


def test_a_changed_target_is_refused_or_reverted(
    pair: Pair, run_cli: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    pair.mirror()
    pair.make("dst", {"mine": b"x", "changed": b"theirs", "d/x": b"theirs, too"})
    pair.fs.delete(f"{pair.at('dst')}/gone")
    changed = pair.tree("dst")
    change_tree(pair.fs, pair.at("src"))
    with pytest.raises(Refused, match=r"somebody else has changed .*/dst since howdah-mirror-"):
        pair.mirror()
    assert pair.tree("dst") == changed
    assert run_cli("--dry-run", "--revert", pair.source, pair.target) == 0
    said = capsys.readouterr().out
    assert f"revert {pair.target} to its snapshot howdah-mirror-" in said
    assert f"copy what has changed at {pair.source} since howdah-mirror-" in said
    assert pair.tree("dst") == changed
    done = pair.mirror(reverts=True)
    assert pair.tree("dst") == AFTER
    assert pair.tree(f"dst/.snapshot/{done.common}") == AFTER
    (kept,) = [name for name in pair.snapshots("dst") if name.startswith("howdah-diverged-")]
    assert pair.tree(f"dst/.snapshot/{kept}") == changed
    # The next round has nothing to complain of.
    pair.fs.write_bytes(f"{pair.at('src')}/same", b"2")
    pair.mirror()
    assert pair.tree("dst")["same"] == b"2"


def test_attributes_follow(pair: Pair) -> None:
    src, dst = pair.at("src"), pair.at("dst")
    pair.mirror()
    pair.fs.set_permission(f"{src}/same", 0o600)
    pair.fs.set_permission(f"{src}/d", 0o711)
    pair.fs.set_permission(src, 0o750)
    pair.fs.set_owner(f"{src}/changed", "alice", "staff")
    pair.fs.set_xattr(f"{src}/d", "user.colour", b"red")
    pair.fs.set_replication(f"{src}/d/x", 2)
    # A report does not name a file of which the times alone have changed.
    pair.fs.set_times(f"{src}/changed", 1_000_000_000_000)
    pair.mirror()
    for path in ("", "/same", "/d", "/changed", "/d/x"):
        here, there = pair.fs.get_file_status(src + path), pair.fs.get_file_status(dst + path)
        for name in ("permission", "owner", "group", "replication", "modification_time_ms"):
            if path or name != "modification_time_ms":  # a snapshot changes that of its directory
                assert getattr(here, name) == getattr(there, name), (path, name)
    assert pair.fs.get_xattrs(f"{dst}/d") == {"user.colour": b"red"}


def test_the_command_says_what_it_would_do_and_does_it(
    pair: Pair, run_cli: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    both = (pair.source, pair.target)
    assert run_cli("--dry-run", "--bandwidth", "1", *both) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"mkdir {pair.target}"
    assert f"copy {pair.source}/d/x --> {pair.target}/d/x (not at the target)" in said
    assert said[-1].startswith("would copy 8 files (10 B), rename 0 and delete 0 entries, in 0 s")
    assert not pair.fs.exists(pair.at("dst"))
    assert run_cli("--once", *both) == 0
    assert "8 files copied" in capsys.readouterr().out
    change_tree(pair.fs, pair.at("src"))
    assert run_cli("--dry-run", *both) == 0
    said = capsys.readouterr().out.splitlines()
    assert f"rename {pair.target}/swap-a --> {pair.target}/swap-b" in said
    assert pair.tree("dst") == BEFORE
    assert run_cli("--once", "--json", *both) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["current"], told["counters"]["entries_renamed"]) == (False, 3)
    assert pair.tree("dst") == AFTER


@pytest.fixture
def run_cli(howdah_cluster: MiniCluster) -> Callable[..., int]:
    def run(*words: str) -> int:
        return main(["mirror", "--conf", str(howdah_cluster.conf_dir), *words])

    return run
