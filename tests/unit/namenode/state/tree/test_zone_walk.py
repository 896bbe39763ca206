"""A walk over a zone meets each file that stays, in the order of names, whatever else happens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah.namenode.state.inodes.inodes import Directory
from howdah.namenode.state.tree.zone_walk import ZoneWalk
from howdah.proto import client_namenode_pb2 as pb
from tests.support.zones import Scene

NAMES = st.sampled_from(["a", "b", "b.c", "ä", "z", "-"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(tuple)


def made(paths: list[tuple[str, ...]]) -> tuple[Scene, list[tuple[str, ...]]]:
    """A tree with these files, but for those that would be below another one; and its files."""
    scene = Scene()
    scene.mkdir("/z")
    files: set[tuple[str, ...]] = set()
    for path in paths:
        is_below = any(path[: len(file)] == file for file in files)
        if not is_below and not any(file[: len(path)] == path for file in files):
            scene.create("/z/" + "/".join(path))
            files.add(path)
    return scene, sorted(files)


def root_of(scene: Scene) -> Directory:
    root = scene.namesystem.namespace.find("/z")
    assert isinstance(root, Directory)
    return root


def walked(walk: ZoneWalk, most: int) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for _ in range(10_000):
        if walk.is_over:
            return found
        found += [names for _, names in walk.step(most)]
    raise AssertionError("the walk does not end")


@settings(max_examples=60)
@given(paths=st.lists(PATHS, max_size=12), most=st.integers(1, 7), behind=PATHS)
def test_files_are_met_in_the_order_of_names(
    paths: list[tuple[str, ...]], most: int, behind: tuple[str, ...]
) -> None:
    scene, files = made(paths)
    assert walked(ZoneWalk(root_of(scene)), most) == files
    # From behind a path, whether that is there or not. What is below a file's name in between is
    # met as well.
    met = walked(ZoneWalk(root_of(scene), behind), most)
    assert [file for file in files if file > behind and file[: len(behind)] != behind] == [
        file for file in met if file[: len(behind)] != behind
    ]
    assert met == sorted(set(met))


@settings(max_examples=60)
@given(paths=st.lists(PATHS, min_size=1, max_size=12), gone=st.lists(PATHS, max_size=4))
def test_what_is_deleted_on_the_way_is_passed(
    paths: list[tuple[str, ...]], gone: list[tuple[str, ...]]
) -> None:
    scene, files = made(paths)
    walk = ZoneWalk(root_of(scene))
    met = [names for _, names in walk.step(2)]
    for path in gone:
        name = "/z/" + "/".join(path)
        if scene.namesystem.namespace.find(name) is not None:
            scene.call("delete", pb.DeleteRequestProto(src=name, recursive=True))
    left = [file for file in files if not any(file[: len(path)] == path for path in gone)]
    met += walked(walk, 2)
    assert set(left) <= set(met)
    assert met == sorted(met)


def test_a_large_directory_is_walked_in_steps() -> None:
    scene, files = made([(f"{number:04}",) for number in range(600)])
    walk = ZoneWalk(root_of(scene))
    assert len(walk.step(250)) == 250
    assert walk.position == ("0249",)
    assert walked(ZoneWalk(root_of(scene), walk.position), 100) == files[250:]


def test_a_zone_within_is_passed_also_on_the_way() -> None:
    scene, _ = made([("a", "x"), ("b",)])
    scene.mkdir("/z/in")
    scene.make_zone("/z/in")
    scene.create("/z/in/f")
    assert walked(ZoneWalk(root_of(scene)), 10) == [("a", "x"), ("b",)]
    assert walked(ZoneWalk(root_of(scene), ("in", "f")), 10) == []


@pytest.mark.parametrize("behind", [("a", "x", "y"), ("a", "x")])
def test_a_directory_that_became_a_file_counts_as_visited(behind: tuple[str, ...]) -> None:
    scene, _ = made([("a",), ("b",)])
    assert walked(ZoneWalk(root_of(scene), behind), 10) == [("b",)]
