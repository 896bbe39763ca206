"""Data connections of secured clusters: the handshake, what comes behind it, hostile datanodes."""

from __future__ import annotations

import base64
import inspect
import itertools
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.client import data_transfer_security
from howdah.client.data_transfer_security import DataConnections, data_connections_of
from howdah.proto import data_transfer_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import NO_TOKEN, BlockToken
from howdah.protocol.data_transfer.handshake import (
    MAGIC,
    ClientHandshake,
    StreamKeys,
    UnknownEncryptionKey,
    known_suites,
)
from howdah.protocol.sasl.digest_layers import CIPHERS, DigestLayer, Side
from howdah.protocol.sasl.digest_md5 import DigestMd5Client, credentials_of
from howdah.protocol.sasl.protection import Protection
from howdah.protocol.varint import delimited, read_delimited
from howdah.runtime.sockets import Connection, PeerClosed
from howdah.security.data_connections import EncryptedConnection, WrappedConnection
from howdah.security.login import LoginSource
from howdah.security.settings import SecuritySettings
from howdah.security.users import Identity, SecuredUser
from tests.support.security.digest_server import DigestServer

TOKEN = BlockToken(b"identifier of a block's token", b"p" * 20, "HDFS_BLOCK_TOKEN")
AES = ("AES/CTR/NoPadding",)
Message = pb.DataTransferEncryptorMessageProto


@dataclass
class Datanode:
    """Echoes what comes, behind a handshake."""

    protections: tuple[Protection, ...] = tuple(Protection)
    passwords: dict[bytes, bytes] = field(
        default_factory=lambda: dict([credentials_of(TOKEN.identifier, TOKEN.password)])
    )
    suites: tuple[str, ...] = AES
    refuses: list[pb.DataTransferEncryptorMessageProto] = field(default_factory=list)
    is_deaf: bool = False
    """Closes a connection that begins with a handshake, as one without SASL does."""
    connections: int = 0
    used: list[str] = field(default_factory=list)

    def serve(self, sock: socket.socket) -> None:
        plain = Connection(sock, read_timeout_s=10, write_timeout_s=10)
        begin = plain.recv_exactly(4)
        if begin != MAGIC:
            plain.send_all(begin)
            return
        if self.is_deaf:
            return
        read_delimited(plain)
        digest = DigestServer(self.passwords.get, "0", self.protections)
        if self.refuses:
            plain.send_all(delimited(self.refuses.pop(0)))
            return
        plain.send_all(delimited(Message(status=Message.SUCCESS, payload=digest.challenge())))
        answer = Message.FromString(read_delimited(plain))
        proof = digest.check(answer.payload)
        if proof is None:
            plain.send_all(delimited(Message(status=Message.ERROR, message="response format")))
            return
        last = Message(status=Message.SUCCESS, payload=proof)
        keys = None
        layer = digest.layer
        if layer is not None and answer.cipherOption and self.suites:
            receive, send = os.urandom(16), os.urandom(16)
            option = last.cipherOption.add(
                suite=2,
                inKey=layer.wrap(receive),
                inIv=os.urandom(16),
                outKey=layer.wrap(send),
                outIv=os.urandom(16),
            )
            keys = StreamKeys(send, option.outIv, receive, option.inIv)
        plain.send_all(delimited(last))
        connection: Connection = plain
        if keys is not None:
            connection = EncryptedConnection(plain, keys)
        elif layer is not None:
            connection = WrappedConnection(plain, layer)
        self.used.append(type(connection).__name__)
        room = memoryview(bytearray(65536))
        while True:
            connection.send_all(bytes(room[: connection.recv_some_into(room)]))

    def run(self, listener: socket.socket) -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            self.connections += 1
            try:
                with sock:
                    self.serve(sock)
            except (OSError, errors.HowdahError):
                continue  # The client has had enough.


@pytest.fixture
def datanode() -> Datanode:
    return Datanode()


@pytest.fixture
def address(datanode: Datanode) -> Iterator[tuple[str, int]]:
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=datanode.run, args=(listener,), daemon=True)
    thread.start()
    yield listener.getsockname()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(10)


class Namenode:
    """Gives out keys."""

    def __init__(self, user: str, *, encrypts: bool = False) -> None:
        self.user = user
        self.encrypts = encrypts
        self.keys: list[types_pb2.DataEncryptionKeyProto] = []
        self.lifetime_ms = 3600_000
        self.questions = 0

    def get_server_defaults(self) -> types_pb2.FsServerDefaultsProto:
        self.questions += 1
        return types_pb2.FsServerDefaultsProto(
            blockSize=1,
            bytesPerChecksum=1,
            writePacketSize=1,
            replication=1,
            fileBufferSize=1,
            encryptDataTransfer=self.encrypts,
        )

    def get_data_encryption_key(self) -> types_pb2.DataEncryptionKeyProto | None:
        self.keys.append(
            types_pb2.DataEncryptionKeyProto(
                keyId=len(self.keys) + 7,
                blockPoolId="BP-1",
                nonce=b"nonce",
                encryptionKey=b"k" * 20,
                expiryDate=int(time.time() * 1000) + self.lifetime_ms,
            )
        )
        return self.keys[-1]


def user(
    *protections: Protection, suites: tuple[str, ...] = (), is_enabled: bool = True
) -> SecuredUser:
    security = SecuritySettings(
        is_enabled=is_enabled, data_protections=protections, cipher_suites=suites
    )
    return SecuredUser("alice", Identity(security, LoginSource(), None, False), "alice@R")


def connect(
    address: tuple[str, int], namenode: Namenode | SecuredUser, token: BlockToken = TOKEN
) -> Connection:
    if isinstance(namenode, SecuredUser):
        namenode = Namenode(namenode)
    return connect_by(DataConnections(namenode), address, token)


def connect_by(
    connections: DataConnections, address: tuple[str, int], token: BlockToken = TOKEN
) -> Connection:
    return connections.connect(
        address, token, connect_timeout_s=10, read_timeout_s=10, write_timeout_s=10
    )


def check_echo(connection: Connection) -> None:
    data = os.urandom(200_000)
    came = bytearray(len(data))
    reader = threading.Thread(target=connection.recv_into_exactly, args=(memoryview(came),))
    reader.start()
    connection.send_buffers([data[:10], b"", data[10:70_000]])
    connection.send_all(memoryview(data)[70_000:])
    reader.join(20)
    assert bytes(came) == data
    connection.send_more(b"more")
    connection.send_while_taken(b"and more", 5)
    assert connection.recv_exactly(12) == b"moreand more"
    # What was read ahead stays what it is while something is sent.
    connection.send_all(b"0123456789")
    assert connection.recv_exactly(1) == b"0"
    connection.send_buffers([bytes(100_000)])
    assert connection.recv_exactly(9) == b"123456789"
    assert connection.recv_exactly(100_000) == bytes(100_000)


@pytest.mark.parametrize(
    ("protection", "suites", "kind"),
    [
        (Protection.AUTHENTICATION, AES, "Connection"),
        (Protection.INTEGRITY, AES, "WrappedConnection"),
        (Protection.PRIVACY, (), "WrappedConnection"),
        (Protection.PRIVACY, AES, "EncryptedConnection"),
    ],
)
def test_each_protection_carries_what_is_sent(
    datanode: Datanode,
    address: tuple[str, int],
    protection: Protection,
    suites: tuple[str, ...],
    kind: str,
) -> None:
    with connect(address, user(protection, suites=suites)) as connection:
        assert type(connection).__name__ == kind
        assert connection.is_plain == (kind == "Connection")
        check_echo(connection)
    assert datanode.used == [kind]


def test_without_aes_at_the_datanode_the_layer_encrypts(
    datanode: Datanode, address: tuple[str, int]
) -> None:
    datanode.suites = ()
    with connect(address, user(Protection.PRIVACY, suites=AES)) as connection:
        check_echo(connection)
    assert datanode.used == ["WrappedConnection"]


def test_a_wrong_token_is_refused(datanode: Datanode, address: tuple[str, int]) -> None:
    with pytest.raises(errors.AuthenticationFailed, match="response format"):
        connect(address, user(Protection.PRIVACY), BlockToken(b"other", b"x"))


def test_a_token_that_is_over_is_an_invalid_token(
    datanode: Datanode, address: tuple[str, int]
) -> None:
    datanode.refuses.append(
        Message(status=Message.ERROR, message="Block token is expired", accessTokenError=True)
    )
    with pytest.raises(errors.InvalidToken, match="is expired"):
        connect(address, user(Protection.PRIVACY))


def test_a_lesser_protection_is_refused_with_the_key(
    datanode: Datanode, address: tuple[str, int]
) -> None:
    datanode.protections = (Protection.AUTHENTICATION,)
    with pytest.raises(errors.AuthenticationFailed, match=r"dfs\.data\.transfer\.protection"):
        connect(address, user(Protection.PRIVACY))


def test_a_datanode_without_sasl_is_told_by_its_closing(
    datanode: Datanode, address: tuple[str, int]
) -> None:
    datanode.is_deaf = True
    with pytest.raises(PeerClosed, match=r"SASL handshake: does the datanode have dfs\.data"):
        connect(address, user(Protection.PRIVACY))


def test_a_datanode_with_sasl_is_told_by_its_closing_where_this_side_has_none(
    datanode: Datanode, address: tuple[str, int]
) -> None:
    connection = connect(address, user())
    connection.send_all(b"oper")
    assert connection.recv_exactly(4) == b"oper"
    with pytest.raises(PeerClosed, match=r"set dfs\.data\.transfer\.protection on this side"):
        connection.recv_exactly(1)
    connection.close()


def test_after_a_fall_back_there_is_no_handshake(
    datanode: Datanode, address: tuple[str, int]
) -> None:
    fallen = user(Protection.PRIVACY)
    fallen.fell_back()
    connect(address, fallen).close()
    connect(address, user(Protection.PRIVACY, is_enabled=False)).close()
    assert datanode.used == []


def test_clients_without_security_ask_nothing_where_there_are_no_tokens(
    datanode: Datanode, address: tuple[str, int]
) -> None:
    namenode = Namenode("alice", encrypts=True)
    connection = data_connections_of(namenode)(
        address, NO_TOKEN, connect_timeout_s=10, read_timeout_s=10, write_timeout_s=10
    )
    connection.close()
    assert (namenode.questions, namenode.keys, datanode.used) == (0, [], [])


@pytest.mark.parametrize(("suites", "kind"), [(AES, "Encrypted"), ((), "Wrapped")])
def test_without_security_data_is_encrypted_where_the_namenode_says_so(
    datanode: Datanode, address: tuple[str, int], suites: tuple[str, ...], kind: str
) -> None:
    with_keys(datanode)
    namenode = Namenode("alice", encrypts=True)
    with data_connections_of(namenode, suites)(
        address, TOKEN, connect_timeout_s=10, read_timeout_s=10, write_timeout_s=10
    ) as connection:
        check_echo(connection)
    assert datanode.used == [f"{kind}Connection"]


def test_without_security_a_cipher_suite_that_is_none_is_refused_by_name(
    address: tuple[str, int],
) -> None:
    namenode = Namenode("alice", encrypts=True)
    with pytest.raises(errors.InvalidConfiguration, match="SM4"):
        data_connections_of(namenode, ("SM4/CTR/NoPadding",))(
            address, TOKEN, connect_timeout_s=10, read_timeout_s=10, write_timeout_s=10
        )


# -- encryption keys -------------------------------------------------------------------


def with_keys(datanode: Datanode) -> None:
    nonce = base64.b64encode(b"nonce").decode()
    password = base64.b64encode(b"k" * 20)
    datanode.passwords = {f"{number} BP-1 {nonce}".encode(): password for number in range(7, 20)}


def test_encrypted_data_goes_by_the_namenodes_key(
    datanode: Datanode, address: tuple[str, int]
) -> None:
    with_keys(datanode)
    namenode = Namenode(user(suites=AES), encrypts=True)
    connections = DataConnections(namenode)
    for _ in range(2):
        with connect_by(connections, address, NO_TOKEN) as connection:
            check_echo(connection)
    assert datanode.used == ["EncryptedConnection"] * 2
    assert len(namenode.keys) == 1


def test_a_key_that_the_datanode_does_not_know_is_asked_for_anew_once(
    datanode: Datanode, address: tuple[str, int]
) -> None:
    with_keys(datanode)
    unknown = Message(status=Message.ERROR_UNKNOWN_KEY, message="Can't re-compute the key")
    datanode.refuses.append(unknown)
    namenode = Namenode(user(), encrypts=True)
    connect(address, namenode, NO_TOKEN).close()
    assert len(namenode.keys) == 2
    datanode.refuses += [unknown, unknown]
    with pytest.raises(UnknownEncryptionKey):
        connect(address, namenode, NO_TOKEN)


def test_a_key_that_is_about_to_end_is_not_used(
    datanode: Datanode, address: tuple[str, int]
) -> None:
    with_keys(datanode)
    namenode = Namenode(user(), encrypts=True)
    namenode.lifetime_ms = 1000
    connections = DataConnections(namenode)
    for _ in range(2):
        connect_by(connections, address, NO_TOKEN).close()
    assert len(namenode.keys) == 2


def test_whether_data_is_encrypted_is_asked_again_after_a_refusal(
    datanode: Datanode, address: tuple[str, int]
) -> None:
    with_keys(datanode)
    namenode = Namenode(user(), encrypts=True)
    connections = DataConnections(namenode)
    connect_by(connections, address, NO_TOKEN).close()
    namenode.encrypts, datanode.is_deaf = False, True
    with pytest.raises(errors.HowdahError):
        connect_by(connections, address, NO_TOKEN)
    connect_by(connections, address, TOKEN).close()
    assert namenode.questions == 2
    assert datanode.used == ["WrappedConnection"], "the last connection has no handshake"


def test_whether_data_is_encrypted_is_asked_again_when_a_plain_connection_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = [5.0]
    monkeypatch.setattr(data_transfer_security, "_now_s", lambda: now_s[0])
    namenode = Namenode(user())
    connections = DataConnections(namenode)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for expected in (1, 1, 1, 2):
            with connect_by(connections, listener.getsockname(), TOKEN) as connection:
                assert namenode.questions == expected
                listener.accept()[0].close()
                with pytest.raises(PeerClosed):
                    connection.recv_exactly(1)
            now_s[0] += 6


def test_whether_data_is_encrypted_is_asked_again_after_an_hour(
    datanode: Datanode, address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_keys(datanode)
    now_s = [5.0]
    monkeypatch.setattr(data_transfer_security, "_now_s", lambda: now_s[0])
    namenode = Namenode(user(), encrypts=True)
    connections = DataConnections(namenode)
    for _ in range(2):
        connect_by(connections, address, NO_TOKEN).close()
    assert namenode.questions == 1
    now_s[0] += 60 * 60
    connect_by(connections, address, NO_TOKEN).close()
    assert namenode.questions == 2


# -- pure ------------------------------------------------------------------------------


def handshake() -> ClientHandshake:
    name, password = credentials_of(TOKEN.identifier, TOKEN.password)
    mechanism = DigestMd5Client(
        name, password, "hdfs/0", tuple(Protection), cnonce=b"c", setting="x"
    )
    return ClientHandshake(mechanism, AES)


@given(st.lists(st.binary(max_size=60), max_size=3))
@settings(max_examples=50)
def test_no_message_of_a_datanode_fails_in_another_way(messages: list[bytes]) -> None:
    ours = handshake()
    try:
        for message in messages:
            ours.receive(message)
    except errors.HowdahError:
        pass
    assert not ours.is_done


def test_a_success_without_a_proof_is_refused() -> None:
    ours = handshake()
    server = DigestServer(dict([credentials_of(TOKEN.identifier, TOKEN.password)]).get, "0")
    success = Message(status=Message.SUCCESS, payload=server.challenge())
    ours.receive(success.SerializeToString())
    with pytest.raises(errors.AuthenticationFailed):
        ours.receive(Message(status=Message.SUCCESS).SerializeToString())
    assert not ours.is_done


def test_other_cipher_suites_are_refused_by_name() -> None:
    assert known_suites(AES) == AES
    with pytest.raises(ValueError, match="SM4/CTR/NoPadding"):
        known_suites(("SM4/CTR/NoPadding",))


def test_keys_are_in_no_representation() -> None:
    shown = repr(StreamKeys(b"secret", b"iv", b"secret", b"iv")) + repr(TOKEN)
    assert "secret" not in shown
    assert "pppp" not in shown


def test_a_huge_message_is_refused() -> None:
    ours, theirs = socket.socketpair()

    class NoLayer:
        most_clear_bytes = 100
        wrap: Callable[[bytes], bytes]
        unwrap: Callable[[bytes], bytes]

    with theirs, WrappedConnection(Connection(ours), NoLayer()) as connection:
        theirs.sendall(b"\x7f\xff\xff\xff")
        with pytest.raises(errors.ProtocolViolation, match="announces"):
            connection.recv_exactly(1)


def _layers(cipher: str | None) -> tuple[DigestLayer, DigestLayer]:
    """The client's and the datanode's."""
    client = DigestLayer(b"s" * 16, Side.CLIENT, cipher, 65536)
    return client, DigestLayer(b"s" * 16, Side.SERVER, cipher, 65536)


def _message(token: bytes) -> bytes:
    return len(token).to_bytes(4, "big") + token


@pytest.mark.parametrize("cipher", [None, "rc4", "3des"])
@pytest.mark.parametrize(
    "wrong",
    [
        lambda first, second: [first, first],
        lambda first, second: [second, first],
        lambda first, second: [second],
        lambda first, second: [first, b"\0\0\0\x13bytes in plain text"],
        lambda first, second: [first, second[:-1] + bytes((second[-1] ^ 1,))],
    ],
    ids=["repeated", "reordered", "left out", "plain", "changed"],
)
def test_messages_that_are_not_the_next_of_the_layer_are_refused(
    cipher: str | None, wrong: Callable[[bytes, bytes], list[bytes]]
) -> None:
    ours, theirs = socket.socketpair()
    client, datanode = _layers(cipher)
    first, second = (_message(datanode.wrap(text)) for text in (b"first", b"second"))
    with theirs, WrappedConnection(Connection(ours), client) as connection:
        theirs.sendall(b"".join(wrong(first, second)))
        with pytest.raises(errors.ProtocolViolation):
            connection.recv_exactly(len(b"firstsecond"))


@settings(max_examples=30)
@given(
    st.sampled_from([None, *CIPHERS]),
    st.lists(st.binary(max_size=400), max_size=5),
    st.integers(64, 300),
)
def test_a_layer_carries_all_that_is_sent_in_either_direction(
    cipher: str | None, pieces: list[bytes], most_bytes: int
) -> None:
    ours, theirs = socket.socketpair()
    client = DigestLayer(b"s" * 16, Side.CLIENT, cipher, most_bytes)
    datanode = DigestLayer(b"s" * 16, Side.SERVER, cipher, most_bytes)
    data = b"".join(pieces)
    with (
        WrappedConnection(Connection(ours), client) as one,
        WrappedConnection(Connection(theirs), datanode) as other,
    ):
        one.send_buffers(list(pieces))
        assert other.recv_exactly(len(data)) == data
        for piece in pieces:
            other.send_all(piece)
        assert one.recv_exactly(len(data)) == data


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 9000), min_size=1, max_size=60),
    st.lists(st.integers(1, 100_000), min_size=1, max_size=8),
    st.lists(st.integers(1, 60_000), min_size=1, max_size=8),
)
def test_messages_come_whole_in_whatever_pieces_the_network_has_them(
    lengths: list[int], network: list[int], reads: list[int]
) -> None:
    """Many together, a part of one, and more than the room for them."""
    ours, theirs = socket.socketpair()
    client, datanode = _layers(None)
    texts = [bytes([number]) * length for number, length in enumerate(lengths)]
    texts.append(b"l" * 65_000 * 5)
    data = b"".join(texts)
    most = datanode.most_clear_bytes
    wire = b"".join(
        _message(datanode.wrap(text[start : start + most]))
        for text in texts
        for start in range(0, len(text) or 1, most)
    )

    def send() -> None:
        left = memoryview(wire)
        for number in itertools.count():
            if not left:
                return
            size = network[number % len(network)]
            theirs.sendall(left[:size])
            left = left[size:]

    sender = threading.Thread(target=send)
    sender.start()
    found = bytearray()
    with theirs, WrappedConnection(Connection(ours), client) as connection:
        for number in itertools.count():
            room = memoryview(bytearray(min(reads[number % len(reads)], len(data) - len(found))))
            if not room:
                break
            count = connection.recv_some_into(room)
            assert count
            found += room[:count]
        assert not connection.has_read_ahead
        sender.join()
    assert found == data


@pytest.mark.parametrize("kind", [EncryptedConnection, WrappedConnection])
def test_a_protected_connection_has_no_name_of_the_plain_one_for_its_own(
    kind: type[Connection],
) -> None:
    ours, theirs = socket.socketpair()
    with theirs, Connection(ours) as plain:
        names = set(vars(plain))
    source = inspect.getsource(inspect.getmodule(kind) or kind)
    own = set(re.findall(r"self\.(\w+)(?:\[.*\])? [+]?= ", source))
    assert own
    assert not own & names


def test_bytes_that_came_with_the_handshake_are_read_first(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    keys = StreamKeys(b"k" * 16, b"i" * 16, b"k" * 16, b"i" * 16)
    with theirs:
        plain = Connection(ours)
        sender = EncryptedConnection(Connection(theirs.dup()), keys)
        sender.send_all(b"first and second")
        plain.look_ahead()
        connection = EncryptedConnection(plain, keys)
        assert connection.has_input
        assert connection.recv_exactly(16) == b"first and second"
        path = tmp_path / "file"
        path.write_bytes(b"0123456789")
        with path.open("rb") as file:
            sender.send_file(file.fileno(), 2, 5)
            assert connection.recv_exactly(5) == b"23456"
            with pytest.raises(errors.BlockMissing):
                sender.send_file(file.fileno(), 8, 5)
        sender.close()
        connection.close()


def test_who_may_fall_back_goes_without_where_there_is_no_token(
    datanode: Datanode, address: tuple[str, int]
) -> None:
    """One namenode of a pair gives tokens, and the other one none yet."""
    changing = user(Protection.PRIVACY)
    changing.identity = replace(
        changing.identity, settings=replace(changing.settings, fallback_allowed=True)
    )

    def is_plain(token: BlockToken) -> bool:
        connection = connect(address, changing, token)
        connection.close()
        return connection.is_plain

    assert is_plain(NO_TOKEN)
    assert not is_plain(TOKEN)
    changing.fell_back()
    assert is_plain(TOKEN)
    changing.was_proven()
    assert not is_plain(TOKEN)


def test_who_may_not_fall_back_makes_a_handshake_in_any_case(
    datanode: Datanode, address: tuple[str, int]
) -> None:
    with pytest.raises((errors.HowdahError, PeerClosed)):
        connect(address, user(Protection.PRIVACY), NO_TOKEN)
