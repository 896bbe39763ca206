"""`howdah.arrow`: pyarrow over any filesystem of howdah."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import howdah
from howdah import errors
from howdah.fs.memory import filesystem as memory

pa: Any = pytest.importorskip("pyarrow")
fs_of_arrow: Any = pytest.importorskip("pyarrow.fs")
dataset: Any = pytest.importorskip("pyarrow.dataset")
File, Directory, NotFound = (
    fs_of_arrow.FileType.File,
    fs_of_arrow.FileType.Directory,
    fs_of_arrow.FileType.NotFound,
)
NAMES = ("/d/[x]*.csv", "/d/a?b", "/d/sub/c", "/d/%41")


@pytest.fixture
def fs() -> Iterator[howdah.FileSystem]:
    with howdah.connect("mem://arrow/") as found:
        for name in NAMES:
            found.write_text(name, name)
        yield found
    memory.forget("arrow")


@pytest.fixture
def files(fs: howdah.FileSystem) -> Any:
    return howdah.arrow(fs)


def test_names_are_names(files: Any, fs: howdah.FileSystem) -> None:
    for name in NAMES:
        with files.open_input_stream(name) as stream:
            assert stream.read() == name.encode()
        assert files.get_file_info(name).size == len(name)
    files.delete_file("/d/[x]*.csv")
    assert fs.ls("/d") == ["/d/%41", "/d/a?b", "/d/sub"]
    with pytest.raises(FileNotFoundError):
        files.delete_file("/d/*")
    with pytest.raises(FileNotFoundError):
        files.delete_dir("/d/su?")
    assert files.get_file_info("/d/*").type == NotFound


def test_what_is_there_is_told(files: Any) -> None:
    infos = files.get_file_info(["/d/sub", "/d/sub/c", "/none", "/d/sub/c/below"])
    assert [info.type for info in infos] == [Directory, File, NotFound, NotFound]
    assert infos[1].mtime_ns > 10**18
    assert infos[0].size is None
    found = files.get_file_info(fs_of_arrow.FileSelector("/d", recursive=True))
    assert {info.path for info in found} == {*NAMES, "/d/sub"}
    shallow = files.get_file_info(fs_of_arrow.FileSelector("/d"))
    assert {info.base_name for info in shallow} == {"[x]*.csv", "a?b", "sub", "%41"}
    assert files.get_file_info(fs_of_arrow.FileSelector("/none", allow_not_found=True)) == []
    with pytest.raises(FileNotFoundError):
        files.get_file_info(fs_of_arrow.FileSelector("/none"))
    with pytest.raises(NotADirectoryError):
        files.get_file_info(fs_of_arrow.FileSelector("/d/a?b"))


def test_relative_paths_start_at_home(files: Any, fs: howdah.FileSystem) -> None:
    files.create_dir("x")
    assert fs.isdir(f"{fs.home_directory()}/x")
    assert files.normalize_path("x") == f"{fs.home_directory()}/x"
    assert files.get_file_info("").type == Directory


def test_directories_are_made_and_deleted(files: Any, fs: howdah.FileSystem) -> None:
    files.create_dir("/e/f", recursive=True)
    files.create_dir("/e/f", recursive=False)
    with pytest.raises(FileNotFoundError):
        files.create_dir("/x/y", recursive=False)
    with pytest.raises(FileExistsError):
        files.create_dir("/d/%41", recursive=False)
    files.delete_dir_contents("/d")
    assert fs.ls("/d") == []
    files.delete_dir_contents("/none", missing_dir_ok=True)
    for path in ("/none", "/e/g"):
        with pytest.raises(FileNotFoundError):
            files.delete_dir_contents(path)
    files.delete_dir("/e")
    assert not fs.exists("/e")
    files.delete_dir_contents("/", accept_root_dir=True)
    assert fs.ls("/") == []


def test_kinds_are_not_confused(files: Any, fs: howdah.FileSystem) -> None:
    with pytest.raises(IsADirectoryError):
        files.delete_file("/d/sub")
    with pytest.raises(NotADirectoryError):
        files.delete_dir("/d/a?b")
    with pytest.raises(NotADirectoryError):
        files.delete_dir_contents("/d/a?b")
    assert fs.exists("/d/a?b")
    assert fs.exists("/d/sub/c")


def test_files_are_written_moved_and_copied(files: Any, fs: howdah.FileSystem) -> None:
    with files.open_output_stream("/d/new") as out:
        out.write(b"abc")
    with files.open_append_stream("/d/new") as out:
        out.write(b"def")
    files.copy_file("/d/new", "/d/a?b")
    assert fs.read_bytes("/d/a?b") == b"abcdef"
    files.move("/d/new", "/d/[x]*.csv")
    assert fs.read_bytes("/d/[x]*.csv") == b"abcdef"
    assert not fs.exists("/d/new")
    with files.open_input_file("/d/a?b") as stream:
        stream.seek(3)
        assert stream.read(2) == b"de"
        assert stream.size() == 6


def test_a_partitioned_data_set_is_written_and_read(files: Any) -> None:
    table = pa.table({"x": list(range(100)), "y": ["[a]", "b*"] * 50})
    dataset.write_dataset(
        table,
        "/t",
        filesystem=files,
        format="parquet",
        partitioning=dataset.partitioning(pa.schema([("y", pa.string())]), flavor="hive"),
    )
    read = dataset.dataset("/t", filesystem=files, partitioning="hive")
    assert read.count_rows() == 100
    found = read.to_table(filter=dataset.field("y") == "b*").column("x").to_pylist()
    assert sorted(found) == list(range(1, 100, 2))


def test_filesystems_are_equal_by_their_places(files: Any, fs: howdah.FileSystem) -> None:
    assert files == howdah.arrow("mem://arrow/some/path")
    assert files != howdah.arrow("mem://other")
    assert files.type_name == "py::mem"
    again = pickle.loads(pickle.dumps(files))
    assert again == files
    assert again.get_file_info("/d/%41").type == File
    with pytest.raises(errors.IllegalArgument, match="user"):
        howdah.arrow(fs, user="x")
