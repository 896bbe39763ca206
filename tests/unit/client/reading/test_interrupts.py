"""Ctrl-C at any step of a read: no byte is lost, and none comes twice."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from howdah.client.dfs import DFSClient
from howdah.client.reading import block_reader, file_replicas, input, locations
from howdah.client.reading.input import DFSInputStream
from howdah.runtime import sockets

FakeCluster = Any
DATA = random.Random(4).randbytes(1500)
BLOCK = 1024
OURS = tuple(each.__file__ for each in (input, block_reader, file_replicas, locations, sockets))


class At:
    """Raises in this thread at one step of the code that reads. A step is where the interpreter
    looks for signals: a function begins, or one that is not Python's has returned."""

    def __init__(self, step: int) -> None:
        self.left = step

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        if frame.f_code.co_filename not in OURS or event not in ("call", "c_return"):
            return
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    @contextmanager
    def set(self) -> Iterator[None]:
        before = sys.getprofile()
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(before)


def in_pieces(stream: DFSInputStream) -> bytes:
    """All of it; who is interrupted goes on from where the stream says it is."""
    found, piece = bytearray(), bytearray(400)
    while True:
        try:
            count = stream.readinto(piece)
        except KeyboardInterrupt:
            assert stream.tell() == len(found)
            continue
        if not count:
            return bytes(found)
        found += piece[:count]


def at_once(stream: DFSInputStream) -> bytes:
    try:
        return stream.readall()
    except KeyboardInterrupt:
        return stream.readall()


@pytest.mark.parametrize("read", [in_pieces, at_once])
@pytest.mark.parametrize("size", [100, len(DATA)], ids=["short file", "two blocks"])
def test_a_read_that_is_interrupted_at_any_step_is_gone_on_with(
    cluster: FakeCluster, read: Any, size: int
) -> None:
    data = DATA[:size]
    cluster.put(data, block_size=BLOCK)
    client: DFSClient = cluster.client()

    def all_of_it(at: At) -> bytes:
        with client.open("/f") as stream, at.set():
            return bytes(read(stream))

    counting = At(-1)
    assert all_of_it(counting) == data
    count = -1 - counting.left
    assert count > 10
    for step in range(1, count + 1):
        assert all_of_it(At(step)) == data, step
    assert cluster.namenode.bad_blocks == []
