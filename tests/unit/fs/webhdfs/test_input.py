"""A file that is read over HTTP, whose answers break off."""

from __future__ import annotations

from typing import cast

import pytest

from howdah import errors
from howdah.fs.webhdfs.input import RestInput
from howdah.web.connections import Exchange

DATA = bytes(range(100))


class Answer:
    """Has bytes, and breaks off behind them."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def readinto(self, view: memoryview) -> int:
        if not self._data:
            raise errors.Unreachable("the connection ended")
        count = min(len(view), len(self._data))
        view[:count] = self._data[:count]
        self._data = self._data[count:]
        return count

    def close(self) -> None:
        """Nothing is held."""


def test_what_breaks_off_behind_its_last_byte_is_not_asked_for_again() -> None:
    asked: list[tuple[int, int | None]] = []

    def opened(offset: int, length: int | None, failed: str | None) -> Exchange:
        asked.append((offset, length))
        end = len(DATA) if length is None else offset + length
        # The first answer breaks off in its middle.
        return cast("Exchange", Answer(DATA[offset : end if len(asked) > 1 else offset + 7]))

    stream = RestInput("/a", len(DATA), opened)
    assert stream.pread(10, 90) == DATA[10:]
    assert asked == [(10, 90), (17, 83)]


class Interrupted(Answer):
    """Ctrl-C comes when the bytes are there, and before anybody has counted them."""

    def readinto(self, view: memoryview) -> int:
        super().readinto(view)
        raise KeyboardInterrupt


def test_a_read_that_is_interrupted_is_gone_on_with_where_it_was() -> None:
    answers = iter([Interrupted(DATA), Answer(DATA)])

    def opened(offset: int, length: int | None, failed: str | None) -> Exchange:
        answer = next(answers)
        answer._data = answer._data[offset:]
        return cast("Exchange", answer)

    stream = RestInput("/a", len(DATA), opened)
    with pytest.raises(KeyboardInterrupt):
        stream.read(10)
    assert stream.tell() == 0
    assert stream.read(10) == DATA[:10]
