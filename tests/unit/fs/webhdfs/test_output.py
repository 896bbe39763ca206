"""What becomes of a file that is written over HTTP when its writer is interrupted or forked."""

from __future__ import annotations

import os
from typing import Any

import pytest

from howdah import errors
from howdah.fs.streams import FSDataOutputStream
from howdah.fs.webhdfs.output import PIECE_BYTES, RestOutput


class Interrupted:
    """An exchange in which the second piece is interrupted."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def send(self, data: memoryview) -> None:
        self.asked.append("send")
        if len(self.asked) == 2:
            raise KeyboardInterrupt

    def end(self) -> None:
        self.asked.append("end")

    def close(self) -> None:
        self.asked.append("close")


def make(exchange: Any) -> FSDataOutputStream:
    return FSDataOutputStream(RestOutput("/file", exchange, 0, lambda _: None))


@pytest.mark.req("OS-069")
def test_a_write_that_is_interrupted_makes_no_file_of_the_rest() -> None:
    exchange = Interrupted()
    with pytest.raises(KeyboardInterrupt) as caught, make(exchange) as out:
        out.write(bytes(2 * PIECE_BYTES))
    assert exchange.asked == ["send", "send", "close"]
    assert "/file: a write was interrupted half-way" in caught.value.__notes__[0]
    exchange = Interrupted()
    out = make(exchange)
    out.write(bytes(PIECE_BYTES))
    with pytest.raises(KeyboardInterrupt):
        out.write(bytes(PIECE_BYTES))
    for call in (lambda: out.write(b"x"), out.close):
        with pytest.raises(errors.WriteInterrupted):
            call()


def test_a_forked_childs_copy_of_a_stream_does_nothing_to_the_parents_file() -> None:
    exchange = Interrupted()
    out = make(exchange)
    child = os.fork()
    if not child:
        code = 1
        try:
            with pytest.raises(errors.ClosedStream, match="/file was opened for writing by"):
                out.write(b"x")
            out.close()
            assert out.closed
            assert exchange.asked == []
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
