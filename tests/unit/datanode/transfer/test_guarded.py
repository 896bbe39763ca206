"""Data ports that ask who may have what: with tokens, handshakes, and each protection."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from howdah import errors
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.block_tokens import KnownKeys, Mode
from howdah.datanode.state.messages import ReplicaReceived, Transfer
from howdah.datanode.transfer.copies import Copies
from howdah.datanode.transfer.guard import Encryption, Guard
from howdah.datanode.transfer.peers import connect_to, own_token
from howdah.datanode.transfer.reconstruction import Reconstructions
from howdah.datanode.transfer.remote_replica import RemoteReplica
from howdah.formats.tokens.block_keys import BLOCK_TOKEN, ExportedKeys
from howdah.formats.tokens.identifiers import BlockTokenIdentifier
from howdah.namenode.service.block_tokens import BlockTokens, KeyTimes
from howdah.protocol.data_transfer.blocks import NO_TOKEN, BlockToken, ExtendedBlock, StorageType
from howdah.protocol.data_transfer.checksum import ChecksumType, crc
from howdah.protocol.data_transfer.handshake import (
    AES_CTR,
    REALM_URI,
    ClientHandshake,
    UnknownEncryptionKey,
)
from howdah.protocol.data_transfer.op_requests import (
    BlockChecksum,
    BlockChecksumType,
    BlockGroupChecksum,
    CopyBlock,
    ReplaceBlock,
    Request,
    TransferBlock,
    encode_request,
)
from howdah.protocol.data_transfer.responses import BlockOpResponse, read_response
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.sasl.digest_md5 import DigestMd5Client, credentials_of
from howdah.protocol.sasl.offered_protections import OfferedProtections
from howdah.protocol.sasl.protection import Protection
from howdah.runtime.sockets import Connection, PeerClosed
from howdah.security.data_handshakes import initiate
from tests.unit.datanode.transfer.test_reconstruction import QUICK, Group

Lab = Any
DATA: Final = os.urandom(300_003)
LIFE_MS: Final = 60_000
PORT: Final = 9866
"""Whose number proves nothing."""


class Clock:
    now_ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now_ms


@dataclass(frozen=True)
class Ports:
    """How they are guarded; `handshakes` are what clients ask for."""

    protections: tuple[Protection, ...]
    suites: tuple[str, ...] = ()
    encryption: Encryption | None = None
    is_privileged: bool = False
    offered: OfferedProtections | None = None
    takes_simple: bool = False


WAYS: Final = {
    "tokens": Ports(()),
    "authentication": Ports((Protection.AUTHENTICATION,)),
    "integrity": Ports((Protection.INTEGRITY,)),
    "privacy": Ports((Protection.PRIVACY,)),
    "aes": Ports((Protection.PRIVACY,), (AES_CTR,)),
    "encrypted": Ports((), (), Encryption("rc4")),
    "encrypted with aes": Ports((Protection.AUTHENTICATION,), (AES_CTR,), Encryption("3des")),
}


class Cluster:
    """Guarded nodes, and the keys that their namenode has told them."""

    def __init__(self, lab: Lab, ports: Ports) -> None:
        self.lab = lab
        self.ports = ports
        self.clock = Clock()
        self.pool: str = lab.POOL
        self._tokens = self._made(1)
        self._namenode = self._exported(self._tokens)

    def _made(self, seed: int) -> BlockTokens:
        times = KeyTimes(interval_ms=600_000, life_ms=LIFE_MS)
        return BlockTokens(self.pool, times, self.clock, random.Random(seed).randbytes)

    def keys_of(self, seed: int) -> ExportedKeys:
        """Those of another namenode."""
        return self._exported(self._made(seed))

    def _exported(self, made: BlockTokens) -> ExportedKeys:
        keys = ExportedKeys.from_proto(made.exported())
        assert keys is not None
        return keys

    def guard(self, keys: ExportedKeys | None = None, *, knows_keys: bool = True) -> Guard:
        known = KnownKeys()
        if knows_keys:
            known.update_keys(self.pool, keys or self._namenode, self.clock())
        ports = self.ports
        return Guard(
            known,
            "dn",
            ports.protections,
            ports.suites,
            self.clock,
            encryption=ports.encryption,
            offered=ports.offered,
            is_privileged=ports.is_privileged,
            takes_simple=ports.takes_simple,
        )

    def node(self, keys: ExportedKeys | None = None) -> Any:
        settings = DataSettings(
            socket_timeout_s=5, write_timeout_s=5, keepalive_s=2, guard=self.guard(keys)
        )
        return self.lab.node(settings)

    def token(self, *modes: Mode, block_id: int = 1, **changes: Any) -> BlockToken:
        """As the namenode makes them."""
        key = self._namenode.current
        identifier = BlockTokenIdentifier(
            self.clock() + LIFE_MS,
            key.key_id,
            "alice",
            self.pool,
            block_id,
            tuple(mode.value for mode in modes),
        )
        encoded = replace(identifier, **changes).encode()
        return BlockToken(encoded, key.password_of(encoded), BLOCK_TOKEN)

    def encryption_key(self) -> tuple[bytes, bytes]:
        """The credentials of one that the namenode gives to a client."""
        return self._tokens.encryption_key("").credentials

    def connect(self, node: Any, token: BlockToken, *, port: int = PORT) -> Connection:
        return self.guard().initiate(node.connect(), port, self.pool, token)

    def write(
        self,
        node: Any,
        *mirrors: Any,
        token: BlockToken | None = None,
        block: ExtendedBlock | None = None,
        data: bytes = DATA,
        port: int = PORT,
    ) -> Any:
        """Write block 1, or another one, and return the answer to the request."""
        block = block or self.lab.block()
        mine = token or self.token(Mode.WRITE, block_id=block.block_id)

        class Seen:
            @staticmethod
            def connect() -> Connection:
                return self.connect(node, self.token(Mode.WRITE), port=port)

        lab = self.lab
        request = replace(lab.write_request(block, *mirrors), token=mine)
        writer = lab.Writer(Seen, request)
        if writer.response.is_success:
            for offset in range(0, len(data), 65536):
                writer.send(offset, data[offset : offset + 65536])
            writer.send(len(data), b"", last=True)
            for _ in range(writer.seqno):
                assert writer.ack().replies == (Status.SUCCESS,) * (len(mirrors) + 1)
        writer.close()
        return writer.response

    def read(self, node: Any, token: BlockToken, *, block_id: int = 1, port: int = PORT) -> Any:
        request = replace(
            self.lab.read_request(self.lab.block(block_id), 0, len(DATA)), token=token
        )
        with self.connect(node, self.token(Mode.READ), port=port) as connection:
            return self.lab.read_block(node, request, connection)

    def ask(self, node: Any, request: Request, token: BlockToken) -> BlockOpResponse:
        with self.connect(node, token) as connection:
            connection.send_all(encode_request(request))
            while (answer := read_response(connection)).status is Status.IN_PROGRESS:
                pass
            return answer


@pytest.fixture(params=WAYS)
def cluster(request: pytest.FixtureRequest, lab: Lab) -> Cluster:
    return Cluster(lab, WAYS[request.param])


@pytest.fixture
def filled(cluster: Cluster) -> Any:
    node = cluster.node()
    assert cluster.write(node).is_success
    return node


def test_a_block_is_written_along_a_pipeline_and_read_from_each(
    cluster: Cluster, either_way: str
) -> None:
    nodes = [cluster.node() for _ in range(3)]
    assert cluster.write(*nodes).is_success
    for node in nodes:
        assert node.content(1) == DATA
        assert cluster.read(node, cluster.token(Mode.READ)).data == DATA


def test_a_connection_serves_many_operations_each_by_its_own_token(
    cluster: Cluster, filled: Any
) -> None:
    lab, token = cluster.lab, cluster.token(Mode.READ)
    with cluster.connect(filled, token) as connection:
        for _ in range(3):
            request = replace(lab.read_request(lab.block(), 0, 1000), token=token)
            assert lab.read_block(filled, request, connection).data[:1000] == DATA[:1000]
        foreign = replace(request, token=cluster.token(Mode.READ, block_id=2))
        refused = lab.read_block(filled, foreign, connection)
        assert refused.response.status is Status.ERROR_ACCESS_TOKEN
        with pytest.raises(PeerClosed):
            connection.recv_exactly(1)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("write", "doesn't have READ permission"),
        ("another block", "doesn't apply to block"),
        ("another pool", "required block key"),
        ("over", "is expired"),
        ("another key", "required block key"),
        ("forged", "correct token password"),
        ("nothing", "no identifier of a block token"),
    ],
)
def test_who_has_no_token_for_it_reads_nothing(
    cluster: Cluster, filled: Any, name: str, words: str
) -> None:
    good = cluster.token(Mode.READ)
    token = {
        "write": cluster.token(Mode.WRITE),
        "another block": cluster.token(Mode.READ, block_id=2),
        "another pool": cluster.token(Mode.READ, block_pool_id="BP-2"),
        "over": cluster.token(Mode.READ, expiry_date_ms=cluster.clock() - 1),
        "another key": cluster.token(Mode.READ, key_id=7),
        "forged": replace(good, password=bytes(20)),
        "nothing": BlockToken(),
    }[name]
    answer = cluster.read(filled, token).response
    assert answer.status is Status.ERROR_ACCESS_TOKEN
    assert words in answer.message


def test_who_may_only_read_changes_nothing(cluster: Cluster, filled: Any) -> None:
    lab, reading = cluster.lab, cluster.token(Mode.READ)
    other = cluster.node()
    refused = cluster.write(other, token=reading)
    assert refused.status is Status.ERROR_ACCESS_TOKEN
    assert refused.first_bad_link == other.address.transfer_address
    assert other.files("rbw") == set()
    block = lab.block(length=len(DATA))
    for request in (
        TransferBlock(block, "client", (other.address,), token=reading),
        CopyBlock(block, token=reading),
        ReplaceBlock(block, "uuid", other.address, token=reading),
    ):
        assert cluster.ask(filled, request, reading).status is Status.ERROR_ACCESS_TOKEN
    assert other.files("finalized") == set()
    checksum = cluster.ask(filled, BlockChecksum(block, token=reading), reading)
    assert checksum.is_success


def test_a_write_that_a_datanode_sends_without_a_token_leaves_nothing(cluster: Cluster) -> None:
    """It hears no answer, as none is awaited."""
    node, lab = cluster.node(), cluster.lab
    request = lab.write_request(lab.block(), client="")
    with cluster.connect(node, cluster.token(Mode.READ)) as connection:
        connection.send_all(encode_request(request))
        with pytest.raises(PeerClosed):
            connection.recv_exactly(1)
    assert node.files("tmp") | node.files("rbw") == set()


def test_a_client_may_have_a_replica_copied(cluster: Cluster, filled: Any) -> None:
    target, block = cluster.node(), cluster.lab.block(length=len(DATA))
    token = cluster.token(Mode.COPY)
    request = TransferBlock(block, "client", (target.address,), (StorageType.DISK,), token=token)
    assert cluster.ask(filled, request, token).is_success
    assert target.content(1) == DATA


def test_a_namenode_may_have_a_replica_copied(cluster: Cluster, filled: Any) -> None:
    targets = [cluster.node(), cluster.node()]
    copies = Copies(filled.store, filled.settings)
    copies.sources[cluster.pool] = filled.address
    kinds = (StorageType.DISK, StorageType.DISK)
    block = cluster.lab.block(length=len(DATA))
    addresses = tuple(node.address for node in targets)
    copies.start(Transfer(block, addresses, kinds, ("DS-0", "DS-0"))).join(10)
    for target in targets:
        assert target.wait_for(ReplicaReceived).block.length_bytes == len(DATA)
        assert target.content(1) == DATA


def test_a_balancer_moves_a_replica_by_the_right_to_do_both(cluster: Cluster, filled: Any) -> None:
    target, block = cluster.node(), cluster.lab.block(length=len(DATA))
    half = cluster.token(Mode.REPLACE)
    request = ReplaceBlock(block, "uuid", filled.address, StorageType.DISK, token=half)
    refused = cluster.ask(target, request, half)
    assert refused.status is Status.ERROR
    assert "ERROR_ACCESS_TOKEN" in refused.message
    whole = cluster.token(Mode.REPLACE, Mode.COPY)
    assert cluster.ask(target, replace(request, token=whole), whole).is_success
    assert target.content(1) == DATA


def test_a_datanode_reads_at_another_by_a_token_of_its_own(cluster: Cluster, filled: Any) -> None:
    block = cluster.lab.block(length=len(DATA))
    asking = cluster.node()
    token = own_token(asking.settings, block, Mode.READ)
    connection = connect_to(filled.address, asking.settings, 5, cluster.pool, token)
    replica = RemoteReplica(connection, filled.address, block, 5, token)
    found = bytearray(len(DATA) - 5)
    replica.read_into(memoryview(found))
    replica.finish()
    assert found == DATA[5:]


def test_a_pipeline_does_not_go_through_a_datanode_that_has_not_heard_of_the_keys(
    cluster: Cluster,
) -> None:
    first, behind = cluster.node(), cluster.node(cluster.keys_of(9))
    answer = cluster.write(first, behind)
    assert not answer.is_success
    assert answer.first_bad_link == behind.address.transfer_address


class GuardedLab:
    """Nodes for a block group, whose ports are guarded."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.POOL = cluster.pool

    def node(self) -> Any:
        return self._cluster.node()

    def write_block(self, node: Any, block: ExtendedBlock, content: bytes) -> None:
        assert self._cluster.write(node, block=block, data=content).is_success


def test_lost_internal_blocks_are_made_by_tokens_of_the_datanode(cluster: Cluster) -> None:
    group = Group(GuardedLab(cluster), 20_000)
    settings = replace(group.targets[0].settings, reconstruction=QUICK)
    counted: list[int] = []
    work = Reconstructions(settings, lambda found: None, counted.append)
    work.start(group.order([1, 2, 3])).result(30)
    work.close()
    index, content = group.made(0)
    assert content == group.blocks[index]


@pytest.mark.parametrize("lost", [(), (0,)])
def test_a_groups_checksum_is_asked_for_by_the_tokens_that_come_with_it(
    cluster: Cluster, lost: tuple[int, ...]
) -> None:
    """What nobody has is made of what this datanode reads by tokens of its own."""
    group = Group(GuardedLab(cluster), 20_000)
    indices = tuple(index for index in group.blocks if index not in lost)
    tokens = tuple(
        cluster.token(Mode.READ, block_id=group.block.block_id + index) for index in indices
    )
    own = cluster.token(Mode.READ, block_id=group.block.block_id)
    request = BlockGroupChecksum(
        group.block,
        tuple(group.holders[index].address for index in indices),
        indices,
        group.policy,
        20_000,
        BlockChecksumType.COMPOSITE_CRC,
        tokens,
        own,
    )
    answer = cluster.ask(group.holders[indices[0]], request, own)
    assert answer.is_success, answer
    assert answer.block_checksum is not None
    expected = crc(ChecksumType.CRC32C, group.data).to_bytes(4, "big")
    assert answer.block_checksum.checksum == expected
    foreign = replace(request, token=cluster.token(Mode.READ))
    assert cluster.ask(group.holders[indices[0]], foreign, own).status is Status.ERROR_ACCESS_TOKEN


ENCRYPTED: Final = [name for name, ports in WAYS.items() if ports.encryption]
GUARDED: Final = [
    name for name, ports in WAYS.items() if ports.protections and not ports.encryption
]


@pytest.mark.parametrize("way", GUARDED + ENCRYPTED)
def test_who_begins_without_a_handshake_is_not_served(
    lab: Lab, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster(lab, WAYS[way])
    node = cluster.node()
    token = cluster.token(Mode.READ)
    with node.connect() as connection:
        connection.send_all(
            encode_request(replace(lab.read_request(lab.block(), 0, 1), token=token))
        )
        with pytest.raises(PeerClosed):
            connection.recv_exactly(1)
    assert "opens a data connection without SASL" in caplog.text
    key = "dfs.encrypt.data.transfer" if way in ENCRYPTED else "dfs.data.transfer.protection"
    assert f"which this datanode wants ({key})" in caplog.text


@pytest.mark.parametrize("way", GUARDED)
def test_a_handshake_by_what_is_no_token_is_refused(lab: Lab, way: str) -> None:
    cluster = Cluster(lab, WAYS[way])
    node, good = cluster.node(), cluster.token(Mode.READ)
    with pytest.raises(errors.AuthenticationFailed, match="Mismatched response"):
        cluster.connect(node, replace(good, password=bytes(20)))
    for bad in (
        cluster.token(Mode.READ, key_id=7),
        cluster.token(Mode.READ, expiry_date_ms=1),
        BlockToken(b"nonsense", b"p"),
    ):
        with pytest.raises(errors.InvalidToken):
            cluster.connect(node, bad)
    assert not node.files("rbw")


def test_a_client_that_wants_less_than_is_offered_is_refused(lab: Lab) -> None:
    private = Cluster(lab, WAYS["privacy"])
    open_ = Cluster(lab, WAYS["authentication"])
    node, token = private.node(), private.token(Mode.READ)
    connection = node.connect()
    with pytest.raises(errors.AuthenticationFailed):
        open_.guard().initiate(connection, PORT, lab.POOL, token)


class PrivacyAlone:
    """Whatever the datanode itself asks others for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def offered(self, address: str, port: int) -> tuple[Protection, ...]:
        self.asked.append((address, port))
        return (Protection.PRIVACY,)


def test_what_is_offered_goes_by_the_clients_address(lab: Lab) -> None:
    rule = PrivacyAlone()
    cluster = Cluster(lab, Ports((Protection.AUTHENTICATION,), offered=rule))
    with pytest.raises(errors.AuthenticationFailed, match="the server offers privacy"):
        cluster.write(cluster.node())
    node = Cluster(lab, Ports((Protection.PRIVACY,), offered=rule))
    assert node.write(node.node()).is_success
    assert {address for address, _ in rule.asked} == {"127.0.0.1"}
    assert all(port > 0 for _, port in rule.asked)


@pytest.mark.parametrize("way", ["integrity", "privacy", "aes", *ENCRYPTED])
def test_data_are_not_seen_on_the_wire_as_they_are_or_are_signed(lab: Lab, way: str) -> None:
    """What comes behind the handshake is not what an unguarded port would send."""
    cluster = Cluster(lab, WAYS[way])
    connection = cluster.connect(cluster.node(), cluster.token(Mode.READ))
    assert not connection.is_plain
    connection.close()
    plain = Cluster(lab, WAYS["authentication"])
    connection = plain.connect(plain.node(), plain.token(Mode.READ))
    assert connection.is_plain
    connection.close()


@pytest.mark.parametrize("way", ENCRYPTED)
def test_a_handshake_by_a_key_that_is_not_known_has_the_client_ask_for_another(
    lab: Lab, way: str
) -> None:
    cluster = Cluster(lab, WAYS[way])
    node, token = cluster.node(), cluster.token(Mode.READ)
    elsewhere = cluster.guard(cluster.keys_of(9))
    connection = node.connect()
    with pytest.raises(
        UnknownEncryptionKey, match=r"\(keyID=\d+\) doesn't exist\. Current key: \d"
    ):
        elsewhere.initiate(connection, PORT, cluster.pool, token)
    assert connection.socket.fileno() < 0, "it is closed"


@pytest.mark.parametrize("way", ENCRYPTED)
def test_a_datanode_that_knows_no_keys_yet_calls_nobody(lab: Lab, way: str) -> None:
    cluster = Cluster(lab, WAYS[way])
    connection = cluster.node().connect()
    with pytest.raises(UnknownEncryptionKey, match="no keys are known of BP-of-another"):
        cluster.guard().initiate(connection, PORT, "BP-of-another", cluster.token(Mode.READ))
    assert connection.socket.fileno() < 0, "it is closed"


def handshake(
    node: Any, name: bytes, password: bytes, protection: Protection, *ciphers: str
) -> Connection:
    mechanism = DigestMd5Client(
        name,
        password,
        REALM_URI,
        (protection,),
        cnonce=b"cnonce",
        setting="dfs.encrypt.data.transfer",
        ciphers=ciphers,
    )
    return initiate(node.connect(), ClientHandshake(mechanism, ()), "dfs.encrypt.data.transfer")


def test_where_data_are_encrypted_a_token_opens_no_connection(lab: Lab) -> None:
    cluster = Cluster(lab, WAYS["encrypted"])
    node, token = cluster.node(), cluster.token(Mode.READ)
    name, password = credentials_of(token.identifier, token.password)
    with pytest.raises(errors.AuthenticationFailed, match="the 3 parts expected, but 1"):
        handshake(node, name, password, Protection.PRIVACY, "rc4")


def test_where_data_are_encrypted_one_cipher_alone_may_be_taken(lab: Lab) -> None:
    cluster = Cluster(lab, WAYS["encrypted"])
    node = cluster.node()
    key = cluster.encryption_key()
    with pytest.raises(errors.AuthenticationFailed, match="no common cipher"):
        handshake(node, *key, Protection.PRIVACY, "3des")
    with pytest.raises(errors.AuthenticationFailed):
        handshake(node, *key, Protection.AUTHENTICATION, "rc4")
    handshake(node, *key, Protection.PRIVACY, "rc4").close()


def test_where_data_are_encrypted_a_wrong_key_opens_nothing(lab: Lab) -> None:
    cluster = Cluster(lab, WAYS["encrypted"])
    name, password = cluster.encryption_key()
    wrong = password.replace(password[:1], b"." if password[:1] != b"." else b"-")
    with pytest.raises(errors.AuthenticationFailed, match="Mismatched response"):
        handshake(cluster.node(), name, wrong, Protection.PRIVACY, "rc4")


def test_a_key_is_good_as_long_as_its_block_key(lab: Lab) -> None:
    """Not as long as the namenode told the client: nothing of that is in the name."""
    cluster = Cluster(lab, WAYS["encrypted"])
    node, key = cluster.node(), cluster.encryption_key()
    cluster.clock.now_ms += 600_000
    handshake(node, *key, Protection.PRIVACY, "rc4").close()
    cluster.clock.now_ms += 3_600_000
    with pytest.raises(UnknownEncryptionKey, match="doesn't exist"):
        handshake(node, *key, Protection.PRIVACY, "rc4")


def test_a_privileged_port_needs_no_handshake(lab: Lab) -> None:
    """Neither at the datanode that has one, nor where another one calls it. Tokens are asked for
    as ever, and encryption is."""
    cluster = Cluster(lab, Ports((Protection.PRIVACY,), is_privileged=True))
    node = cluster.node()
    assert cluster.write(node, port=1023).is_success
    assert cluster.read(node, cluster.token(Mode.READ), port=1023).data == DATA
    refused = cluster.read(node, cluster.token(Mode.WRITE), port=1023).response
    assert refused.status is Status.ERROR_ACCESS_TOKEN
    encrypted = Cluster(lab, replace(WAYS["encrypted"], is_privileged=True))
    with encrypted.connect(encrypted.node(), cluster.token(Mode.READ), port=1023) as connection:
        assert not connection.is_plain


# -- while a cluster changes over --------------------------------------------------


@pytest.fixture(params=[name for name in WAYS if name != "tokens"])
def changing(request: pytest.FixtureRequest, lab: Lab) -> Cluster:
    return Cluster(lab, replace(WAYS[request.param], takes_simple=True))


def plain_write(lab: Lab, node: Any, *mirrors: Any, token: BlockToken = NO_TOKEN) -> Any:
    request = replace(lab.write_request(lab.block(), *mirrors), token=token)
    writer = lab.Writer(node, request)
    if writer.response.is_success:
        writer.send(0, DATA[:65536])
        writer.send(65536, b"", last=True)
        for _ in range(2):
            assert writer.ack().replies == (Status.SUCCESS,) * (len(mirrors) + 1)
    writer.close()
    return writer.response


def plain_read(lab: Lab, node: Any, token: BlockToken = NO_TOKEN) -> Any:
    return lab.read_block(node, replace(lab.read_request(lab.block(), 0, 65536), token=token))


def test_during_a_change_data_goes_without_a_handshake_and_a_token(changing: Cluster) -> None:
    lab, nodes = changing.lab, [changing.node() for _ in range(3)]
    assert plain_write(lab, *nodes).is_success
    for node in nodes:
        assert plain_read(lab, node).data == DATA[:65536]


def test_during_a_change_data_goes_with_both_as_ever(changing: Cluster) -> None:
    nodes = [changing.node() for _ in range(2)]
    assert changing.write(*nodes).is_success
    for node in nodes:
        assert changing.read(node, changing.token(Mode.READ)).data == DATA
        good = changing.token(Mode.READ)
        assert plain_read(changing.lab, node, good).data == DATA[:65536], "from a namenode's answer"


def test_during_a_change_a_token_that_is_shown_has_to_be_good(changing: Cluster) -> None:
    lab, node = changing.lab, changing.node()
    assert changing.write(node).is_success
    forged = replace(changing.token(Mode.READ), password=bytes(20))
    for token in (forged, changing.token(Mode.READ, block_id=2), changing.token(Mode.WRITE)):
        answer = plain_read(lab, node, token).response
        assert answer.status is Status.ERROR_ACCESS_TOKEN


def test_after_the_change_nothing_goes_without(cluster: Cluster, filled: Any) -> None:
    """The same requests."""
    if cluster.ports == WAYS["tokens"]:
        answer = plain_read(cluster.lab, filled).response
        assert answer.status is Status.ERROR_ACCESS_TOKEN
        return
    with pytest.raises(PeerClosed):
        plain_read(cluster.lab, filled)


def test_during_a_change_others_are_called_without_keys_until_there_are_some(
    changing: Cluster,
) -> None:
    block = changing.lab.block()
    before = changing.guard(knows_keys=False)
    assert before.own_token(block, Mode.READ) is NO_TOKEN
    node = changing.node()
    plain = node.connect()
    assert before.initiate(plain, PORT, changing.pool, NO_TOKEN) is plain
    plain.close()
    after = changing.guard()
    own = after.own_token(block, Mode.READ)
    assert own.identifier
    after.initiate(node.connect(), PORT, changing.pool, own).close()


def test_after_the_change_there_is_no_token_without_keys(cluster: Cluster) -> None:
    with pytest.raises(errors.InvalidToken, match="no keys are known"):
        cluster.guard(knows_keys=False).own_token(cluster.lab.block(), Mode.READ)


@pytest.mark.parametrize("takes_simple", [True, False])
def test_during_a_change_a_datanode_without_handshakes_is_called_without(
    lab: Lab, takes_simple: bool
) -> None:
    """It asks for block tokens, as a datanode without Kerberos may, too."""
    ours = Cluster(lab, replace(WAYS["privacy"], takes_simple=takes_simple))
    other = Cluster(lab, WAYS["tokens"])
    node = other.node()
    assert other.write(node).is_success
    settings = DataSettings(guard=ours.guard())
    token = ours.token(Mode.READ)
    if not takes_simple:
        with pytest.raises(PeerClosed):
            connect_to(node.address, settings, 5, ours.pool, token)
        return
    with connect_to(node.address, settings, 5, ours.pool, token) as connection:
        request = replace(lab.read_request(lab.block(), 0, 1000), token=token)
        assert lab.read_block(node, request, connection).data[:1000] == DATA[:1000]
