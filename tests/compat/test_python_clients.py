"""Python libraries on the fsspec face: the table "Libraries" of docs/python.md.

A library that is not installed is skipped by name: Ray, HuggingFace datasets, MLflow,
duckdb and dask are too large for every environment of a developer.
"""

from __future__ import annotations

import itertools
import pickle
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from howdah.testing import MiniCluster

fsspec = pytest.importorskip("fsspec")
import howdah.fsspec  # noqa: E402

_numbers = itertools.count()
ROWS = 5


@pytest.fixture
def top(howdah_cluster: MiniCluster) -> str:
    """The URL of a directory."""
    return f"{howdah_cluster.uri.replace('hdfs:', 'howdah:')}/libraries/{next(_numbers)}"


@pytest.fixture
def fs(top: str) -> howdah.fsspec.HowdahFileSystem:
    found: howdah.fsspec.HowdahFileSystem = fsspec.url_to_fs(top)[0]
    return found


@pytest.fixture
def below(top: str) -> str:
    """The path of the same directory."""
    return "/" + top.split("/", 3)[3]


@pytest.fixture
def table(fs: Any, below: str) -> str:
    """The path of a Parquet file."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    with fs.open(f"{below}/t.parquet", "wb") as out:
        parquet.write_table(pyarrow.table({"x": range(ROWS)}), out)
    return f"{below}/t.parquet"


def test_pandas_reads_hdfs_urls_with_storage_options(
    howdah_cluster: MiniCluster, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without them pandas asks pyarrow first, whose own client wants a libjvm."""
    pandas = pytest.importorskip("pandas")
    registry = sys.modules["fsspec.registry"]
    monkeypatch.setitem(registry._registry, "hdfs", howdah.fsspec.HowdahFileSystem)
    url = f"{howdah_cluster.uri}{table}"
    assert len(pandas.read_parquet(url, storage_options={})) == ROWS
    frame = pandas.DataFrame({"x": [1]})
    frame.to_parquet(f"{url}.2", storage_options={})
    assert len(pandas.read_parquet(f"{url}.2", storage_options={})) == 1
    frame.to_csv(f"{url}.csv")
    assert len(pandas.read_csv(f"{url}.csv")) == 1


def test_pandas_needs_no_options_for_our_own_urls(top: str, table: str) -> None:
    pandas = pytest.importorskip("pandas")
    assert len(pandas.read_parquet(f"{top}/t.parquet")) == ROWS


def test_pyarrow_takes_the_filesystem(fs: Any, table: str) -> None:
    dataset = pytest.importorskip("pyarrow.dataset")
    assert dataset.dataset(table, filesystem=fs).count_rows() == ROWS


def test_fastparquet_reads_and_writes(fs: Any, top: str, table: str) -> None:
    fastparquet = pytest.importorskip("fastparquet")
    pandas = pytest.importorskip("pandas")
    assert len(fastparquet.ParquetFile(table, fs=fs).to_pandas()) == ROWS
    frame = pandas.DataFrame({"x": [1, 2]})
    frame.to_parquet(f"{top}/fast.parquet", engine="fastparquet")
    assert len(pandas.read_parquet(f"{top}/fast.parquet", engine="fastparquet")) == 2


def test_polars_reads_and_writes_open_files(fs: Any, below: str, table: str) -> None:
    polars = pytest.importorskip("polars")
    with fs.open(f"{below}/p.parquet", "wb") as out:
        polars.DataFrame({"x": [1, 2]}).write_parquet(out)
    with fs.open(f"{below}/p.parquet") as stream:
        assert polars.read_parquet(stream).height == 2
    with fs.open(table) as stream:
        assert polars.scan_parquet(stream).select("x").collect().height == ROWS


def test_polars_scans_datasets_and_reads_urls_by_pyarrow(fs: Any, top: str, table: str) -> None:
    polars = pytest.importorskip("polars")
    dataset = pytest.importorskip("pyarrow.dataset")
    lazy = polars.scan_pyarrow_dataset(dataset.dataset(table, filesystem=fs))
    assert lazy.filter(polars.col("x") > 2).collect().height == 2
    assert polars.read_parquet(f"{top}/t.parquet", use_pyarrow=True).height == ROWS


def test_smart_open_takes_our_urls(top: str, fs: Any, below: str) -> None:
    smart_open = pytest.importorskip("smart_open")
    transport = pytest.importorskip("smart_open.transport")
    if "howdah" not in transport._REGISTRY:
        transport.register_transport("howdah.fsspec.smart_open")
    with smart_open.open(f"{top}/a.gz", "w", transport_params={"replication": 1}) as out:
        out.write("a line\n")
    assert list(smart_open.open(f"{top}/a.gz")) == ["a line\n"]
    assert fs.info(f"{below}/a.gz")["replication"] == 1


def test_paths_of_universal_pathlib_keep_host_and_port(top: str) -> None:
    upath = pytest.importorskip("upath")
    path = upath.UPath(f"{top}/d/a.txt")
    assert type(path).__name__ == "HowdahPath"
    path.parent.mkdir(parents=True)
    with pytest.raises(FileExistsError):
        path.parent.mkdir()
    path.write_text("grüße")
    assert str(path) == path.as_uri() == f"{top}/d/a.txt"
    assert upath.UPath(str(path)).read_text() == "grüße"
    assert [str(each) for each in path.parent.iterdir()] == [str(path)]
    assert list(path.parent.glob("*.txt")) == [path]
    assert pickle.loads(pickle.dumps(path)) == path
    assert str(path.relative_to(path.parent)) == "a.txt"
    assert str(path.rename(path.with_name("b.txt"))) == f"{top}/d/b.txt"
    path.with_name("b.txt").unlink()
    assert not list(path.parent.iterdir())


def test_paths_of_universal_pathlib_are_no_patterns(fs: Any, top: str, below: str) -> None:
    upath = pytest.importorskip("upath")
    fs.pipe({f"{below}/r1/x": b"another's", f"{below}/r[1]/y": b"mine"})
    path = upath.UPath(top) / "r[1]"
    with pytest.raises(FileNotFoundError):
        (path / "x").rename(upath.UPath(top) / "moved")
    assert [each.name for each in path.glob("*")] == ["y"]
    assert [str(each) for each in path.rglob("*")] == [f"{top}/r[1]/y"]
    path.rmdir()
    assert fs.find(below) == [f"{below}/r1/x"]


def test_pyarrow_takes_no_name_for_a_pattern(fs: Any, below: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    dataset = pytest.importorskip("pyarrow.dataset")
    table = pyarrow.table({"k": ["a"], "v": [1]})
    for where, number in (("t[1]", 1), ("t1", 1), ("t[1]", 2)):
        dataset.write_dataset(
            table,
            f"{below}/{where}",
            filesystem=fs,
            format="parquet",
            partitioning=["k"],
            existing_data_behavior="delete_matching",
            basename_template=f"{number}-{{i}}.parquet",
        )
    assert fs.find(below) == [f"{below}/t1/a/1-0.parquet", f"{below}/t[1]/a/2-0.parquet"]


def test_small_archive_is_read_by_zipfile(fs: Any, below: str) -> None:
    with fs.open(f"{below}/a.zip", "wb") as out, zipfile.ZipFile(out, "w"):
        pass
    with fs.open(f"{below}/a.zip") as stream, zipfile.ZipFile(stream) as archive:
        assert archive.namelist() == []


def test_duckdb_takes_the_filesystem(fs: Any, top: str, table: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register_filesystem(fs)
        found = connection.sql(f"select count(*) from '{top}/t.parquet'").fetchall()
        assert found == [(ROWS,)]
        connection.sql(f"copy (select 1 as x) to '{top}/duck.parquet'")
        assert connection.sql(f"from '{top}/duck.parquet'").fetchall() == [(1,)]


def test_dask_takes_our_urls(fs: Any, top: str, below: str) -> None:
    bag = pytest.importorskip("dask.bag")
    fs.pipe_file(f"{below}/a", b"a\nb\n")
    assert bag.read_text(f"{top}/a").compute(scheduler="sync") == ["a\n", "b\n"]


@pytest.mark.parametrize("pattern", ["", "/*.parquet", "/t.parquet"])
def test_dask_reads_tables(top: str, table: str, pattern: str) -> None:
    dask = pytest.importorskip("dask")
    frames = pytest.importorskip("dask.dataframe")
    with dask.config.set(scheduler="sync"):
        frame = frames.read_parquet(f"{top}{pattern}")
        assert len(frame) == ROWS
        assert frame.x.sum().compute() == sum(range(ROWS))
        assert len(frames.read_parquet(f"{top}{pattern}", blocksize=1, split_row_groups=True))


def test_dask_writes_tables_over_others(fs: Any, top: str, below: str) -> None:
    dask = pytest.importorskip("dask")
    frames = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    frame = frames.from_pandas(pandas.DataFrame({"x": range(6), "k": list("ababab")}), 2)
    with dask.config.set(scheduler="sync"):
        fs.pipe(f"{below}/t1/other", b"another's")
        for _ in range(2):
            frame.to_parquet(f"{top}/t[1]", overwrite=True, partition_on=["k"])
        assert len(frames.read_parquet(f"{top}/t[1]")) == 6
        assert fs.find(f"{below}/t1") == [f"{below}/t1/other"]
        frame.to_csv(f"{top}/csv/*.csv.gz", compression="gzip")
        assert len(frames.read_csv(f"{top}/csv/*.csv.gz", blocksize=None)) == 6


def test_what_libraries_bring_along_for_other_filesystems_is_taken(fs: Any, below: str) -> None:
    brought: dict[str, Any] = {
        "default_cache": "none", "precache_options": {}, "fill_cache": False, "acl": "private",
        "ContentType": "text/plain", "encoding": "utf-8", "cache_type": "none", "size": 1,
    }  # fmt: skip
    with fs.open(f"{below}/f", "wb", **brought) as out:
        out.write(b"x")
    with fs.open(f"{below}/f", "rb", **brought) as stream:
        assert stream.read() == b"x"
    fs.pipe(f"{below}/g", b"y", chunksize=5)
    assert fs.cat_file(f"{below}/g", max_concurrency=2) == b"y"


def test_huggingface_datasets_take_host_and_port_apart(
    howdah_cluster: MiniCluster, top: str, below: str, table: str, tmp_path: Path
) -> None:
    datasets = pytest.importorskip("datasets")
    host, port = howdah_cluster.uri.removeprefix("hdfs://").split(":")
    place = {"host": host, "port": int(port)}
    found = datasets.load_dataset(
        "parquet",
        data_files=f"howdah://{table}",
        split="train",
        storage_options=place,
        cache_dir=str(tmp_path),
    )
    assert found.num_rows == ROWS
    datasets.Dataset.from_dict({"x": [1, 2]}).save_to_disk(f"{top}/saved")
    assert datasets.load_from_disk(f"{top}/saved").num_rows == 2


@pytest.mark.torture  # Ray starts a cluster of its own: fifteen seconds of CPU
def test_ray_takes_the_filesystem(fs: Any, below: str, table: str) -> None:
    ray = pytest.importorskip("ray")
    data = pytest.importorskip("ray.data")
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        assert data.read_parquet(table, filesystem=fs).count() == ROWS
        data.range(3).write_parquet(f"{below}/ray", filesystem=fs)
        assert data.read_parquet(f"{below}/ray", filesystem=fs).count() == 3
    finally:
        ray.shutdown()


def test_mlflow_has_no_store_for_our_urls(top: str) -> None:
    """Nor one for `hdfs://` without a libjvm: the guide says what to do instead."""
    registry = pytest.importorskip("mlflow.store.artifact.artifact_repository_registry")
    with pytest.raises(Exception, match="registered artifact repository"):
        registry.get_artifact_repository(top)
