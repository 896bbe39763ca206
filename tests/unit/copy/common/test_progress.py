"""The line at a terminal: what it says, how it is taken away, and that nobody else gets it."""

from __future__ import annotations

import io
import os
import pty
import re
import struct
import termios
import threading
from collections.abc import Iterator
from fcntl import ioctl
from typing import TextIO

import pytest

import howdah
from howdah import errors
from howdah.copy.common import progress
from howdah.copy.common.filesystems import Place
from howdah.copy.common.progress import (
    CLEAR_LINE,
    Progress,
    ProgressLine,
    cut,
    listing_progress,
    progress_directory,
    reported,
)
from howdah.copy.common.task_progress import Amount, Gauge, gauge_filesystem, line_of
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

COLUMNS = 20


class Terminal:
    """A terminal that somebody reads."""

    def __init__(self) -> None:
        self._master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        self.out: TextIO = os.fdopen(slave, "w", encoding="utf-8", newline="")
        self.seen = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 4096)
            except OSError:
                return  # the other end is closed
            if not data:
                return
            self.seen += data.decode()

    @property
    def lines(self) -> list[str]:
        """What was shown, one after the other."""
        return [line for line in re.split(r"\r\x1b\[K", self.seen) if line]

    def close(self) -> None:
        self.out.close()
        self._reader.join()
        os.close(self._master)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setattr(progress, "INTERVAL_S", 0.01)
    terminal = Terminal()
    yield terminal
    terminal.close()


def test_phase_is_shown_with_its_time_and_gone_at_the_end(terminal: Terminal) -> None:
    with ProgressLine(True, terminal.out) as shown:
        shown.set_text("listing")
        wait_until(lambda: "listing, 0:00" in terminal.lines)
    wait_until(lambda: terminal.seen.endswith(CLEAR_LINE))
    assert not any(thread.name == "progress" for thread in threading.enumerate())


def test_line_never_leaves_its_row(terminal: Terminal) -> None:
    with ProgressLine(True, terminal.out) as shown:
        shown.set_text("a name with\nnewlines and 日本語, longer than the terminal is wide")
        wait_until(lambda: len(terminal.lines) > 2)
    assert all(len(line) < COLUMNS and "\n" not in line for line in terminal.lines)


def test_what_cannot_be_asked_for_yet_is_not_shown(terminal: Terminal) -> None:
    asked = [0]

    def ask(_: float) -> str:
        asked[0] += 1
        if asked[0] < 3:
            raise errors.PathNotFound("/progress")
        return "5 files"

    with ProgressLine(True, terminal.out) as shown:
        shown.set_text(ask)
        wait_until(lambda: bool(terminal.lines))
    assert set(terminal.lines) == {"5 files"}


def test_who_wants_no_progress_pays_for_none() -> None:
    out = io.StringIO()
    fs = howdah.connect("mem://quiet/")
    fs.mkdirs(fs.home_directory())
    with ProgressLine(False, out) as shown, progress_directory(fs, shown) as path:
        shown.set_text("listing")
        assert path == ""
        assert listing_progress(shown) is None
        assert list(fs.list_status(fs.home_directory())) == []
        assert not any(thread.name == "progress" for thread in threading.enumerate())
    assert out.getvalue() == ""


@pytest.mark.parametrize(("there", "parent"), [("/user/anna", "/user/anna"), ("/tmp", "/tmp")])
def test_tasks_tell_in_a_directory_that_is_gone_afterwards(there: str, parent: str) -> None:
    fs = howdah.connect(f"mem://gauged-{there[1:4]}/", user="anna")
    fs.mkdirs(there)
    with ProgressLine(True, io.StringIO()) as shown, progress_directory(fs, shown) as path:
        assert path.startswith(f"{parent}/.howdah-progress.")
        fs.mkdirs(f"{path}/00000-1.5.50")
    assert list(fs.list_status(parent)) == []


def test_nothing_is_made_on_a_filesystem_that_has_no_place_for_it() -> None:
    fs = howdah.connect("mem://bare/", user="anna")
    with ProgressLine(True, io.StringIO()) as shown, progress_directory(fs, shown) as path:
        assert path == ""
    assert list(fs.list_status("/")) == []


def test_copy_shows_files_bytes_rate_and_time_left(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_columns", lambda _: 100)
    fs = howdah.connect("mem://copy/")
    with Progress(fs, "/staging/progress", Amount(10, 2048), terminal.out):
        with fs.create("/staging/progress/00000-1") as out:
            out.write(line_of(Amount(3, 1024)))
        wait_until(lambda: any("3/10 files, 1.0 KiB/2.0 KiB, " in s for s in terminal.lines))
    assert any(re.search(r"/s, \d:\d\d left$", each) for each in terminal.lines)


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [("plain", 10, "plain"), ("plain", 3, "pla"), ("日本", 3, "日"), ("a\tb\x1b", 9, "a?b?")],
)
def test_text_is_cut_to_columns(text: str, columns: int, shown: str) -> None:
    assert cut(text, columns) == shown


def test_how_far_a_task_is_is_told_without_an_edit(howdah_cluster: MiniCluster) -> None:
    now_s = [0.0]
    place = Place.of(howdah_cluster.uri, howdah_cluster.conf, None)
    with howdah_cluster.connect() as driver:
        driver.mkdirs("/progress/p")
        gauge = Gauge(gauge_filesystem(place), "/progress/p", "00000-1", clock=lambda: now_s[0])
        now_s[0] += 1.0
        gauge.add(1, 10)
        wait_until(lambda: reported(driver, "/progress/p") == Amount(1, 10), 30)
        before = driver.inotify().read_txid
        for _ in range(5):
            now_s[0] += 1.0
            gauge.add(1, 10)
        wait_until(lambda: reported(driver, "/progress/p") == Amount(6, 60), 30)
        assert driver.inotify().read_txid == before
        gauge.close()
        driver.delete("/progress", recursive=True)
