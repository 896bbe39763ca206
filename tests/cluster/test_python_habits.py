"""What Python users type by habit, on HDFS: paths, `howdah.open`, everyday verbs."""

from __future__ import annotations

import pathlib
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import howdah
from howdah import Path, errors
from howdah.testing import MiniCluster


@pytest.fixture
def top(howdah_cluster: MiniCluster, request: pytest.FixtureRequest) -> Iterator[Path]:
    path = Path(howdah_cluster.uri) / "habits" / request.node.name
    path.mkdir(parents=True)
    yield path
    path.fs.delete(path, recursive=True)


def test_a_file_is_opened_by_its_uri(top: Path) -> None:
    uri = f"{top}/notes"
    with howdah.open(uri, "w") as out:
        print("grüße", file=out)
    with howdah.open(uri, "a") as out:
        print("more", file=out)
    with howdah.open(uri) as lines:
        assert list(lines) == ["grüße\n", "more\n"]
    with howdah.open(uri, "rb") as stream:
        assert stream.pread(0, 3) == b"gr\xc3"
    with pytest.raises(FileExistsError):
        howdah.open(uri, "x")
    with pytest.raises(FileNotFoundError):
        howdah.open(f"{uri}-none")


def test_a_tree_of_paths(top: Path) -> None:
    for name in ("a/1.txt", "a/b/[x].txt", "a/b/2 %41?#.csv"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(name)
    assert [path.name for path in top.rglob("*.txt")] == ["1.txt", "[x].txt"]
    assert (top / "a/b/[x].txt").read_text() == "a/b/[x].txt"
    assert [path.name for path in (top / "a/b").iterdir()] == ["2 %41?#.csv", "[x].txt"]
    assert {path.name: names for path, _, names in top.walk()} == {
        top.name: [],
        "a": ["1.txt"],
        "b": ["2 %41?#.csv", "[x].txt"],
    }
    with pytest.raises(FileExistsError):
        (top / "a").mkdir()
    with pytest.raises(FileNotFoundError):
        (top / "none" / "c").mkdir()
    with pytest.raises(OSError, match="empty"):
        (top / "a").rmdir()
    with pytest.raises(IsADirectoryError):
        (top / "a").unlink()
    with pytest.raises(FileExistsError):
        (top / "a/1.txt").rename(top / "a/b/[x].txt")
    (top / "a/1.txt").replace(top / "a/b/[x].txt")
    assert (top / "a/b/[x].txt").read_text() == "a/1.txt"
    assert (top / "a/b/[x].txt").samefile(top / "a/b/../b/[x].txt")


def test_attributes_of_a_path(top: Path) -> None:
    path = top / "f"
    path.touch(0o600)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    assert path.status().permission_string == "-rw-r--r--"
    assert path.owner() == top.fs.get_file_status(path).owner
    before = path.stat().st_mtime_ns
    path.touch()
    assert path.stat().st_mtime_ns >= before
    with pytest.raises(FileExistsError):
        path.touch(exist_ok=False)
    with pytest.raises(errors.PathIsNotDirectory):
        path.rmdir()
    path.unlink()
    path.unlink(missing_ok=True)


def test_links_are_followed(howdah_cluster: MiniCluster, top: Path) -> None:
    conf = howdah_cluster.conf.with_values({"howdah.client.symlinks.enabled": "true"})
    with howdah.connect(howdah_cluster.uri, conf=conf) as fs:
        here = fs.path(top.path)
        (here / "a" / "b").mkdir(parents=True)
        (here / "a/b/f").write_text("x")
        (here / "link").symlink_to("a/b")
        assert (here / "link").is_symlink()
        assert (here / "link").is_dir()
        assert (here / "link" / "f").read_text() == "x"
        assert (here / "link" / "f").resolve() == here / "a/b/f"
        assert (here / "link").readlink() == here / "a/b"
        assert [path.path for path in here.glob("link/*")] == [f"{here.path}/link/f"]
        (here / "link").unlink()
        assert (here / "a/b/f").exists()


def test_a_path_is_used_in_another_process(top: Path) -> None:
    (top / "f").write_text("there")
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).read_text())"
    child = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(top / "f"), capture_output=True, check=True
    )
    assert child.stdout == b"there\n"


def test_trees_go_to_a_cluster_and_back(top: Path, tmp_path: pathlib.Path) -> None:
    source = tmp_path / "source"
    (source / "b").mkdir(parents=True)
    (source / "[x]*").write_bytes(b"1")
    (source / "b" / "big").write_bytes(bytes(5 << 20))
    fs, told = top.fs, list[int]()
    assert fs.put(source, f"{top.path}/", recursive=True, callback=told.append) == (
        f"{top.path}/source"
    )
    assert sum(told) == (5 << 20) + 1
    assert (top / "source/[x]*").read_bytes() == b"1"
    fs.move(top / "source", top / "moved")
    fs.copy(top / "moved", top / "copied", recursive=True)
    fs.get(top / "copied", tmp_path / "back", recursive=True)
    assert (tmp_path / "back" / "b" / "big").stat().st_size == 5 << 20
    assert [path.name for path in top.rglob("*") if "_COPYING_" in path.name] == []
    with pytest.raises(FileExistsError):
        fs.put(source / "[x]*", top / "moved/[x]*", overwrite=False)
    copied = (top / "moved").copy(Path(f"file://{tmp_path}") / "local")
    assert (tmp_path / "local" / "[x]*").read_bytes() == b"1"
    assert copied.is_dir()


def test_a_status_prints_as_ls_does(top: Path) -> None:
    path = top / "f"
    path.write_text("abc")
    path.chmod(0o640)
    status = path.status()
    text = f"-rw-r----- {status.replication} {status.owner} {status.group} 3 "
    assert str(status).startswith(text)
    assert str(status).endswith(path.path)


def test_a_data_set_of_arrow(howdah_cluster: MiniCluster, top: Path) -> None:
    pa: Any = pytest.importorskip("pyarrow")
    dataset: Any = pytest.importorskip("pyarrow.dataset")
    files = howdah.arrow(howdah_cluster.uri)
    place = f"{top.path}/[t]*"
    table = pa.table({"x": list(range(1000)), "y": ["a", "b"] * 500})
    schema = pa.schema([("y", pa.string())])
    dataset.write_dataset(
        table,
        place,
        filesystem=files,
        format="parquet",
        partitioning=dataset.partitioning(schema, flavor="hive"),
    )
    read = dataset.dataset(place, filesystem=pickle.loads(pickle.dumps(files)), partitioning="hive")
    assert read.to_table(filter=dataset.field("y") == "b").num_rows == 500
    assert sorted(path.name for path in Path(f"{howdah_cluster.uri}{place}").iterdir()) == [
        "y=a",
        "y=b",
    ]
