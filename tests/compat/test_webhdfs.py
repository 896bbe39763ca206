"""Other people's clients of WebHDFS on our cluster: fsspec's, the `hdfs` package's, Java's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from tests.support.started import gateway

DATA = bytes(range(256)) * 20_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    conf = {
        "dfs.namenode.acls.enabled": "true",
        "dfs.blocksize": "1m",
        "dfs.storage.policy.satisfier.mode": "external",
    }
    with MiniCluster(datanodes=2, conf=conf, https=True) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def fs(cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with cluster.connect() as fs:
        yield fs


@pytest.fixture(scope="module")
def places(cluster: MiniCluster) -> Iterator[dict[str, str]]:
    """Where WebHDFS is served: at the namenode, and at a gateway."""
    with gateway(cluster) as address:
        namenode = cluster.http.partition("//")[2].rstrip("/")
        yield {"namenode": namenode, "gateway": address}


@pytest.mark.req("FS-218")
def test_fsspec(cluster: MiniCluster, fs: HdfsFileSystem) -> None:
    """But for its mode `ab`, which has no address to write to at any server."""
    pytest.importorskip("requests")
    # By its class: in this process ours may have taken its name over.
    implementation = pytest.importorskip("fsspec.implementations.webhdfs")
    host, port = cluster.http.partition("//")[2].rstrip("/").split(":")
    web = implementation.WebHDFS(host=host, port=int(port), user=fs.user)
    with web.open("/fsspec/a/big", "wb", block_size=1 << 20) as out:
        out.write(DATA)
    assert web.cat("/fsspec/a/big") == DATA
    with web.open("/fsspec/a/big", "rb", block_size=1 << 16) as source:
        source.seek(1_000_000)
        assert source.read(100) == DATA[1_000_000:1_000_100]
        assert source.seek(-5, 2)
        assert source.read() == DATA[-5:]
    web.pipe("/fsspec/empty", b"")
    assert web.cat("/fsspec/empty") == b""
    assert web.info("/fsspec/a/big")["size"] == len(DATA)
    assert web.find("/fsspec") == ["/fsspec/a/big", "/fsspec/empty"]
    assert web.ukey("/fsspec/a/big")["algorithm"].endswith("MD5-of-512CRC32C")
    assert web.content_summary("/fsspec")["fileCount"] == 2
    assert web.home_directory() == f"/user/{fs.user}"
    web.chmod("/fsspec/empty", 600)
    web.chown("/fsspec/empty", owner="ann", group="staff")
    web.set_replication("/fsspec/empty", 1)
    status = fs.get_file_status("/fsspec/empty")
    assert (status.permission & 0o777, status.owner, status.replication) == (0o600, "ann", 1)
    web.mv("/fsspec/a/big", "/fsspec/moved")
    assert not web.exists("/fsspec/a/big")
    web.cp_file("/fsspec/moved", "/fsspec/copy")
    assert web.cat("/fsspec/copy") == DATA
    with pytest.raises(FileNotFoundError):
        web.info("/fsspec/none")
    web.rm("/fsspec", recursive=True)
    assert not fs.exists("/fsspec")


@pytest.mark.req("FS-291")
def test_fsspec_over_tls(
    cluster: MiniCluster, fs: HdfsFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("requests")
    implementation = pytest.importorskip("fsspec.implementations.webhdfs")
    host, port = cluster.process("namenode").addresses["https"].split(":")
    # Its option `session_verify` is not for the datanodes, which it asks without its session.
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(cluster.dir / "tls" / "ca.pem"))
    web = implementation.WebHDFS(host=host, port=int(port), user=fs.user, use_https=True)
    with web.open("/tls/a", "wb", block_size=1 << 20) as out:
        out.write(DATA)
    assert web.cat("/tls/a") == DATA
    web.rm("/tls", recursive=True)


@pytest.mark.req("FS-218", "FS-255")
@pytest.mark.parametrize("place", ["namenode", "gateway"])
def test_hdfs_package(
    places: dict[str, str], place: str, fs: HdfsFileSystem, tmp_path: Path
) -> None:
    hdfs = pytest.importorskip("hdfs")
    web = hdfs.InsecureClient(f"http://{places[place]}", user=fs.user)
    web.write("/hdfs/a", DATA, blocksize=1 << 20, replication=1, permission="640")
    with web.read("/hdfs/a") as source:
        assert source.read() == DATA
    with web.read("/hdfs/a", offset=1_048_570, length=20, chunk_size=7) as chunks:
        assert b"".join(chunks) == DATA[1_048_570:1_048_590]
    web.write("/hdfs/a", b"more", append=True)
    assert web.status("/hdfs/a")["length"] == len(DATA) + 4
    with pytest.raises(hdfs.HdfsError, match="exist"):
        web.write("/hdfs/a", b"again")
    web.write("/hdfs/a", b"again", overwrite=True)
    assert web.status("/hdfs/none", strict=False) is None
    assert web.content("/hdfs")["fileCount"] == 1
    assert web.checksum("/hdfs/a")["algorithm"] == "MD5-of-0MD5-of-512CRC32C"
    web.makedirs("/hdfs/d/e", permission="700")
    web.set_owner("/hdfs/d", owner="ann", group="staff")
    web.set_permission("/hdfs/d", "711")
    web.set_times("/hdfs/a", access_time=5, modification_time=6)
    web.set_replication("/hdfs/a", 1)
    web.set_acl("/hdfs/d", "user:bob:r-x", clear=False)
    assert web.acl_status("/hdfs/d")["entries"] == ["user:bob:r-x", "group::--x"]
    web.remove_acl("/hdfs/d")
    web.allow_snapshot("/hdfs/d")
    assert web.create_snapshot("/hdfs/d", "s") == "/hdfs/d/.snapshot/s"
    web.rename_snapshot("/hdfs/d", "s", "t")
    web.delete_snapshot("/hdfs/d", "t")
    web.disallow_snapshot("/hdfs/d")
    (tmp_path / "up").mkdir()
    for number in range(5):
        (tmp_path / "up" / str(number)).write_bytes(DATA[: number * 100_000])
    web.upload("/hdfs/tree", str(tmp_path / "up"), n_threads=3)
    web.download("/hdfs/tree", str(tmp_path / "down"), n_threads=3)
    for number in range(5):
        assert (tmp_path / "down" / str(number)).read_bytes() == DATA[: number * 100_000]
    names = [(path, files) for path, _, files in web.walk("/hdfs")]
    assert ("/hdfs/tree", ["0", "1", "2", "3", "4"]) in names
    web.rename("/hdfs/a", "/hdfs/b")
    assert sorted(web.list("/hdfs")) == ["b", "d", "tree"]
    assert web.delete("/hdfs", recursive=True)
    assert not fs.exists("/hdfs")


@pytest.mark.req("FS-216", "FS-255", "FS-291")
def test_javas_client_sees_over_http_what_it_sees_over_rpc(
    cluster: MiniCluster,
    places: dict[str, str],
    hadoop_run: Callable[..., str],
) -> None:
    program = Path(__file__).with_name("WebHdfsClient.java")
    addresses = [f"webhdfs://{address}" for address in places.values()]
    addresses.append(f"swebhdfs://{cluster.process('namenode').addresses['https']}")
    said = hadoop_run(
        program,
        cluster.uri,
        *addresses,
        # Where Java looks for ssl-client.xml.
        directories=[cluster.dir / "tls"],
        # Java's client writes names in the encoding of its process.
        options=["-Dfile.encoding=UTF-8"],
    )
    assert said == "compared 40\n" * 3
