"""`howdah sync` between schemes, and paths of universal_pathlib in those that howdah takes over."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.copy.options import Options
from howdah.fs.api import FileSystem
from howdah.sync import sync
from howdah.testing import MiniCluster

FILES = {"a": b"one", "d/b": b"two" * 100_000, "d/e/c": b""}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    for name, content in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


@pytest.fixture
def place(howdah_cluster: MiniCluster, tmp_path: Path) -> Iterator[str]:
    """A directory of the cluster for one test."""
    with howdah_cluster.connect() as fs:
        root = f"/sync-{tmp_path.name}"
        fs.mkdirs(root)
        yield root
        fs.delete(root, recursive=True)


def found(fs: FileSystem, root: str) -> dict[str, bytes]:
    """The files below a directory."""
    names = [each.path for _, _, files in fs.walk(root) for each in files]
    return {name[len(root) + 1 :]: fs.read_bytes(name) for name in names}


@pytest.fixture(params=["viewfs", "webhdfs"])
def remote(
    request: pytest.FixtureRequest, howdah_cluster: MiniCluster, place: str
) -> tuple[str, Configuration]:
    """The directory in a scheme, and the configuration in which that is known."""
    conf = howdah_cluster.conf
    if request.param == "webhdfs":
        return "webhdfs://" + howdah_cluster.http.partition("//")[2].rstrip("/") + place, conf
    link = {"fs.viewfs.mounttable.c.link./mounted": howdah_cluster.uri + place}
    return "viewfs://c/mounted", conf.with_values(link)


def test_a_mirror_goes_into_a_scheme_and_out_of_it(
    remote: tuple[str, Configuration],
    howdah_cluster: MiniCluster,
    place: str,
    source: Path,
    tmp_path: Path,
) -> None:
    uri, conf = remote
    mirror = Options(update=True, delete=True)
    with howdah_cluster.connect() as fs:
        fs.write_bytes(f"{place}/copy/extra", b"x")
        made = sync(source.as_uri(), f"{uri}/copy", processes=1, conf=conf, options=mirror)
        assert made.counters.files_copied == len(FILES)
        assert made.counters.entries_deleted == 1
        assert found(fs, f"{place}/copy") == FILES
    back = tmp_path / "back"
    sync(f"{uri}/copy", back.as_uri(), processes=1, conf=conf)
    assert {
        str(path.relative_to(back)): path.read_bytes()
        for path in back.rglob("*")
        if path.is_file() and not path.name.endswith(".crc")
    } == FILES


def test_a_mirror_goes_through_what_fsspec_opens(
    howdah_cluster: MiniCluster, place: str, source: Path, tmp_path: Path
) -> None:
    """`local://` is this machine's files as fsspec has them."""
    conf = howdah_cluster.conf
    sync(f"local://{source}", howdah_cluster.uri + place + "/copy", processes=1, conf=conf)
    with howdah_cluster.connect() as fs:
        assert found(fs, f"{place}/copy") == FILES
    out = f"local://{tmp_path}/out"
    made = sync(howdah_cluster.uri + place + "/copy", out, processes=1, conf=conf)
    assert made.counters.files_copied == len(FILES)
    assert any("no file locks" in note for note in made.notes)
    with howdah.connect("local:///", conf=conf) as local:
        assert found(local, f"{tmp_path}/out") == FILES


@pytest.mark.parametrize("uri", ["memory://there/", "mem://there/"])
def test_the_memory_of_a_process_is_no_target_and_no_source(source: Path, uri: str) -> None:
    for one, other in ((source.as_uri(), uri), (uri, source.as_uri())):
        with pytest.raises(errors.UnsupportedOperation, match="in the memory of one process"):
            sync(one, other, processes=1)


PATHS = """
import pickle, sys
import howdah.fsspec
howdah.fsspec.install()
from upath import UPath

top = sys.argv[1]
path = UPath(f"{top}/d/a.txt")
path.parent.mkdir(parents=True)
try:
    path.parent.mkdir()
except FileExistsError:
    pass
else:
    raise AssertionError("made twice")
path.write_text("grüße")
assert str(path) == path.as_uri() == f"{top}/d/a.txt", str(path)
assert UPath(str(path)).read_text() == "grüße"
assert pickle.loads(pickle.dumps(path)).read_text() == "grüße"
assert [str(each) for each in path.parent.iterdir()] == [str(path)]
assert list(path.parent.glob("*.txt")) == [path]
assert str(path.relative_to(path.parent)) == "a.txt"
assert str(path.rename(path.with_name("b.txt"))) == f"{top}/d/b.txt"
path.with_name("b.txt").unlink()
assert not list(path.parent.iterdir())
"""


@pytest.mark.parametrize("scheme", ["hdfs", "webhdfs"])
def test_paths_of_universal_pathlib_keep_host_and_port_in_schemes_taken_over(
    howdah_cluster: MiniCluster, place: str, scheme: str
) -> None:
    """In a process of its own, since what is taken over stays so."""
    pytest.importorskip("upath")
    web = "webhdfs://" + howdah_cluster.http.partition("//")[2].rstrip("/")
    top = (howdah_cluster.uri if scheme == "hdfs" else web) + place
    done = subprocess.run(
        [sys.executable, "-c", PATHS, top], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
