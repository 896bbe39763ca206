"""Who may ask a secured cluster for what: each cell of docs/who-may.md, asked."""

from __future__ import annotations

import base64
import re
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from howdah.config import Configuration
from howdah.formats.tokens.block_keys import ExportedKeys
from howdah.formats.tokens.token import Token
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.status import DatanodeReport
from howdah.proto import namenode_pb2
from howdah.protocol.data_transfer.op_requests import Op
from howdah.protocol.rpc import protocol_info
from howdah.rpc.client import RpcClient
from howdah.runtime.users.service_policy import SERVICES
from howdah.security.identity import user_of
from howdah.testing.waiting import wait_until
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.our_servers import OurSecuredNamenode
from tests.support.security.secured_hadoop import SecuredHadoop
from tests.support.security.secured_quorum import NAMESERVICE, SecuredQuorum
from tests.support.security.servers import free_port
from tests.support.security.who_may.addresses import (
    ENABLED_POLICY,
    OK,
    OPERATION_ROWS,
    WEB_FRONTS,
    WEB_ROWS,
    OperationRow,
    WebRow,
    expected_of_operation,
    expected_status,
)
from tests.support.security.who_may.askers import Asker
from tests.support.security.who_may.asking import FORGED_PASSWORD, Askers
from tests.support.security.who_may.calls import (
    ALLOWED,
    ANSWERED,
    FRONTS,
    REFUSALS,
    ROWS,
    RpcRow,
    Rule,
    expected,
)
from tests.support.security.who_may.checking import check_answers, check_statuses
from tests.support.security.who_may.data_asking import DataAskers, Keys, Place
from tests.support.security.who_may.data_operations import ANSWERED as DATA_ANSWERED
from tests.support.security.who_may.data_operations import (
    CALLERS,
    CLOSED,
    DATA_ROWS,
    TOKEN_ROWS,
    DataRow,
    Shown,
    expected_by_token,
    expected_of_data,
)
from tests.support.security.who_may.requests import DIRECTORY, POOL

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

HDFS = "org.apache.hadoop.hdfs."
HERE = [row for row in ROWS if row.port not in FRONTS]
"""Those of a cluster; `test_who_may_fronts` asks what stands before it."""
PORTS = list(dict.fromkeys(row.port for row in HERE))
TOKEN_LIFE_S = 8
KEYS_ROLL = {"dfs.block.access.key.update.interval": "1"}
"""The shortest that there is, in minutes: those who wait for an older key do not wait long."""
ENDING = ("shutdownDatanode",)
"""Calls after which a server is no more."""


@pytest.fixture(scope="module")
def lifeline_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def pages_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def cluster(
    kdc: Kdc, lifeline_port: int, pages_port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredQuorum]:
    """Two namenodes, a journal node, a datanode and controllers, and something of the owner's."""
    directory = tmp_path_factory.mktemp("who-may")
    conf = {
        "dfs.namenode.lifeline.rpc-address.ns.nn1": f"localhost:{lifeline_port}",
        "dfs.namenode.delegation.token.renew-interval": str(TOKEN_LIFE_S * 1000),
        "howdah.failover-controller.http-address.ns.nn1": f"localhost:{pages_port}",
        "dfs.storage.policy.satisfier.mode": "external",
        "dfs.client.read.shortcircuit": "true",
        "dfs.domain.socket.path": str(directory / "socket"),
        **KEYS_ROLL,
    }
    with kdc.in_environment():
        cluster = SecuredQuorum(directory, "", kdc, conf, journal_nodes=1, has_controllers=True)
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def first_keys(kdc: Kdc, cluster: SecuredQuorum) -> ExportedKeys:
    """The keys of block tokens that a namenode has at first. By the end they are older ones."""
    with kdc.in_environment():
        return exported_keys(cluster)


@pytest.fixture(scope="module")
def issued_tokens() -> list[Token]:
    """All that the owner was given."""
    return []


@pytest.fixture(scope="module")
def askers(
    kdc: Kdc,
    cluster: SecuredQuorum,
    lifeline_port: int,
    pages_port: int,
    issued_tokens: list[Token],
    first_keys: ExportedKeys,
) -> Iterator[Askers]:
    with kdc.in_environment():
        owner = cluster.connect("alice")

        def issue() -> Token:
            issued_tokens.append(issued(owner))
            return issued_tokens[-1]

        expired, issued_s = issue(), time.monotonic()
        owner.mkdirs(DIRECTORY)
        owner.set_permission(DIRECTORY, 0o700)
        with cluster.connect("hdfs") as fs:
            fs.add_cache_pool(POOL, owner="alice", mode=0o700)
        ports = cluster.ports
        addresses = {
            "namenode": ("localhost", ports["nn1"]["rpc"]),
            "lifeline": ("localhost", lifeline_port),
            "datanode": ("localhost", datanode_port(cluster)),
            "journalnode": ("localhost", ports["jn1"]["rpc"]),
            "controller": ("localhost", ports["nn1"]["zkfc"]),
            # Whoever may has the standby stay what it is.
            "transitionToStandby": ("localhost", ports["nn2"]["rpc"]),
            "cedeActive": ("localhost", ports["nn2"]["zkfc"]),
        }
        conf = cluster.client_conf()
        web = {
            "namenode": ("localhost", ports["nn1"]["http"]),
            "datanode": ("localhost", datanode_of(cluster).info_port),
            "journalnode": ("localhost", ports["jn1"]["http"]),
            "controller": ("localhost", pages_port),
        }
        made = Askers(kdc, conf, addresses, issue, expired, pool_of(cluster), web)
        enabling = f"/webhdfs/v1/?op=ENABLEECPOLICY&ecpolicy={ENABLED_POLICY}"
        assert made.status_of("namenode", enabling, Asker.ADMINISTRATOR, "PUT") == OK
        wait_until(lambda: time.monotonic() > issued_s + TOKEN_LIFE_S, 2 * TOKEN_LIFE_S)
    yield made
    made.close()
    owner.close()


def pool_of(cluster: SecuredQuorum) -> str:
    """The block pool, by the file that a namenode keeps of it."""
    version = (cluster.directory / "nn1" / "current" / "VERSION").read_text()
    found = re.search(r"^blockpoolID=(.+)$", version, re.M)
    assert found is not None
    return found[1]


def issued(owner: HdfsFileSystem) -> Token:
    token = owner.get_delegation_token("alice")
    assert token is not None
    return token


def datanode_of(cluster: SecuredQuorum | SecuredHadoop) -> DatanodeReport:
    with cluster.connect("hdfs") as fs:
        (node,) = fs.datanode_report("live")
    return node


def datanode_port(cluster: SecuredQuorum) -> int:
    return datanode_of(cluster).ipc_port


@pytest.mark.parametrize("row", HERE, ids=str)
def test_a_call_is_answered_to_whom_the_table_says(askers: Askers, row: RpcRow) -> None:
    # Those whom it obeys are heard in a test of their own.
    not_now = ALLOWED[row.rule] if row.method in ENDING else ()
    found = {who: askers.ask(row, who) for who in Asker if who not in not_now}
    check_answers(found, {who: expected(row, who) for who in found})


@pytest.mark.parametrize("row", [row for row in WEB_ROWS if row.port not in WEB_FRONTS], ids=str)
def test_an_address_is_answered_to_whom_the_table_says(askers: Askers, row: WebRow) -> None:
    check_statuses(
        {who: askers.status_of(row.port, row.target(NAMESERVICE), who) for who in Asker},
        {who: expected_status(row, who) for who in Asker},
    )


@pytest.mark.parametrize("row", OPERATION_ROWS, ids=str)
def test_an_operation_of_webhdfs_is_answered_to_whom_the_table_says(
    askers: Askers, row: OperationRow
) -> None:
    def ask(who: Asker) -> int:
        return askers.status_of("namenode", row.target(askers.a_token()), who, row.method)

    check_statuses(
        {who: ask(who) for who in Asker}, {who: expected_of_operation(row, who) for who in Asker}
    )


# -- block tokens ------------------------------------------------------------------------


BLOCK_FILE = f"{DIRECTORY}/block"


def data_askers(
    cluster: SecuredQuorum | SecuredHadoop, socket: str, older: ExportedKeys
) -> DataAskers:
    """Those who come to the datanode of a cluster. `older` are its keys of a while ago."""
    with cluster.connect("alice") as owner:
        owner.mkdirs(DIRECTORY)
        owner.write_bytes(BLOCK_FILE, b"some data", overwrite=True)
        (located,) = owner.client.namenode.get_block_locations(BLOCK_FILE, 0, 9).blocks
        delegation = issued(owner)
    (storage_id,) = located.storage_ids
    place = Place(datanode_of(cluster), located.block, storage_id, socket)
    wait_until(
        lambda: exported_keys(cluster).current.key_id != older.current.key_id,
        120,
        "the namenode makes tokens by another key",
    )
    keys = Keys(exported_keys(cluster).current, older.current)
    return DataAskers(place, keys, "hdfs", delegation)


@pytest.fixture(scope="module")
def shown_at_the_datanode(kdc: Kdc, cluster: SecuredQuorum, first_keys: ExportedKeys) -> DataAskers:
    with kdc.in_environment():
        return data_askers(cluster, cluster.conf["dfs.domain.socket.path"], first_keys)


@pytest.mark.parametrize("row", DATA_ROWS, ids=str)
def test_an_operation_on_data_is_answered_to_whose_token_allows_it(
    shown_at_the_datanode: DataAskers, row: DataRow
) -> None:
    found = {shown: shown_at_the_datanode.ask(row, shown) for shown in Shown}
    assert found == {shown: expected_of_data(row, shown) for shown in Shown}


@pytest.mark.parametrize("row", TOKEN_ROWS, ids=str)
def test_a_call_by_a_block_token_is_answered_as_the_table_says(
    shown_at_the_datanode: DataAskers, row: RpcRow
) -> None:
    found = {shown: shown_at_the_datanode.call(row, shown) for shown in CALLERS}
    check_answers(found, {shown: expected_by_token(row, shown) for shown in found})


SPEAKERS = {
    f"{HDFS}server.protocol.DatanodeProtocol": Asker.DATANODE,
    f"{HDFS}server.protocol.DatanodeLifelineProtocol": Asker.DATANODE,
    f"{HDFS}server.protocol.InterDatanodeProtocol": Asker.DATANODE,
    f"{HDFS}qjournal.protocol.InterQJournalProtocol": Asker.JOURNALNODE,
}
"""Of protocols that namenodes do not speak."""


@pytest.mark.parametrize("port", PORTS)
def test_a_port_speaks_the_protocols_of_the_table_and_no_other(askers: Askers, port: str) -> None:
    """What has no access lists is spoken by nobody where there are any."""
    spoken = {
        protocol
        for protocol in SERVICES
        if askers.speaks(port, protocol, SPEAKERS.get(protocol, Asker.NAMENODE))
    }
    told = {row.protocol for row in ROWS if row.port == port} - {protocol_info.PROTOCOL}
    assert spoken == told


STRICTER = {
    # Of a process, which an administrator has to be able to kill.
    "getServiceStatus",
    # Says of a file that is not there no more than of one that is.
    "getBlockLocations",
    # Checks permissions before it says that there are no links.
    "createSymlink",
    # Takes block tokens alone.
    "getReplicaVisibleLength",
}
"""Calls that are refused here to some whom Hadoop answers."""
CONFINED = (Asker.DATANODE, Asker.FOREIGN_DATANODE, Asker.JOURNALNODE)
HADOOPS_PORTS = ("namenode", "datanode")
UNREACHABLE = "java.net.ConnectException"
"""How a connection ends there that names a block pool which is not known."""
NOT_SERVED = (Op.READ_METADATA, Op.CUSTOM)
"""Operations at which Hadoop's datanode ends the connection."""


@pytest.mark.torture
def test_hadoops_datanode_takes_no_block_token_that_is_refused_here(
    kdc: Kdc, hadoop_classpath: str, tmp_path: Path
) -> None:
    """And refuses none that is taken here, at its data port and at its RPC port."""
    with kdc.in_environment():
        hadoops = OurSecuredNamenode(tmp_path, hadoop_classpath, kdc, KEYS_ROLL)
        try:
            asking = data_askers(hadoops, "", exported_keys(hadoops))
            there = {
                (row, shown): asking.ask(row, shown)
                for row in DATA_ROWS
                if not row.by_socket and row.op not in NOT_SERVED
                for shown in Shown
            }
            calls = {
                (row, shown): asking.call(row, shown)
                for row in TOKEN_ROWS
                if row.method not in ENDING
                for shown in CALLERS
                # What reads calls there ends by one, and takes no more of anybody.
                if shown is not Shown.DELEGATION
            }
        finally:
            hadoops.close()
    laxer, stricter = set(), set()
    for (row, shown), answer in there.items():
        is_taken_here = expected_of_data(row, shown) == DATA_ANSWERED
        # It ends some connections by an error that it does not tell.
        may_end = not row.of_datanode and row.op is not None
        if is_taken_here and answer != DATA_ANSWERED and not (answer == CLOSED and may_end):
            laxer.add((str(row), shown.name))
        elif not is_taken_here and answer == DATA_ANSWERED:
            stricter.add((str(row), shown.name))
    for (call, shown), answer in calls.items():
        here = expected_by_token(call, shown)
        if here == ANSWERED and answer in REFUSALS:
            laxer.add((call.method, shown.name))
        elif here in REFUSALS and answer not in (*REFUSALS, UNREACHABLE):
            stricter.add((call.method, shown.name))
    assert laxer == set()
    # There a token that names the datanode's user makes the calls of administrators.
    operators = {row.method for row in TOKEN_ROWS if row.rule is Rule.OPERATOR}
    assert stricter <= {(method, Shown.OTHER_USER.name) for method in operators}, stricter


@pytest.mark.torture
def test_hadoop_refuses_no_call_that_is_answered_here(
    kdc: Kdc, hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The same calls by the same callers, at Hadoop's namenodes and datanode."""
    directory = tmp_path_factory.mktemp("hadoops")
    conf = {"dfs.storage.policy.satisfier.mode": "external"}
    laxer, stricter = set(), set()
    with kdc.in_environment():
        hadoop = SecuredQuorum(
            directory,
            hadoop_classpath,
            kdc,
            conf,
            hadoops=HADOOPS_PORTS,
            journal_nodes=1,
            has_controllers=True,
        )
        try:
            with hadoop.connect("alice") as owner:
                owner.mkdirs(DIRECTORY)
                owner.set_permission(DIRECTORY, 0o700)
                with hadoop.connect("hdfs") as fs:
                    fs.add_cache_pool(POOL, owner="alice", mode=0o700)
                over = issued(owner)
                owner.cancel_delegation_token(over)
                addresses = {
                    "namenode": ("localhost", hadoop.ports["nn1"]["rpc"]),
                    "datanode": ("localhost", datanode_port(hadoop)),
                    "transitionToStandby": ("localhost", hadoop.ports["nn2"]["rpc"]),
                }
                conf, pool = hadoop.client_conf(), pool_of(hadoop)
                asking = Askers(kdc, conf, addresses, lambda: issued(owner), over, pool, {})
                for row in ROWS:
                    if row.port not in HADOOPS_PORTS or row.method in ENDING:
                        continue
                    for who in Asker:
                        here, there = expected(row, who), asking.ask(row, who)
                        if here == ANSWERED and there in REFUSALS:
                            laxer.add((row.method, who))
                        elif here in REFUSALS and there not in REFUSALS and who not in CONFINED:
                            stricter.add((row.method, who))
                asking.close()
        finally:
            hadoop.close()
    assert laxer == set()
    assert {method for method, _ in stricter} <= STRICTER, stricter


def test_secrets_are_told_nowhere(
    kdc: Kdc, cluster: SecuredQuorum, askers: Askers, issued_tokens: list[Token]
) -> None:
    """After all that was asked before, and some failures of its own: not in logs, answers, pages,
    command lines, nor where an object is shown."""
    for row in ROWS[:3]:
        for who in (Asker.NOBODY, Asker.FORGED, Asker.EXPIRED, Asker.STRANGER):
            askers.ask(row, who)
    with cluster.connect("alice") as fs:
        fs.write_bytes("/user/alice/secret", b"data", overwrite=True)
        assert fs.read_bytes("/user/alice/secret") == b"data"
    secrets = {
        "a token's password": [token.password for token in issued_tokens],
        "the password of a forged token": [FORGED_PASSWORD],
        "a block key": block_keys(cluster),
        "the secret of cookies": [(cluster.directory / "secret").read_bytes().strip()],
        "a cookie": [cookie.encode() for cookie in askers.cookies],
        "a key of a keytab": [
            key
            for path in (kdc.services_keytab, kdc.keytab("alice"), kdc.keytab("hdfs"))
            for key in keys_in(path)
        ],
    }
    assert all(secrets.values()), secrets.keys()
    places = {
        "logs": b"".join(path.read_bytes() for path in cluster.directory.rglob("*.log*")),
        "answers": "\n".join(askers.told).encode(),
        "objects": "\n".join([*askers.shown_users(), *map(repr, issued_tokens)]).encode(),
        "command lines": b"".join(
            path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()
        ),
    }
    for port in ("namenode", "datanode", "journalnode", "controller"):
        for page in ("/conf", "/jmx", "/stacks", "/prom", "/logs"):
            places[f"{page} of the {port}"] = askers.page(port, page)
    assert all(places.values()), [name for name, text in places.items() if not text]
    found = {
        (what, where)
        for what, those in secrets.items()
        for secret in those
        for where, text in places.items()
        if any(shown in text for shown in shapes(secret))
    }
    assert found == set()


def shapes(secret: bytes) -> Iterator[bytes]:
    """How a secret might be shown."""
    yield secret
    yield secret.hex().encode()
    yield base64.b64encode(secret)
    yield base64.urlsafe_b64encode(secret).rstrip(b"=")
    yield repr(secret)[2:-1].encode()
    yield quote(secret).encode()


def block_keys(cluster: SecuredQuorum | SecuredHadoop) -> list[bytes]:
    return [key.key for key in exported_keys(cluster).all if key.key]


def exported_keys(cluster: SecuredQuorum | SecuredHadoop) -> ExportedKeys:
    """What tokens are made by, as a balancer is told it."""
    if isinstance(cluster, SecuredQuorum):
        port = cluster.ports["nn1"]["rpc"]
    else:
        port = cluster.rpc_port
    caller = user_of(
        Configuration(cluster.client_conf()),
        keytab=str(cluster.kdc.keytab("hdfs")),
        principal=f"hdfs@{REALM}",
    )
    client = RpcClient(("localhost", port), f"{HDFS}server.protocol.NamenodeProtocol", user=caller)
    try:
        answer = client.call(
            "getBlockKeys",
            namenode_pb2.GetBlockKeysRequestProto(),
            namenode_pb2.GetBlockKeysResponseProto,
        )
    finally:
        client.close()
    keys = ExportedKeys.from_proto(answer.keys)
    assert keys is not None
    return keys


def keys_in(keytab: Path) -> Iterator[bytes]:
    """The keys of a keytab: the last counted bytes of each entry, before its version."""
    data, at = keytab.read_bytes(), 2
    while at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        entry = data[at + 4 : at + 4 + abs(size)]
        at += 4 + abs(size)
        if size > 0:
            position = 2
            for _ in range(int.from_bytes(entry[:2], "big") + 1):
                position += 2 + int.from_bytes(entry[position : position + 2], "big")
            position += 4 + 4 + 1 + 2  # Kind of name, time, version, kind of key.
            length = int.from_bytes(entry[position : position + 2], "big")
            yield entry[position + 2 : position + 2 + length]


@pytest.mark.parametrize("who", [Asker.ADMINISTRATOR, Asker.NAMENODE])
def test_a_datanode_ends_where_whoever_may_says_so(
    cluster: SecuredQuorum, askers: Askers, who: Asker
) -> None:
    """The last test here: the datanode is another one afterwards."""
    (row,) = [row for row in ROWS if row.method == "shutdownDatanode"]
    assert row.rule is Rule.OPERATOR
    assert askers.ask(row, who) == ANSWERED
    cluster.restart_ended("dn1")
    wait_until(lambda: datanode_is_back(cluster), 60)
    askers.moved("datanode", ("localhost", datanode_port(cluster)))


def datanode_is_back(cluster: SecuredQuorum) -> bool:
    """Whether a namenode knows the port of the datanode that was started last."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", datanode_port(cluster))) == 0
