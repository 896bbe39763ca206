"""Frames within frames (pure): an RPC connection whose messages are signed or encrypted.

Once a protection beyond authentication is agreed, each frame goes whole into the token of a SASL
message with state WRAP. What these carry is a stream of frames: one may hold several, or a part
of one. A frame that is not wrapped is not believed.
"""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.negotiation import decode_sasl, encode_sasl
from howdah.protocol.sasl.mechanism import Layer

_MOST_OVERHEAD_BYTES: Final = 64 * 1024
"""More than what wrapping adds to a frame."""


class WrappedStream:
    """The client's side. One thread at a time."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._outer = wire.FrameBuffer()
        self._inner = wire.FrameBuffer()

    def wrap(self, data: bytes) -> bytes:
        """Frames as they are to be sent."""
        most = self._layer.most_clear_bytes
        return b"".join(
            [
                encode_sasl(
                    rpc_pb2.RpcSaslProto(
                        state=rpc_pb2.RpcSaslProto.WRAP,
                        token=self._layer.wrap(data[start : start + most]),
                    )
                )
                for start in range(0, len(data), most)
            ]
        )

    def limit(self, max_frame_bytes: int) -> None:
        """How long frames may be from now on."""
        self._outer.max_frame_bytes = max_frame_bytes + _MOST_OVERHEAD_BYTES
        self._inner.max_frame_bytes = max_frame_bytes

    def feed(self, data: bytes) -> list[bytes]:
        """Take what came, and return the frames inside that are whole now.

        Raises ProtocolViolation for a frame that is longer, or was not wrapped.
        """
        found: list[bytes] = []
        while outer := self._outer.feed(data):
            for payload in outer:
                message = decode_sasl(payload)
                if message.state != rpc_pb2.RpcSaslProto.WRAP:
                    raise errors.ProtocolViolation(
                        "the server sent a message of SASL that is not wrapped"
                    )
                clear = self._layer.unwrap(message.token)
                while frames := self._inner.feed(clear):
                    found += frames
                    clear = b""
            data = b""
        return found

    @property
    def pending_bytes(self) -> int:
        """Bytes held of frames that are not whole yet."""
        return self._outer.pending_bytes + self._inner.pending_bytes
