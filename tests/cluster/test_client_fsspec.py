"""The fsspec face on real servers; fsspec's own suite is in tests/compat."""

from __future__ import annotations

import io
import itertools
import pickle
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster

fsspec = pytest.importorskip("fsspec")
from howdah.fsspec import HowdahFileSystem, install  # noqa: E402

MIB = 1 << 20
DATA = random.Random(6).randbytes(2 * MIB + 11)
_numbers = itertools.count()


@pytest.fixture
def url(howdah_cluster: MiniCluster) -> str:
    return howdah_cluster.uri.replace("hdfs://", "howdah://")


@pytest.fixture
def hfs(howdah_cluster: MiniCluster, url: str) -> HowdahFileSystem:
    options = HowdahFileSystem._get_kwargs_from_urls(url)
    return HowdahFileSystem(**options)


@pytest.fixture
def here(hfs: HowdahFileSystem) -> str:
    path = f"/fsspec/{next(_numbers)}"
    hfs.makedirs(path)
    return path


# --- URLs ------------------------------------------------------------------------------


def test_a_url_opens_a_file(url: str, here: str) -> None:
    with fsspec.open(f"{url}{here}/f", "wb") as out:
        out.write(b"content")
    with fsspec.open(f"{url}{here}/f", "rb") as stream:
        assert stream.read() == b"content"


def test_a_url_opens_a_file_as_text_and_compressed(url: str, here: str) -> None:
    with fsspec.open(f"{url}{here}/f.gz", "wt", compression="infer", encoding="utf-8") as out:
        out.write("grüße\n" * 1000)
    with fsspec.open(f"{url}{here}/f.gz", "rt", compression="infer", encoding="utf-8") as stream:
        assert stream.read() == "grüße\n" * 1000


def test_install_takes_over_hdfs(howdah_cluster: MiniCluster, here: str) -> None:
    install()
    with fsspec.open(f"{howdah_cluster.uri}{here}/f", "wb") as out:
        out.write(b"x")
    fs, path = fsspec.url_to_fs(f"{howdah_cluster.uri}{here}/f")
    assert isinstance(fs, HowdahFileSystem)
    assert path == f"{here}/f"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("howdah://host:8020/a/b", "/a/b"),
        ("hdfs://host/a/", "/a"),
        ("howdah://host", "/"),
        ("/a/b/", "/a/b"),
        ("a/b", "/a/b"),
        ("", "/"),
        ("howdah://host/a%20b?c#d", "/a%20b?c#d"),
        ("/a//b/./../c/.d", "/a/c/.d"),
    ],
)
def test_paths_have_no_protocol_and_no_trailing_slash(given: str, expected: str) -> None:
    assert HowdahFileSystem._strip_protocol(given) == expected


def test_a_path_with_dots_means_what_it_leads_to(
    hfs: HowdahFileSystem, here: str, tmp_path: Path
) -> None:
    for name in ("f", "c/g"):
        hfs.pipe_file(f"{here}/a/{name}", b"x")
    dotted = f"{here}/none/../a"
    assert hfs.glob(f"{dotted}/*") == [f"{here}/a/c", f"{here}/a/f"]
    assert hfs.find(dotted, withdirs=True)[0] == f"{here}/a"
    assert hfs.cat([f"{dotted}/f"]) == {f"{here}/a/f": b"x"}
    hfs.cp(dotted, f"{here}/copy", recursive=True)
    assert hfs.find(f"{here}/copy") == [f"{here}/copy/c/g", f"{here}/copy/f"]
    hfs.get(dotted, str(tmp_path / "got"), recursive=True)
    assert (tmp_path / "got" / "c" / "g").read_bytes() == b"x"


def test_host_port_and_user_come_from_the_url() -> None:
    assert HowdahFileSystem._get_kwargs_from_urls("howdah://anna@host:1234/a") == {
        "host": "host",
        "port": 1234,
        "user": "anna",
    }


def test_a_path_gets_its_url_back(hfs: HowdahFileSystem, howdah_cluster: MiniCluster) -> None:
    assert hfs.unstrip_protocol("/a") == howdah_cluster.uri.replace("hdfs:", "howdah:") + "/a"


def test_a_filesystem_is_pickled(hfs: HowdahFileSystem, here: str) -> None:
    hfs.pipe_file(f"{here}/f", b"x")
    again = pickle.loads(pickle.dumps(hfs))
    assert again.cat_file(f"{here}/f") == b"x"


@pytest.mark.parametrize("options", [{}, {"cache_type": "readahead"}])
def test_a_file_that_is_read_is_pickled_with_its_position(
    hfs: HowdahFileSystem, here: str, options: dict[str, Any]
) -> None:
    hfs.pipe_file(f"{here}/f", b"0123456789")
    with hfs.open(f"{here}/f", **options) as file:
        assert file.read(3) == b"012"
        with pickle.loads(pickle.dumps(file)) as again:
            assert again.read() == b"3456789"
        assert file.read() == b"3456789"


def test_a_file_that_is_written_is_not_pickled(hfs: HowdahFileSystem, here: str) -> None:
    with hfs.open(f"{here}/f", "wb") as file, pytest.raises(TypeError, match="pickle"):
        pickle.dumps(file)


# --- looking ---------------------------------------------------------------------------


def test_info_names_the_path_its_size_and_its_type(hfs: HowdahFileSystem, here: str) -> None:
    hfs.pipe_file(f"{here}/f", b"12345")
    info = hfs.info(f"{here}/f")
    assert (info["name"], info["size"], info["type"]) == (f"{here}/f", 5, "file")
    assert hfs.info(here)["type"] == "directory"
    assert hfs.info(here)["size"] == 0


def test_ls_gives_names_or_infos(hfs: HowdahFileSystem, here: str) -> None:
    hfs.pipe_file(f"{here}/f", b"1")
    hfs.mkdir(f"{here}/d")
    assert hfs.ls(here, detail=False) == [f"{here}/d", f"{here}/f"]
    assert hfs.ls(here)[1] == hfs.info(f"{here}/f")
    assert hfs.ls(f"{here}/f", detail=False) == [f"{here}/f"]


def test_what_is_not_there_is_a_file_not_found_error(hfs: HowdahFileSystem, here: str) -> None:
    for call in (hfs.info, hfs.ls, hfs.cat_file, hfs.rm, hfs.modified, hfs.rm_file, hfs.open):
        with pytest.raises(FileNotFoundError):
            call(f"{here}/none")
    assert not hfs.exists(f"{here}/none")


def test_opening_a_directory_is_an_error_that_says_so(hfs: HowdahFileSystem, here: str) -> None:
    with pytest.raises(IsADirectoryError, match=here):
        hfs.open(here)


@pytest.mark.req("FS-084")
def test_du_find_and_glob(hfs: HowdahFileSystem, here: str) -> None:
    hfs.pipe({f"{here}/a/b/1.txt": b"1", f"{here}/a/2.txt": b"22", f"{here}/3.csv": b"333"})
    assert hfs.du(here) == 6
    assert hfs.du(here, total=False) == {
        f"{here}/a/b/1.txt": 1,
        f"{here}/a/2.txt": 2,
        f"{here}/3.csv": 3,
    }
    assert hfs.glob(f"{here}/**/*.txt") == [f"{here}/a/2.txt", f"{here}/a/b/1.txt"]
    assert hfs.find(here) == [f"{here}/3.csv", f"{here}/a/2.txt", f"{here}/a/b/1.txt"]


def test_modified_is_an_aware_time(hfs: HowdahFileSystem, here: str) -> None:
    hfs.pipe_file(f"{here}/f", b"1")
    modified = hfs.modified(f"{here}/f")
    assert modified.tzinfo is not None
    assert abs(modified.timestamp() - hfs.info(f"{here}/f")["mtime"]) < 0.001


def test_checksums_follow_the_content(hfs: HowdahFileSystem, here: str) -> None:
    hfs.pipe({f"{here}/a": b"same", f"{here}/b": b"same", f"{here}/c": b"other"})
    a, b, c = (hfs.checksum(f"{here}/{name}") for name in "abc")
    assert a == b != c


# --- content ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (None, None),
        (0, 10),
        (5, None),
        (None, 7),
        (-10, None),
        (-10, -5),
        (MIB - 3, MIB + 3),
        (10, 5),
        (10 * MIB, None),
        (0, 10 * MIB),
        (-10 * MIB, 4),
    ],
)
def test_ranges_are_pythons_slices(
    hfs: HowdahFileSystem, here: str, start: int | None, end: int | None
) -> None:
    hfs.pipe_file(f"{here}/f", DATA, hdfs_block_size=MIB)
    assert hfs.cat_file(f"{here}/f", start, end) == DATA[start:end]


def test_many_ranges_of_many_files_come_in_order(hfs: HowdahFileSystem, here: str) -> None:
    hfs.pipe({f"{here}/a": DATA, f"{here}/b": DATA[::-1]})
    got = hfs.cat_ranges(
        [f"{here}/a", f"{here}/b", f"{here}/none", f"{here}/a"],
        [0, 5, 0, MIB],
        [10, 15, 5, MIB + 10],
    )
    assert got[0] == DATA[:10]
    assert got[1] == DATA[::-1][5:15]
    assert isinstance(got[2], FileNotFoundError)
    assert got[3] == DATA[MIB : MIB + 10]


def test_many_files_are_read_at_once_and_come_in_order(
    hfs: HowdahFileSystem, here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{here}/{number}" for number in range(30)]
    hfs.pipe({name: name.encode() for name in names})
    together = threading.Barrier(3, timeout=60)  # Nobody goes on before three have begun.
    open_one = hfs.hdfs.open

    def open_with_others(path: str) -> Any:
        together.wait()
        return open_one(path)

    monkeypatch.setattr(hfs.hdfs, "open", open_with_others)
    wanted = list(reversed(names))
    assert list(hfs.cat(wanted).items()) == [(name, name.encode()) for name in sorted(names)]
    assert hfs.cat_ranges(wanted, 0, 3) == [b"/fs"] * 30
    assert [t.name for t in threading.enumerate() if t.name.startswith("howdah-cat")] == []


def test_what_becomes_of_files_that_cannot_be_read_is_the_callers_choice(
    hfs: HowdahFileSystem, here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hfs.pipe({f"{here}/{name}": b"x" for name in "ac"})
    names = [f"{here}/{name}" for name in "abc"]
    # It leaves out what isn't there; what is deleted later is met by the reads.
    monkeypatch.setattr(hfs, "expand_path", lambda path, **_: path)
    with pytest.raises(FileNotFoundError, match=f"{here}/b"):
        hfs.cat(names)
    assert hfs.cat(names, on_error="omit") == {names[0]: b"x", names[2]: b"x"}
    returned = hfs.cat(names, on_error="return")
    assert isinstance(returned[names[1]], FileNotFoundError)
    assert list(returned) == names
    with pytest.raises(FileNotFoundError, match=f"{here}/b"):
        hfs.cat_ranges(names, 0, 1, on_error="raise")


def test_append_mode_adds_or_creates(hfs: HowdahFileSystem, here: str) -> None:
    for piece in (b"a", b"b", b"c"):
        with hfs.open(f"{here}/f", "ab") as out:
            out.write(piece)
    assert hfs.cat_file(f"{here}/f") == b"abc"


def test_replication_and_block_size_are_passed_on(hfs: HowdahFileSystem, here: str) -> None:
    with hfs.open(f"{here}/f", "wb", replication=1, hdfs_block_size=MIB) as out:
        out.write(b"x")
    info = hfs.info(f"{here}/f")
    assert (info["replication"], info["blocksize"]) == (1, MIB)


def test_an_unknown_mode_is_refused(hfs: HowdahFileSystem, here: str) -> None:
    with pytest.raises(ValueError, match=r"r\+b"):
        hfs.open(f"{here}/f", "r+b")


def test_a_file_object_is_copied_from_and_to(hfs: HowdahFileSystem, here: str) -> None:
    hfs.pipe_file(f"{here}/f", DATA)
    target = io.BytesIO()
    hfs.get_file(f"{here}/f", target)
    assert target.getvalue() == DATA


# --- moving and deleting -----------------------------------------------------------------


def test_mv_renames_files_and_trees(hfs: HowdahFileSystem, here: str) -> None:
    hfs.pipe({f"{here}/a/1": b"1", f"{here}/f": b"f"})
    file_id = hfs.info(f"{here}/f")["file_id"]
    hfs.mv(f"{here}/f", f"{here}/g")
    assert hfs.info(f"{here}/g")["file_id"] == file_id
    hfs.mv(f"{here}/a", f"{here}/b", recursive=True)
    assert hfs.cat_file(f"{here}/b/1") == b"1"


def test_mv_moves_into_a_directory(hfs: HowdahFileSystem, here: str) -> None:
    hfs.pipe_file(f"{here}/f", b"f")
    hfs.mkdir(f"{here}/d")
    hfs.mv(f"{here}/f", f"{here}/d")
    assert hfs.ls(f"{here}/d", detail=False) == [f"{here}/d/f"]


def test_mv_of_a_directory_wants_recursive(hfs: HowdahFileSystem, here: str) -> None:
    hfs.mkdir(f"{here}/d")
    with pytest.raises(IsADirectoryError):
        hfs.mv(f"{here}/d", f"{here}/e")


def test_rm_takes_lists_patterns_and_trees(hfs: HowdahFileSystem, here: str) -> None:
    hfs.pipe({f"{here}/{name}": b"" for name in ("a1", "a2", "b", "d/1", "d/e/2")})
    hfs.rm([f"{here}/b"])
    hfs.rm(f"{here}/a*")
    hfs.rm(f"{here}/d", recursive=True)
    assert hfs.ls(here) == []


def test_rmdir_takes_empty_directories_only(hfs: HowdahFileSystem, here: str) -> None:
    hfs.pipe_file(f"{here}/d/f", b"")
    with pytest.raises(OSError, match="non empty"):
        hfs.rmdir(f"{here}/d")
    with pytest.raises(NotADirectoryError):
        hfs.rmdir(f"{here}/d/f")
    hfs.rm_file(f"{here}/d/f")
    hfs.rmdir(f"{here}/d")
    assert not hfs.exists(f"{here}/d")


def test_touch_makes_truncates_or_only_touches(hfs: HowdahFileSystem, here: str) -> None:
    hfs.touch(f"{here}/f")
    assert hfs.info(f"{here}/f")["size"] == 0
    hfs.pipe_file(f"{here}/f", b"x")
    hfs.touch(f"{here}/f", truncate=False)
    assert hfs.cat_file(f"{here}/f") == b"x"
    hfs.touch(f"{here}/f")
    assert hfs.cat_file(f"{here}/f") == b""


# --- transactions ------------------------------------------------------------------------


def test_files_of_a_transaction_appear_together(hfs: HowdahFileSystem, here: str) -> None:
    with hfs.transaction:
        for name in ("a", "b"):
            with hfs.open(f"{here}/{name}", "wb") as out:
                out.write(name.encode())
        assert not hfs.exists(f"{here}/a")
        assert not hfs.exists(f"{here}/b")
    assert hfs.cat(f"{here}/*") == {f"{here}/a": b"a", f"{here}/b": b"b"}


def test_a_failed_transaction_leaves_nothing(hfs: HowdahFileSystem, here: str) -> None:
    def fail() -> None:
        with hfs.transaction:
            with hfs.open(f"{here}/a", "wb") as out:
                out.write(b"a")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert hfs.ls(here) == []


# --- pandas and pyarrow --------------------------------------------------------------------


def test_pandas_writes_and_reads_parquet_and_csv(url: str, here: str) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"a": range(10_000), "b": [f"row {n}" for n in range(10_000)]})
    frame.to_parquet(f"{url}{here}/frame.parquet")
    frame.to_csv(f"{url}{here}/frame.csv", index=False)
    assert pandas.read_parquet(f"{url}{here}/frame.parquet").equals(frame)
    assert pandas.read_csv(f"{url}{here}/frame.csv").equals(frame)


def test_pyarrow_reads_one_column_of_a_partitioned_dataset(
    hfs: HowdahFileSystem, here: str
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    dataset = pytest.importorskip("pyarrow.dataset")
    table = pyarrow.table({"key": [n % 3 for n in range(3000)], "value": list(range(3000))})
    dataset.write_dataset(
        table, f"{here}/set", filesystem=hfs, format="parquet", partitioning=["key"]
    )
    back = dataset.dataset(
        f"{here}/set", filesystem=hfs, format="parquet", partitioning=["key"]
    ).to_table(columns=["value"])
    assert sorted(back["value"].to_pylist()) == list(range(3000))


def test_a_wheel_of_small_reads_is_a_seekable_file(
    hfs: HowdahFileSystem, here: str, tmp_path: Path
) -> None:
    import zipfile

    with hfs.open(f"{here}/a.zip", "wb") as out, zipfile.ZipFile(out, "w") as archive:
        for number in range(20):
            archive.writestr(f"{number}.txt", f"content {number}" * 1000)
    with hfs.open(f"{here}/a.zip", "rb") as stream, zipfile.ZipFile(stream) as archive:
        assert archive.testzip() is None
        assert archive.read("7.txt") == b"content 7" * 1000


# --- what other parts of fsspec build on -----------------------------------------------------


def test_ranges_that_lie_close_together_are_one_read(hfs: HowdahFileSystem, here: str) -> None:
    hfs.pipe_file(f"{here}/f", DATA)
    starts = [0, 10, 5, 300_000, 0]
    ends = [10, 20, 15, 300_010, 0]
    expected = [DATA[a:b] for a, b in zip(starts, ends, strict=True)]
    for max_gap in (None, 0, 1 << 20):
        assert hfs.cat_ranges([f"{here}/f"] * 5, starts, ends, max_gap=max_gap) == expected


def test_a_tree_is_found_with_a_call_for_many_directories(
    hfs: HowdahFileSystem, here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{here}/{number}/f" for number in range(20)]
    for name in names:
        hfs.touch(name)
    calls: list[str] = []
    assert isinstance(hfs.hdfs, HdfsFileSystem)
    namenode = hfs.hdfs.client.namenode
    call = namenode.call

    def counted(method: str, *rest: Any) -> Any:
        calls.append(method)
        return call(method, *rest)

    monkeypatch.setattr(namenode, "call", counted)
    assert hfs.find(here) == sorted(names)
    assert len(calls) <= 3, calls
    assert hfs.find(here, maxdepth=1, withdirs=True) == sorted(
        [here, *(f"{here}/{number}" for number in range(20))]
    )
    assert list(hfs.find(f"{here}/3/f", detail=True)) == [f"{here}/3/f"]
    assert hfs.find(f"{here}/none") == []


def test_a_walk_spares_what_is_taken_out(hfs: HowdahFileSystem, here: str) -> None:
    for name in ("a/x", "b/y"):
        hfs.touch(f"{here}/{name}")
    seen = []
    for path, directories, _ in hfs.walk(here, detail=True):
        directories.pop("a", None)
        seen.append(path)
    assert seen == [here, f"{here}/b"]


@pytest.mark.parametrize("cache_type", ["none", "readahead", "bytes", "all", "blockcache"])
def test_a_cache_that_is_named_is_used(hfs: HowdahFileSystem, here: str, cache_type: str) -> None:
    hfs.pipe_file(f"{here}/f", DATA)
    with hfs.open(f"{here}/f", "rb", cache_type=cache_type, block_size=1 << 16) as stream:
        assert stream.blocksize == 1 << 16
        assert stream.cache.name == cache_type
        stream.seek(MIB)
        assert stream.read(100_000) == DATA[MIB : MIB + 100_000]
    with pytest.raises(ValueError, match="closed"):
        stream.read(1)


@pytest.mark.parametrize("protocol", ["blockcache", "filecache", "simplecache"])
def test_local_caches_of_fsspec_are_filled(
    url: str, here: str, protocol: str, tmp_path: Path
) -> None:
    with fsspec.open(f"{url}{here}/f", "wb") as out:
        out.write(DATA)
    for _ in range(2):
        with fsspec.open(
            f"{protocol}::{url}{here}/f", "rb", **{protocol: {"cache_storage": str(tmp_path)}}
        ) as stream:
            stream.seek(MIB)
            assert stream.read(1000) == DATA[MIB : MIB + 1000]
    assert list(tmp_path.iterdir())


def test_fsspecs_rsync_copies_here_and_back(url: str, here: str, tmp_path: Path) -> None:
    from fsspec.generic import rsync

    (tmp_path / "in" / "below").mkdir(parents=True)
    (tmp_path / "in" / "below" / "f").write_bytes(DATA)
    options = {"default_method": "options"}
    rsync(f"file://{tmp_path}/in", f"{url}{here}/copy", inst_kwargs=options)
    rsync(f"{url}{here}/copy", f"file://{tmp_path}/out", inst_kwargs=options)
    assert (tmp_path / "out" / "below" / "f").read_bytes() == DATA


@pytest.mark.parametrize(
    "ask",
    [
        lambda fs, at: fs.open(f"{at}/gone"),
        lambda fs, at: fs.cat(f"{at}/gone"),
        lambda fs, at: fs.info(f"{at}/gone"),
        lambda fs, at: fs.ls(f"{at}/gone"),
        lambda fs, at: fs.rm(f"{at}/gone"),
        lambda fs, at: fs.rm_file(f"{at}/gone"),
        lambda fs, at: fs.rmdir(f"{at}/gone"),
        lambda fs, at: fs.mv(f"{at}/gone", f"{at}/n"),
        lambda fs, at: fs.cp_file(f"{at}/gone", f"{at}/n"),
        lambda fs, at: fs.get_file(f"{at}/gone", "/tmp/never"),
        lambda fs, at: fs.checksum(f"{at}/gone"),
        lambda fs, at: fs.modified(f"{at}/gone"),
        lambda fs, at: fs.du(f"{at}/gone"),
        lambda fs, at: fs.chmod(f"{at}/gone", 0o700),
    ],
)
def test_what_is_not_there_is_the_filename_of_the_error(
    hfs: HowdahFileSystem, here: str, ask: Any
) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        ask(hfs, here)
    assert raised.value.filename == f"{here}/gone"


def test_what_is_there_is_the_filename_of_the_error(hfs: HowdahFileSystem, here: str) -> None:
    hfs.pipe_file(f"{here}/f", b"f")
    for ask in (hfs.mkdir, hfs.makedirs, lambda path: hfs.open(path, "xb")):
        with pytest.raises(FileExistsError) as raised:
            ask(f"{here}/f")
        assert raised.value.filename == f"{here}/f"


def test_what_is_said_of_files_moves_with_those_that_a_pattern_names(
    hfs: HowdahFileSystem, here: str
) -> None:
    fs = hfs.hdfs
    hfs.makedirs(f"{here}/to")
    with fs.create(f"{here}/a1", block_size=2 * MIB, replication=1) as out:
        out.write(b"1")
    fs.set_xattr(f"{here}/a1", "user.note", b"kept")
    fs.set_storage_policy(f"{here}/a1", "COLD")
    fs.set_owner(f"{here}/a1", "anna", "staff")
    fs.set_times(f"{here}/a1", 5000, 6000)
    fs.set_permission(f"{here}/a1", 0o400)
    hfs.mv(f"{here}/a*", f"{here}/to/")
    assert hfs.find(here) == [f"{here}/to/a1"]
    found = fs.get_file_status(f"{here}/to/a1")
    assert (found.block_size, found.replication) == (2 * MIB, 1)
    assert (found.owner, found.group, found.permission) == ("anna", "staff", 0o400)
    assert (found.modification_time_ms, found.access_time_ms) == (5000, 6000)
    assert fs.get_xattrs(found.path) == {"user.note": b"kept"}
    assert fs.get_storage_policy(found.path).name == "COLD"
