"""Trees are listed by pages of keys: the same as directory by directory, in few requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.request import urlopen

import pytest

import howdah.fsspec
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.copy.options import Options
from howdah.fs.api import FileSystem
from howdah.fs.objects.filesystem import ObjectFileSystem
from howdah.fs.status import FileStatus
from howdah.sync import sync
from tests.support.objects.clouds import CloudServer
from tests.support.objects.store import StoreServer, stub_server

DIRECTORIES = 20
FILES = [
    *(f"/t/{number:02}/{name}" for number in range(DIRECTORIES) for name in ("a", "b")),
    *("/t/07/c/d/e", "/t/07-x/a", "/t/07.y", "/t/zz", "/other/file"),
]
EMPTY = ["/t/07/empty", "/t/07-/empty", "/t/empty"]


def make(fs: FileSystem) -> None:
    for path in FILES:
        with fs.create(path) as out:
            out.write(path.encode())
    for path in EMPTY:
        fs.mkdirs(path)


def one_by_one(fs: FileSystem, top: str) -> Sequence[object]:
    """The walk that every filesystem has: a listing for each directory."""
    return _sorted(FileSystem.walk(fs, top))


def _sorted(walk: Iterator[tuple[str, list[FileStatus], list[FileStatus]]]) -> Sequence[object]:
    return sorted(
        (path, sorted(map(repr, directories)), sorted(map(repr, files)))
        for path, directories, files in walk
    )


def check(fs: ObjectFileSystem) -> None:
    for top in ("/", "/t", "/t/07", "/t/zz", "/t/empty"):
        assert _sorted(fs.walk(top)) == one_by_one(fs, top)
    kept = []
    for path, directories, _ in fs.walk("/t"):
        kept.append(path)
        directories[:] = [each for each in directories if each.name in ("07", "c")]
    assert kept == ["/t", "/t/07", "/t/07/c"]


@pytest.mark.req("FS-190")
@pytest.mark.parametrize("page", ["3", "10", "1000"])
def test_a_walk_is_as_its_directories_are(store: StoreServer, bucket: str, page: str) -> None:
    with store.connect(bucket, paging_maximum=page) as fs:
        make(fs)
        check(fs)


@pytest.mark.req("FS-190")
def test_a_walk_of_any_cloud_is_as_its_directories_are(cloud: CloudServer) -> None:
    with cloud.connect(cloud.new_bucket()) as fs:
        make(fs)
        check(fs)
        before = fs.store_calls
        list(fs.walk("/t"))
        assert fs.store_calls - before <= 2


@pytest.fixture(scope="module")
def quick() -> Iterator[StoreServer]:
    """The quick store, which tells how many requests it had."""
    with stub_server() as started:
        with started.connect("bucket") as fs:
            make(fs)
        yield started


def calls(server: StoreServer) -> int:
    with urlopen(f"{server.endpoint}/?calls", timeout=60) as answer:
        return int(answer.read())


class Counted:
    """How many requests there were within a context."""

    def __init__(self, server: StoreServer) -> None:
        self._server = server

    def __enter__(self) -> Counted:
        self._before = calls(self._server)
        return self

    def __exit__(self, *_: object) -> None:
        self.number = calls(self._server) - self._before - 1


@pytest.mark.req("FS-190")
def test_twenty_directories_take_one_request(quick: StoreServer) -> None:
    with quick.connect("bucket") as fs, Counted(quick) as counted:
        assert len(list(fs.walk("/t"))) > DIRECTORIES
    assert counted.number == 1


@pytest.mark.req("FS-190")
def test_the_shell_lists_and_finds_in_few_requests(
    quick: StoreServer, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [f"-D{name}={value}" for name, value in quick.keys().items()]

    def said(*words: str) -> tuple[list[str], int]:
        with Counted(quick) as counted:
            assert main(["dfs", *options, *words]) == 0
        lines = capsys.readouterr().out.splitlines()
        return [line.removeprefix("s3://bucket") for line in lines], counted.number

    directories = {"/".join(each.split("/")[:count]) for each in FILES for count in range(3, 6)}
    wanted = {each for each in [*FILES, *EMPTY, *directories, "/t/07-"] if each.startswith("/t/")}
    listed, number = said("-ls", "-R", "-C", "s3://bucket/t")
    assert set(listed) == wanted
    # In depth, by name.
    assert listed.index("/t/07/c/d/e") < listed.index("/t/07-")
    assert number <= 4
    found, number = said("-find", "s3://bucket/t", "-name", "*")
    assert found == ["/t", *listed]
    assert number <= 4


@pytest.mark.req("FS-190")
def test_fsspec_finds_and_globs_in_few_requests(quick: StoreServer) -> None:
    fs = howdah.fsspec.HowdahS3FileSystem("bucket", conf=quick.keys())
    below = sorted(each for each in FILES if each.startswith("/t/"))
    with Counted(quick) as counted:
        assert fs.find("/t") == below
    assert counted.number == 1
    with Counted(quick) as counted:
        assert len(fs.find("/t", maxdepth=2)) == len(below) - 1
    assert counted.number == 1
    with Counted(quick) as counted:
        assert fs.glob("/t/*/a") == [each for each in below if each.endswith("/a")]
    # fsspec asks for the directory, too.
    assert counted.number <= 5


@pytest.mark.req("FS-190", "FS-194")
def test_a_mirror_lists_both_sides_in_few_requests(quick: StoreServer, tmp_path: Path) -> None:
    conf = Configuration(quick.keys())
    target = f"file://{tmp_path}/t"
    made = sync("s3://bucket/t", target, processes=1, conf=conf)
    assert made.counters.files_copied == len(FILES) - 1
    there = {f"/{each.relative_to(tmp_path)}" for each in tmp_path.rglob("*")}
    assert {*FILES, *EMPTY} - {"/other/file"} <= there
    for source, other in (("s3://bucket/t", target), (target, "s3://bucket/t")):
        with Counted(quick) as counted:
            looked = sync(
                source,
                other,
                processes=1,
                conf=conf,
                options=Options(dry_run=True, delete=True, overwrite=True),
            )
        assert looked.counters.entries_deleted == 0
        assert counted.number < 10
