"""Both sides of SASL on a data connection (pure): SaslDataTransferClient and
SaslDataTransferServer in Hadoop.

    de ad be ef, an empty message -->
                                  <-- a challenge
    the answer, and ciphers       -->
                                  <-- the server's proof, and the cipher that it chose

Every message is a DataTransferEncryptorMessageProto with its length in front. Behind them comes the
operation: on the bare connection, in messages of the layer, or in a stream of AES, whose keys the
server makes and sends within the layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from google.protobuf.message import DecodeError

from howdah import errors
from howdah.proto import data_transfer_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.messages import parse
from howdah.protocol.sasl.mechanism import ClientMechanism, ServerMechanism
from howdah.protocol.sasl.protection import Protection
from howdah.protocol.varint import delimited

MAGIC: Final = b"\xde\xad\xbe\xef"
REALM: Final = "0"
REALM_URI: Final = "hdfs/0"
"""The digest-uri of data connections."""
AES_CTR: Final = "AES/CTR/NoPadding"
_SUITES: Final = {AES_CTR: types_pb2.AES_CTR_NOPADDING}
KEY_BYTES: Final = (16, 24, 32)
"""How long keys of AES are; the first, if nobody says otherwise."""
_IV_BYTES: Final = 16
_Message = pb.DataTransferEncryptorMessageProto


class UnknownEncryptionKey(errors.HowdahError, PermissionError):
    """The datanode does not know the key by which the connection is to be encrypted: the namenode
    has a newer one."""

    java_class = "org.apache.hadoop.hdfs.protocol.datatransfer.InvalidEncryptionKeyException"


@dataclass(frozen=True, slots=True)
class StreamKeys:
    """Keys and first counters of two streams of AES, as one side uses them."""

    send_key: bytes = field(repr=False)
    send_iv: bytes
    receive_key: bytes = field(repr=False)
    receive_iv: bytes


def known_suites(names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of a configuration's cipher suites that are known.

    Raises ValueError for one that is not.
    """
    found: list[str] = []
    for name in names:
        if name.lower() != AES_CTR.lower():
            raise ValueError(f"the cipher suite {name!r} is not supported: {AES_CTR} is")
        found.append(AES_CTR)
    return tuple(dict.fromkeys(found))


class ClientHandshake:
    """One handshake. Send `begin()`, feed each message of the server to `receive` and send what it
    returns, until `is_done`."""

    def __init__(self, mechanism: ClientMechanism, suites: tuple[str, ...]) -> None:
        self._mechanism = mechanism
        self._suites = suites
        self._is_answered = False
        self.keys: StreamKeys | None = None
        self.is_done = False

    @property
    def mechanism(self) -> ClientMechanism:
        return self._mechanism

    def begin(self) -> bytes:
        """What opens the connection."""
        return MAGIC + delimited(_Message(status=_Message.SUCCESS, payload=b""))

    def receive(self, data: bytes) -> bytes:
        """Return what is to be sent, which is nothing at the end.

        Raises AuthenticationFailed, InvalidToken and UnknownEncryptionKey as the datanode says, and
        ProtocolViolation for what is no message.
        """
        try:
            message = parse(_Message, data)
        except DecodeError as error:
            raise errors.ProtocolViolation(
                f"a message of SASL cannot be decoded: {error}"
            ) from error
        if message.status != _Message.SUCCESS:
            raise _refusal(message)
        if self._is_answered:
            self._finish(message)
            return b""
        self._is_answered = True
        answer = self._mechanism.evaluate(message.payload)
        reply = _Message(status=_Message.SUCCESS, payload=answer or b"")
        if self._mechanism.protection is Protection.PRIVACY:
            for suite in self._suites:
                reply.cipherOption.add(suite=_SUITES[suite])
        return delimited(reply)

    def _finish(self, message: pb.DataTransferEncryptorMessageProto) -> None:
        mechanism = self._mechanism
        if mechanism.is_complete or mechanism.evaluate(message.payload) is not None:
            raise errors.AuthenticationFailed("the datanode challenges behind its own last word")
        if not mechanism.is_complete:
            raise errors.AuthenticationFailed("the datanode did not prove who it is")
        if message.cipherOption:
            self.keys = self._stream_keys(message.cipherOption[0])
        self.is_done = True

    def _stream_keys(self, option: types_pb2.CipherOptionProto) -> StreamKeys:
        layer = self._mechanism.layer
        offered = [_SUITES[suite] for suite in self._suites]
        if layer is None or option.suite not in offered:
            raise errors.ProtocolViolation(
                f"the datanode chose the cipher suite {option.suite}, which was not offered"
            )
        keys = StreamKeys(
            layer.unwrap(option.inKey), option.inIv, layer.unwrap(option.outKey), option.outIv
        )
        if {len(keys.send_iv), len(keys.receive_iv)} != {_IV_BYTES} or not (
            len(keys.send_key) == len(keys.receive_key) and len(keys.send_key) in KEY_BYTES
        ):
            raise errors.ProtocolViolation("the datanode sent keys of AES that are none")
        return keys


class ServerHandshake:
    """The datanode's side of one handshake. Once a connection has begun with `MAGIC`, feed each
    message of the client to `receive` and send what it returns, until `is_done`; where it raises,
    send `refusal`, and end the connection."""

    def __init__(
        self,
        mechanism: ServerMechanism,
        suites: tuple[str, ...],
        random_bytes: Callable[[int], bytes],
        key_bytes: int = KEY_BYTES[0],
    ) -> None:
        """`random_bytes` is asked for the keys of streams, which are so long, and what counts in
        them."""
        self._mechanism = mechanism
        self._suites = suites
        self._random_bytes = random_bytes
        self._key_bytes = key_bytes
        self._has_challenged = False
        self.keys: StreamKeys | None = None
        self.is_done = False

    @property
    def mechanism(self) -> ServerMechanism:
        return self._mechanism

    def receive(self, data: bytes) -> bytes:
        """Raises AuthenticationFailed, InvalidToken, UnknownEncryptionKey, ProtocolViolation."""
        try:
            message = parse(_Message, data)
        except DecodeError as error:
            raise errors.ProtocolViolation(
                f"a message of SASL cannot be decoded: {error}"
            ) from error
        if message.status != _Message.SUCCESS or self.is_done:
            raise errors.ProtocolViolation("the client sent a message of SASL that has no place")
        if not self._has_challenged and message.payload:
            raise errors.AuthenticationFailed("the client answers before it was asked")
        reply = _Message(
            status=_Message.SUCCESS, payload=self._mechanism.evaluate(message.payload) or b""
        )
        if not self._has_challenged:
            self._has_challenged = True
            return delimited(reply)
        if not self._mechanism.is_complete:
            raise errors.AuthenticationFailed("the client did not prove that it has a token")
        self.is_done = True
        if self._mechanism.protection is Protection.PRIVACY:
            self._choose_suite(message, reply)
        return delimited(reply)

    def _choose_suite(
        self,
        message: pb.DataTransferEncryptorMessageProto,
        reply: pb.DataTransferEncryptorMessageProto,
    ) -> None:
        """The client's first suite that is known here, with keys within the layer."""
        layer = self._mechanism.layer
        known = {_SUITES[suite] for suite in self._suites}
        chosen = next((each.suite for each in message.cipherOption if each.suite in known), None)
        if chosen is None or layer is None:
            return
        in_key, out_key = (self._random_bytes(self._key_bytes) for _ in range(2))
        in_iv, out_iv = (self._random_bytes(_IV_BYTES) for _ in range(2))
        reply.cipherOption.add(
            suite=chosen,
            inKey=layer.wrap(in_key),
            inIv=in_iv,
            outKey=layer.wrap(out_key),
            outIv=out_iv,
        )
        # What is in to the client's side of the wire is what it sends.
        self.keys = StreamKeys(out_key, out_iv, in_key, in_iv)


def refusal(error: errors.HowdahError) -> bytes:
    """The message that says why a handshake ends."""
    status = _Message.ERROR
    if isinstance(error, UnknownEncryptionKey):
        status = _Message.ERROR_UNKNOWN_KEY
    message = _Message(status=status, message=error.message)
    if isinstance(error, errors.InvalidToken):
        message.accessTokenError = True
    return delimited(message)


def _refusal(message: pb.DataTransferEncryptorMessageProto) -> errors.HowdahError:
    words = message.message or _Message.DataTransferEncryptorStatus.Name(message.status)
    if message.status == _Message.ERROR_UNKNOWN_KEY:
        return UnknownEncryptionKey(words)
    if message.accessTokenError:
        return errors.InvalidToken(words)
    return errors.AuthenticationFailed(words)
