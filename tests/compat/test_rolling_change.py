"""A cluster changes from SIMPLE to Kerberos server by server, and nobody notices."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Final

import pytest
from google.protobuf.message import Message

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.failover.namenodes import CONTROLLER_PROTOCOL
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.proto import client_namenode_pb2, datanode_namenode_pb2, failover_pb2
from howdah.proto import qjournal_pb2 as pb
from howdah.protocol.data_transfer.blocks import NO_TOKEN, ExtendedBlock
from howdah.protocol.data_transfer.op_requests import ReadBlock, encode_request
from howdah.rpc.client import RpcClient
from howdah.runtime.sockets import PeerClosed, connect
from tests.support.failover.java_client import JavaRounds
from tests.support.failover.workload import CLIENT_PROTOCOL, wait_until_they_go_on, working_by
from tests.support.failover.write_ledger import Manifest
from tests.support.hadoop.programs import hadoop_program
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.our_routers import OurRouters
from tests.support.security.rolling import TRANSITION, Phase, RollingQuorum, simple_part
from tests.support.security.secured_quorum import NAMENODES, NAMESERVICE
from tests.support.security.servers import write_site_files

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

DATA: Final = os.urandom((1 << 20) + 70_000)
_DATANODES: Final = "org.apache.hadoop.hdfs.server.protocol.DatanodeProtocol"
_QJOURNAL: Final = "org.apache.hadoop.hdfs.qjournal.protocol.QJournalProtocol"
_JAVA: Final = Path(__file__).with_name("FailoverClient.java")


def check_works(connect: Callable[[], HdfsFileSystem]) -> None:
    with connect() as fs:
        assert fs.read_bytes("/user/alice/before") == DATA
        fs.write_bytes("/user/alice/new", DATA, overwrite=True)
        assert fs.read_bytes("/user/alice/new") == DATA


def check_refused(address: tuple[str, int], protocol: str) -> None:
    """Raises AssertionError where a port takes who proves nothing."""
    client = RpcClient(address, protocol, user="root")
    calls: dict[str, tuple[str, Message]] = {
        CLIENT_PROTOCOL: ("getServerDefaults", client_namenode_pb2.GetServerDefaultsRequestProto()),
        _DATANODES: ("versionRequest", datanode_namenode_pb2.VersionRequestProto()),
        CONTROLLER_PROTOCOL: ("gracefulFailover", failover_pb2.GracefulFailoverRequestProto()),
        _QJOURNAL: (
            "getJournalState",
            pb.GetJournalStateRequestProto(jid=pb.JournalIdProto(identifier=NAMESERVICE)),
        ),
    }
    name, request = calls[protocol]
    with closing(client), pytest.raises(errors.AccessDenied, match="SIMPLE authentication is not"):
        client.call(name, request, type(request))


def check_closed(cluster: RollingQuorum) -> None:
    """Hold every port of every server to it that nobody comes without a proof."""
    with cluster.simple_client() as fs, pytest.raises(errors.AccessDenied, match="SIMPLE"):
        fs.read_bytes("/user/alice/before")
    web = [cluster.ports[name]["http"] for name in NAMENODES]
    for name in NAMENODES:
        for protocol in (CLIENT_PROTOCOL, _DATANODES):
            check_refused(("localhost", cluster.ports[name]["rpc"]), protocol)
        if cluster.has_controllers:
            address = "localhost", cluster.ports[name]["zkfc"]
            check_refused(address, CONTROLLER_PROTOCOL)
    for name in cluster.journal_nodes:
        check_refused(("localhost", cluster.ports[name]["rpc"]), _QJOURNAL)
        web.append(cluster.ports[name]["http"])
    with cluster.secured_client("hdfs") as fs:
        nodes = fs.datanode_report("live")
        located = fs.client.namenode.call(
            "getBlockLocations",
            client_namenode_pb2.GetBlockLocationsRequestProto(
                src="/user/alice/before", offset=0, length=1
            ),
            client_namenode_pb2.GetBlockLocationsResponseProto,
        )
    block = ExtendedBlock.from_proto(located.locations.blocks[0].b)
    for node in nodes:
        check_no_data(("localhost", node.transfer_port), block)
        web.append(node.info_port)
    for port in web:
        for path in ("/jmx", "/webhdfs/v1/?op=LISTSTATUS&user.name=root", "/logs"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"http://localhost:{port}{path}", timeout=30)
            assert refused.value.code in (401, 403, 404), (port, path)


def check_no_data(address: tuple[str, int], block: ExtendedBlock) -> None:
    request = replace(ReadBlock(block, "stranger", 0, 100), token=NO_TOKEN)
    with connect(
        address, connect_timeout_s=30, read_timeout_s=30, write_timeout_s=30
    ) as connection:
        connection.send_all(encode_request(request))
        with pytest.raises(PeerClosed):
            connection.recv_exactly(1)


@pytest.fixture
def halfway(kdc: Kdc, tmp_path: Path) -> Iterator[RollingQuorum]:
    """Its datanode and its second namenode take both, and the first namenode is active and has not
    changed yet."""
    phases = {"dn1": Phase.BOTH, "nn2": Phase.BOTH}
    with kdc.in_environment():
        cluster = RollingQuorum(
            tmp_path / "cluster", kdc, journal_nodes=0, datanodes=1, phases=phases
        )
    yield cluster
    cluster.close()


def test_halfway_clients_of_both_kinds_work(halfway: RollingQuorum) -> None:
    clients = [halfway.simple_client, halfway.changing_client]
    with halfway.simple_client() as fs:
        fs.write_bytes("/user/alice/before", DATA)
    with ExitStack() as stack:
        # They stay, through the failover.
        kept = [stack.enter_context(client()) for client in clients]
        streams = [
            stack.enter_context(fs.create(f"/user/alice/log{number}"))
            for number, fs in enumerate(kept)
        ]
        for stream in streams:
            stream.write(b"from one namenode ")
            stream.hflush()
        for fs, number in product(kept, range(2)):
            # While it is written: a datanode is asked for its length.
            assert fs.read_bytes(f"/user/alice/log{number}") == b"from one namenode "
        for client in clients:
            check_works(client)
        with pytest.raises(errors.AuthenticationFailed, match="asks for no proof"):
            check_works(halfway.secured_client)
        assert halfway.fail_over() == "nn2"
        for fs, stream in zip(kept, streams, strict=True):
            stream.write(b"to the other one")
            stream.hflush()
            assert fs.read_bytes("/user/alice/before") == DATA
            assert (fs.get_delegation_token("alice") is None) is (fs is kept[0])
    for client in (*clients, halfway.secured_client):
        check_works(client)
        with client() as fs:
            for number in range(2):
                log = fs.read_bytes(f"/user/alice/log{number}")
                assert log == b"from one namenode to the other one"
    for name in ("nn2", "dn1"):
        assert "believes everybody who shows no proof" in halfway.log(name)
        assert " from 127.0.0.1 came without a proof" in halfway.log(name)
    check_web(halfway)


@pytest.mark.torture
def test_a_router_takes_both_kinds_before_namenodes_of_both(
    halfway: RollingQuorum, tmp_path: Path
) -> None:
    with halfway.simple_client() as fs:
        fs.write_bytes("/user/alice/before", DATA)
    routers = OurRouters(tmp_path / "routers", halfway, {TRANSITION: "true"})
    try:
        routers.start()
        simple = Configuration(simple_part(routers.client_conf()))

        def without() -> HdfsFileSystem:
            fs = howdah.connect(routers.uri(), conf=simple, user="alice")
            assert isinstance(fs, HdfsFileSystem)
            return fs

        def changing() -> HdfsFileSystem:
            fallback = {"ipc.client.fallback-to-simple-auth-allowed": "true"}
            return routers.connect(conf=fallback, rpc="privacy", data="privacy")

        for _ in range(2):
            check_works(without)
            check_works(changing)
            if halfway.active() == "nn1":
                assert halfway.fail_over() == "nn2"
        with without() as fs:
            assert fs.get_delegation_token("alice") is None
        with routers.connect(rpc="privacy") as fs:
            assert fs.get_delegation_token("alice") is not None
        assert "the router believes everybody who shows no proof" in routers.log()
    finally:
        routers.close()


def check_web(cluster: RollingQuorum) -> None:
    """Pages and files by name and by ticket; what is shown and not good is refused."""
    place = f"localhost:{cluster.ports['nn2']['http']}"
    with urllib.request.urlopen(f"http://{place}/", timeout=30) as page:
        assert "believes everybody who shows no proof" in page.read().decode()
    conf = Configuration(cluster.client_conf(rpc="privacy", data="privacy"))
    secured = howdah.connect(
        f"webhdfs://{place}",
        conf=conf.with_values({"ipc.client.fallback-to-simple-auth-allowed": "false"}),
        keytab=str(cluster.kdc.keytab("alice")),
        principal=f"alice@{REALM}",
    )
    simple = howdah.connect(
        f"webhdfs://{place}", conf=Configuration(simple_part(cluster.conf)), user="bob"
    )
    for fs, home in ((secured, "/user/alice"), (simple, "/user/bob")):
        with fs:
            fs.write_bytes(f"{home}/web", DATA, overwrite=True)
            assert fs.read_bytes(f"{home}/web") == DATA
            assert fs.get_file_status(f"{home}/web").owner == home.rpartition("/")[2]
    for path, headers in (
        ("/webhdfs/v1/?op=LISTSTATUS&user.name=bob", {"Authorization": "Negotiate AAAA"}),
        ("/webhdfs/v1/?op=LISTSTATUS&user.name=bob", {"Cookie": "hadoop.auth=u=bob&s=x"}),
        ("/webhdfs/v1/?op=LISTSTATUS&delegation=AAAA", {}),
    ):
        request = urllib.request.Request(f"http://{place}{path}", headers=headers)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=30)
        assert refused.value.code in (401, 403)


# -- at work all the time ----------------------------------------------------------


class Works:
    """Clients of this project's and of Hadoop's, as they are at work."""

    def __init__(self, cluster: RollingQuorum, jars: str, directory: Path) -> None:
        self._cluster = cluster
        self._jars = jars
        self._directory = directory
        self.manifests: list[Manifest] = []
        self.java: list[JavaRounds] = []

    def add_java(self, name: str, conf: Mapping[str, str], **environment: str) -> None:
        conf_dir = self._directory / f"java-{name}"
        write_site_files(conf_dir, conf)
        options = [f"-Djava.security.krb5.conf={os.environ['KRB5_CONFIG']}"]
        path = f"{self._cluster.uri}/user/alice/java-{name}"
        program = hadoop_program(_JAVA, self._jars, conf_dir, options=options)
        output = self._directory / f"java-{name}.log"
        self.java.append(JavaRounds([*program, path], output, environment))
        self.java[-1].wait_for(1)

    def finish_java(self) -> None:
        while self.java:
            self.java[-1].finish()
            self.java.pop()

    def go_on(self) -> None:
        for manifest in self.manifests:
            wait_until_they_go_on(manifest)
        for each in self.java:
            each.wait_for(1)


@pytest.mark.torture
@pytest.mark.timeout(1200)
def test_nobody_at_work_notices(kdc: Kdc, hadoop_classpath: str, tmp_path: Path) -> None:
    """Journal nodes, controllers, checkpoints; clients of Hadoop's, too."""
    conf = {
        "dfs.ha.standby.checkpoints": "true",
        "dfs.namenode.checkpoint.txns": "100",
        "dfs.namenode.checkpoint.check.period": "1",
        "dfs.replication": "2",
    }
    cache = tmp_path / "ticket"
    with kdc.in_environment():
        cluster = RollingQuorum(tmp_path / "cluster", kdc, conf, has_controllers=True)
    works = Works(cluster, hadoop_classpath, tmp_path)
    try:
        kdc.kinit("alice", cache)
        with cluster.simple_client() as fs:
            fs.write_bytes("/user/alice/before", DATA)
            for name in ("simple", "changing", "secured"):
                fs.mkdirs(f"/user/alice/{name}")
        changed = cluster.client_conf(rpc="privacy", data="privacy")
        with working_by(cluster.changing_client, "/user/alice/changing") as changing:
            with working_by(cluster.simple_client, "/user/alice/simple") as simple:
                works.manifests += [changing, simple]
                works.add_java("changing", changed, KRB5CCNAME=str(cache))
                works.add_java("simple", simple_part(cluster.conf), HADOOP_USER_NAME="alice")
                cluster.change_all(Phase.BOTH, works.go_on)
                # Hadoop's, which have met a namenode without Kerberos, make no handshakes for data
                # as long as they live.
                works.finish_java()
                works.manifests.remove(simple)
            with working_by(cluster.secured_client, "/user/alice/secured") as secured:
                works.manifests.append(secured)
                works.add_java("secured", changed, KRB5CCNAME=str(cache))
                cluster.change_all(Phase.KERBEROS, works.go_on)
        works.finish_java()
        with cluster.secured_client() as fs:
            for manifest in (changing, simple, secured):
                manifest.verify(fs)
            assert fs.read_bytes("/user/alice/before") == DATA
        check_closed(cluster)
        assert "came without a proof" in cluster.log("jn1") + cluster.log("jn2")
    finally:
        for each in works.java:
            each.kill()
        cluster.close()
