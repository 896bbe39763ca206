"""Frames within frames (pure): an RPC connection whose messages are signed or encrypted.

Once a protection beyond authentication is agreed, each frame goes whole into the token of a SASL
message with state WRAP. What these carry is a stream of frames: one may hold several, or a part
of one. A frame that is not wrapped is not believed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.negotiation import (
    decode_sasl,
    decode_sasl_request,
    encode_sasl,
    encode_wrapped_answer,
)
from howdah.protocol.sasl.mechanism import Layer

_MOST_OVERHEAD_BYTES: Final = 64 * 1024
"""More than what wrapping adds to a frame."""


class Wrapping:
    """One side's. Data are wrapped and unwrapped in the order in which they leave and come."""

    def __init__(
        self,
        layer: Layer,
        encode: Callable[[rpc_pb2.RpcSaslProto], bytes],
        decode: Callable[[bytes], rpc_pb2.RpcSaslProto],
    ) -> None:
        self._layer = layer
        self._encode = encode
        self._decode = decode
        self._frames = wire.FrameBuffer()

    def wrap(self, data: bytes) -> bytes:
        """Frames as they are to be sent."""
        most = self._layer.most_clear_bytes
        return b"".join(
            [
                self._encode(
                    rpc_pb2.RpcSaslProto(
                        state=rpc_pb2.RpcSaslProto.WRAP,
                        token=self._layer.wrap(data[start : start + most]),
                    )
                )
                for start in range(0, len(data), most)
            ]
        )

    def unwrap(self, data: bytes) -> bytes:
        """Take what came, and return what was inside of the frames that are whole now.

        Raises ProtocolViolation for a frame that is too long, or was not wrapped.
        """
        clear: list[bytes] = []
        while frames := self._frames.feed(data):
            clear += map(self.unwrap_frame, frames)
            data = b""
        return clear[0] if len(clear) == 1 else b"".join(clear)

    def unwrap_frame(self, frame: bytes) -> bytes:
        """What was inside of one frame. Raises ProtocolViolation for one that was not wrapped."""
        message = self._decode(frame)
        if message.state != rpc_pb2.RpcSaslProto.WRAP:
            raise errors.ProtocolViolation("a message of SASL came that is not wrapped")
        return self._layer.unwrap(message.token)

    def limit(self, max_frame_bytes: int) -> int:
        """How long frames inside may be from now on; how long those outside may be."""
        longest = self._frames.max_frame_bytes = max_frame_bytes + _MOST_OVERHEAD_BYTES
        return longest

    @property
    def pending_bytes(self) -> int:
        """Bytes held of a frame that is not whole yet."""
        return self._frames.pending_bytes


def wrapping_of_server(layer: Layer) -> Wrapping:
    return Wrapping(layer, encode_wrapped_answer, decode_sasl_request)


class WrappedStream:
    """The client's side, with the frames inside. One thread at a time."""

    def __init__(self, layer: Layer) -> None:
        self._wrapping = Wrapping(layer, encode_sasl, decode_sasl)
        self._inner = wire.FrameBuffer()

    def wrap(self, data: bytes) -> bytes:
        """Frames as they are to be sent."""
        return self._wrapping.wrap(data)

    def limit(self, max_frame_bytes: int) -> int:
        """How long frames may be from now on; how long those outside may be."""
        self._inner.max_frame_bytes = max_frame_bytes
        return self._wrapping.limit(max_frame_bytes)

    def feed(self, data: bytes) -> list[bytes]:
        """Take what came, and return the frames inside that are whole now.

        Raises ProtocolViolation for a frame that is longer, or was not wrapped.
        """
        return self._frames_in(self._wrapping.unwrap(data))

    def feed_frame(self, frame: bytes) -> list[bytes]:
        """As `feed`, of a frame that came whole, when nothing is pending."""
        return self._frames_in(self._wrapping.unwrap_frame(frame))

    def _frames_in(self, clear: bytes) -> list[bytes]:
        found: list[bytes] = []
        while frames := self._inner.feed(clear):
            found += frames
            clear = b""
        return found

    @property
    def pending_bytes(self) -> int:
        """Bytes held of frames that are not whole yet."""
        return self._wrapping.pending_bytes + self._inner.pending_bytes
