"""A tree of a terabyte, of which there are names and lengths only: a mirror of it that read a byte
of a file would fail, since no block has any."""

from __future__ import annotations

import pytest

from howdah.config import Configuration
from howdah.copy.counters import Counters
from howdah.mirror.rounds import Mirror
from howdah.mirror.settings import Settings
from howdah.mirror.sides import Directory
from howdah.mirror.state.names import name_at
from tests.support.mirrors import MemoryHdfs, World

TOP = "/top/dir"
FILE_BYTES = 512 << 20
DIRECTORIES = 32
FILES = (1 << 40) // FILE_BYTES // DIRECTORIES
"""In each directory; together a tebibyte."""


def fill(fs: MemoryHdfs) -> None:
    for directory in range(DIRECTORIES):
        for file in range(FILES):
            fs.write_sparse(f"{TOP}/part={directory:02}/{file:04}.parquet", FILE_BYTES)


def mirror_of(world: World) -> Mirror:
    source, target = (Directory.of(f"hdfs://{name}{TOP}", Configuration(), None) for name in "ab")
    settings = Settings(begins_processes=False)
    clock_ms = world.clock.wall_ms
    return Mirror(source, target, settings, Configuration(), clock_ms=clock_ms)


def names_of(fs: MemoryHdfs, top: str = TOP) -> dict[str, int]:
    """The lengths of all files."""
    return {
        status.path.removeprefix(top): status.length
        for _, _, files in fs.walk(top)
        for status in files
    }


@pytest.fixture(scope="module")
def world() -> World:
    made = World()
    for fs in made.users.values():
        fill(fs)
    return made


def test_dry_run_says_that_a_terabyte_is_to_be_copied_and_reads_none_of_it(world: World) -> None:
    world.users["b"].rename(TOP, "/aside")
    with world.entered():
        world.life.begin(None)
        told: list[str] = []
        counters: Counters = mirror_of(world).rehearse(told.append)
    world.users["b"].rename("/aside", TOP)
    assert counters.bytes_copied == 1 << 40
    assert counters.files_copied == DIRECTORIES * FILES
    assert world.life.changes == 0


def test_renames_and_deletions_of_a_terabyte_are_mirrored_by_names_alone(world: World) -> None:
    source, target = world.users["a"], world.users["b"]
    with world.entered():
        world.life.begin(None)
        mirror = mirror_of(world)
        common = name_at(mirror.key, world.clock.wall_ms())
        for fs in (source, target):
            fs.allow_snapshot(TOP)
            fs.create_snapshot(TOP, common)
        source.mkdirs(f"{TOP}/2026")
        for directory in range(DIRECTORIES - 1):
            source.rename(f"{TOP}/part={directory:02}", f"{TOP}/2026/day={directory:02}")
        source.delete(f"{TOP}/part={DIRECTORIES - 1:02}", recursive=True)
        source.rename(f"{TOP}/2026/day=00/0000.parquet", f"{TOP}/2026/day=01/first.parquet")
        world.clock.advance(1000)
        done = mirror.run()
    assert done.common is not None
    assert done.common > common
    assert (done.counters.files_copied, done.counters.bytes_copied) == (0, 0)
    found = names_of(target, f"{TOP}/.snapshot/{done.common}")
    assert found == names_of(source)
    assert sum(found.values()) == (DIRECTORIES - 1) * FILES * FILE_BYTES
    assert len(names_of(target, f"{TOP}/.snapshot/{common}")) == DIRECTORIES * FILES
