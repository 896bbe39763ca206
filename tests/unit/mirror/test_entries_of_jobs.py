"""Lock files, staging directories and state files that jobs have at a source of a mirror.

They are not copied, and a snapshot may have them: `howdah sync`, `distcp`, `compact` or another
mirror was at work there when it was taken.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from howdah.copy.snapshots.resuming import is_in_a_job
from howdah.fs.api import FileSystem
from tests.support.mirrors import content_of
from tests.unit.mirror.test_kills import TOP, Bench

STAGING = ".distcp.tmp.0123456789abcdef"


def visible(fs: FileSystem) -> dict[str, bytes | None]:
    return {path: data for path, data in content_of(fs, TOP).items() if not is_in_a_job(path)}


@pytest.fixture(params=["b", "s"])
def bench(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A mirror after whose rounds the target has all that is not a job's, and nothing else."""
    bench = Bench(request.param)
    with bench.world.entered():
        monkeypatch.setattr(bench, "check", lambda: None)
        bench.source.write_bytes(f"{TOP}/x", b"1")
        yield bench


def mirror(bench: Bench) -> None:
    assert bench.run() is not None
    target: FileSystem = bench.target if bench.target_name == "b" else bench.world.store
    assert content_of(target, TOP) == visible(bench.source)


@pytest.mark.parametrize("where", [TOP, f"{TOP}/sub"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_file_leaves_the_staging_directory(bench: Bench, where: str, is_first: bool) -> None:
    source = bench.source
    if not is_first:
        source.mkdirs(where)
        mirror(bench)
        source.write_bytes(f"{TOP}/y", b"1")
    source.write_bytes(f"{where}/{STAGING}/run/0", b"new")
    mirror(bench)
    source.rename(f"{where}/{STAGING}/run/0", f"{where}/f")
    source.delete(f"{where}/{STAGING}", recursive=True)
    mirror(bench)


def test_a_directory_goes_through_the_staging_directory(bench: Bench) -> None:
    source = bench.source
    source.write_bytes(f"{TOP}/d/y", b"1")
    mirror(bench)
    source.mkdirs(f"{TOP}/{STAGING}/moved")
    source.rename(f"{TOP}/d", f"{TOP}/{STAGING}/moved/0")
    source.write_bytes(f"{TOP}/z", b"1")
    mirror(bench)
    source.mkdirs(f"{TOP}/e")
    source.rename(f"{TOP}/{STAGING}/moved/0", f"{TOP}/e/d")
    mirror(bench)


@pytest.mark.parametrize("name", [".howdah.lock.d", ".howdah.mirror.d"])
def test_a_lock_or_state_file_comes_changes_and_goes(bench: Bench, name: str) -> None:
    source = bench.source
    source.write_bytes(f"{TOP}/sub/{name}", b"1")
    mirror(bench)
    source.write_bytes(f"{TOP}/sub/{name}.x", b"2")
    source.rename(f"{TOP}/sub/{name}.x", f"{TOP}/sub/{name}", overwrite=True)
    source.write_bytes(f"{TOP}/{name}", b"2")
    source.write_bytes(f"{TOP}/y", b"1")
    mirror(bench)
    for path in (f"{TOP}/{name}", f"{TOP}/sub/{name}"):
        source.delete(path)
    source.write_bytes(f"{TOP}/z", b"1")
    mirror(bench)
