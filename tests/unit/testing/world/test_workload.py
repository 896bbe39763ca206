"""The trees that clients of simulated worlds hold the filesystem against."""

from __future__ import annotations

import random

import pytest

from howdah.model.entries import Refused
from howdah.testing.world.workload.checking import compare_content
from howdah.testing.world.workload.operations import SIMPLE, Drawing
from howdah.testing.world.workload.trees import Content, Tree


@pytest.fixture
def tree() -> Tree:
    made = Tree("/root")
    made.mkdirs("/root", 0o777)
    return made


def write(tree: Tree, path: str, data: bytes) -> int:
    tree.create(path, replication=3, overwrite=False)
    number = tree.entry(path).number
    tree.wrote(number, data)
    return number


def test_bytes_are_promised_once_they_are_synced(tree: Tree) -> None:
    number = write(tree, "/root/a", b"one")
    tree.synced(number)
    tree.wrote(number, b"two")
    content = tree.content("/root/a")
    assert content == Content(b"one", b"onetwo")
    assert content.allows(b"onet")
    assert not content.allows(b"on")
    assert not content.allows(b"onetwothree")
    assert not content.allows(b"oneXwo")


def test_a_closed_file_has_all_that_was_written(tree: Tree) -> None:
    number = write(tree, "/root/a", b"one")
    tree.close(number)
    assert tree.content("/root/a").promised == b"one"
    assert tree.closed_files() == ["/root/a"]


def test_a_copy_is_a_tree_of_its_own(tree: Tree) -> None:
    tree.close(write(tree, "/root/a", b"one"))
    tree.model.allow_snapshot("/root")
    tree.create_snapshot("/root", "s")
    after = tree.copy()
    after.delete("/root/a", recursive=False)
    after.rename_snapshot("/root", "s", "t")
    assert tree.files() == ["/root/a"]
    assert tree.snapshots() == [("/root", "s")]
    assert after.snapshots() == [("/root", "t")]


def test_a_snapshot_keeps_the_bytes_of_its_time(tree: Tree) -> None:
    tree.close(write(tree, "/root/a", b"before"))
    tree.model.allow_snapshot("/root")
    tree.create_snapshot("/root", "s")
    tree.truncate("/root/a", 2)
    number = tree.entry("/root").number
    assert tree.shown[number, "s"]["/a"].promised == b"before"
    assert tree.content("/root/a").promised == b"be"


def test_joined_files_have_the_bytes_of_all(tree: Tree) -> None:
    for name in "ab":
        tree.close(write(tree, f"/root/{name}", name.encode()))
    tree.concat("/root/a", ["/root/b"])
    assert tree.content("/root/a").promised == b"ab"
    assert tree.files() == ["/root/a"]
    with pytest.raises(Refused, match="not found"):
        tree.concat("/root/a", ["/root/b"])


def test_a_file_that_was_taken_over_has_what_was_found(tree: Tree) -> None:
    number = write(tree, "/root/a", b"written")
    tree.settle(number, b"writ")
    assert tree.content("/root/a") == Content(b"writ", b"writ")
    assert tree.closed_files() == ["/root/a"]


def test_differences_say_what_is_there_and_what_should_be() -> None:
    assert compare_content("/a", Content(b"abc", b"abc"), b"abc") == []
    assert "equal up to 1" in compare_content("/a", Content(b"abc", b"abc"), b"aXc")[0]
    assert "BlockMissing" in compare_content("/a", Content(b"abc", b"abc"), "BlockMissing: gone")[0]


class Recorder:
    """Stands for a filesystem; every call is taken."""

    def __getattr__(self, name: str) -> object:
        return lambda *arguments, **named: None


def test_a_seed_draws_the_same_operations(tree: Tree) -> None:
    tree.mkdirs("/root/d", 0o755)
    for name in ("a", "b", "d/a"):
        tree.close(write(tree, f"/root/{name}", name.encode()))

    def draw() -> list[str]:
        drawing = Drawing(random.Random(7), Recorder(), lambda *arguments: None)
        steps = []
        for name, (_, make) in list(SIMPLE.items()) * 10:
            step = make(drawing, tree)
            if step is None:
                continue
            try:
                step.change(tree.copy())
            except Refused as why:
                steps.append(f"{name}: {step} is refused: {why}")
            else:
                steps.append(f"{name}: {step}")
        return steps

    steps = draw()
    assert steps == draw()
    done = {step.partition(":")[0] for step in steps if "is refused" not in step}
    assert {"concat", "rename", "truncate", "set_acl", "set_quota"} <= done
    assert any("is refused" in step for step in steps)
