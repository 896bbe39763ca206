"""The next datanode of a write pipeline, as the one before it sees it.

Opening it repeats the client's WRITE_BLOCK with the target list shortened by one,
and waits for the answer, which tells of the whole rest of the pipeline. Whatever
goes wrong is a `MirrorFailed` that names the node to blame in `first_bad_link`:
the next node if it can't be reached or says nothing of its own, else the node
that it names.

Each node waits a little longer than the one behind it, for acks and for room to send, so
that it's the node next to the trouble which times out first and gets to say whose fault it
is. The client, which waits longest, would blame the first node of the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable

from howdah import errors
from howdah.datanode.settings import DataSettings
from howdah.datanode.transfer.peers import connect_to
from howdah.protocol.data_transfer.handshake import UnknownEncryptionKey
from howdah.protocol.data_transfer.op_requests import WriteBlock, encode_request
from howdah.protocol.data_transfer.packets import PipelineAck, decode_ack
from howdah.protocol.data_transfer.responses import BlockOpResponse, read_response
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.varint import read_delimited
from howdah.runtime.sockets import Connection, Dialing, PeerClosed, PeerSilent

_LOOKS = 16
"""How often it is looked, in the time that a mirror may take nothing, whether it does."""
_NOT_REACHED = (
    errors.Unreachable,
    errors.AuthenticationFailed,
    errors.InvalidToken,
    errors.ProtocolViolation,
    UnknownEncryptionKey,
    PeerClosed,
    PeerSilent,
)
TIMEOUT_EXTENSION_S = 5.0
"""Added for each node behind this one, as Hadoop does."""


class MirrorFailed(errors.PipelineFailed):
    """The pipeline behind this datanode could not be set up."""

    def __init__(self, message: str, first_bad_link: str, status: Status = Status.ERROR) -> None:
        super().__init__(message)
        self.first_bad_link = first_bad_link
        self.status = status


class Mirror:
    """An open connection to the next datanode."""

    def __init__(
        self,
        connection: Connection,
        name: str,
        response: BlockOpResponse | None,
        silence_s: float,
        nodes: int,
    ) -> None:
        """`silence_s` is how long it may take nothing of what it is sent, and `nodes` how many
        datanodes there are from it on."""
        self.connection = connection
        self.silence_s = silence_s
        self.nodes = nodes
        self.name = name
        self.response = response
        self.failed = False

    @classmethod
    def open(
        cls,
        request: WriteBlock,
        settings: DataSettings,
        waiting: Callable[[Connection | Dialing], None] = lambda _: None,
    ) -> Mirror:
        """Connect to `request.targets[0]`; `MirrorFailed` unless the rest of the pipeline is up.

        `waiting` gets what is waited for, the connection while it is made and then its answer:
        to shut it down from another thread ends the waiting.
        """
        node = request.targets[0]
        extension_s = TIMEOUT_EXTENSION_S * len(request.targets)
        silence_s = min(settings.socket_timeout_s, settings.write_timeout_s) + extension_s
        try:
            connection = connect_to(
                node,
                settings,
                settings.socket_timeout_s + extension_s,
                request.block.pool_id,
                request.token,
                write_timeout_s=silence_s / _LOOKS,
                dialing=waiting,
            )
        except _NOT_REACHED as error:
            raise MirrorFailed(error.message, node.transfer_address) from error
        waiting(connection)
        try:
            connection.send_while_taken(encode_request(request.for_mirror()), silence_s)
            # Between datanodes a copy is just sent; only a client's pipeline answers.
            silent = request.is_datanode or request.stage.is_transfer
            response = None if silent else read_response(connection)
        except (errors.HowdahError, OSError) as error:
            connection.close()
            raise MirrorFailed(
                f"{node} did not answer WRITE_BLOCK of {request.block}: {error}",
                node.transfer_address,
            ) from error
        if response is not None and not response.is_success:
            connection.close()
            raise MirrorFailed(
                response.message or f"{node} refused {request.block}: {response.status.name}",
                response.first_bad_link or node.transfer_address,
                response.status,
            )
        return cls(connection, node.transfer_address, response, silence_s, len(request.targets))

    def send(self, span: memoryview) -> None:
        """Pass packets on as they came."""
        self.connection.send_while_taken(span, self.silence_s)

    @property
    def has_ack_waiting(self) -> bool:
        """The next ack, or its begin, is already here."""
        return self.connection.has_read_ahead

    @property
    def has_something_to_say(self) -> bool:
        """There is something to read, be it the end of the connection."""
        return self.connection.has_input

    def read_ack(self) -> PipelineAck:
        """The next ack of the nodes behind this one."""
        return decode_ack(read_delimited(self.connection))

    def read_outcome(self) -> BlockOpResponse:
        """Whether a copy that a client asked for has arrived at all nodes behind this one."""
        outcome = read_response(self.connection)
        if outcome.is_success:
            return outcome
        return BlockOpResponse(
            outcome.status,
            outcome.message or f"{self.name} did not take the copy",
            outcome.first_bad_link or self.name,
        )

    def shutdown(self) -> None:
        self.connection.shutdown()

    def close(self) -> None:
        self.connection.close()
