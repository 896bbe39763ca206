"""`howdah.Path`: pathlib's surface, held against pathlib; and `howdah.open`."""

from __future__ import annotations

import copy
import fnmatch
import io
import os
import pathlib
import pickle
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest

import howdah
from howdah import Path, errors
from howdah.fs import registry
from howdah.fs.api import FileSystem
from howdah.fs.local.filesystem import LocalFileSystem
from howdah.fs.memory import filesystem as memory


@pytest.fixture(params=["mem", "file", "memory"])
def fs(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[FileSystem]:
    """Files in memory, of this machine, and of fsspec."""
    uri = {"mem": "mem://paths/", "file": "file:///", "memory": "memory:///"}[request.param]
    with howdah.connect(uri) as found:
        if isinstance(found, LocalFileSystem):
            found.set_write_checksum(False)
        found.mkdirs(tmp_path / "top")
        yield found
        found.delete(tmp_path, recursive=True)
    memory.forget("paths")


@pytest.fixture
def top(fs: FileSystem, tmp_path: pathlib.Path) -> Path:
    return fs.path(tmp_path / "top")


@pytest.fixture
def store() -> Iterator[Path]:
    """The root of an empty filesystem in memory."""
    yield Path("mem://store/")
    memory.forget("store")


# --- the parts: as pathlib computes them ----------------------------------------------


@pytest.mark.parametrize("text", ["/", "/a", "/a/b.tar.gz", "/a/.b", "/a b/c%20?#", "/ü/[x]*"])
def test_the_parts_are_pathlibs(text: str) -> None:
    mine, theirs = Path("mem://x" + text), PurePosixPath(text)
    for name in ("name", "stem", "suffix", "suffixes", "parts", "root", "anchor", "drive"):
        assert getattr(mine, name) == getattr(theirs, name)
    assert mine.parent.path == str(theirs.parent)
    assert [parent.path for parent in mine.parents] == [str(each) for each in theirs.parents]
    assert mine.path == mine.as_posix() == text
    assert mine.is_absolute()
    assert mine.absolute() == mine


def test_names_are_changed() -> None:
    path = Path("mem://x/a/b.tar.gz")
    assert path.with_name("c").path == "/a/c"
    assert path.with_stem("c").path == "/a/c.gz"
    assert path.with_suffix("").path == "/a/b.tar"
    assert path.with_suffix(".x").path == "/a/b.tar.x"
    for wrong in ("", "a/b"):
        with pytest.raises(ValueError, match="Invalid name"):
            path.with_name(wrong)
    with pytest.raises(ValueError, match="empty name"):
        Path("mem://x/").with_name("a")


def test_paths_are_joined() -> None:
    top = Path("mem://x/a")
    assert (top / "b" / "c").path == "/a/b/c"
    assert (top / PurePosixPath("b/c")).path == "/a/b/c"
    assert top.joinpath("b", "../c").path == "/a/c"
    assert (top / "/abs").path == "/abs"
    assert (top / "").path == "/a"
    assert Path("mem://x/a", "b", "c") == top / "b" / "c"
    assert Path(top, "b") == top / "b"
    assert (top / "mem://x/b").path == "/b"
    assert str(top / Path("mem://y/b")) == "mem://y/b"
    assert "a" / top == top
    assert PurePosixPath("/z") / top == top
    with pytest.raises(errors.IllegalArgument, match="Wrong filesystem"):
        top / "mem://y/b"
    with pytest.raises(TypeError):
        top / 3  # type: ignore[operator]
    with pytest.raises(TypeError):
        3 / top  # type: ignore[operator]


def test_a_name_with_the_characters_of_a_pattern_or_a_uri_is_a_name() -> None:
    top = Path("mem://x/a")
    for name in ("[x]", "*", "a?b", "a:b", "%41", "#", "C:"):
        assert (top / name).name == name


def test_what_is_relative_to_what() -> None:
    path = Path("mem://x/a/b/c")
    assert path.relative_to("/a") == PurePosixPath("b/c")
    assert path.relative_to("mem://x/a") == path.relative_to(Path("mem://x/a"))
    assert path.relative_to(path) == PurePosixPath(".")
    assert path.relative_to("/a/d/e", walk_up=True) == PurePosixPath("../../b/c")
    assert path.is_relative_to("/a/b")
    assert not path.is_relative_to("/a/bc")
    assert not path.is_relative_to("mem://y/a")
    for other in ("/d", "mem://y/a", Path("mem://y/a")):
        with pytest.raises(ValueError, match="is not"):
            path.relative_to(other)


@pytest.mark.parametrize(
    "pattern", ["*.py", "b/*.py", "/a/b/*.py", "/b/*.py", "/*.py", "c.py", "[cd].p?", "*.PY", "a/*"]
)
def test_a_path_is_matched_as_by_pathlib(pattern: str) -> None:
    assert Path("mem://x/a/b/c.py").match(pattern) == PurePosixPath("/a/b/c.py").match(pattern)


def test_whole_paths_are_matched() -> None:
    path = Path("mem://x/a/b/c.py")
    for pattern in ("/a/**", "/**", "**/c.py", "/a/**/*.py", "/a/**/b/*.py", "/*/b/c.py", "**/**"):
        assert path.full_match(pattern), pattern
    for pattern in ("/a/*", "*.py", "b/c.py", "/a/**/c", "/a/**/d/*.py", "/a/b/c.py/d"):
        assert not path.full_match(pattern), pattern
    assert path.full_match("/A/**/*.PY", case_sensitive=False)
    assert path.match("*.PY", case_sensitive=False)
    with pytest.raises(ValueError, match="empty pattern"):
        path.match("")


def test_paths_are_values() -> None:
    one, same, other = Path("mem://x/a"), Path("mem://x//a/"), Path("mem://y/a")
    assert one == same
    assert len({one, same, other}) == 2
    assert one != other
    assert one != "mem://x/a"
    assert sorted([Path("mem://x/b"), other, one]) == [one, Path("mem://x/b"), other]
    with pytest.raises(TypeError):
        one < "mem://x/b"  # noqa: B015
    assert copy.deepcopy([one]) == [copy.copy(one)] == [one]
    assert repr(one) == "Path('mem://x/a')"
    assert str(one) == one.as_uri() == f"{one}" == "mem://x/a"


@pytest.mark.parametrize("uri", ["mem://x", "file://", "hdfs://nn:8020", "s3://bucket"])
def test_a_pickled_path_is_of_the_same_user_and_configuration(uri: str) -> None:
    if uri.startswith("s3"):
        pytest.importorskip("botocore")
    conf = howdah.Configuration({"fs.permissions.umask-mode": "077"})
    path = howdah.connect(f"{uri}/", conf=conf, user="her").path("/a")
    again = pickle.loads(pickle.dumps(path))
    assert again == path
    assert vars(again.fs).get("user") == vars(path.fs).get("user")
    assert again.fs._conf.raw("fs.permissions.umask-mode") == "077"


def test_a_view_is_pickled_with_its_table() -> None:
    conf = howdah.Configuration({"fs.viewfs.mounttable.all.link./m": "mem://x/"})
    path = howdah.connect("viewfs://all/", conf=conf).path("/m/a")
    again = pickle.loads(pickle.dumps(path))
    assert again == path
    again.write_text("x")
    assert Path("mem://x/a").read_text() == "x"
    memory.forget("x")


# --- where it is ------------------------------------------------------------------------


def test_a_local_path_is_one_for_the_operating_system(tmp_path: pathlib.Path) -> None:
    path = Path(f"file://{tmp_path}/a")
    path.write_text("x")
    assert os.fspath(path) == f"{tmp_path}/a"
    assert pathlib.Path(path).read_text() == "x"


def test_another_path_is_none_for_the_operating_system() -> None:
    path = Path("mem://x/a")
    with pytest.raises(TypeError, match=r"mem://x/a is no path of this machine.*\.open"):
        os.fspath(path)
    with pytest.raises(TypeError, match="no path of this machine"):
        pathlib.Path(path)
    with pytest.raises(TypeError, match="no path of this machine"):
        os.makedirs(path)


def test_a_path_is_taken_by_the_calls_of_its_filesystem(store: Path) -> None:
    fs = store.fs
    fs.write_text(store / "a", "x")
    assert fs.read_text(store / "a") == "x"
    assert fs.get_file_status(store / "a").path == "/a"
    with pytest.raises(errors.IllegalArgument, match="Wrong filesystem"):
        fs.exists(Path("mem://other/a"))


def test_relative_text_names_no_filesystem() -> None:
    for text in ("a", "./a", "~/a"):
        with pytest.raises(errors.IllegalArgument, match="no scheme"):
            Path(text)
        with pytest.raises(errors.IllegalArgument, match="no scheme"):
            howdah.open(text)
    for wrong in (3, b"/a", None):
        with pytest.raises(TypeError):
            Path(wrong)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidPath, match="empty"):
        Path("")


def test_a_uri_that_pathlib_has_damaged_is_refused() -> None:
    with pytest.raises(errors.IllegalArgument, match="pass the URI as a str"):
        Path(PurePosixPath("hdfs://nn:8020/a"))
    with pytest.raises(errors.IllegalArgument, match="pass the URI as a str"):
        howdah.open(PurePosixPath("mem://x/a"))


def test_absolute_text_is_of_the_default_filesystem(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    site = "<configuration><property><name>fs.defaultFS</name><value>{}</value></property>"
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("HADOOP_USER_NAME", "ann")
    file = tmp_path / "core-site.xml"
    file.write_text(site.format("mem://default/") + "</configuration>")
    assert str(Path("/a")) == "mem://default/a"
    assert Path.home().path == Path.cwd().path == "/user/ann"
    file.write_text(site.format("hdfs://nn:8020") + "</configuration>")
    assert str(Path("/a")) == str(Path("hdfs:///a")) == "hdfs://nn:8020/a"
    assert str(Path("hdfs://default/a")) == "hdfs://nn:8020/a"


def test_paths_of_one_place_share_a_filesystem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_shared", {})
    monkeypatch.setenv("HADOOP_USER_NAME", "ann")
    path = Path("hdfs://nn:8020/a")
    assert Path("hdfs://nn:8020/b").fs is path.fs
    assert (path / "c").fs is path.fs
    assert Path("hdfs://other:8020/b").fs is not path.fs
    monkeypatch.setenv("HADOOP_USER_NAME", "bob")
    assert Path("hdfs://nn:8020/a").fs is not path.fs


def test_what_is_set_on_local_files_is_set_for_no_other() -> None:
    fs = Path("file:///tmp").fs
    assert isinstance(fs, LocalFileSystem)
    fs.set_write_checksum(False)
    other = Path("file:///tmp").fs
    assert isinstance(other, LocalFileSystem)
    assert other._write_checksum


# --- files ------------------------------------------------------------------------------


def test_files_are_written_and_read(top: Path) -> None:
    path = top / "f"
    assert path.write_bytes(b"a\r\nb") == 4
    assert path.read_bytes() == b"a\r\nb"
    assert path.read_text() == "a\nb"
    assert path.read_text(newline="") == "a\r\nb"
    assert path.write_text("grüße\n") == 6
    assert path.read_bytes() == "grüße\n".encode()
    assert path.write_text("grüße", "latin-1") == 5
    assert path.read_text("latin-1") == "grüße"
    assert path.read_text("ascii", "replace") == "gr��e"
    assert path.write_text("a\nb", newline="\r\n") == 3
    assert path.read_bytes() == b"a\r\nb"
    with pytest.raises(TypeError, match="data must be str"):
        path.write_text(b"x")  # type: ignore[arg-type]
    assert path.read_bytes() == b"a\r\nb"


def test_a_path_is_opened_as_python_opens(top: Path) -> None:
    path = top / "f"
    with path.open("x") as out:
        assert isinstance(out, io.TextIOWrapper)
        print("a line", file=out)
    with path.open() as lines:
        assert list(lines) == ["a line\n"]
    with path.open("rb", 4096) as stream:
        assert stream.read() == b"a line\n"
    with pytest.raises(FileExistsError):
        path.open("xb")
    with pytest.raises(FileNotFoundError):
        (top / "none").open()
    with pytest.raises(errors.UnsupportedOperation, match="read or written"):
        path.open("r+")
    with pytest.raises(ValueError, match="unbuffered text"):
        path.open("w", 0)
    with pytest.raises(errors.UnsupportedOperation, match="buffering=0"):
        path.open("wb", 0)
    assert path.read_text() == "a line\n"


def test_howdah_opens_by_uris(store: Path) -> None:
    with howdah.open("mem://store/f", "w", encoding="latin-1") as out:
        out.write("grüße")
    with howdah.open("mem://store/f", encoding="latin-1") as text:
        assert text.read() == "grüße"
    with howdah.open(store / "f", "rb") as stream:
        assert stream.read() == "grüße".encode("latin-1")
    with howdah.open("mem://store/f", "ab") as more:
        more.write(b"!")
    assert (store / "f").stat().st_size == 6
    with pytest.raises(FileNotFoundError) as raised:
        howdah.open("mem://store/none")
    assert raised.value.filename == "/none"
    with pytest.raises(ValueError, match="mode"):
        howdah.open("mem://store/f", "U")
    with pytest.raises(ValueError, match="encoding"):
        howdah.open("mem://store/f", "rb", encoding="utf-8")


def test_line_buffering_hands_on_each_line(store: Path) -> None:
    with (store / "f").open("w", buffering=1) as out:
        assert out.line_buffering


def test_a_file_is_touched(top: Path) -> None:
    path = top / "f"
    path.touch()
    assert path.read_bytes() == b""
    with pytest.raises(FileExistsError):
        path.touch(exist_ok=False)
    if top.fs.uri.startswith("memory"):
        return  # fsspec's filesystems set no times
    path.write_bytes(b"x")
    path.fs.set_times(path, 0, 0)
    path.touch()
    assert path.read_bytes() == b"x"
    assert path.stat().st_mtime > 0
    with pytest.raises(FileNotFoundError):
        (top / "none" / "f").touch()


def test_files_are_deleted(top: Path) -> None:
    path = top / "f"
    path.touch()
    path.unlink()
    assert not path.exists()
    with pytest.raises(FileNotFoundError):
        path.unlink()
    path.unlink(missing_ok=True)
    (path / "below").unlink(missing_ok=True)
    with pytest.raises(IsADirectoryError):
        top.unlink()
    assert top.is_dir()


def test_files_are_renamed(top: Path) -> None:
    one, two = top / "1", top / "2"
    one.write_text("one")
    assert one.rename(two) == two
    assert two.read_text() == "one"
    one.write_text("new")
    with pytest.raises(FileExistsError):
        one.rename(two)
    assert two.read_text() == "one"
    assert one.replace(two.path) == two
    assert two.read_text() == "new"
    assert not one.exists()
    with pytest.raises(errors.IllegalArgument, match="Wrong filesystem"):
        two.rename(Path("mem://other/2"))


# --- looking ----------------------------------------------------------------------------


def test_what_is_there(top: Path) -> None:
    path = top / "f"
    assert not path.exists()
    assert not path.is_file()
    assert not path.is_dir()
    assert not path.is_symlink()
    path.write_bytes(b"abc")
    assert path.exists()
    assert path.is_file()
    assert not path.is_dir()
    assert not (path / "below").exists()
    assert top.is_dir()
    assert not top.is_file()
    assert path.status().length == 3
    assert path.samefile(path.path)
    assert not path.samefile(top)


def test_a_stat_is_pythons(store: Path) -> None:
    path = store / "f"
    path.write_bytes(b"abc")
    path.chmod(0o640)
    store.fs.set_times(path, 1_700_000_000_123, 1_600_000_000_456)
    found = path.stat()
    assert isinstance(found, os.stat_result)
    assert stat.filemode(found.st_mode) == "-rw-r-----"
    assert found.st_size == 3
    assert found.st_mtime == 1_700_000_000.123
    assert found.st_mtime_ns == 1_700_000_000_123_000_000
    assert found.st_atime_ns == 1_600_000_000_456_000_000
    assert (found.st_uid, found.st_gid) == (-1, -1)
    assert stat.S_ISDIR(store.lstat().st_mode)
    assert path.owner() == store.fs.get_file_status(path).owner
    assert path.group() == store.fs.get_file_status(path).group
    with pytest.raises(FileNotFoundError):
        (store / "none").stat()
    with pytest.raises(errors.UnsupportedOperation):
        path.chmod(0o600, follow_symlinks=False)


def test_links_are_links(tmp_path: pathlib.Path) -> None:
    top = Path(f"file://{tmp_path}")
    (top / "a").write_text("x")
    (top / "link").symlink_to("a")
    assert (top / "link").is_symlink()
    assert (top / "link").is_file()
    assert stat.S_ISLNK((top / "link").lstat().st_mode)
    assert (top / "link").readlink() == top / "a"
    assert (top / "link").resolve() == (top / "a").resolve()
    assert (top / "none" / "b").resolve().name == "b"
    with pytest.raises(FileNotFoundError):
        (top / "none" / "b").resolve(strict=True)
    (top / "link").unlink()
    assert (top / "a").exists()
    (top / "round").symlink_to("round")
    with pytest.raises(OSError, match="links"):
        (top / "round").resolve()
    with pytest.raises(errors.UnsupportedOperation, match="hard"):
        (top / "hard").hardlink_to(top / "a")


# --- directories ------------------------------------------------------------------------

TREE = ("a/1.txt", "a/b/2.txt", "a/b/c/3.csv", "d/.hidden", "d/[x].txt", "e*f/4.txt", "5.txt")


def plant(top: Path | pathlib.Path) -> None:
    for name in TREE:
        path = top.joinpath(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def test_a_directory_is_iterated(top: Path) -> None:
    plant(top)
    assert [path.name for path in top.iterdir()] == ["5.txt", "a", "d", "e*f"]
    assert all(path.parent == top for path in top.iterdir())
    with pytest.raises(NotADirectoryError):
        list((top / "5.txt").iterdir())
    with pytest.raises(FileNotFoundError):
        list((top / "none").iterdir())


def test_a_listing_knows_the_kinds(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(store)
    found = list(store.iterdir())

    def refuse(*_: object) -> None:
        raise AssertionError("asked again")

    monkeypatch.setattr(type(store.fs), "get_file_status", refuse)
    monkeypatch.setattr(type(store.fs), "get_file_link_status", refuse)
    assert {path.name for path in found if path.info.is_dir()} == {"a", "d", "e*f"}
    assert [path.name for path in found if path.info.is_file()] == ["5.txt"]
    assert all(path.info.exists() and not path.info.is_symlink() for path in found)


def test_the_kind_of_a_path_is_asked_for_once(store: Path) -> None:
    info = (store / "f").info
    assert not info.exists()
    (store / "f").touch()
    assert not info.is_file()
    assert not info.is_symlink()
    assert (store / "f").info.is_file()


PATTERNS = [
    *("*", "*.txt", "a/*", "a/b", "a/none", "*/*", "*/*.txt", "a/*/c", "**/*.txt", "a/**/*.csv"),
    *("**/b/*", "[ad]/*", "[!a]/*", "d/.*", "d/[[]x].txt", "d/[x].txt", "e*f/*", "?/1.txt"),
    *("5.txt", "5.txt/x", "**/", "**/c/", "a/", "**/**/*.txt", "**/*/**/*.txt", "*.TXT", "./a/*"),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_finds_what_pathlib_finds(
    store: Path, tmp_path: pathlib.Path, pattern: str
) -> None:
    plant(store)
    plant(tmp_path)
    found = [str(path.relative_to(store)) for path in store.glob(pattern)]
    assert len(found) == len(set(found))
    assert set(found) == {str(path.relative_to(tmp_path)) for path in tmp_path.glob(pattern)}


@pytest.mark.parametrize("pattern", ["*.txt", "*", "b/*", "", "c"])
def test_a_pattern_is_found_anywhere_below(
    store: Path, tmp_path: pathlib.Path, pattern: str
) -> None:
    plant(store)
    plant(tmp_path)
    found = {str(path.relative_to(store)) for path in store.rglob(pattern)}
    assert found == {str(path.relative_to(tmp_path)) for path in tmp_path.rglob(pattern)}


def test_two_stars_at_the_end_find_files_as_well(store: Path) -> None:
    """As in Python 3.13."""
    plant(store)
    below_a = [path.path for path in (store / "a").glob("**")]
    assert below_a == ["/a", "/a/1.txt", "/a/b", "/a/b/2.txt", "/a/b/c", "/a/b/c/3.csv"]


def test_patterns_on_every_filesystem(top: Path) -> None:
    plant(top)
    assert [path.name for path in top.glob("d/*.txt")] == ["[x].txt"]
    assert [path.name for path in (top / "e*f").glob("*")] == ["4.txt"]
    assert {path.name for path in top.rglob("*.TXT", case_sensitive=False)} == {
        path.name for path in top.rglob("*.txt")
    }
    assert {path.name for path in top.glob("A/*", case_sensitive=False)} == {"1.txt", "b"}
    assert list((top / "none").glob("*")) == list((top / "none").rglob("*")) == []
    assert list((top / "5.txt").rglob("*")) == []


@pytest.mark.parametrize(
    ("pattern", "error"),
    [("", ValueError), ("/a", NotImplementedError), ("a/../b", NotImplementedError)],
)
def test_what_is_no_pattern_is_refused(store: Path, pattern: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        list(store.glob(pattern))


def test_what_cannot_be_listed_is_an_error_of_a_pattern(store: Path) -> None:
    plant(store)
    (store / "a/b").chmod(0)
    stranger = howdah.connect("mem://store/", user="stranger").path("/")
    with pytest.raises(PermissionError):
        list(stranger.rglob("*.txt"))


def test_a_tree_is_walked_as_os_walk_does(top: Path, tmp_path: pathlib.Path) -> None:
    plant(top)
    beside = tmp_path / "beside"
    plant(beside)
    mine = {
        str(path.relative_to(top)): (sorted(directories), sorted(files))
        for path, directories, files in top.walk()
    }
    theirs = {
        os.path.relpath(path, beside): (sorted(directories), sorted(files))
        for path, directories, files in os.walk(beside)
    }
    assert mine == theirs
    seen: list[Path] = []
    for path, directories, _ in top.walk(top_down=False):
        assert all(path / name in seen for name in directories)
        seen.append(path)
    assert seen[-1] == top


def test_a_walk_leaves_out_what_is_taken_out(top: Path) -> None:
    plant(top)
    seen = []
    for path, directories, _ in top.walk():
        seen.append(path.name)
        if "b" in directories:
            directories.remove("b")
    assert "a" in seen
    assert "b" not in seen
    assert "c" not in seen


def test_what_cannot_be_walked_is_told(top: Path) -> None:
    told: list[OSError] = []
    (top / "f").touch()
    assert list((top / "none").walk()) == list((top / "f").walk()) == []
    assert list((top / "none").walk(on_error=told.append)) == []
    assert list((top / "f").walk(on_error=told.append)) == []
    missing, file = told
    assert isinstance(missing, FileNotFoundError)
    assert isinstance(file, NotADirectoryError)
    with pytest.raises(errors.UnsupportedOperation):
        list(top.walk(follow_symlinks=True))


def test_directories_are_made(top: Path) -> None:
    path = top / "x" / "y"
    if not top.fs.uri.startswith("memory"):  # fsspec's makes what is missing
        with pytest.raises(FileNotFoundError):
            path.mkdir()
    path.mkdir(parents=True)
    for options in ({}, {"parents": True}):
        with pytest.raises(FileExistsError):
            path.mkdir(**options)
    path.mkdir(exist_ok=True)
    path.mkdir(parents=True, exist_ok=True)
    (path / "f").touch()
    with pytest.raises(FileExistsError):
        (path / "f").mkdir(exist_ok=True)


def test_a_directory_has_the_mode_that_is_asked_for(store: Path) -> None:
    (store / "d").mkdir(0o700)
    assert stat.S_IMODE((store / "d").stat().st_mode) == 0o700


def test_directories_are_deleted(top: Path) -> None:
    path = top / "x"
    path.mkdir()
    (path / "f").touch()
    with pytest.raises(OSError, match=r"empty|recursive"):
        path.rmdir()
    with pytest.raises(NotADirectoryError):
        (path / "f").rmdir()
    (path / "f").unlink()
    path.rmdir()
    assert not path.exists()
    with pytest.raises(FileNotFoundError):
        path.rmdir()


def test_the_surface_is_pathlibs() -> None:
    """What pathlib of any version has is here, or is nothing that these filesystems have."""
    missing = {
        *("expanduser", "from_uri", "is_block_device", "is_char_device", "is_fifo", "is_junction"),
        *("is_mount", "is_reserved", "is_socket", "lchmod", "link_to", "parser", "with_segments"),
    }
    theirs = {name for name in dir(pathlib.Path) if not name.startswith("_")}
    newer = {"full_match", "walk", "info"}
    assert theirs - missing - set(dir(Path)) == set()
    assert newer <= set(dir(Path))


@pytest.mark.parametrize("name", sorted(fnmatch.filter(dir(Path), "[a-z]*")))
def test_a_member_says_what_it_does(name: str) -> None:
    member = getattr(Path, name)
    assert member.__doc__


def test_importing_howdah_loads_neither_path_nor_open() -> None:
    code = "import howdah, sys; assert 'howdah.fs' not in sys.modules; howdah.open; howdah.Path"
    subprocess.run([sys.executable, "-c", code], check=True)
