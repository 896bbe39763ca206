"""Servers of this project that have all data encrypted (`dfs.encrypt.data.transfer`), beside
Hadoop's: with Kerberos and without, for each client."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.protocol.data_transfer.blocks import NO_TOKEN, ExtendedBlock
from howdah.protocol.data_transfer.op_requests import ReadBlock, encode_request
from howdah.testing.waiting import wait_until
from tests.compat.test_secured_commands import Commands
from tests.compat.test_secured_peers import copy_by_java, copy_by_native
from tests.support.hadoop.java import hadoop_java
from tests.support.security.fixtures import ENCRYPTED
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.our_servers import (
    MixedDatanodes,
    OurMixedCluster,
    OurSecuredCluster,
    OurSecuredDatanodes,
    OurSecuredNamenode,
)
from tests.support.security.secured_hadoop import WITHOUT_KERBEROS, SecuredHadoop

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

MOVER: Final = "org.apache.hadoop.hdfs.server.mover.Mover"
POLICY: Final = "XOR-2-1-1024k"
DATA: Final = bytes(range(256)) * 10_000
"""Three blocks."""
SIMPLE: Final = {
    **WITHOUT_KERBEROS,
    "hadoop.rpc.protection": "authentication",
    "dfs.web.authentication.kerberos.principal": "",
}
WITHOUT_AES: Final = {
    "dfs.encrypt.data.transfer.cipher.suites": "",
    "dfs.encrypt.data.transfer.algorithm": "rc4",
}
LONG_KEYS: Final = {"dfs.encrypt.data.transfer.cipher.key.bitlength": "256"}
_SERVERS: Final = {
    "namenode": OurSecuredNamenode,
    "datanodes": OurSecuredDatanodes,
    "ours": OurSecuredCluster,
    "mixed": OurMixedCluster,
    "hadoops namenode and mixed": MixedDatanodes,
}


def _cell(servers: str, name: str, conf: dict[str, str], *, always: bool = False) -> object:
    marks = () if always else pytest.mark.torture
    return pytest.param((_SERVERS[servers], conf), id=f"{servers}-{name}", marks=marks)


CELLS: Final = [
    _cell("mixed", "kerberos", {}, always=True),
    _cell("ours", "simple", SIMPLE, always=True),
    *(_cell(servers, "kerberos", {}) for servers in _SERVERS if servers != "mixed"),
    *(_cell(servers, "simple", SIMPLE) for servers in _SERVERS if servers != "ours"),
    *(_cell(servers, "rc4", WITHOUT_AES) for servers in _SERVERS),
    *(_cell(servers, "rc4-simple", {**SIMPLE, **WITHOUT_AES}) for servers in _SERVERS),
    *(_cell(servers, "aes256", LONG_KEYS) for servers in _SERVERS),
]


@pytest.fixture(scope="module", params=CELLS)
def cluster(
    request: pytest.FixtureRequest,
    kdc: Kdc,
    hadoop_classpath: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SecuredHadoop]:
    kind, conf = request.param
    directory = tmp_path_factory.mktemp("encrypted")
    with kdc.in_environment():
        made: SecuredHadoop = kind(directory, hadoop_classpath, kdc, {**ENCRYPTED, **conf})
    yield made
    made.close()


def suites_of(cluster: SecuredHadoop) -> str:
    return cluster.conf["dfs.encrypt.data.transfer.cipher.suites"]


@pytest.fixture
def fs(cluster: SecuredHadoop) -> Iterator[HdfsFileSystem]:
    """Of a client that was told nothing of encryption but the suites."""
    conf = {"dfs.encrypt.data.transfer": "false", "dfs.data.transfer.protection": ""}
    with cluster.connect(conf=conf, suites=suites_of(cluster)) as fs:
        yield fs


def nodes_of(cluster: SecuredHadoop) -> int:
    return 2 if isinstance(cluster, MixedDatanodes) else 1


def test_data_are_written_read_and_summed(cluster: SecuredHadoop, fs: HdfsFileSystem) -> None:
    path = "/user/alice/file"
    with fs.create(path, overwrite=True, replication=nodes_of(cluster)) as out:
        out.write(DATA)
        out.hsync()
        # Its length is a datanode's to tell, by the block's token.
        with fs.open(path) as reader:
            assert reader.read() == DATA
        out.write(b"more")
    with fs.append(path) as out:
        out.write(b" and more")
    assert fs.open(path).read() == DATA + b"more and more"
    assert fs.get_file_checksum(path) is not None


def test_each_client_reads_what_another_wrote(
    cluster: SecuredHadoop, fs: HdfsFileSystem, hadoop_classpath: str, tmp_path: Path
) -> None:
    source = "/user/alice/source"
    with fs.create(source, overwrite=True, replication=nodes_of(cluster)) as out:
        out.write(DATA)
    chosen = cluster.client_conf(suites=suites_of(cluster))
    copy_by_java(cluster, hadoop_classpath, chosen, source, f"{source}-java")
    assert fs.read_bytes(f"{source}-java") == DATA
    # hdfs-native has no RC4.
    if cluster.is_secured and cluster.conf.get("dfs.encrypt.data.transfer.algorithm") != "rc4":
        pytest.importorskip("hdfs_native", reason="hdfs-native is not installed")
        copy_by_native(cluster, chosen, source, f"{source}-native", tmp_path / "cache")
        assert fs.read_bytes(f"{source}-native") == DATA


def test_replicas_are_copied_from_each_datanode_to_the_other(
    cluster: SecuredHadoop, fs: HdfsFileSystem
) -> None:
    if nodes_of(cluster) == 1:
        pytest.skip("there is one datanode")

    def places(path: str) -> set[str]:
        (located,) = fs.block_locations(path)
        return set(located.names)

    with cluster.connect("hdfs") as administrator:
        nodes = [node.name for node in administrator.datanode_report("live")]
    first = {}
    for number, node in enumerate(nodes):
        path = first[node] = f"/user/alice/copied-{number}"
        with fs.create_file(path).overwrite().replication(1).favored_nodes([node]).build() as out:
            out.write(DATA[:100_000])
        assert places(path) == {node}
    for path in first.values():
        fs.set_replication(path, 2)
    wait_until(lambda: all(len(places(path)) == 2 for path in first.values()), timeout_s=60)
    for path in first.values():
        assert fs.read_bytes(path) == DATA[:100_000]


def test_who_does_not_encrypt_gets_nothing(cluster: SecuredHadoop, fs: HdfsFileSystem) -> None:
    path = "/user/alice/closed"
    fs.write_bytes(path, b"secret")
    (located,) = fs.block_locations(path)
    host, _, port = next(iter(located.names)).rpartition(":")
    request = ReadBlock(ExtendedBlock("BP-1", 1, 1, 1), "client", 0, 1, token=NO_TOKEN)
    with socket.create_connection((host, int(port)), timeout=20) as sock:
        sock.sendall(encode_request(request))
        try:
            assert sock.recv(100) == b""
        except ConnectionResetError:
            pass


@pytest.mark.torture
@pytest.mark.parametrize("whose", ["ours", "hadoops"])
def test_replicas_are_moved(
    cluster: SecuredHadoop,
    kdc: Kdc,
    hadoop_classpath: str,
    capsys: pytest.CaptureFixture[str],
    whose: str,
) -> None:
    """Where there are two datanodes, from this project's, which has no storage for what is cold, to
    Hadoop's."""
    path = f"/cold/{whose}"
    own = {"dfs.namenode.redundancy.interval.seconds": "1"}
    if cluster.is_secured:
        own |= {
            "dfs.mover.keytab.enabled": "true",
            "dfs.mover.keytab.file": str(kdc.keytab("hdfs")),
            "dfs.mover.kerberos.principal": f"hdfs@{REALM}",
        }
    conf = {**cluster.client_conf(suites=suites_of(cluster)), **own}
    with cluster.connect("hdfs") as fs:
        with fs.create(path, overwrite=True, replication=1) as out:
            out.write(DATA)
        fs.set_storage_policy(path, "COLD")
        if whose == "ours":
            Commands(conf, capsys).good("mover", "-p", path)
        else:
            options = [f"-Djava.security.krb5.conf={kdc.configuration}"]
            settings = [word for name, value in conf.items() for word in ("-D", f"{name}={value}")]
            program = hadoop_java(hadoop_classpath, cluster.conf_dir, options=options)
            done = subprocess.run(
                [*program, MOVER, *settings, "-p", path],
                capture_output=True,
                text=True,
                timeout=120,
            )
            assert done.returncode == 0, done.stderr + done.stdout

        def kinds() -> set[str]:
            blocks = fs.client.namenode.get_block_locations(path, 0, len(DATA)).blocks
            return {kind.name for block in blocks for kind in block.storage_types}

        # The replica that was moved is deleted a heartbeat later.
        wait_until(lambda: kinds() == {"ARCHIVE"}, timeout_s=30)
        assert fs.read_bytes(path) == DATA


@pytest.mark.torture
@pytest.mark.parametrize("kind", [OurMixedCluster, MixedDatanodes])
def test_block_groups_are_written_summed_and_made_anew(
    kdc: Kdc, hadoop_classpath: str, tmp_path: Path, kind: type[MixedDatanodes]
) -> None:
    conf = {**ENCRYPTED, "dfs.namenode.heartbeat.recheck-interval": "1000"}
    with kdc.in_environment():
        cluster = kind(tmp_path / "cluster", hadoop_classpath, kdc, conf)
        for name in (f"{cluster.OURS}-2", "datanode-hadoops-2"):
            cluster.add_datanode(name, tmp_path / name)
    source, content = "/user/alice/coded/source", DATA[:1_500_000]
    try:
        with cluster.connect("hdfs") as administrator:
            administrator.client.namenode.enable_erasure_coding_policy(POLICY)
            administrator.mkdirs("/user/alice/coded")
            administrator.set_owner("/user/alice/coded", "alice", "users")
            administrator.set_erasure_coding_policy("/user/alice/coded", POLICY)
            wait_until(lambda: len(administrator.datanode_report("live")) == 4, 60)
        with cluster.connect() as fs:
            fs.write_bytes(source, content)
            chosen = cluster.client_conf(suites=suites_of(cluster))
            copy_by_java(cluster, hadoop_classpath, chosen, source, f"{source}-java")
            assert fs.read_bytes(f"{source}-java") == content
            expected = fs.get_file_checksum(source)
            assert expected is not None
            assert fs.get_file_checksum(f"{source}-java") == expected
            cluster.kill_datanode("datanode")

            def live_places(path: str) -> int:
                with cluster.connect("hdfs") as administrator:
                    live = {node.name for node in administrator.datanode_report("live")}
                (located,) = fs.block_locations(path)
                return len(live & {*located.names}) if len(live) == 3 else 0

            paths = source, f"{source}-java"
            wait_until(lambda: all(live_places(path) == 3 for path in paths), timeout_s=90)
            for path in paths:
                assert fs.read_bytes(path) == content
                assert fs.get_file_checksum(path) == expected
    finally:
        cluster.close()


# -- ports that root alone can open ------------------------------------------------------


def _privileged_ports() -> tuple[int, int]:
    """Two that are free."""
    found: list[int] = []
    for port in random.sample(range(700, 1000), 300):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == 2:
            break
    return found[0], found[1]


def can_run_servers(user: str) -> bool:
    imports = [sys.executable, "-c", "import ctypes.util, howdah.datanode.server"]
    try:
        return subprocess.run(imports, user=user, capture_output=True).returncode == 0
    except PermissionError:  # in a directory that only root may enter
        return False


@pytest.fixture(params=["root", "nobody"])
def at_privileged_ports(
    request: pytest.FixtureRequest, kdc: Kdc, hadoop_classpath: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SecuredHadoop]:
    """A cluster of this project's whose datanode is proven by its ports, and runs as that user."""
    if os.geteuid() != 0:
        pytest.skip("only root listens below port 1024")
    if request.param != "root":
        if not can_run_servers(request.param):
            pytest.skip(f"{request.param} cannot read this interpreter, or the source")
        monkeypatch.setenv("HDFS_DATANODE_SECURE_USER", request.param)
    data_port, http_port = _privileged_ports()
    conf = {
        "ignore.secure.ports.for.testing": "false",
        "dfs.data.transfer.protection": "",
        "dfs.http.policy": "HTTP_ONLY",
        "dfs.datanode.address": f"localhost:{data_port}",
        "dfs.datanode.http.address": f"localhost:{http_port}",
    }
    # Others cannot enter a test's own directory.
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        directory = Path(made)
        directory.chmod(0o777)
        krb5 = Path(shutil.copy(kdc.configuration, directory / "krb5.conf"))
        krb5.chmod(0o644)
        there = {**kdc.environment, "KRB5_CONFIG": str(krb5)}
        monkeypatch.setattr(type(kdc), "environment", property(lambda _: there))
        keytab = directory / "datanode.keytab"
        shutil.copy(kdc.services_keytab, keytab)
        secret = directory / "cookies"
        secret.write_text("a secret of all servers")
        secret.chmod(0o600)
        for path in (keytab, secret):
            shutil.chown(path, request.param)
        conf["hadoop.http.authentication.signature.secret.file"] = str(secret)
        conf["dfs.datanode.keytab.file"] = str(keytab)
        conf["dfs.web.authentication.kerberos.keytab"] = str(keytab)
        with kdc.in_environment():
            cluster = OurSecuredCluster(directory, hadoop_classpath, kdc, conf)
        yield cluster
        cluster.close()


@pytest.mark.torture
def test_a_datanode_at_privileged_ports_is_believed_without_a_handshake(
    at_privileged_ports: SecuredHadoop, hadoop_classpath: str
) -> None:
    """By a client of Hadoop's and by ours, which had not to be told."""
    cluster, source = at_privileged_ports, "/user/alice/source"
    with cluster.connect(data="privacy") as fs:
        fs.write_bytes(source, DATA)
        (located, *_) = fs.block_locations(source)
        assert int(located.names[0].rpartition(":")[2]) < 1024
        conf = cluster.client_conf(data="privacy")
        copy_by_java(cluster, hadoop_classpath, conf, source, f"{source}-java")
        assert fs.read_bytes(f"{source}-java") == DATA
    user = os.environ.get("HDFS_DATANODE_SECURE_USER", "root")
    block = next((cluster.directory / "data").rglob("blk_*"))
    assert block.owner() == user
