"""Transfers that trickle, and files that change under way."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from howdah.namenode.journal.checkpoints import image_server
from howdah.namenode.journal.checkpoints.image_server import GONE, ImageIn, TransferSettings
from howdah.storage.image_files import WrittenImage
from howdah.web import file_response
from howdah.web.channel import Channel
from howdah.web.file_response import FileOut, OutgoingFile
from howdah.web.http import Request
from howdah.web.image_transfer import ImageOffered


class Taker:
    """Notes what it was told."""

    def __init__(self) -> None:
        self.told: list[int | None] = []

    def accept(self, txid: int, *, rollback: bool = False) -> str | None:
        return None

    def image_stored(self, txid: int | None, *, rollback: bool = False) -> None:
        self.told.append(txid)

    def finish(self, written: WrittenImage) -> None:
        raise AssertionError("nothing whole came")


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.settimeout(10)
    theirs.settimeout(10)
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def hours(monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour passes at every look at the clock."""
    clock = iter(range(0, 1_000_000, 3600))
    slow = SimpleNamespace(monotonic=lambda: float(next(clock)), sleep=lambda _: None)
    monkeypatch.setattr(image_server, "time", slow)
    monkeypatch.setattr(file_response, "time", slow)


def begun(ours: socket.socket) -> Channel:
    channel = Channel(ours, "10.0.0.1", 10)
    assert channel.next_request() is not None
    return channel


@pytest.mark.usefixtures("hours")
def test_image_that_trickles_is_given_up(
    ends: tuple[socket.socket, socket.socket], tmp_path: Path
) -> None:
    ours, theirs = ends
    taker = Taker()
    offered = ImageOffered(7, 1000, "", "0" * 32)
    posted: list[Callable[[], None]] = []
    settings = TransferSettings(0, 0, 60.0)
    coming = ImageIn(offered, 1, [tmp_path], taker, settings, posted.append)
    theirs.sendall(b"PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nx")
    coming.run(begun(ours))
    for act in posted:
        act()
    assert taker.told == [None], "also if the loop is asked for no answer"
    assert b"the transfer is too slow" in coming.done().body
    assert taker.told == [None]
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("hours")
def test_file_that_is_taken_in_drops_is_given_up(
    ends: tuple[socket.socket, socket.socket], tmp_path: Path
) -> None:
    path = tmp_path / "edits"
    path.write_bytes(b"x" * 1000)
    ours, theirs = ends
    theirs.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    going = FileOut(Request("GET", "/"), lambda: OutgoingFile(path), 0, 60.0, missing_status=GONE)
    with pytest.raises(TimeoutError, match="too slow"):
        going.run(begun(ours))


def test_file_that_is_gone_is_said(
    ends: tuple[socket.socket, socket.socket], tmp_path: Path
) -> None:
    purged = OutgoingFile(tmp_path / "purged")
    going = FileOut(Request("GET", "/"), lambda: purged, 0, 60.0, missing_status=GONE)
    going.run(Channel(ends[0], "10.0.0.1", 10))
    answer = going.done()
    assert answer is not None
    assert answer.status == 410
