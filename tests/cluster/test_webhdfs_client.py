"""`webhdfs://` as a filesystem: the contract of streams, and what it sees beside `hdfs://`."""

from __future__ import annotations

import io
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

import howdah
from howdah import errors
from howdah.fs.acl import AclEntry
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.webhdfs.filesystem import WebHdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.contract import Check, Subject, Traits, contract_parameters, run
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.kind("hdfs")

DATA = bytes(range(256)) * 20_000


@dataclass
class Both:
    """One cluster, seen over HTTP and over RPC."""

    cluster: MiniCluster
    web: WebHdfsFileSystem
    rpc: HdfsFileSystem


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    conf = {
        "dfs.namenode.acls.enabled": "true",
        "dfs.blocksize": "1m",
        "dfs.ls.limit": "3",
        "howdah.client.symlinks.enabled": "true",
        "howdah.namenode.symlinks.enabled": "true",
    }
    with MiniCluster(datanodes=2, conf=conf) as cluster, cluster.connect() as rpc:
        address = cluster.http.partition("//")[2].rstrip("/")
        with howdah.connect(f"webhdfs://{address}", conf=cluster.conf) as web:
            assert isinstance(web, WebHdfsFileSystem)
            assert isinstance(rpc, HdfsFileSystem)
            yield Both(cluster, web, rpc)


@pytest.fixture(scope="module")
def subject(both: Both) -> Iterator[Subject]:
    both.web.mkdirs("/contract")
    # What is on its way is in the file when the datanode has written it, which HTTP cannot ask.
    traits = Traits(flush_shows_nothing=True, exact_length=False, several_clients=True)
    with howdah.connect(both.web.uri, conf=both.cluster.conf) as other:
        yield Subject(both.web, "/contract", other=other, traits=traits)


@pytest.mark.parametrize("check", contract_parameters())
def test_contract(check: Check, subject: Subject) -> None:
    run(check, subject)


# What is seen and done, beside `hdfs://`.

NAMES = ("/n", "/n/d", "/n/d/e", "/n/a b+c%20;d", "/n/größe", "/n/empty", "/n/big")
LOOKS: list[tuple[str, Callable[[Any, str], object]]] = [
    ("status", lambda fs, path: replace(fs.get_file_status(path), access_time_ms=0)),
    ("link status", lambda fs, path: replace(fs.get_file_link_status(path), access_time_ms=0)),
    ("listing", lambda fs, path: [replace(s, access_time_ms=0) for s in fs.list_status(path)]),
    ("summary", lambda fs, path: fs.content_summary(path)),
    ("ACL", lambda fs, path: fs.get_acl_status(path)),
    ("attributes", lambda fs, path: fs.get_xattrs(path)),
    ("names of attributes", lambda fs, path: fs.list_xattrs(path)),
    ("policy", lambda fs, path: fs.get_storage_policy(path)),
    ("walk", lambda fs, path: [(top, len(d), len(f)) for top, d, f in fs.walk(path)]),
    ("closed", lambda fs, path: fs.is_file(path) and fs.is_file_closed(path)),
    ("checksum", lambda fs, path: fs.is_file(path) and fs.get_file_checksum(path)),
]


def located(fs: Any, path: str) -> object:
    """But for the ids of storages, which HTTP does not tell, and the order of the replicas."""
    return [
        (each.offset, each.length, sorted(each.names), sorted(each.topology_paths), each.corrupt)
        for each in fs.block_locations(path)
    ]


@pytest.mark.req("FS-250")
def test_it_sees_what_is_seen_over_rpc(both: Both) -> None:
    web, rpc = both.web, both.rpc
    web.mkdirs("/n/d/e", 0o751)
    for name, data in zip(NAMES[3:], (b"x", b"y", b"", DATA), strict=True):
        with web.create(name, replication=1, permission=0o640) as out:
            out.write(data)
    web.set_owner("/n/d", "ann", "staff")
    web.set_permission("/n/d/e", 0o1711)
    web.set_times("/n/big", 5000, 6000)
    rpc.set_times("/n/empty", -5000, -6000)  # in the past, which HTTP shows and does not set
    assert web.set_replication("/n/big", 2)
    web.modify_acl_entries("/n/d", [AclEntry("user", "bob", 5), AclEntry("user", "bob", 4, True)])
    web.remove_acl_entries("/n/d", [AclEntry("user", "bob", 0)])
    web.set_xattr("/n/d", "user.mark", b"\x00\xff")
    web.set_xattr("/n/d", "user.none")
    web.set_storage_policy("/n/d", "HOT")
    web.set_quota("/n/d", names=100)
    web.allow_snapshot("/n/d")
    assert web.create_snapshot("/n/d", "s0") == "/n/d/.snapshot/s0"
    web.create("/n/d/new").close()
    web.create_snapshot("/n/d", "s1")
    for path in NAMES:
        for what, look in LOOKS:
            if not (rpc.is_directory(path) and what == "closed"):
                assert look(web, path) == look(rpc, path), f"{what} of {path}"
    # Its second replicas are made meanwhile.
    wait_until(lambda: all(len(each.names) == 2 for each in rpc.block_locations("/n/big")), 60)
    assert located(web, "/n/big") == located(rpc, "/n/big")
    assert web.snapshot_diff("/n/d", "s0", "s1") == rpc.snapshot_diff("/n/d", "s0", "s1")
    assert web.snapshot_diff("/n/d", "s0") == rpc.snapshot_diff("/n/d", "s0")
    assert web.list_snapshots("/n/d") == rpc.list_snapshots("/n/d")
    assert web.list_snapshottable_directories() == rpc.list_snapshottable_directories()
    assert web.get_storage_policies() == rpc.get_storage_policies()
    assert web.server_defaults() == rpc.server_defaults()
    assert web.home_directory() == rpc.home_directory()
    assert web.get_status().capacity == rpc.get_status().capacity
    web.rename_snapshot("/n/d", "s1", "s2")
    for name in ("s0", "s2"):
        web.delete_snapshot("/n/d", name)
    web.disallow_snapshot("/n/d")
    assert web.delete("/n", recursive=True)
    assert not web.delete("/n", recursive=True)


@pytest.mark.req("FS-250")
def test_errors_are_those_of_rpc(both: Both) -> None:
    both.web.create("/e/f").close()
    attempts: list[Callable[[Any], object]] = [
        lambda fs: fs.create("/e/f"),
        lambda fs: fs.create("/e/none/f", create_parent=False),
        lambda fs: fs.create("/e"),
        lambda fs: fs.create("/e/f/below"),
        lambda fs: fs.open("/e"),
        lambda fs: fs.open("/e/none"),
        lambda fs: fs.append("/e/none"),
        lambda fs: fs.delete("/e"),
        lambda fs: fs.rename("/e/none", "/e/g"),
        lambda fs: fs.rename("/e/f", "/e"),
        lambda fs: fs.get_file_status("/e/none"),
        lambda fs: list(fs.list_status_iter("/e/none")),
        lambda fs: fs.set_permission("/e/none", 0o600),
        lambda fs: fs.get_xattr("/e/f", "user.none"),
        lambda fs: fs.set_storage_policy("/e/f", "NONE"),
        lambda fs: fs.create_snapshot("/e"),
        lambda fs: fs.mkdir("/e/none/deep"),
        lambda fs: fs.mkdirs("/e/f/below"),
    ]
    for number, attempt in enumerate(attempts):
        with pytest.raises(errors.HowdahError) as by_rpc:
            attempt(both.rpc)
        with pytest.raises(errors.HowdahError) as over_http:
            attempt(both.web)
        same = issubclass(over_http.type, by_rpc.type) or issubclass(by_rpc.type, over_http.type)
        assert same, f"{number}: {over_http.value!r}, and {by_rpc.value!r} by RPC"


@pytest.mark.req("FS-251")
def test_it_reads_anywhere(both: Both) -> None:
    with both.web.create("/r", block_size=1 << 20) as out:
        out.write(DATA)
    draw = random.Random(7)
    with both.web.open("/r") as stream:
        assert stream.size == len(DATA)
        for _ in range(30):
            offset = draw.randrange(len(DATA) + 10)
            length = draw.choice((0, 1, 100, 70_000, 1_500_000))
            if draw.random() < 0.5:
                assert stream.pread(offset, length) == DATA[offset : offset + length]
            else:
                stream.seek(offset)
                assert stream.read(length) == DATA[offset : offset + length]
        stream.seek(0)
        assert stream.read() == DATA
    assert both.web.open_file("/r").build().read() == DATA


@pytest.mark.req("FS-251")
def test_a_file_can_be_read_while_it_grows(both: Both) -> None:
    with both.rpc.create("/grows") as out:
        out.write(b"some")
        out.hflush()
        with both.web.open("/grows") as stream:
            assert stream.read(2) == b"so"[: stream.size]


@pytest.mark.req("FS-252")
def test_what_http_cannot_promise_is_refused(both: Both) -> None:
    with both.web.create("/plain") as out:
        out.write(b"data")
        for name in ("hflush", "hsync", "dropbehind"):
            assert not out.has_capability(name)
        with pytest.raises(errors.UnsupportedOperation, match="hflush"):
            out.hflush()
        with pytest.raises(errors.UnsupportedOperation, match="hsync"):
            out.hsync()
    with pytest.raises(errors.UnsupportedOperation, match="recover_lease"):
        both.web.recover_lease("/plain")
    with pytest.raises(errors.UnsupportedOperation, match="datanode_report"):
        both.web.datanode_report()
    assert both.web.open("/plain").read() == b"data"


@pytest.mark.req("FS-252")
def test_a_refusal_comes_before_the_bytes(both: Both) -> None:
    both.web.create("/there").close()
    with pytest.raises(FileExistsError, match="/there"):
        both.web.create("/there")


@pytest.mark.req("FS-250")
def test_it_works_in_another_process(both: Both) -> None:
    with both.web.create("/shared") as out:
        out.write(DATA)
    again = pickle.loads(pickle.dumps(both.web))
    with again:
        assert again.user == both.web.user
        assert again.exists("/shared")
    with both.web.open("/shared") as stream:
        stream.read(10)
        child = os.fork()
        if child == 0:
            try:
                same = stream.pread(1000, 50) == DATA[1000:1050] and both.web.exists("/shared")
                os._exit(0 if same else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert stream.read(100) == DATA[10:110]


@pytest.mark.req("FS-253")
def test_the_shell_and_fsspec_know_it(
    both: Both, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fsspec")
    from howdah.cli.main import main
    from howdah.fsspec import HowdahWebHdfsFileSystem

    uri = both.web.uri
    with both.web.create("/cli/a") as out:
        out.write(b"hello\n")
    assert main(["dfs", "-ls", f"{uri}/cli"]) == 0
    assert f"{uri}/cli/a" in capsys.readouterr().out
    assert main(["dfs", "-cp", f"{uri}/cli/a", f"{uri}/cli/b"]) == 0
    assert both.rpc.open("/cli/b").read() == b"hello\n"
    host, port = uri.partition("//")[2].split(":")
    web = HowdahWebHdfsFileSystem(host=host, port=int(port), conf=dict(both.cluster.conf.items()))
    assert web.cat("/cli/a") == b"hello\n"
    web.pipe("/cli/c", b"more")
    assert web.ls("/cli", detail=False) == ["/cli/a", "/cli/b", "/cli/c"]
    assert web.unstrip_protocol("/cli/c") == f"{uri}/cli/c"
    with io.TextIOWrapper(web.open("/cli/a", "rb")) as text:
        assert text.read() == "hello\n"


def test_fsspecs_own_webhdfs_stays_until_ours_is_installed() -> None:
    """In a process of its own: `install()` is for the rest of one."""
    pytest.importorskip("fsspec")
    program = """
import fsspec
from howdah.fsspec import HowdahWebHdfsFileSystem as ours, install
assert fsspec.get_filesystem_class("webhdfs") is not ours
install()
assert fsspec.get_filesystem_class("webhdfs") is ours
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
