"""What clients of S3 write through `howdah s3`, they and HDFS read, and the other way round."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from howdah.fs.api import FileSystem
from howdah.testing import MiniCluster
from tests.support.s3_gateway import REGION, Door, before

BUCKET = "clients"
DATA = os.urandom(3 << 20)


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1, conf={"dfs.blocksize": "8m"}) as found:
        yield found


@pytest.fixture(scope="module")
def files(cluster: MiniCluster) -> Iterator[FileSystem]:
    with cluster.connect() as found:
        found.mkdirs("/s3")
        found.set_permission("/s3", 0o1777)
        yield found


@pytest.fixture(scope="module")
def door(cluster: MiniCluster, files: FileSystem) -> Iterator[Door]:
    with before(cluster, "ann") as found:
        found.client().create_bucket(Bucket=BUCKET)
        yield found


@pytest.fixture
def options(door: Door) -> dict[str, str]:
    """Of clients that are built on the Rust crate object_store."""
    return {
        "aws_endpoint_url": door.url,
        "aws_access_key_id": door.access_key,
        "aws_secret_access_key": door.secret_key,
        "aws_region": REGION,
        "aws_allow_http": "true",
    }


def keys_below(door: Door, prefix: str) -> list[str]:
    page = door.client().list_objects_v2(Bucket=BUCKET, Prefix=prefix)
    return [each["Key"] for each in page.get("Contents", [])]


def test_boto3(door: Door, files: FileSystem) -> None:
    client = door.client()
    client.upload_fileobj(io.BytesIO(DATA * 5), BUCKET, "boto3/large")
    assert files.read_bytes(f"/s3/{BUCKET}/boto3/large") == DATA * 5
    got = io.BytesIO()
    client.download_fileobj(BUCKET, "boto3/large", got)
    assert got.getvalue() == DATA * 5
    client.copy({"Bucket": BUCKET, "Key": "boto3/large"}, BUCKET, "boto3/copy")
    assert files.read_bytes(f"/s3/{BUCKET}/boto3/copy") == DATA * 5
    assert keys_below(door, "boto3/") == ["boto3/copy", "boto3/large"]


def test_s3fs(door: Door, files: FileSystem) -> None:
    s3fs = pytest.importorskip("s3fs")
    s3 = s3fs.S3FileSystem(
        key=door.access_key, secret=door.secret_key, endpoint_url=door.url, anon=False
    )
    s3.pipe({f"{BUCKET}/s3fs/a": b"1", f"{BUCKET}/s3fs/sub/b": b"22"})
    with s3.open(f"{BUCKET}/s3fs/large", "wb", block_size=5 << 20) as out:
        for _ in range(4):
            out.write(DATA)
    assert files.read_bytes(f"/s3/{BUCKET}/s3fs/large") == DATA * 4
    files.write_bytes(f"/s3/{BUCKET}/s3fs-hdfs", DATA)
    with s3.open(f"{BUCKET}/s3fs-hdfs", "rb", block_size=1 << 20) as stream:
        stream.seek(1 << 20)
        assert stream.read() == DATA[1 << 20 :]
    found = s3.find(f"{BUCKET}/s3fs")
    assert [name.removeprefix(f"{BUCKET}/s3fs/") for name in found] == ["a", "large", "sub/b"]
    assert s3.isdir(f"{BUCKET}/s3fs/sub")
    s3.pipe_file(f"{BUCKET}/s3fs/new", b"1", mode="create")
    with pytest.raises(FileExistsError):
        s3.pipe_file(f"{BUCKET}/s3fs/new", b"2", mode="create")
    s3.mv(f"{BUCKET}/s3fs/a", f"{BUCKET}/s3fs/moved")
    assert s3.cat(f"{BUCKET}/s3fs/moved") == b"1"
    s3.rm(f"{BUCKET}/s3fs", recursive=True)
    assert not s3.exists(f"{BUCKET}/s3fs")
    assert not files.exists(f"/s3/{BUCKET}/s3fs")


def arrow_filesystem(door: Door) -> Any:
    arrow = pytest.importorskip("pyarrow.fs")
    return arrow.S3FileSystem(
        access_key=door.access_key,
        secret_key=door.secret_key,
        endpoint_override=door.address,
        scheme="http",
        region=REGION,
    )


def test_pyarrow(door: Door, files: FileSystem) -> None:
    s3 = arrow_filesystem(door)
    import pyarrow as pa
    import pyarrow.fs as arrow
    import pyarrow.parquet as pq

    table = pa.table({"x": list(range(10_000)), "y": ["a"] * 10_000})
    s3.create_dir(f"{BUCKET}/arrow/empty")
    pq.write_table(table, f"{BUCKET}/arrow/t.parquet", filesystem=s3)
    stored = files.read_bytes(f"/s3/{BUCKET}/arrow/t.parquet")
    assert pq.read_table(io.BytesIO(stored)) == table
    files.write_bytes(f"/s3/{BUCKET}/arrow/u.parquet", stored)
    assert pq.read_table(f"{BUCKET}/arrow/u.parquet", filesystem=s3) == table
    found = s3.get_file_info(arrow.FileSelector(f"{BUCKET}/arrow", recursive=True))
    assert [(each.base_name, each.type.name) for each in found] == [
        ("empty", "Directory"),
        ("t.parquet", "File"),
        ("u.parquet", "File"),
    ]
    s3.move(f"{BUCKET}/arrow/u.parquet", f"{BUCKET}/arrow/v.parquet")
    assert s3.get_file_info(f"{BUCKET}/arrow/u.parquet").type.name == "NotFound"
    with s3.open_output_stream(f"{BUCKET}/arrow/large") as out:
        for _ in range(4):
            out.write(DATA)
    assert files.read_bytes(f"/s3/{BUCKET}/arrow/large") == DATA * 4
    s3.delete_dir(f"{BUCKET}/arrow")
    assert keys_below(door, "arrow/") == []


def test_polars(door: Door, files: FileSystem, options: dict[str, str]) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"x": range(1000), "k": [number % 3 for number in range(1000)]})
    frame.write_parquet(f"s3://{BUCKET}/polars/one.parquet", storage_options=options)
    frame.lazy().sink_parquet(f"s3://{BUCKET}/polars/two.parquet", storage_options=options)
    stored = files.read_bytes(f"/s3/{BUCKET}/polars/two.parquet")
    assert pl.read_parquet(io.BytesIO(stored)).equals(frame)
    for place in ("polars/*.parquet", "polars/"):
        scan = pl.scan_parquet(f"s3://{BUCKET}/{place}", storage_options=options)
        assert scan.select(pl.col("x").sum()).collect().item() == 2 * 499_500


def test_duckdb(door: Door, files: FileSystem) -> None:
    duckdb = pytest.importorskip("duckdb")
    httpfs = pytest.importorskip("duckdb_extension_httpfs")
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    version = f"v{duckdb.__version__}"
    extension = Path(httpfs.__file__).parent / "extensions" / version / "httpfs.duckdb_extension"
    if not extension.exists():
        pytest.skip(f"duckdb is {version}, and its extension httpfs of another version")
    connection.execute(f"LOAD '{extension}'")
    connection.execute(
        f"CREATE SECRET (TYPE s3, KEY_ID '{door.access_key}', SECRET '{door.secret_key}', "
        f"REGION '{REGION}', ENDPOINT '{door.address}', URL_STYLE 'path', USE_SSL false)"
    )
    place = f"s3://{BUCKET}/duckdb"
    connection.execute(
        f"COPY (SELECT i % 3 AS k, i AS x FROM range(1000) t(i)) TO '{place}' "
        "(FORMAT parquet, PARTITION_BY k)"
    )
    total = connection.sql(f"SELECT sum(x) FROM '{place}/*/*.parquet'").fetchone()
    assert total == (499_500,)
    assert len(files.list_status(f"/s3/{BUCKET}/duckdb")) == 3


def test_deltalake_with_writers_at_once(door: Door, options: dict[str, str]) -> None:
    deltalake = pytest.importorskip("deltalake")
    pa = pytest.importorskip("pyarrow")
    place = f"s3://{BUCKET}/delta"
    table = pa.table({"x": [1, 2, 3]})
    deltalake.write_deltalake(place, table, storage_options=options)
    failures: list[Exception] = []

    def append() -> None:
        try:
            deltalake.write_deltalake(place, table, mode="append", storage_options=options)
        except Exception as error:  # noqa: BLE001 - shown below
            failures.append(error)

    threads = [threading.Thread(target=append) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    found = deltalake.DeltaTable(place, storage_options=options)
    assert (found.version(), found.to_pyarrow_table().num_rows) == (4, 15)


def test_obstore(door: Door, files: FileSystem) -> None:
    obstore = pytest.importorskip("obstore")
    from obstore.exceptions import AlreadyExistsError, PreconditionError
    from obstore.store import S3Store

    store = S3Store(
        BUCKET,
        endpoint=door.url,
        access_key_id=door.access_key,
        secret_access_key=door.secret_key,
        region=REGION,
        client_options={"allow_http": True},
    )
    first = obstore.put(store, "obstore/k", b"one", mode="create", use_multipart=False)
    with pytest.raises(AlreadyExistsError):
        obstore.put(store, "obstore/k", b"two", mode="create", use_multipart=False)
    known = {"e_tag": first["e_tag"]}  # There are no versions.
    obstore.put(store, "obstore/k", b"two", mode=known, use_multipart=False)
    with pytest.raises(PreconditionError):
        obstore.put(store, "obstore/k", b"three", mode=known, use_multipart=False)
    obstore.put(store, "obstore/large", DATA * 5)
    assert bytes(obstore.get(store, "obstore/large").bytes()) == DATA * 5
    assert files.read_bytes(f"/s3/{BUCKET}/obstore/large") == DATA * 5
    found = [each["path"] for page in obstore.list(store, "obstore") for each in page]
    assert found == ["obstore/k", "obstore/large"]
    obstore.rename(store, "obstore/large", "obstore/moved")
    obstore.delete(store, ["obstore/k", "obstore/moved"])
    assert keys_below(door, "obstore/") == []


def test_minio(door: Door, files: FileSystem) -> None:
    minio = pytest.importorskip("minio")
    client = minio.Minio(
        endpoint=door.address,
        access_key=door.access_key,
        secret_key=door.secret_key,
        secure=False,
    )
    client.put_object(
        bucket_name=BUCKET, object_name="minio/k", data=io.BytesIO(DATA * 4), length=len(DATA) * 4
    )
    assert files.read_bytes(f"/s3/{BUCKET}/minio/k") == DATA * 4
    found = client.list_objects(bucket_name=BUCKET, prefix="minio/", recursive=True)
    assert [each.object_name for each in found] == ["minio/k"]
    assert client.bucket_exists(bucket_name=BUCKET)
    client.remove_object(bucket_name=BUCKET, object_name="minio/k")


def run_program(program: str, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    """What a client that is a program of its own prints."""
    path = Path(sys.executable).with_name(program)
    if not path.exists():
        found = shutil.which(program)
        if found is None:
            pytest.skip(f"{program} is not installed")
        path = Path(found)
    done = subprocess.run(
        [str(path), *arguments],
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, f"{program} {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout


def test_rclone(door: Door, files: FileSystem, tmp_path: Path) -> None:
    settings = {
        "RCLONE_CONFIG": str(tmp_path / "none.conf"),
        "RCLONE_CONFIG_GW_TYPE": "s3",
        "RCLONE_CONFIG_GW_PROVIDER": "Other",
        "RCLONE_CONFIG_GW_ENDPOINT": door.url,
        "RCLONE_CONFIG_GW_REGION": REGION,
        "RCLONE_CONFIG_GW_ACCESS_KEY_ID": door.access_key,
        "RCLONE_CONFIG_GW_SECRET_ACCESS_KEY": door.secret_key,
    }

    def rclone(*arguments: str) -> str:
        return run_program("rclone", *arguments, env=settings)

    tree = {"a": b"1", "sub dir/b+c": DATA, "sub dir/ä": b"", "large": DATA * 3}
    for name, content in tree.items():
        (tmp_path / "from" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "from" / name).write_bytes(content)
    place = f"gw:{BUCKET}/rclone"
    rclone("copy", "--s3-upload-cutoff=5M", "--s3-chunk-size=5M", f"{tmp_path}/from", place)
    for name, content in tree.items():
        assert files.read_bytes(f"/s3/{BUCKET}/rclone/{name}") == content
    # Checked by what the client thinks the ETag is, and byte for byte.
    rclone("check", "--download", f"{tmp_path}/from", place)
    rclone("check", f"{tmp_path}/from", place)
    files.write_bytes(f"/s3/{BUCKET}/rclone/of-hdfs", DATA)
    files.delete(f"/s3/{BUCKET}/rclone/a")
    rclone("sync", place, f"{tmp_path}/to")
    assert (tmp_path / "to" / "of-hdfs").read_bytes() == DATA
    assert sorted(path.name for path in (tmp_path / "to").iterdir()) == [
        "large",
        "of-hdfs",
        "sub dir",
    ]
    rclone("moveto", f"{place}/of-hdfs", f"{place}/moved")
    listed = json.loads(rclone("lsjson", "-R", "--files-only", place))
    assert sorted(each["Path"] for each in listed) == [
        "large",
        "moved",
        "sub dir/b+c",
        "sub dir/ä",
    ]
    rclone("purge", place)
    assert not files.exists(f"/s3/{BUCKET}/rclone")


def test_aws(door: Door, files: FileSystem, tmp_path: Path) -> None:
    settings = {
        "AWS_ENDPOINT_URL": door.url,
        "AWS_ACCESS_KEY_ID": door.access_key,
        "AWS_SECRET_ACCESS_KEY": door.secret_key,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
    }

    def aws(*arguments: str) -> str:
        return run_program("aws", "s3", *arguments, env=settings)

    # In the order of HDFS it would upload some of these again, and delete them.
    tree = {"a-b": b"1", "a.b": b"2", "a0": b"3", "a/x": b"4", "a/b/y": b"5", "a/b-c": DATA * 4}
    for name, content in tree.items():
        (tmp_path / "from" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "from" / name).write_bytes(content)
    place = f"s3://{BUCKET}/aws"
    assert aws("sync", "--no-progress", f"{tmp_path}/from", place).count("upload:") == len(tree)
    assert aws("sync", "--no-progress", "--delete", f"{tmp_path}/from", place) == ""
    assert sorted(keys_below(door, "aws/")) == sorted(f"aws/{name}" for name in tree)
    files.write_bytes(f"/s3/{BUCKET}/aws/of hdfs", DATA * 4)
    aws("mv", "--no-progress", f"{place}/of hdfs", f"{place}/moved")
    aws("cp", "--no-progress", f"{place}/moved", f"{tmp_path}/got")
    assert (tmp_path / "got").read_bytes() == DATA * 4
    aws("rm", "--recursive", place)
    assert not files.exists(f"/s3/{BUCKET}/aws")


def test_s3cmd(door: Door, files: FileSystem, tmp_path: Path) -> None:
    (tmp_path / "none.cfg").write_text("")
    options = [
        *(f"--config={tmp_path}/none.cfg", "--no-ssl", f"--region={REGION}"),
        *(f"--access_key={door.access_key}", f"--secret_key={door.secret_key}"),
        *(f"--host={door.address}", f"--host-bucket={door.address}/%(bucket)"),
    ]

    def s3cmd(*arguments: str) -> str:
        return run_program("s3cmd", *options, *arguments)

    (tmp_path / "large").write_bytes(DATA * 4)
    place = f"s3://{BUCKET}/s3cmd"
    s3cmd("put", "--multipart-chunk-size-mb=5", f"{tmp_path}/large", f"{place}/large")
    assert files.read_bytes(f"/s3/{BUCKET}/s3cmd/large") == DATA * 4
    files.write_bytes(f"/s3/{BUCKET}/s3cmd/of hdfs", DATA)
    s3cmd("get", f"{place}/of hdfs", f"{tmp_path}/got")
    assert (tmp_path / "got").read_bytes() == DATA
    s3cmd("cp", f"{place}/of hdfs", f"{place}/sub/copy")
    s3cmd("mv", f"{place}/of hdfs", f"{place}/moved")
    listed = s3cmd("ls", "--recursive", f"{place}/").splitlines()
    assert [line.rpartition("s3cmd/")[2] for line in listed] == ["large", "moved", "sub/copy"]
    assert files.read_bytes(f"/s3/{BUCKET}/s3cmd/sub/copy") == DATA
    (tmp_path / "tree" / "sub").mkdir(parents=True)
    (tmp_path / "tree" / "sub" / "new").write_bytes(b"new")
    s3cmd("sync", "--delete-removed", f"{tmp_path}/tree/", f"{place}/")
    assert keys_below(door, "s3cmd/") == ["s3cmd/sub/new"]
    s3cmd("del", "--recursive", "--force", f"{place}/")
    assert not files.exists(f"/s3/{BUCKET}/s3cmd")


def test_pyiceberg(door: Door, files: FileSystem, tmp_path: Path) -> None:
    pytest.importorskip("pyiceberg")
    pa = pytest.importorskip("pyarrow")
    from pyiceberg.catalog.sql import SqlCatalog

    settings = {
        "uri": f"sqlite:///{tmp_path}/catalog.db",
        "warehouse": f"s3://{BUCKET}/iceberg",
        "s3.endpoint": door.url,
        "s3.access-key-id": door.access_key,
        "s3.secret-access-key": door.secret_key,
        "s3.region": REGION,
    }
    data = pa.table({"x": pa.array(range(1000), pa.int64()), "y": ["a"] * 1000})
    for number, io_class in enumerate(
        ("pyiceberg.io.pyarrow.PyArrowFileIO", "pyiceberg.io.fsspec.FsspecFileIO")
    ):
        catalog = SqlCatalog("c", **settings, **{"py-io-impl": io_class})
        catalog.create_namespace_if_not_exists("n")
        table = catalog.create_table(f"n.t{number}", data.schema)
        table.append(data)
        table.append(data)
        table.overwrite(data.slice(0, 10), overwrite_filter="x > 499")
        found = catalog.load_table(f"n.t{number}").scan().to_arrow()
        assert found.num_rows == 2 * 500 + 10
        assert sum(found["x"].to_pylist()) == 2 * sum(range(500)) + sum(range(10))
        place = f"/s3/{BUCKET}/iceberg/n/t{number}"
        assert {status.name for status in files.list_status(place)} == {"data", "metadata"}
        # What HDFS wrote is a part of the table, too.
        import pyarrow.parquet as pq

        with files.create(f"{place}/data/of-hdfs.parquet") as out:
            pq.write_table(data, out)
        table.add_files([f"s3://{BUCKET}/iceberg/n/t{number}/data/of-hdfs.parquet"])
        assert table.scan().to_arrow().num_rows == 2 * 500 + 10 + 1000
        catalog.purge_table(f"n.t{number}")
        catalog.engine.dispose()
