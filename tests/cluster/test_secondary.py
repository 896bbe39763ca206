"""A secondary namenode and its namenode, over real sockets."""

from __future__ import annotations

import hashlib
import http.client
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration, namenode_address
from howdah.formats.version import NamenodeVersion
from howdah.fs.api import FileSystem
from howdah.namenode.journal.checkpoints.primary import Primary
from howdah.namenode.server.process.checkpoint_import import import_checkpoint
from howdah.namenode.server.process.loading import load
from howdah.namenode.server.process.secondary import SecondaryServer, Stopped
from howdah.namenode.service.protocols.namenode import NamenodeProtocol
from howdah.proto import namenode_pb2 as pb
from howdah.rpc.client import RpcClient
from howdah.runtime.disk import Operation
from howdah.testing import MiniCluster
from howdah.testing.storage_faults import StorageAction
from howdah.testing.waiting import wait_until
from howdah.web.image_transfer import MD5_HEADER, ImageOffered, ImageWanted, storage_info

CONF = {
    "dfs.namenode.num.extra.edits.retained": "0",
    # Only the secondary makes checkpoints.
    "dfs.namenode.checkpoint.check.period": "1d",
    "dfs.image.transfer.bandwidthPerSec": "0",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1, conf=CONF, faults=True) as cluster:
        yield cluster


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[FileSystem]:
    with cluster.connect() as fs:
        yield fs


def current_of(cluster: MiniCluster) -> Path:
    return cluster.data_dirs("namenode")[0] / "current"


def images(current: Path) -> list[str]:
    return sorted(path.name for path in current.glob("fsimage_*") if not path.suffix)


def segments(current: Path) -> list[str]:
    return sorted(path.name for path in current.glob("edits_*-*"))


def unfinished(current: Path) -> list[str]:
    return [path.name for path in current.iterdir() if ".ckpt_" in path.name]


def values(cluster: MiniCluster, where: Path, **more: str) -> dict[str, str]:
    return {
        **dict(cluster.conf.items()),
        "dfs.namenode.http-address": cluster.http.removeprefix("http://"),
        "dfs.namenode.secondary.http-address": "127.0.0.1:0",
        "dfs.namenode.checkpoint.dir": (where / "2nn").as_uri(),
        **more,
    }


@contextmanager
def secondary(cluster: MiniCluster, where: Path, **more: str) -> Iterator[SecondaryServer]:
    server = SecondaryServer(Configuration(values(cluster, where, **more)))
    try:
        yield server
    finally:
        server.close()


def options(cluster: MiniCluster, where: Path) -> list[str]:
    return [word for item in values(cluster, where).items() for word in ("-D", "=".join(item))]


# --- the secondary ------------------------------------------------------------------------


@pytest.mark.req("FS-031", "FS-033")
def test_merged_image_is_kept_and_is_the_namenodes(
    cluster: MiniCluster, fs: FileSystem, tmp_path: Path
) -> None:
    with secondary(cluster, tmp_path) as server:
        for number in range(3):
            fs.mkdirs(f"/kept/{number}")
            txid = server.secondary.checkpoint()
        assert server.secondary.uncheckpointed() == 1
    name = f"fsimage_{txid:019d}"
    ours, theirs = tmp_path / "2nn" / "current", current_of(cluster)
    assert images(ours)[-1] == images(theirs)[-1] == name
    assert (ours / name).read_bytes() == (theirs / name).read_bytes()
    # Two images stay, and what comes after the older one.
    assert len(images(theirs)) == len(images(ours)) == 2
    assert len(segments(theirs)) == len(segments(ours)) == 1
    cluster.restart("namenode")
    assert len(list(fs.list_status("/kept"))) == 3


@pytest.mark.req("FS-033", "FS-034", "FS-035")
def test_kept_image_is_a_namespace_when_the_namenodes_is_lost(
    cluster: MiniCluster, fs: FileSystem, tmp_path: Path
) -> None:
    with secondary(cluster, tmp_path) as server:
        fs.mkdirs("/before/the/checkpoint")
        server.secondary.checkpoint()
        fs.mkdirs("/behind/the/checkpoint")
    conf = values(cluster, tmp_path)
    conf["dfs.namenode.name.dir"] = (tmp_path / "new").as_uri()
    import_checkpoint(Configuration(conf))
    # A copy of the directory would do as well.
    shutil.copytree(tmp_path / "2nn", tmp_path / "copy")
    for found in (tmp_path / "new", tmp_path / "copy"):
        loaded = load([found], [found])
        for lock in loaded.locks:
            lock.release()
        assert loaded.namespace.find("/before/the/checkpoint") is not None
        assert loaded.namespace.find("/behind") is None


def test_edits_of_a_past_that_was_given_up_are_not_merged(tmp_path: Path) -> None:
    """A namenode is restored from a copy of its directory. Then it has other edits under the
    transactions of which the secondary keeps what came before."""
    with MiniCluster(datanodes=1, conf=CONF) as cluster:
        current = current_of(cluster)
        with secondary(cluster, tmp_path) as server:
            server.secondary.checkpoint()
            cluster.stop("namenode")
            shutil.copytree(current, tmp_path / "copy")
            cluster.start("namenode")
            with cluster.connect() as fs:
                fs.mkdirs("/given up")
                lost_txid = server.secondary.checkpoint()
        cluster.stop("namenode")
        shutil.rmtree(current)
        shutil.copytree(tmp_path / "copy", current)
        cluster.start("namenode")
        with cluster.connect() as fs, secondary(cluster, tmp_path) as server:
            fs.mkdirs("/kept")
            assert server.secondary.checkpoint() == lost_txid
        cluster.restart("namenode")
        with cluster.connect() as fs:
            assert [status.name for status in fs.list_status("/")] == ["kept"]


def test_import_without_a_checkpoint_is_refused(cluster: MiniCluster, tmp_path: Path) -> None:
    conf = values(cluster, tmp_path)
    with secondary(cluster, tmp_path):
        pass
    shutil.copy(current_of(cluster) / "VERSION", tmp_path / "2nn" / "current")
    conf["dfs.namenode.name.dir"] = (tmp_path / "new").as_uri()
    with pytest.raises(errors.InconsistentStorage, match="no checkpoint"):
        import_checkpoint(Configuration(conf))
    assert not (tmp_path / "new" / "current").exists()


def test_second_start_goes_on_from_what_is_kept(
    cluster: MiniCluster, fs: FileSystem, tmp_path: Path
) -> None:
    for number in range(2):
        fs.mkdirs(f"/again/{number}")
        sent = cluster.log("namenode").count("file_response: sent")
        with secondary(cluster, tmp_path) as server:
            server.secondary.checkpoint()
    # The second time only a segment was fetched, the sum of the image asked for.
    fetched = cluster.log("namenode").splitlines()[-40:]
    assert "/edits_" in [line for line in fetched if "file_response: sent" in line][-1]
    assert cluster.log("namenode").count("file_response: sent") <= sent + 2


def test_separate_directories_for_edits_are_used(
    cluster: MiniCluster, fs: FileSystem, tmp_path: Path
) -> None:
    edits = [tmp_path / "edits1", tmp_path / "edits2"]
    more = {"dfs.namenode.checkpoint.edits.dir": ",".join(path.as_uri() for path in edits)}
    with secondary(cluster, tmp_path, **more) as server:
        fs.mkdirs("/separate")
        server.secondary.checkpoint()
    assert images(tmp_path / "2nn" / "current")
    assert not segments(tmp_path / "2nn" / "current")
    assert segments(edits[0] / "current") == segments(edits[1] / "current") != []


def test_directories_of_another_filesystem_are_refused(
    cluster: MiniCluster, tmp_path: Path
) -> None:
    with secondary(cluster, tmp_path) as server:
        server.secondary.checkpoint()
    version = tmp_path / "2nn" / "current" / "VERSION"
    version.write_text(version.read_text().replace("clusterID=", "clusterID=another-"))
    with secondary(cluster, tmp_path) as server:
        with pytest.raises(errors.InconsistentStorage, match="-format empties them"):
            server.secondary.checkpoint()
    server = SecondaryServer(Configuration(values(cluster, tmp_path)), format=True)
    server.secondary.checkpoint()
    server.close()


def test_segment_that_was_damaged_here_does_no_harm(
    cluster: MiniCluster, fs: FileSystem, tmp_path: Path
) -> None:
    """What is kept of a checkpoint that the namenode could not take is fetched again."""
    with secondary(cluster, tmp_path) as server:
        server.secondary.checkpoint()
        fs.mkdirs(f"/merged{tmp_path}")
        faults = cluster.storage_faults("namenode")
        faults.arm(Operation.SYNC, "fsimage.ckpt_*", StorageAction.FULL)
        with pytest.raises(errors.CheckpointFailed, match="No space left"):
            server.secondary.checkpoint()
    kept = tmp_path / "2nn" / "current"
    last = kept / segments(kept)[-1]
    last.write_bytes(flipped(last.read_bytes()))
    with secondary(cluster, tmp_path) as server:
        txid = server.secondary.checkpoint()
        assert server.secondary.failed_merges == 0
    assert images(current_of(cluster))[-1] == f"fsimage_{txid:019d}"


def flipped(data: bytes) -> bytes:
    changed = bytearray(data)
    changed[len(changed) // 2] ^= 1
    return bytes(changed)


def damage_on_the_way(server: SecondaryServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments come with a bit changed."""
    fetch = server._primary.fetch_edits

    def fetch_damaged(version: NamenodeVersion, segment: tuple[int, int], sink: Any) -> None:
        pieces: list[bytes] = []
        fetch(version, segment, SimpleNamespace(write=pieces.append))
        sink.write(flipped(b"".join(pieces)))

    monkeypatch.setattr(server._primary, "fetch_edits", fetch_damaged)


def test_damaged_segment_is_fetched_again(
    cluster: MiniCluster, fs: FileSystem, tmp_path: Path
) -> None:
    with secondary(cluster, tmp_path) as server:
        fs.mkdirs(f"/merged{tmp_path}")
        with pytest.MonkeyPatch.context() as patch:
            damage_on_the_way(server, patch)
            with pytest.raises(errors.CorruptEditLog):
                server.secondary.checkpoint()
        assert server.secondary.failed_merges == 1
        txid = server.secondary.checkpoint()
        assert server.secondary.failed_merges == 0
    assert images(current_of(cluster))[-1] == f"fsimage_{txid:019d}"


def test_secondary_ends_when_merges_fail_too_often(
    cluster: MiniCluster, fs: FileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.mkdirs(f"/merged{tmp_path}")
    more = {
        "dfs.namenode.checkpoint.check.period": "10ms",
        "dfs.namenode.checkpoint.max-retries": "0",
    }
    with secondary(cluster, tmp_path, **more) as server:
        damage_on_the_way(server, monkeypatch)
        assert server.serve(None) == 1


def test_disk_that_fails_once_costs_one_checkpoint(
    cluster: MiniCluster, fs: FileSystem, tmp_path: Path
) -> None:
    fault = cluster.storage_faults("namenode").arm(
        Operation.SYNC, "fsimage.ckpt_*", StorageAction.FULL
    )
    fs.mkdirs("/refused")
    before = images(current_of(cluster))
    with secondary(cluster, tmp_path) as server:
        with pytest.raises(errors.CheckpointFailed, match="No space left"):
            server.secondary.checkpoint()
        assert fault.victims()
        assert images(current_of(cluster)) == before
        assert not unfinished(current_of(cluster))
        txid = server.secondary.checkpoint()
    assert images(current_of(cluster))[-1] == f"fsimage_{txid:019d}"


def test_secondary_that_is_told_to_stop_leaves_nothing_unfinished(
    cluster: MiniCluster, tmp_path: Path
) -> None:
    with secondary(cluster, tmp_path) as server:
        server.stop()
        with pytest.raises(Stopped):
            server.secondary.checkpoint()
    assert not unfinished(tmp_path / "2nn" / "current")
    assert server.serve(None) == 0


# --- commands and the process -------------------------------------------------------------


@pytest.fixture
def same_logging() -> Iterator[None]:
    """A command sends the log to stderr, which is another one here for each test."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("same_logging")
def test_commands_say_and_do_what_hadoops_do(
    cluster: MiniCluster, fs: FileSystem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = options(cluster, tmp_path)
    assert main([*ours, "secondarynamenode", "-checkpoint"]) == 0
    assert "Skipping checkpoint." in capsys.readouterr().err
    assert not images(tmp_path / "2nn" / "current")
    assert main([*ours, "secondarynamenode", "-checkpoint", "force"]) == 0
    assert images(tmp_path / "2nn" / "current")
    fs.mkdirs("/counted")
    capsys.readouterr()
    assert main([*ours, "secondarynamenode", "-geteditsize"]) == 0
    assert capsys.readouterr().out == "NameNode has 2 uncheckpointed transactions\n"
    assert main([*ours, "secondarynamenode", "-checkpoint", "perhaps"]) == 255
    assert main([*ours, "secondarynamenode", "-checkpoint", "-geteditsize"]) == 255


def get(web: str, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(web, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def info(web: str) -> dict[str, Any]:
    found = get(web, "/jmx?qry=Hadoop:service=SecondaryNameNode,name=SecondaryNameNodeInfo")[1]
    bean: dict[str, Any] = json.loads(found)["beans"][0]
    return bean


@pytest.mark.req("FS-031", "FS-260", "FS-261", "FS-262", "FS-280")
def test_process_makes_checkpoints_and_goes_on_without_its_namenode(
    cluster: MiniCluster, fs: FileSystem, tmp_path: Path
) -> None:
    conf = {
        **values(cluster, tmp_path),
        "dfs.namenode.checkpoint.check.period": "100ms",
        "dfs.namenode.checkpoint.txns": "5",
    }
    words = [word for item in conf.items() for word in ("-D", "=".join(item))]
    ready, log = tmp_path / "ready", tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "howdah", "secondarynamenode", *words),
                *("--ready-file", str(ready)),
            ],
            stderr=output,
            env={**os.environ, "HADOOP_CONF_DIR": str(tmp_path)},
        )
    kept = tmp_path / "2nn" / "current"
    try:
        wait_until(lambda: ready.exists() and images(kept), timeout_s=60)
        web = str(json.loads(ready.read_text())["http"])
        wait_until(lambda: info(web)["LastCheckpointTime"], timeout_s=60)
        assert info(web)["CheckpointTxns"] == 5
        for path in ("/health", "/ready"):
            status, told = get(web, path)
            assert status == 200
            assert json.loads(told)["role"] == "secondarynamenode"
        for path in ("/", "/prom", "/metrics", "/conf", "/logLevel", "/stacks"):
            assert get(web, path)[0] == 200, path
        assert get(web, "/elsewhere")[0] == 404
        cluster.kill("namenode")
        wait_until(lambda: "no checkpoint: " in log.read_text(), timeout_s=60)
        wait_until(lambda: json.loads(get(web, "/health")[1])["last_failure"], timeout_s=60)
        cluster.restart("namenode")
        before = images(kept)[-1]
        for number in range(10):
            fs.mkdirs(f"/busy/{number}")
        wait_until(lambda: images(current_of(cluster))[-1] > before, timeout_s=60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


# --- the namenode's side ------------------------------------------------------------------


class Uploads:
    """A stranger with images in his hands."""

    def __init__(self, cluster: MiniCluster) -> None:
        self.cluster = cluster
        version = (current_of(cluster) / "VERSION").read_text()
        found = NamenodeVersion.parse(version, "VERSION")
        self.info = storage_info(
            found.layout_version, found.namespace_id, found.ctime_ms, found.cluster_id
        )
        self.address = cluster.http.removeprefix("http://")

    def image(self) -> bytes:
        """The newest one, of a transaction before the end of the log."""
        connection = http.client.HTTPConnection(self.address)
        connection.request("GET", ImageWanted(None, self.info).target())
        return connection.getresponse().read()

    def last_txid(self) -> int:
        rpc = RpcClient(namenode_address(self.cluster.conf), NamenodeProtocol.PROTOCOL)
        try:
            request = pb.GetTransactionIdRequestProto()
            return rpc.call("getTransactionId", request, pb.GetTransactionIdResponseProto).txId
        finally:
            rpc.close()

    def put(
        self,
        txid: int,
        data: bytes,
        *,
        md5: str | None = None,
        info: str | None = None,
        length: int | None = None,
    ) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self.address)
        size = len(data) if length is None else length
        offered = ImageOffered(txid, size, info or self.info, None)
        headers = {MD5_HEADER: md5 or hashlib.md5(data).hexdigest()}
        connection.request("PUT", offered.target(), iter([data]), headers, encode_chunked=True)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


@pytest.fixture
def uploads(cluster: MiniCluster, fs: FileSystem) -> Iterator[Uploads]:
    fs.mkdirs("/uncovered/by/any/image")
    fs.delete("/uncovered", recursive=True)
    uploads = Uploads(cluster)
    before = images(current_of(cluster))
    yield uploads
    assert images(current_of(cluster)) == before
    assert not unfinished(current_of(cluster))


def test_image_that_was_damaged_on_its_way_is_refused(uploads: Uploads) -> None:
    status, why = uploads.put(uploads.last_txid(), b"x" * 100_000, md5="0" * 32)
    assert status == 410
    assert "damaged on its way" in why


def test_what_is_no_image_is_refused(uploads: Uploads) -> None:
    status, why = uploads.put(uploads.last_txid(), b"x" * 100_000)
    assert status == 410
    assert "fsimage.ckpt_" in why


def test_image_of_another_transaction_than_it_says_is_refused(uploads: Uploads) -> None:
    status, why = uploads.put(uploads.last_txid(), uploads.image())
    assert status == 410
    assert "after transaction" in why


@pytest.mark.parametrize("difference", [-1, 1])
def test_image_of_another_length_than_it_says_is_refused(uploads: Uploads, difference: int) -> None:
    image = uploads.image()
    status, why = uploads.put(uploads.last_txid(), image, length=len(image) + difference)
    assert status == 410
    assert "length" in why or "longer" in why


def test_image_that_is_not_newer_is_refused(uploads: Uploads, cluster: MiniCluster) -> None:
    txid = int(images(current_of(cluster))[-1].rpartition("_")[2])
    status, why = uploads.put(txid, b"x" * 1_000_000)
    assert status == 409
    assert f"an image of transaction {txid} already" in why


def test_image_ahead_of_the_log_is_refused(uploads: Uploads) -> None:
    status, why = uploads.put(uploads.last_txid() + 1000, b"x")
    assert status == 410
    assert "the log has not reached" in why


def test_image_of_another_filesystem_is_refused(uploads: Uploads) -> None:
    status, why = uploads.put(uploads.last_txid(), b"x", info="-67:1:0:CID-another")
    assert status == 403
    assert "has storage info" in why


def test_one_image_is_taken_at_a_time(uploads: Uploads) -> None:
    txid = uploads.last_txid()
    host, _, port = uploads.address.rpartition(":")
    with socket.create_connection((host, int(port))) as slow:
        offered = ImageOffered(txid, 100, uploads.info, None)
        head = f"PUT {offered.target()} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100"
        head += f"\r\n{MD5_HEADER}: {'0' * 32}"
        slow.sendall(head.encode() + b"\r\n\r\n" + b"x" * 10)
        wait_until(lambda: unfinished(current_of(uploads.cluster)))
        status, why = uploads.put(txid, b"x")
        assert status == 409
        assert "another image is being made or uploaded" in why
    # The slow one is gone; what is refused now is refused for what it is.
    wait_until(lambda: uploads.put(txid, b"x")[0] == 410)


def test_transfer_keeps_its_pace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        time.sleep(seconds)

    slow = SimpleNamespace(monotonic=time.monotonic, sleep=sleep)
    monkeypatch.setattr("howdah.namenode.journal.checkpoints.primary.time", slow)
    conf = {**CONF, "dfs.image.transfer.bandwidthPerSec": "400k"}
    with MiniCluster(datanodes=1, conf=conf) as cluster, cluster.connect() as fs:
        for number in range(5):
            fs.mkdirs(f"/{number}")
            fs.set_xattr(f"/{number}", "user.large", bytes(range(256)) * 60)
        # About 75 kB of edits come, and 75 kB of image go.
        with secondary(cluster, tmp_path) as server:
            server.secondary.checkpoint()
    assert sum(slept) > 0.25


@pytest.mark.req("FS-031", "FS-262")
def test_an_image_that_is_refused_is_overdue_and_sent_again_though_nothing_is_written(
    cluster: MiniCluster, fs: FileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuses = threading.Event()
    send_image = Primary.send_image

    def send(self: Primary, *what: Any, **how: Any) -> bool:
        if refuses.is_set():
            raise errors.CheckpointFailed("the namenode refused the image")
        return send_image(self, *what, **how)

    monkeypatch.setattr(Primary, "send_image", send)
    more = {
        "dfs.namenode.checkpoint.check.period": "100ms",
        "dfs.namenode.checkpoint.period": "1s",
    }
    with secondary(cluster, tmp_path, **more) as server:
        thread = threading.Thread(target=server.serve, args=(None,))
        thread.start()
        try:
            wait_until(lambda: bool(server.web.addresses()), timeout_s=60)
            web = server.web.addresses()["http"]
            wait_until(lambda: info(web)["LastCheckpointTime"], timeout_s=60)
            refuses.set()
            fs.mkdirs("/idle/after/this")
            wait_until(lambda: get(web, "/health")[0] == 503, timeout_s=60)
            wait_until(lambda: "refused the image" in get(web, "/health")[1], timeout_s=60)
            assert "A checkpoint is overdue" in get(web, "/")[1]
            before = images(current_of(cluster))[-1]
            refuses.clear()
            wait_until(lambda: images(current_of(cluster))[-1] > before, timeout_s=60)
            wait_until(lambda: get(web, "/health")[0] == 200, timeout_s=60)
            wait_until(lambda: not json.loads(get(web, "/health")[1])["last_failure"], timeout_s=60)
        finally:
            server.stop()
            thread.join(60)
