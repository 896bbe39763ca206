"""What the fsspec face decides without a server."""

from __future__ import annotations

import asyncio
import errno
import itertools
import random
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fsspec")
import fsspec
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper

from howdah import errors
from howdah.fs.batch_reading import covers
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.registry import connect
from howdah.fsspec import HowdahFileSystem, HowdahViewFileSystem, install
from howdah.fsspec.options import FILESYSTEM, check
from howdah.runtime.users.names import real_user_of


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("replicatoin", "did you mean 'replication'"),
        ("extra_conf", "did you mean 'conf'"),
        ("default_block_size", "did you mean 'block_size'"),
        ("kerberos_ticket", "did you mean 'kerb_ticket'"),
        ("zzz", "there are block_size, conf"),
    ],
)
def test_an_unknown_option_is_named_with_the_nearest_known_one(option: str, said: str) -> None:
    unknown: dict[str, Any] = {option: "x"}
    with pytest.raises(TypeError, match=f"HowdahFileSystem takes no {option!r}.*{said}"):
        HowdahFileSystem("nn", 8020, **unknown)


@pytest.mark.parametrize("user", ["hive", None])
def test_a_user_acts_for_another_one(user: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """`proxy_to` is fsspec's word for it, of its WebHDFS."""
    monkeypatch.setenv("HADOOP_USER_NAME", "hive")
    fs = HowdahFileSystem("nn", 8020, user=user, proxy_to="joe")
    assert isinstance(fs.hdfs, HdfsFileSystem)
    found = fs.hdfs.user
    assert (found, real_user_of(found)) == ("joe", "hive")


def test_options_of_fsspec_itself_are_taken() -> None:
    fs = HowdahFileSystem("nn", 8020, skip_instance_cache=True, use_listings_cache=False)
    assert fs.hdfs.uri == "hdfs://nn:8020"


def test_options_of_a_url_are_those_of_the_filesystem() -> None:
    with pytest.raises(TypeError, match="did you mean 'replication'"):
        fsspec.open("howdah://nn:8020/a", "wb", replicas=2, replicatoin=1)


def test_who_opens_a_file_is_told_of_a_typo_before_anything_is_sent() -> None:
    fs = HowdahFileSystem("nn", 8020)
    with pytest.raises(TypeError, match="opening /a as 'wb' takes no 'replicatoin'"):
        fs.open("/a", "wb", replicatoin=2)
    with pytest.raises(TypeError, match="takes no 'cache_tpye'; did you mean 'cache_type'"):
        fs.open("/a", "rb", cache_tpye="none")


def test_a_url_without_a_host_is_never_the_local_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    with pytest.raises(errors.InvalidConfiguration, match="names no namenode"):
        HowdahFileSystem(conf={"fs.defaultFS": "file:///"})


def test_the_url_of_a_path_can_be_opened_without_install() -> None:
    fs = HowdahFileSystem(host="nn", port=8020)
    assert fs.unstrip_protocol("/a b") == "howdah://nn:8020/a b"
    assert repr(fs) == "HowdahFileSystem('howdah://nn:8020/')"
    again, path = fsspec.url_to_fs(fs.unstrip_protocol("/a b"))
    assert (again, path) == (fs, "/a b")


@pytest.mark.req("FS-047")
def test_a_view_is_opened_by_its_url_and_its_mount_points_are_directories() -> None:
    install()
    place = uuid.uuid4().hex
    conf = {
        "fs.viewfs.mounttable.c.link./a": f"mem://one-{place}/",
        "fs.viewfs.mounttable.c.link./b/c": f"mem://two-{place}/",
    }
    with fsspec.open("viewfs://c/b/c/d/f", "wb", conf=conf) as out:
        out.write(b"text")
    fs, path = fsspec.url_to_fs("viewfs://c/b", conf=conf)
    assert (type(fs), path, fs.unstrip_protocol(path)) == (
        HowdahViewFileSystem,
        "/b",
        "viewfs://c/b",
    )
    assert fs.find("/") == ["/b/c/d/f"]
    assert [each["type"] for each in fs.ls("/")] == ["directory", "directory"]
    assert fs.cat_file("/b/c/d/f", 1, 3) == b"ex"
    fs.cp_file("/b/c/d/f", "/a/g")
    assert fs.find("/") == ["/a/g", "/b/c/d/f"]


def test_check_knows_what_it_is_told() -> None:
    check(["host", "port"], FILESYSTEM, "it")


def test_ranges_are_put_together_and_each_is_within_what_is_read() -> None:
    dice = random.Random(27)
    for _ in range(200):
        starts = [dice.randrange(100) for _ in range(dice.randrange(8))]
        wanted = [(start, start + dice.randrange(20)) for start in starts]
        gap = dice.choice([None, 0, 5])
        reads = covers(wanted, gap)
        for before, after in itertools.pairwise(reads):
            assert after[0] - before[1] > (gap or 0)
        served = {part: read for read in reads for part in read[2]}
        for index, (start, end) in enumerate(wanted):
            if start < end:
                assert served[index][0] <= start < end <= served[index][1]
            else:
                assert index not in served


def _view_of_two(**more: str) -> HowdahFileSystem:
    """A view with the mount points /a, /b and /same, which is where /a is."""
    place = uuid.uuid4().hex[:12]
    table = "fs.viewfs.mounttable.c.link./"
    conf = {
        f"{table}a": f"mem://one-{place}/",
        f"{table}b": f"mem://two-{place}/",
        f"{table}same": f"mem://one-{place}/",
        **more,
    }
    fs = HowdahViewFileSystem("c", conf=conf, skip_instance_cache=True)
    fs.pipe("/a/d/f", b"one")
    fs.pipe("/a/d/e/g", b"two")
    fs.makedirs("/a/d/none")
    fs.makedirs("/b/there")
    return fs


def test_a_move_across_mount_points_copies_and_removes() -> None:
    fs = _view_of_two()
    fs.mv("/a/d/f", "/b/h")
    fs.mv("/a/d", "/b/moved", recursive=True)
    fs.mv("/b/h", "/a/there/")
    assert fs.cat("/a/there/h") == b"one"
    assert fs.cat("/b/moved/e/g") == b"two"
    assert fs.isdir("/b/moved/none")
    assert not fs.exists("/a/d")
    assert not fs.exists("/b/h")


def test_a_move_across_mount_points_goes_into_a_directory_and_replaces_a_file() -> None:
    fs = _view_of_two()
    fs.pipe("/b/there/f", b"before")
    fs.mv("/a/d/f", "/b/there")
    assert fs.cat("/b/there/f") == b"one"
    assert not fs.exists("/a/d/f")


@pytest.mark.parametrize("source", ["/a/d", "/a/d*", ["/a/d"]])
def test_what_is_said_of_files_moves_with_them(source: str | list[str]) -> None:
    fs = _view_of_two()
    for path, mode, time_ms in (("/a/d/f", 0o640, 5000), ("/a/d/e", 0o750, 6000)):
        fs.hdfs.set_permission(path, mode)
        fs.hdfs.set_times(path, time_ms, time_ms)
    fs.mv(source, "/b/there/", recursive=True)
    top = "/b/there/d" if fs.exists("/b/there/d/f") else "/b/there"
    file, directory = (fs.hdfs.get_file_status(f"{top}/{name}") for name in "fe")
    assert (file.permission, file.modification_time_ms) == (0o640, 5000)
    assert (directory.permission, directory.modification_time_ms) == (0o750, 6000)


@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [
        ("/a/d", "/b/there", FileExistsError),  # b/there/d is there
        ("/a/d", "/b/there/d/x", NotADirectoryError),
        ("/a/none", "/b/there", FileNotFoundError),
        ("/a/d/f", "/same/d/f", OSError),
        ("/a/d", "/same/d/below", OSError),
    ],
)
def test_a_move_across_mount_points_that_cannot_be_leaves_what_was_there(
    source: str, target: str, kind: type[Exception]
) -> None:
    fs = _view_of_two()
    fs.pipe("/b/there/d/x", b"three")
    before = [(each, fs.isfile(each) and fs.cat(each)) for each in fs.find("/", withdirs=True)]
    with pytest.raises(kind):
        fs.mv(source, target, recursive=True)
    assert before == [
        (each, fs.isfile(each) and fs.cat(each)) for each in fs.find("/", withdirs=True)
    ]


def test_a_rename_across_mount_points_has_the_number_of_another_device() -> None:
    """As os.rename has, which shutil goes by."""
    fs = _view_of_two()
    with pytest.raises(errors.RemoteError) as caught:
        fs.hdfs.rename("/a/d/f", "/b/f")
    assert caught.value.errno == errno.EXDEV


def test_a_file_that_is_copied_onto_itself_stays() -> None:
    """To begin a copy is to cut off what is there, of which a datanode keeps the bytes for some
    seconds."""
    fs = _view_of_two()
    before = fs.hdfs.get_file_status("/a/d/f")
    fs.cp_file("/a/d/f", "/a/d/f/")
    fs.cp_file("/a/d/f", "/same/d/f")
    assert fs.hdfs.get_file_status("/a/d/f") == before
    assert fs.cat("/a/d/f") == b"one"
    with pytest.raises(FileNotFoundError):
        fs.cp_file("/a/none", "/a/none")


@pytest.mark.parametrize("source", ["/a/d", "/a/d*", ["/a/d"]])
def test_what_a_move_could_not_list_is_not_removed(
    source: str | list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """fsspec leaves out of a tree what cannot be listed, and removes all of the tree."""
    fs = _view_of_two()
    walk = fs.hdfs.walk

    def half(path: str, on_error: Callable[[errors.HowdahError], object]) -> Iterator[Any]:
        for where, directories, files in walk(path, on_error):
            if where == "/a/d/e":
                on_error(errors.Unreachable("/a/d/e: its namenode is away"))
                continue
            yield where, directories, files

    monkeypatch.setattr(fs.hdfs, "walk", half)
    with pytest.raises((errors.Unreachable, errors.DirectoryNotEmpty)):
        fs.mv(source, "/b/moved", recursive=True)
    monkeypatch.undo()
    assert fs.cat("/a/d/e/g") == b"two"
    assert b"one" in [fs.cat(each) for each in fs.find("/")]


@pytest.mark.parametrize("source", ["/a/d", "/a/d*"])
def test_what_is_written_to_while_it_is_moved_is_not_removed(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs = _view_of_two()
    copy = fs.cp_file

    def late(path1: str, path2: str, **options: Any) -> None:
        copy(path1, path2, **options)
        if path1 == "/a/d/f":
            with fs.hdfs.append(path1) as out:
                out.write(b" and more")

    monkeypatch.setattr(fs, "cp_file", late)
    with pytest.raises(errors.FileChanged, match="/a/d/f was written to while it was copied"):
        fs.mv(source, "/b/moved", recursive=True)
    assert fs.cat("/a/d/f") == b"one and more"


def test_a_move_by_a_pattern_takes_all_that_it_has_copied() -> None:
    fs = _view_of_two()
    fs.mv("/a/d*", "/b/there", recursive=True)
    assert fs.find("/b") == ["/b/there/e/g", "/b/there/f"]
    assert fs.ls("/a") == []
    fs.mv(["/b/there/f", "/b/there/e/g"], "/a/all/")
    assert fs.find("/a") == ["/a/all/f", "/a/all/g"]


@pytest.mark.parametrize(
    ("source", "target", "maxdepth"),
    [(["/a/d"], ["/b/x"], None), ("/a/d", "/b/x", 1), ("/a/d*", "/b/x", 1)],
)
def test_a_move_of_a_part_of_a_tree_removes_nothing_else(
    source: Any, target: Any, maxdepth: int | None
) -> None:
    fs = _view_of_two()
    with pytest.raises(errors.DirectoryNotEmpty):
        fs.mv(source, target, recursive=True, maxdepth=maxdepth)
    assert fs.cat("/a/d/e/g") == b"two"
    assert b"one" in [fs.cat(each) for each in fs.find("/")]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("/a/d/f*", "/a/d"),
        ("/a/d/f*", "/a/d/"),
        (["/a/d/f", "/a/d/e/g"], "/a/d/e"),
        (["/a/d/f"], ["/a/d/f/"]),
        (["/a/d/f", "/a/d/e/g"], ["/a/x", "/a/d/e/g/"]),
    ],
)
def test_files_that_are_there_already_are_not_moved(
    source: str | list[str], target: str | list[str]
) -> None:
    """They would be copied onto themselves, and removed."""
    fs = _view_of_two()
    with pytest.raises(FileExistsError):
        fs.mv(source, target)
    assert fs.find("/a") == ["/a/d/e/g", "/a/d/f"]


# --- names that could be patterns -----------------------------------------------------------

NAMES = ("r[1]", "r?", "r*", "[!x]1", "r[1", "r]1[", "**", "[]", "[[]")
NEIGHBOUR = "r1"


def test_a_move_to_some_depth_leaves_the_empty_directories_that_it_did_not_copy() -> None:
    fs = _view_of_two()
    fs.pipe({"/a/top/file": b"1"})
    fs.mkdir("/a/top/empty")
    with pytest.raises(errors.DirectoryNotEmpty):
        fs.mv("/a/top", "/b/there", recursive=True, maxdepth=1)
    assert fs.find("/b/there") == ["/b/there/file"]
    assert fs.find("/a/top", withdirs=True) == ["/a/top", "/a/top/empty"]


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    """The name of a file that could be a pattern for another one."""
    found: str = request.param
    return found


@pytest.fixture
def beside(name: str) -> HowdahFileSystem:
    """A filesystem with two files of each directory: one has the name, one it could match."""
    fs = _view_of_two()
    fs.pipe({f"/a/x/{name}": b"mine", f"/a/x/{NEIGHBOUR}": b"another's"})
    fs.pipe({f"/a/t/{name}/part": b"mine", f"/a/t/{NEIGHBOUR}/part": b"another's"})
    return fs


@pytest.mark.parametrize("as_list", [False, True])
def test_rm_of_a_name_removes_no_neighbour(
    beside: HowdahFileSystem, name: str, as_list: bool
) -> None:
    for path, recursive in ((f"/a/x/{name}", False), (f"/a/t/{name}", True)):
        beside.rm([path] if as_list else path, recursive=recursive)
        assert not beside.exists(path)
    assert beside.find("/a/x") == [f"/a/x/{NEIGHBOUR}"]
    assert beside.find("/a/t") == [f"/a/t/{NEIGHBOUR}/part"]


def test_rm_down_to_a_depth_removes_no_neighbour(beside: HowdahFileSystem, name: str) -> None:
    beside.rm(f"/a/t/{name}", recursive=True, maxdepth=1)
    assert beside.find("/a/t") == [f"/a/t/{NEIGHBOUR}/part"]


@pytest.mark.parametrize("target", ["/a/new", "/b/new"])
def test_mv_of_a_name_moves_no_neighbour(beside: HowdahFileSystem, name: str, target: str) -> None:
    beside.mv(f"/a/x/{name}", target)
    beside.mv(f"/a/t/{name}", f"{target}.tree", recursive=True)
    assert beside.cat(target) == b"mine"
    assert beside.find(f"{target}.tree") == [f"{target}.tree/part"]
    assert beside.find("/a/x") == [f"/a/x/{NEIGHBOUR}"]
    assert beside.find("/a/t") == [f"/a/t/{NEIGHBOUR}/part"]


def test_mv_of_listed_names_moves_no_neighbour(beside: HowdahFileSystem, name: str) -> None:
    beside.mv([f"/a/x/{name}"], "/b/all/")
    assert beside.find("/b/all") == [f"/b/all/{name}"]
    assert beside.find("/a/x") == [f"/a/x/{NEIGHBOUR}"]


def test_cp_of_a_name_copies_that_file_to_the_target(beside: HowdahFileSystem, name: str) -> None:
    beside.cp(f"/a/x/{name}", "/b/file")
    beside.cp(f"/a/x/{name}", "/b/there")
    beside.cp([f"/a/x/{name}"], "/b/listed/")
    beside.cp(f"/a/t/{name}", "/b/tree", recursive=True)
    assert beside.cat("/b/file") == b"mine"
    assert beside.find("/b") == [
        "/b/file", f"/b/listed/{name}", f"/b/there/{name}", "/b/tree/part"
    ]  # fmt: skip


def test_get_of_a_name_fetches_that_file(
    beside: HowdahFileSystem, name: str, tmp_path: Path
) -> None:
    beside.get(f"/a/x/{name}", str(tmp_path / "file"))
    (tmp_path / "there").mkdir()
    beside.get(f"/a/x/{name}", str(tmp_path / "there"))
    beside.get([f"/a/x/{name}"], f"{tmp_path}/listed/")
    beside.get(f"/a/t/{name}", str(tmp_path / "tree"), recursive=True)
    found = {str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*") if each.is_file()}
    assert found == {"file", f"there/{name}", f"listed/{name}", "tree/part"}
    assert (tmp_path / "file").read_bytes() == b"mine"


def test_put_of_a_name_sends_that_file(beside: HowdahFileSystem, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"mine")
    (tmp_path / NEIGHBOUR).write_bytes(b"another's")
    (tmp_path / "tree" / name).mkdir(parents=True)
    (tmp_path / "tree" / name / "part").write_bytes(b"mine")
    beside.put(str(tmp_path / name), "/b/file")
    beside.put(str(tmp_path / name), "/b/there")
    beside.put([str(tmp_path / name)], "/b/listed/")
    beside.put(str(tmp_path / "tree" / name), "/b/tree", recursive=True)
    assert beside.find("/b") == [
        "/b/file", f"/b/listed/{name}", f"/b/there/{name}", "/b/tree/part"
    ]  # fmt: skip
    assert beside.cat("/b/there/" + name) == b"mine"


def test_what_is_asked_of_a_name_is_said_of_that_file(beside: HowdahFileSystem, name: str) -> None:
    path, tree = f"/a/x/{name}", f"/a/t/{name}"
    assert beside.cat(path) == b"mine"
    assert beside.cat([path]) == {path: b"mine"}
    assert beside.cat(tree, recursive=True, on_error="omit") == {f"{tree}/part": b"mine"}
    assert beside.info(path)["size"] == beside.du(path) == beside.size(path) == 4
    assert beside.find(tree) == [f"{tree}/part"]
    assert beside.du(tree, total=False) == {f"{tree}/part": 4}
    assert beside.expand_path(path) == [path]
    assert beside.expand_path([path, tree], recursive=True) == sorted([path, tree, f"{tree}/part"])
    assert path in beside.glob(path)
    with beside.open(path) as stream:
        assert stream.read() == b"mine"


def test_patterns_of_names_that_are_not_there_still_match() -> None:
    fs = _view_of_two()
    fs.pipe({"/a/x/r1": b"1", "/a/x/r2": b"2", "/a/x/s": b"3"})
    assert fs.expand_path("/a/x/r[12]") == ["/a/x/r1", "/a/x/r2"]
    assert fs.cat("/a/x/r?") == {"/a/x/r1": b"1", "/a/x/r2": b"2"}
    fs.cp("/a/x/r?", "/b/copies/")
    fs.cp("/a/x/*1", "/b/one")
    fs.rm("/a/x/r[12]")
    assert fs.find("/a/x") == ["/a/x/s"]
    assert fs.find("/b") == ["/b/copies/r1", "/b/copies/r2", "/b/one/r1"]
    with pytest.raises(FileNotFoundError):
        fs.rm("/a/x/[12]")


def test_a_glob_that_matches_itself_is_a_pattern() -> None:
    fs = _view_of_two()
    fs.pipe({"/a/x/*": b"", "/a/x/y": b""})
    assert fs.glob("/a/x/*") == ["/a/x/*", "/a/x/y"]
    assert list(fs.glob("/a/x/*", detail=True)) == ["/a/x/*", "/a/x/y"]


def test_pyarrow_takes_no_name_for_a_pattern_even_when_it_is_missing() -> None:
    arrow = pytest.importorskip("pyarrow.fs")
    fs = _view_of_two()
    fs.pipe({"/a/r1": b"another's", "/a/run1/part": b"another's"})
    theirs = arrow.PyFileSystem(arrow.FSSpecHandler(fs))
    calls: list[Callable[[], object]] = [
        lambda: theirs.delete_dir("/a/run[1]"),
        lambda: theirs.delete_file("/a/r[1]"),
        lambda: theirs.move("/a/run[1]", "/a/elsewhere"),
        lambda: theirs.copy_file("/a/r[1]", "/a/copy"),
    ]
    for call in calls:
        with pytest.raises(FileNotFoundError):
            call()
    assert fs.find("/a") == ["/a/d/e/g", "/a/d/f", "/a/r1", "/a/run1/part"]


@pytest.mark.parametrize("recursive", [False, True])
def test_rm_of_a_missing_name_by_a_thread_of_a_pool_removes_no_neighbour(recursive: bool) -> None:
    """As zarr does it with an array that it overwrites, and that is not there."""
    fs = _view_of_two()
    fs.pipe({"/a/x1/part": b"another's", "/a/y1": b"another's"})
    theirs = AsyncFileSystemWrapper(fs, asynchronous=True)
    name = "/a/x[1]" if recursive else "/a/y[1]"
    with pytest.raises(FileNotFoundError, match=r"takes no patterns.*fs\.glob"):
        asyncio.run(theirs._rm(name, recursive=recursive))
    assert fs.find("/a") == ["/a/d/e/g", "/a/d/f", "/a/x1/part", "/a/y1"]
    fs.pipe({"/a/x[1]/part": b"mine", "/a/y[1]": b"mine"})
    asyncio.run(theirs._rm(name, recursive=recursive))
    assert not fs.exists(name)


@pytest.mark.parametrize("recursive", [False, True])
def test_a_name_that_another_removes_meanwhile_becomes_no_pattern(
    recursive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs = _view_of_two()
    fs.pipe({"/a/y1": b"another's", "/a/y[1]": b"mine"})
    lexists = fs.lexists

    def removed_behind_the_look(path: str, **kwargs: Any) -> bool:
        is_there = lexists(path, **kwargs)
        if is_there and path == "/a/y[1]":
            fs._hdfs.delete(path, recursive=True)
        return bool(is_there)

    monkeypatch.setattr(fs, "lexists", removed_behind_the_look)
    with ThreadPoolExecutor(1) as pool, pytest.raises(FileNotFoundError):
        pool.submit(fs.rm, "/a/y[1]", recursive=recursive).result()
    fs.pipe("/a/y[1]", b"mine")
    with pytest.raises(FileNotFoundError):
        fs.mv("/a/y[1]", "/a/z")
    assert fs.find("/a") == ["/a/d/e/g", "/a/d/f", "/a/y1"]


def test_rm_by_a_thread_of_a_pool_takes_paths_from_anywhere() -> None:
    fs = _view_of_two()
    fs.pipe({"/a/x1": b"", "/a/x2": b""})
    with ThreadPoolExecutor(1) as pool:
        paths = (f"/a/x{number}" for number in (1, 2))
        pool.submit(fs.rm, paths).result()  # type: ignore[arg-type]
    assert fs.find("/a") == ["/a/d/e/g", "/a/d/f"]


@pytest.mark.parametrize("recursive", [False, True])
def test_rm_by_a_function_on_a_thread_takes_patterns(recursive: bool) -> None:
    fs = _view_of_two()
    fs.pipe({"/a/x/1.csv": b"", "/a/x/2.csv": b"", "/a/x/3": b""})

    def clean() -> None:
        fs.rm("/a/x/*.csv", recursive=recursive)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(clean).result()
    assert fs.find("/a/x") == ["/a/x/3"]


def test_keys_of_a_mapping_are_no_patterns() -> None:
    fs = _view_of_two()
    mapping = fs.get_mapper("/a/map")
    mapping["r1"] = b"another's"
    with pytest.raises(KeyError):
        mapping["r[1]"]
    with pytest.raises(KeyError):
        del mapping["r[1]"]
    mapping["r[1]"] = b"mine"
    assert mapping["r[1]"] == b"mine"
    assert mapping.getitems(["r[1]", "r[2]"], on_error="omit") == {"r[1]": b"mine"}
    del mapping["r[1]"]
    assert dict(mapping) == {"r1": b"another's"}


@pytest.mark.parametrize("target", ["/new/", "/new/deeper/", "/new/name"])
def test_mv_of_what_is_not_there_leaves_nothing(target: str) -> None:
    fs = fsspec.filesystem("howdah", host="h", skip_instance_cache=True)
    fs._hdfs = connect("mem://mv_of_nothing/")
    with pytest.raises(FileNotFoundError):
        fs.mv("/not-there", target)
    with pytest.raises(FileNotFoundError):
        fs.mv("/not-there", target, recursive=True)
    assert fs.hdfs.list_status("/") == []


@pytest.mark.parametrize("as_list", [False, True])
def test_rm_of_names_below_each_other_removes_them_all(as_list: bool) -> None:
    fs = _view_of_two()
    fs.pipe(dict.fromkeys(("/a/t/a/b/f", "/a/t/a/g", "/a/t/c/h", "/a/t/i"), b"x"))
    fs.rm(fs.find("/a/t", withdirs=True) if as_list else "/a/t/*/**", recursive=True)
    assert fs.find("/a/t") == ([] if as_list else ["/a/t/i"])


@pytest.mark.parametrize(
    ("source", "target"),
    [(["/m1/f"], ["/m2/f"]), ("/m1/f*", "/m2/"), (["/m1/f", "/m1/g"], "/m2/"), ("/m1/f", "/m2/f")],
)
def test_move_between_two_names_of_one_place_removes_nothing(
    tmp_path: Path, source: str | list[str], target: str | list[str]
) -> None:
    """Two mount points may lead to one directory: what was copied there is what is removed."""
    for name in "fg":
        (tmp_path / name).write_text(name)
    conf = {f"fs.viewfs.mounttable.c.link./m{n}": tmp_path.as_uri() for n in (1, 2)}
    fs = HowdahViewFileSystem("c", conf=conf, skip_instance_cache=True)
    with pytest.raises(errors.AcrossMountPoints, match="are one file"):
        fs.mv(source, target)
    assert [(tmp_path / name).read_text() for name in "fg"] == ["f", "g"]


@pytest.mark.parametrize("by_fsspec", [True, False])
def test_a_file_that_another_makes_meanwhile_is_appended_to(
    monkeypatch: pytest.MonkeyPatch, *, by_fsspec: bool
) -> None:
    """Two who begin one log at once: nobody's lines are gone."""
    fs = HowdahFileSystem("nn", 8020, skip_instance_cache=True)
    fs._hdfs = connect(f"mem://{uuid.uuid4().hex}/")
    asked = fs.hdfs.get_file_status
    nobody_has_made_it = True

    def too_early(path: str) -> object:
        nonlocal nobody_has_made_it
        if nobody_has_made_it:
            nobody_has_made_it = False
            fs.hdfs.write_bytes("/log", b"theirs\n")
            raise errors.PathNotFound("it was not there")
        return asked(path)

    monkeypatch.setattr(fs.hdfs, "get_file_status", too_early)
    with (fs if by_fsspec else fs.hdfs).open("/log", "ab") as out:
        out.write(b"ours\n")
    assert fs.cat_file("/log") == b"theirs\nours\n"


@pytest.mark.parametrize("value", ["text", None, 1.5])
def test_what_holds_no_bytes_leaves_the_old_file(value: Any) -> None:
    fs = HowdahFileSystem("nn", 8020, skip_instance_cache=True)
    fs._hdfs = connect(f"mem://{uuid.uuid4().hex}/")
    fs.pipe("/f", bytearray(b"old"))
    with pytest.raises(TypeError):
        fs.pipe("/f", value)
    assert fs.cat_file("/f") == b"old"


def test_a_transaction_that_fails_leaves_nothing_behind() -> None:
    """Also of a file that cannot be closed, and of those behind it."""
    fs = HowdahFileSystem("nn", 8020, skip_instance_cache=True)
    fs._hdfs = connect(f"mem://{uuid.uuid4().hex}/")

    def fails() -> None:
        with fs.transaction:
            first, second = fs.open("/f", "wb"), fs.open("/g", "wb")
            first.write(b"content")
            second.write(b"content")
            fs.hdfs.recover_lease(first.temporary_path)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert fs.hdfs.list_status("/") == []
