"""The channel between the processes of a datanode."""

from __future__ import annotations

import pytest

from howdah.datanode.channel import frames
from howdah.datanode.channel.frames import Link
from howdah.datanode.state.messages import NamenodesAsked
from howdah.runtime import unexpected_errors


class WithoutMemory:
    """A socket that has no memory for a read, so many times."""

    def __init__(self, inner: object, times: int) -> None:
        self._inner = inner
        self.left = times

    def recv(self, count: int) -> bytes:
        if self.left:
            self.left -= 1
            raise MemoryError
        data: bytes = self._inner.recv(count)  # type: ignore[attr-defined]
        return data

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


def test_a_process_without_memory_for_messages_reads_them_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would end, and the datanode with it."""
    monkeypatch.setattr(frames, "_MEMORY_PAUSE_S", 0.0)
    before = unexpected_errors.seen["reading from the other process"]
    one, other = Link.pair()
    try:
        one.send(NamenodesAsked())
        other._sock = WithoutMemory(other._sock, 2)  # type: ignore[assignment]
        assert other.receive() == [NamenodesAsked()]
        assert unexpected_errors.seen["reading from the other process"] == before + 2
    finally:
        one.close()
        other.close()
