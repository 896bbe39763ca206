"""The clients of failover tests, with a filesystem in memory: one that keeps its word, and not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

import howdah
from howdah.fs.api import FileSystem
from howdah.fs.memory import forget
from howdah.testing.histories.linearizability import check
from howdah.testing.histories.recording import Kind, record
from howdah.testing.waiting import wait_until
from tests.support.failover.write_ledger import (
    FileWriter,
    LogWriter,
    Manifest,
    Note,
    Reader,
    breach,
    content,
)

URI = "mem://failover-clients"
JOIN_S = 20


def connect() -> FileSystem:
    return howdah.connect(URI)


@pytest.fixture
def fs() -> Iterator[FileSystem]:
    forget("failover-clients")
    with connect() as fs:
        yield fs


def test_every_content_is_the_beginning_of_the_next() -> None:
    assert content("/a", 10_000).startswith(content("/a", 9_000))
    assert content("/a", 100) != content("/b", 100)


def test_writers_and_readers_of_a_sound_filesystem_find_no_fault(fs: FileSystem) -> None:
    manifest = Manifest()
    clients = [
        FileWriter("writer", connect, manifest, 1, "/files"),
        LogWriter("log", connect, manifest, 1, "/log"),
        Reader("reader", connect, manifest, 1),
    ]
    for client in clients:
        client.start()
    wait_until(lambda: manifest.acknowledged > 60)
    for client in clients:
        client.stop()
    for client in clients:
        client.join(JOIN_S)
    assert manifest.failures == []
    manifest.verify(fs)
    notes = manifest.notes()
    assert any(note.path.endswith(".renamed") for note in notes)
    assert any(not note.is_there for note in notes)
    assert any(note.origin == "/log" and note.is_closed for note in notes)


NOTE = Note("/x", "/x", 1000)


@pytest.mark.parametrize(
    ("data", "note", "what"),
    [
        (None, NOTE, "is missing"),
        (content("/x", 999), NOTE, "has 999 bytes"),
        (content("/x", 1001), replace(NOTE, is_closed=True), "has 1001 bytes"),
        (content("/y", 1000), NOTE, "has other bytes"),
        (b"", replace(NOTE, is_there=False), "was deleted"),
        (content("/x", 1001), NOTE, None),
        (content("/x", 1000), replace(NOTE, is_closed=True), None),
        (None, replace(NOTE, is_there=False), None),
        (None, replace(NOTE, is_settled=False), None),
    ],
)
def test_what_was_acknowledged_and_is_not_there_is_found(
    fs: FileSystem, data: bytes | None, note: Note, what: str | None
) -> None:
    if data is not None:
        with fs.create("/x") as out:
            out.write(data)
    found = breach(fs, note)
    assert (found is None) if what is None else (found is not None and what in found)


def test_a_manifest_names_every_file_that_is_not_as_acknowledged(fs: FileSystem) -> None:
    manifest = Manifest()
    for path in ("/a", "/b"):
        manifest.acknowledge(Note(path, path, 5))
    with pytest.raises(AssertionError, match="2 files are not as acknowledged"):
        manifest.verify(fs)


def test_a_reader_fails_where_a_file_is_gone(fs: FileSystem) -> None:
    manifest = Manifest()
    manifest.acknowledge(NOTE)
    reader = Reader("reader", connect, manifest, 1)
    reader.start()
    wait_until(lambda: manifest.failures)
    reader.stop()
    reader.join(JOIN_S)
    assert "/x is missing" in manifest.failures[0]


def test_a_writer_that_fails_says_so(fs: FileSystem) -> None:
    with fs.create("/files"):
        pass
    manifest = Manifest()
    writer = FileWriter("writer", connect, manifest, 1, "/files")
    writer.start()
    writer.join(JOIN_S)
    assert manifest.failures
    assert "writer, round 0" in manifest.failures[0]


def test_silence_is_the_longest_time_without_an_acknowledgement() -> None:
    manifest = Manifest()
    assert manifest.longest_silence_s() == 0
    assert manifest.first_after(0) is None
    manifest.acknowledge(NOTE)
    first = manifest.first_after(0)
    assert first is not None
    manifest.acknowledge(NOTE)
    second = manifest.first_after(first)
    assert second is not None
    assert manifest.longest_silence_s() == second - first


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("seed", range(5))
def test_histories_of_one_filesystem_are_linearizable(
    fs: FileSystem, kind: Kind, seed: int
) -> None:
    history = record(connect, f"/history{seed}", kind, seed)
    assert len(history) > 10
    verdict = check(history)
    assert verdict, str(verdict)
