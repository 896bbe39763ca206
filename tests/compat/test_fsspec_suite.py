"""fsspec's own suite on our face for fsspec, and what is built on fsspec: pandas, pyarrow."""

from __future__ import annotations

import importlib
import random
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

from fsspec.tests.abstract import (  # noqa: E402
    AbstractCopyTests,
    AbstractFixtures,
    AbstractGetTests,
    AbstractOpenTests,
    AbstractPipeTests,
    AbstractPutTests,
)

import howdah.fsspec  # noqa: E402
from howdah.fsspec import HowdahFileSystem  # noqa: E402
from howdah.runtime import sockets  # noqa: E402
from howdah.testing import MiniCluster  # noqa: E402

MIB = 1 << 20
# A range is read in whole chunks of checksums, and comes with them and with headers.
OVERHEAD_BYTES = 4096


def content(length: int) -> bytes:
    return random.Random(length).randbytes(length)


@pytest.fixture(scope="module")
def url(howdah_cluster: MiniCluster) -> str:
    return howdah_cluster.uri.replace("hdfs://", "howdah://")


@pytest.fixture(scope="module")
def face(howdah_cluster: MiniCluster) -> Iterator[HowdahFileSystem]:
    host, _, port = howdah_cluster.uri.removeprefix("hdfs://").rpartition(":")
    face = HowdahFileSystem(host, int(port), skip_instance_cache=True)
    yield face
    face.hdfs.close()


@pytest.fixture
def directory(face: HowdahFileSystem) -> str:
    """A directory for the test."""
    path = f"/fsspec/{uuid.uuid4().hex}"
    face.makedirs(path)
    return path


# -- fsspec's own tests -------------------------------------------------------------------


class HowdahFixtures(AbstractFixtures):  # type: ignore[misc]  # fsspec has no types
    @pytest.fixture
    def fs(self, face: HowdahFileSystem) -> HowdahFileSystem:
        return face

    @pytest.fixture
    def fs_path(self, directory: str) -> str:
        return directory

    @pytest.fixture
    def fs_join(self) -> Callable[..., str]:
        return lambda *parts: "/".join(parts)


class TestCopy(AbstractCopyTests, HowdahFixtures):  # type: ignore[misc]
    pass


class TestGet(AbstractGetTests, HowdahFixtures):  # type: ignore[misc]
    pass


class TestPut(AbstractPutTests, HowdahFixtures):  # type: ignore[misc]
    pass


class TestOpen(AbstractOpenTests, HowdahFixtures):  # type: ignore[misc]
    pass


class TestPipe(AbstractPipeTests, HowdahFixtures):  # type: ignore[misc]
    pass


# -- by URL -------------------------------------------------------------------------------


@pytest.mark.req("FS-004")
def test_url_is_opened_by_fsspec(url: str, directory: str) -> None:
    with fsspec.open(f"{url}{directory}/file", "wb") as out:
        out.write(b"by URL")
    with fsspec.open(f"{url}{directory}/file", "rb") as stream:
        assert stream.read() == b"by URL"


def test_text_is_written_and_read_by_url(url: str, directory: str) -> None:
    with fsspec.open(f"{url}{directory}/file", "wt", encoding="utf-8") as out:
        out.write("erste\nzweite ü\n")
    with fsspec.open(f"{url}{directory}/file", "rt", encoding="utf-8") as stream:
        assert list(stream) == ["erste\n", "zweite ü\n"]


def test_compressed_file_is_written_and_read_by_url(url: str, directory: str) -> None:
    with fsspec.open(f"{url}{directory}/file.gz", "wb", compression="infer") as out:
        out.write(content(MIB))
    with fsspec.open(f"{url}{directory}/file.gz", "rb", compression="infer") as stream:
        assert stream.read() == content(MIB)


def test_many_urls_are_opened_by_a_pattern(url: str, directory: str) -> None:
    for name in "abc":
        with fsspec.open(f"{url}{directory}/{name}.txt", "wb") as out:
            out.write(name.encode())
    files = fsspec.open_files(f"{url}{directory}/*.txt", "rb")
    found = []
    for each in files:
        with each as stream:
            found.append(stream.read())
    assert found == [b"a", b"b", b"c"]


def test_hdfs_urls_are_ours_when_asked_for(
    howdah_cluster: MiniCluster, directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the call registers is for this test only.
    monkeypatch.setitem(importlib.import_module("fsspec.registry")._registry, "hdfs", None)
    howdah.fsspec.install()
    face, found = fsspec.core.url_to_fs(f"{howdah_cluster.uri}{directory}")
    assert isinstance(face, HowdahFileSystem)
    assert found == directory


def test_cluster_is_one_more_filesystem_for_fsspecs_mapping(url: str, directory: str) -> None:
    mapping = fsspec.get_mapper(f"{url}{directory}")
    mapping["a/b"] = b"value"
    assert dict(mapping) == {"a/b": b"value"}
    del mapping["a/b"]
    assert list(mapping) == []


def test_local_cache_in_front_of_the_cluster_works(url: str, directory: str, tmp_path: Any) -> None:
    with fsspec.open(f"{url}{directory}/file", "wb") as out:
        out.write(content(MIB))
    options = {"simplecache": {"cache_storage": str(tmp_path)}}
    with fsspec.open(f"simplecache::{url}{directory}/file", "rb", **options) as stream:
        assert stream.read() == content(MIB)
    assert [each.stat().st_size for each in tmp_path.iterdir()] == [MIB]


def test_transaction_shows_its_files_at_its_end_only(
    face: HowdahFileSystem, directory: str
) -> None:
    with face.transaction:
        with face.open(f"{directory}/file", "wb") as out:
            out.write(b"x")
        assert not face.exists(f"{directory}/file")
    assert face.cat_file(f"{directory}/file") == b"x"


# -- ranges -------------------------------------------------------------------------------


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What datanodes send to this process, a number for each receive."""
    counts: list[int] = []
    receive = sockets.Connection._recv_into

    def counting(connection: sockets.Connection, view: memoryview, flags: int = 0) -> int:
        count = receive(connection, view, flags)
        counts.append(count)
        return count

    monkeypatch.setattr(sockets.Connection, "_recv_into", counting)
    return counts


@pytest.mark.req("FS-093")
@pytest.mark.parametrize(("start", "length"), [(0, 1), (12_345, 678), (5 * MIB - 10, 20), (-5, 5)])
def test_range_asks_datanodes_for_its_bytes_and_no_others(
    face: HowdahFileSystem, directory: str, received: list[int], start: int, length: int
) -> None:
    data = content(10 * MIB)
    face.pipe_file(f"{directory}/file", data)
    received.clear()
    end = start + length if start >= 0 else None
    assert face.cat_file(f"{directory}/file", start, end) == data[start:end]
    assert sum(received) <= length + OVERHEAD_BYTES


def test_ranges_of_a_file_ask_for_their_bytes_and_no_others(
    face: HowdahFileSystem, directory: str, received: list[int]
) -> None:
    data = content(10 * MIB)
    face.pipe_file(f"{directory}/file", data)
    received.clear()
    starts = [0, MIB, 7 * MIB + 3]
    found = face.cat_ranges([f"{directory}/file"] * 3, starts, [start + 1000 for start in starts])
    assert found == [data[start : start + 1000] for start in starts]
    assert sum(received) <= 3 * (1000 + OVERHEAD_BYTES)


def test_one_column_of_a_parquet_file_is_read_without_the_others(
    url: str, directory: str, received: list[int]
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    chance = random.Random(1)
    table = pyarrow.table({name: [chance.random() for _ in range(100_000)] for name in "abcdefgh"})
    with fsspec.open(f"{url}{directory}/file", "wb") as out:
        parquet.write_table(table, out)
    received.clear()
    with fsspec.open(f"{url}{directory}/file", "rb") as stream:
        size = stream.size
        found = parquet.read_table(stream, columns=["c"], pre_buffer=True)
    assert found == table.select(["c"])
    assert sum(received) < size / 4


# -- pandas and pyarrow -------------------------------------------------------------------


@pytest.fixture
def frame() -> Any:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    return pandas.DataFrame(
        {
            "number": range(10_000),
            "text": [f"ü {number}" for number in range(10_000)],
            "day": pandas.date_range("2013-01-01", periods=10_000, freq="min"),
        }
    )


@pytest.mark.parametrize("form", ["parquet", "feather", "pickle", "csv"])
def test_frame_of_pandas_is_written_and_read_back(
    frame: Any, url: str, directory: str, form: str
) -> None:
    import pandas

    name = f"{url}{directory}/frame.{form}"
    if form == "csv":
        frame.to_csv(name, index=False)
        found = pandas.read_csv(name, parse_dates=["day"])
        found["day"] = found["day"].astype(frame["day"].dtype)
    else:
        getattr(frame, f"to_{form}")(name)
        found = getattr(pandas, f"read_{form}")(name)
    assert found.equals(frame)


def test_compressed_csv_of_pandas_is_written_and_read_back(
    frame: Any, url: str, directory: str
) -> None:
    import pandas

    frame[["number"]].to_csv(f"{url}{directory}/frame.csv.gz", index=False)
    assert pandas.read_csv(f"{url}{directory}/frame.csv.gz").equals(frame[["number"]])


def test_csv_is_read_piece_by_piece(frame: Any, url: str, directory: str) -> None:
    import pandas

    frame.to_csv(f"{url}{directory}/frame.csv", index=False)
    with pandas.read_csv(f"{url}{directory}/frame.csv", chunksize=1000) as pieces:
        assert [len(piece) for piece in pieces] == [1000] * 10


def test_partitioned_parquet_is_written_and_read_back_by_pandas(
    frame: Any, url: str, face: HowdahFileSystem, directory: str
) -> None:
    import pandas

    frame["part"] = frame["number"] % 4
    frame.to_parquet(f"{url}{directory}/frame", partition_cols=["part"])
    assert sorted(face.ls(f"{directory}/frame", detail=False)) == [
        f"{directory}/frame/part={part}" for part in range(4)
    ]
    found = pandas.read_parquet(f"{url}{directory}/frame", filters=[("part", "==", 3)])
    assert sorted(found["number"]) == list(range(3, 10_000, 4))


def test_dataset_of_pyarrow_is_written_and_read_back(
    face: HowdahFileSystem, directory: str
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    dataset = pytest.importorskip("pyarrow.dataset")
    table = pyarrow.table({"part": [n % 3 for n in range(999)], "n": list(range(999))})
    dataset.write_dataset(
        table, f"{directory}/set", format="parquet", partitioning=["part"], filesystem=face
    )
    found = dataset.dataset(
        f"{directory}/set", format="parquet", partitioning=["part"], filesystem=face
    )
    assert found.count_rows() == 999
    some = found.to_table(filter=dataset.field("part") == 1, columns=["n"])
    assert sorted(some["n"].to_pylist()) == list(range(1, 999, 3))


def test_filesystem_of_pyarrow_works_on_our_face(face: HowdahFileSystem, directory: str) -> None:
    fs = pytest.importorskip("pyarrow.fs")
    arrow = fs.PyFileSystem(fs.FSSpecHandler(face))
    with arrow.open_output_stream(f"{directory}/file") as out:
        out.write(b"by arrow")
    with arrow.open_input_file(f"{directory}/file") as stream:
        assert stream.read_at(5, 3) == b"arrow"
        assert stream.size() == 8
    arrow.create_dir(f"{directory}/directory")
    arrow.move(f"{directory}/file", f"{directory}/directory/file")
    (found,) = arrow.get_file_info(fs.FileSelector(f"{directory}/directory"))
    assert (found.path, found.size, found.type) == (
        f"{directory}/directory/file",
        8,
        fs.FileType.File,
    )
    arrow.delete_dir(f"{directory}/directory")
    assert arrow.get_file_info(f"{directory}/directory").type == fs.FileType.NotFound
