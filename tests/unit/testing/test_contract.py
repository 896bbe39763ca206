"""The contract suite itself: what keeps the contract passes, and what breaks it is caught."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.fs.api import FileSystem
from howdah.fs.memory.filesystem import MemoryFileSystem
from howdah.fs.memory.streams import MemoryInput, MemoryOutput
from howdah.fs.streams import FSDataOutputStream
from howdah.testing import check_filesystem
from howdah.testing.contract import ContractViolated, Outcome, Subject, all_checks
from howdah.testing.contract import __main__ as command
from howdah.testing.contract.adapters import FSSPEC_TRAITS, FsspecFiles
from howdah.testing.contract.machine import check_against_model


@pytest.fixture
def fs() -> Iterator[FileSystem]:
    with howdah.connect(f"mem://{uuid.uuid4().hex}/", conf=Configuration()) as fs:
        yield fs


def failing(fs: FileSystem, only: str) -> list[str]:
    """The checks of a topic, or the one of a name, that fail."""
    report = check_filesystem(fs, "/contract", only=[only], strict=False)
    assert report.results
    return [result.check.name for result in report.of(Outcome.FAILED)]


# --- a filesystem that keeps the contract ---------------------------------------------


def test_every_check_has_requirements_and_says_what_it_claims() -> None:
    for check in all_checks():
        assert check.requirements, check.name
        assert check.description.endswith("."), check.name
    names = [check.name for check in all_checks()]
    assert len(names) == len(set(names))


def test_a_good_filesystem_passes_and_its_root_is_removed(fs: FileSystem) -> None:
    report = check_filesystem(fs, "/contract")
    assert report.ok
    assert {"OS-002", "OS-009", "OS-177"} <= report.proved
    assert not fs.exists("/contract")


def test_a_report_can_be_read(fs: FileSystem) -> None:
    text = str(check_filesystem(fs, "/contract", only=["flushing"]))
    assert " passed  flushing/flush_on_a_closed_stream_does_nothing\n" in text
    assert text.endswith(f"{fs.uri}: 3 passed, 0 FAILED, 0 skipped")


def test_what_is_not_claimed_is_said(fs: FileSystem) -> None:
    report = check_filesystem(fs, "/contract", only=["drop_behind_is_set_where_it_is_claimed"])
    assert [str(result) for result in report.of(Outcome.SKIPPED)] == [
        "skipped  probing/drop_behind_is_set_where_it_is_claimed: not claimed: dropbehind"
    ]


def test_what_cannot_be_made_to_fail_is_told_apart(fs: FileSystem) -> None:
    report = check_filesystem(fs, "/contract", only=["a_failed_close_is_the_only_attempt"])
    assert [result.reason for result in report.results] == ["nothing can be made to fail here"]


def test_a_root_with_something_in_it_is_left_alone(fs: FileSystem) -> None:
    fs.create("/contract/precious").close()
    with pytest.raises(errors.IllegalArgument, match="/contract is not empty"):
        check_filesystem(fs, "/contract")
    assert fs.exists("/contract/precious")


@pytest.mark.parametrize("name", ["memory", "file"])
def test_a_strangers_filesystem_can_be_held_against_it(name: str, tmp_path: Path) -> None:
    stranger = fsspec.filesystem(name, skip_instance_cache=True)
    checks = {each.name for each in all_checks()}
    if name == "memory":
        # It sets the time when a file is opened.
        checks.remove("the_modification_time_is_when_the_store_handled_the_close")
    report = check_filesystem(
        FsspecFiles(stranger, str(tmp_path)), traits=FSSPEC_TRAITS, only=checks
    )
    assert len(report.of(Outcome.PASSED)) > 40


def test_it_can_be_run_from_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    uri = f"mem://{uuid.uuid4().hex}/"
    assert command.main([uri, "--only", "closing", "--without", "several_clients"]) == 0
    assert "closing/only_the_first_close_does_anything" in capsys.readouterr().out


# --- filesystems that break it ----------------------------------------------------------


class Cut(FSDataOutputStream):
    """Slices end where the data ends."""

    def write(self, data: object, off: int | None = None, length: int | None = None) -> int:
        if off is not None and isinstance(data, bytes):
            return super().write(data[off : off + (length or 0)])
        return super().write(data)


def lazy_close(self: MemoryOutput) -> None:
    """Leaves the data with the writer."""
    self._closed = True
    self._file.writer = None


def eager_close(self: MemoryOutput) -> None:
    """Writes each time it is called."""
    self._closed = True
    self._file.content += self._pending
    self._file.mtime_ms = self._now_ms()
    self._file.writer = None


def open_write(self: MemoryOutput, data: bytes) -> None:
    """Takes bytes whether the stream is closed or not."""
    with self._lock:
        self._pending += data
        self._position += len(data)


def torn_write(self: MemoryOutput, data: bytes) -> None:
    """One half after the other, and nobody minds what comes between."""
    self._check()
    half = len(data) // 2
    self._pending += data[:half]
    self._pending += b"!"
    self._pending += data[half:]
    self._position += len(data)


def ignoring_sync(self: MemoryOutput, *flags: object) -> None:
    """Says yes and does nothing."""


def raising_flush(self: MemoryOutput) -> None:
    raise OSError("flushed, though closed")


def claiming(self: MemoryOutput, capability: str) -> bool:
    """Claims everything."""
    return True


def minding_case(self: MemoryOutput, capability: str) -> bool:
    return capability == "hsync"


def dying(self: MemoryOutput, capability: str) -> bool:
    """Raises when it is closed."""
    self._check()
    return capability in ("hflush", "hsync")


@pytest.mark.parametrize(
    ("method", "broken", "topic", "caught"),
    [
        ("close", lazy_close, "closing", "everything_written_is_seen_after_close"),
        ("close", eager_close, "closing", "only_the_first_close_does_anything"),
        ("write", open_write, "writing", "a_closed_stream_refuses_every_form_of_write"),
        ("write", torn_write, "sharing", "writes_of_several_threads_stay_whole"),
        ("hflush", ignoring_sync, "syncing", "everything_written_is_seen_after_a_sync"),
        ("hflush", ignoring_sync, "syncing", "a_tail_follower_reads_what_comes"),
        ("hsync", ignoring_sync, "syncing", "syncs_of_a_closed_stream_are_refused"),
        ("has_capability", claiming, "probing", "an_unknown_capability_is_not_claimed"),
        ("has_capability", claiming, "probing", "drop_behind_is_set_where_it_is_claimed"),
        ("has_capability", minding_case, "probing", "both_names_of_syncing_have_the_same_answer"),
        ("has_capability", dying, "probing", "a_closed_stream_answers_as_it_did_when_it_was_open"),
    ],
)
def test_a_broken_stream_is_caught(
    fs: FileSystem,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    broken: Callable[..., object],
    topic: str,
    caught: str,
) -> None:
    monkeypatch.setattr(MemoryOutput, method, broken)
    assert caught in failing(fs, topic)


def test_a_slice_that_is_cut_instead_of_refused_is_caught(
    fs: FileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("howdah.fs.memory.filesystem.FSDataOutputStream", Cut)
    assert "a_slice_outside_of_the_data_is_an_index_error" in failing(fs, "writing")


def test_a_length_that_leads_is_caught(fs: FileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    class Leading(MemoryInput):
        """Readers find less than the status says."""

        def readall(self) -> bytes:
            return super().readall()[:-1]

    monkeypatch.setattr("howdah.fs.memory.filesystem.MemoryInput", Leading)
    assert "the_length_never_says_more_than_can_be_read" in failing(fs, "sharing")


def test_a_time_that_does_not_follow_the_close_is_caught(
    fs: FileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(range(10**9, 0, -1))
    monkeypatch.setattr("howdah.fs.memory.filesystem.now_ms", lambda: next(times))
    name = "the_modification_time_is_when_the_store_handled_the_close"
    assert name in failing(fs, "metadata")


def test_a_second_writer_is_caught(fs: FileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    create = MemoryFileSystem.create

    def careless(self: MemoryFileSystem, path: str, **options: Any) -> object:
        return create(self, path, **{**options, "overwrite": True})

    monkeypatch.setattr(MemoryFileSystem, "create", careless)
    found = failing(fs, "creating")
    assert "a_second_create_is_refused_while_the_first_is_open" in found
    assert "create_leaves_an_existing_file_alone" in found


def test_a_violation_is_raised_with_the_whole_report(
    fs: FileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MemoryOutput, "close", lazy_close)
    with pytest.raises(ContractViolated, match="FAILED  closing/everything_written_is_seen"):
        check_filesystem(fs, "/contract", only=["closing"])


@pytest.mark.parametrize(
    ("method", "broken"),
    [("close", lazy_close), ("hflush", ignoring_sync)],
)
def test_a_history_that_is_not_the_models_is_caught(
    fs: FileSystem, monkeypatch: pytest.MonkeyPatch, method: str, broken: Callable[..., object]
) -> None:
    monkeypatch.setattr(MemoryOutput, method, broken)
    with pytest.raises(AssertionError):
        check_against_model(Subject(fs, "/machine"), examples=60, steps=15)
