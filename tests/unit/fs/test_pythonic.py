"""Files as Python users open them: modes, text, and the short names."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.local.filesystem import LocalFileSystem
from howdah.fs.memory import filesystem as memory


@pytest.fixture(params=["mem", "file", "memory"])
def fs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FileSystem]:
    """Files in memory, of this machine, and of fsspec, each with a directory `/…/top`."""
    uri = {"mem": "mem://python/", "file": "file:///", "memory": "memory:///"}[request.param]
    with howdah.connect(uri) as found:
        if request.param == "file":
            assert isinstance(found, LocalFileSystem)
            found.set_write_checksum(False)
        found.mkdirs(tmp_path / "top")
        yield found
        found.delete(tmp_path, recursive=True)
    memory.forget("python")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "top" / "f")


def test_bytes_are_written_and_read_by_pythons_modes(fs: FileSystem, path: str) -> None:
    with fs.open(path, "wb") as out:
        assert out.write(b"abc") == 3
    with fs.open(path, "rb") as stream:
        assert stream.read() == b"abc"
    with fs.open(path) as stream:
        assert isinstance(stream, io.BufferedReader)
        assert stream.read() == b"abc"


def test_a_number_for_a_mode_is_a_buffer_size_as_in_hadoop(fs: FileSystem, path: str) -> None:
    fs.write_bytes(path, b"abc")
    with fs.open(path, 4096) as stream:
        assert stream.read() == b"abc"
    with fs.open(path, buffer_size=1) as stream:
        assert stream.read() == b"abc"


def test_text_is_utf_8_and_goes_by_lines(fs: FileSystem, path: str) -> None:
    with fs.open(path, "w") as out:
        print("grüße", file=out)
        out.writelines(["second\r\n", "third"])
    assert fs.read_bytes(path) == "grüße\nsecond\r\nthird".encode()
    with fs.open(path, "r") as lines:
        assert list(lines) == ["grüße\n", "second\n", "third"]
    with fs.open(path, "r", newline="") as lines:
        assert lines.read() == "grüße\nsecond\r\nthird"


def test_text_has_the_encoding_that_is_asked_for(fs: FileSystem, path: str) -> None:
    with fs.open(path, "wt", encoding="latin-1") as out:
        out.write("grüße")
    assert fs.read_bytes(path) == b"gr\xfc\xdfe"
    assert fs.read_text(path, "latin-1") == "grüße"
    with pytest.raises(UnicodeDecodeError):
        fs.read_text(path)
    with fs.open(path, "r", errors="replace") as stream:
        assert stream.read() == "gr��e"


def test_an_encoding_that_nobody_knows_leaves_no_stream_open(fs: FileSystem, path: str) -> None:
    with pytest.raises(LookupError, match="nonsense"):
        fs.open(path, "w", encoding="nonsense")
    fs.rm(path)  # nobody writes it


@pytest.mark.parametrize("data", ["text", None, 1.5])
def test_what_holds_no_bytes_replaces_no_file(fs: FileSystem, path: str, data: object) -> None:
    fs.write_bytes(path, b"old")
    with pytest.raises(TypeError):
        fs.write_bytes(path, data)
    assert fs.read_bytes(path) == b"old"


def test_x_makes_a_file_only_where_none_is(fs: FileSystem, path: str) -> None:
    with fs.open(path, "x") as out:
        out.write("first")
    with pytest.raises(FileExistsError):
        fs.open(path, "xb")
    assert fs.read_text(path) == "first"


def test_a_goes_on_at_the_end_and_makes_the_file(fs: FileSystem, path: str) -> None:
    if fs.uri.startswith("memory"):
        pytest.skip("fsspec's filesystems are not appended to")
    for line in ("one", "two"):
        with fs.open(path, "a") as out:
            print(line, file=out)
    assert fs.read_text(path) == "one\ntwo\n"


@pytest.mark.parametrize("mode", ["", "b", "rw", "rr", "rbt", "z", "U"])
def test_what_is_no_mode_is_refused(fs: FileSystem, path: str, mode: str) -> None:
    fs.write_bytes(path, b"")
    with pytest.raises(ValueError, match="mode"):
        fs.open(path, mode)


def test_nothing_is_read_and_written_at_once(fs: FileSystem, path: str) -> None:
    with pytest.raises(errors.UnsupportedOperation, match="read or written"):
        fs.open(path, "r+b")


def test_bytes_have_no_encoding(fs: FileSystem, path: str) -> None:
    with pytest.raises(ValueError, match="encoding"):
        fs.open(path, "wb", encoding="utf-8")
    assert not fs.exists(path)


def test_short_names(fs: FileSystem, path: str) -> None:
    assert fs.write_bytes(path, b"abc") == 3
    assert fs.read_bytes(path) == b"abc"
    assert fs.write_text(path, "x") == 1
    assert fs.read_text(path) == "x"
    assert fs.ls(path) == [path]
    directory = path.rpartition("/")[0]
    assert fs.ls(directory) == [path]
    with pytest.raises(FileExistsError):
        fs.write_bytes(path, b"", overwrite=False)
    with pytest.raises(OSError, match=r"empty|recursive"):
        fs.rm(directory)
    fs.rm(directory, recursive=True)
    with pytest.raises(FileNotFoundError, match="top"):
        fs.rm(directory)


def test_a_walk_goes_on_where_a_directory_cannot_be_listed(tmp_path: Path) -> None:
    with howdah.connect("mem://walk/", user="owner") as own:
        own.write_bytes("/a/shut/x", b"")
        own.write_bytes("/a/open/y", b"")
        own.set_permission("/a/shut", 0)
        with howdah.connect("mem://walk/", user="stranger") as strange:
            said: list[errors.HowdahError] = []
            found = [path for path, _, _ in strange.walk("/a", said.append)]
            assert found == ["/a", "/a/open"]
            assert [type(each) for each in said] == [errors.AccessDenied]
            with pytest.raises(errors.AccessDenied):
                list(strange.walk("/a"))
    memory.forget("walk")


def test_what_is_not_there_is_the_filename_of_the_error(fs: FileSystem, path: str) -> None:
    for ask in (fs.get_file_status, fs.read_bytes, fs.rm):
        with pytest.raises(FileNotFoundError) as raised:
            ask(path)
        assert raised.value.filename == path
