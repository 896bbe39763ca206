"""`howdah sync` on this machine's files: what it copies, leaves, deletes and refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.copy.common.failures import CopyFailed
from howdah.copy.common.task_progress import Amount
from howdah.copy.counters import Counters
from howdah.copy.layout import InvalidInput
from howdah.copy.listing.entries import Entry, Kind
from howdah.copy.options import InvalidOptions, Options
from howdah.errors import AccessDenied, HowdahError, UnsupportedOperation
from howdah.fs.local.filesystem import LocalFileSystem
from howdah.fs.status import FileStatus
from howdah.sync import options as words
from howdah.sync import pool, sync
from howdah.sync.job import TooMuch, Wishes, _Mirror
from howdah.sync.pool import MOST_BYTES, MOST_FILES, pieces


def tree(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.name.endswith(".crc")
    }


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    for name, content in {"a": b"one", "d/b": b"two", "d/e/c": b"three"}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (root / "empty").mkdir()
    return root


def test_a_mirror_is_made_then_kept_with_what_has_changed(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    made = sync(source.as_uri(), target.as_uri(), processes=2)
    assert tree(target) == tree(source)
    assert (target / "empty").is_dir()
    assert made.counters.files_copied == 3
    (source / "a").write_bytes(b"other")
    (target / "extra").write_bytes(b"x")
    again = sync(source.as_uri(), target.as_uri(), processes=1)
    assert (again.counters.files_copied, again.counters.files_skipped) == (1, 2)
    assert tree(target) == {**tree(source), "extra": b"x"}
    last = sync(
        source.as_uri(), target.as_uri(), processes=1, options=Options(update=True, delete=True)
    )
    assert last.counters.entries_deleted == 1
    assert tree(target) == tree(source)
    assert [path.name for path in target.iterdir() if path.name.startswith(".distcp")] == []


@pytest.mark.parametrize("unread", ["", "/d"])
def test_what_one_of_several_sources_could_not_list_is_not_deleted(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unread: str
) -> None:
    other, target = tmp_path / "other", tmp_path / "target"
    (other / "theirs").mkdir(parents=True)
    (other / "theirs" / "file").write_bytes(b"x")
    both = [source.as_uri(), other.as_uri()]
    sync(both, target.as_uri(), processes=1)
    (target / "extra").write_bytes(b"x")
    before = tree(target)
    real = LocalFileSystem.list_status_iter

    def listed(self: LocalFileSystem, path: str) -> Iterator[FileStatus]:
        if path == f"{source}{unread}":
            raise AccessDenied(f"{path} may not be listed")
        return real(self, path)

    monkeypatch.setattr(LocalFileSystem, "list_status_iter", listed)
    options = Options(update=True, delete=True, ignore_failures=True)
    sync(both, target.as_uri(), processes=1, options=options)
    if unread:
        del before["extra"]
    assert tree(target) == before


@pytest.mark.parametrize("several", [True, False])
@pytest.mark.parametrize("root", ["/source", ""])
def test_what_lies_below_a_filtered_directory_is_not_deleted(
    source: Path, tmp_path: Path, root: str, several: bool
) -> None:
    """A filter leaves out a path, and not what is below it: that is copied, and stays."""
    target, other, filters = tmp_path / "target", tmp_path / "other", tmp_path / "filters"
    other.mkdir()
    filters.write_text(f".*{root}/d\n.*{root}/d/e\n")
    sources = [other.as_uri(), source.as_uri()] if several else source.as_uri()
    options = Options(update=True, delete=True, filters_file=str(filters))
    for _ in range(3):
        sync(sources, target.as_uri(), processes=1, options=options)
        assert tree(target) == tree(source)
    (target / "d" / "extra").write_bytes(b"x")
    sync(sources, target.as_uri(), processes=1, options=options)
    assert tree(target) == tree(source)


def test_a_source_within_the_target_is_not_deleted(source: Path, tmp_path: Path) -> None:
    before = tree(tmp_path)
    options = Options(update=True, delete=True)
    for target in (tmp_path, source / "d"):
        with pytest.raises(InvalidInput, match="is within the target"):
            sync((source / "d" / "e").as_uri(), target.as_uri(), processes=1, options=options)
    assert tree(tmp_path) == before
    # Neither is itself within itself, nor is what has a name that begins alike.
    sync(source.as_uri(), source.as_uri(), processes=1, options=options)
    sync(source.as_uri(), (tmp_path / "sour").as_uri(), processes=1, options=options)
    assert tree(source) == tree(tmp_path / "sour")


def test_nothing_is_deleted_behind_a_link_out_of_the_target(source: Path, tmp_path: Path) -> None:
    target, outside = tmp_path / "target", tmp_path / "outside"
    for path in (target, outside / "deep"):
        path.mkdir(parents=True)
    (outside / "keep").write_bytes(b"x")
    (outside / "deep" / "keep").write_bytes(b"x")
    (target / "d").symlink_to(outside)
    (target / "own").symlink_to(outside)
    options = Options(update=True, delete=True)
    with pytest.raises(CopyFailed, match="/target/d is a symbolic link to a directory"):
        sync(source.as_uri(), target.as_uri(), processes=1, options=options)
    assert tree(outside) == {"keep": b"x", "deep/keep": b"x"}
    (target / "d").unlink()
    # A link that only the target has goes itself; the target may be one.
    (tmp_path / "link").symlink_to(target)
    sync(source.as_uri(), (tmp_path / "link").as_uri(), processes=1, options=options)
    assert not (target / "own").is_symlink()
    assert tree(outside) == {"keep": b"x", "deep/keep": b"x"}
    assert tree(target) == tree(source)


def test_a_dry_run_tells_and_changes_nothing(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "target"
    assert main(["sync", "--dry-run", source.as_uri(), target.as_uri()]) == 0
    told = capsys.readouterr().out.splitlines()
    assert any(line.startswith(f"copy {source.as_uri()}/a --> ") for line in told)
    assert not target.exists()


def test_filters_and_json(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filters = tmp_path / "filters"
    filters.write_text(".*/d/e/.*\n")
    given = ["-m", "1", "-filters", str(filters), "--json"]
    assert main(["sync", *given, source.as_uri(), (tmp_path / "target").as_uri()]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["counters"]["files_copied"], told["processes"]) == (2, 1)
    assert "d/e/c" not in tree(tmp_path / "target")


@pytest.mark.req("FS-194")
@pytest.mark.kind("object")
def test_the_log_says_of_each_file_how_it_was_verified(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, log = tmp_path / "target", tmp_path / "log"
    given = ["-m", "1", "-log", log.as_uri(), "-v", source.as_uri(), target.as_uri()]
    assert main(["sync", *given]) == 0
    lines = "".join(part.read_text() for part in sorted(log.glob("part-m-*"))).splitlines()
    files = [path for path in source.rglob("*") if path.is_file()]
    assert len(lines) == len(files) > 0
    for path in files:
        [line] = [each for each in lines if f"source={path.as_uri()}," in each]
        assert line.startswith("FILE_COPIED: ")
        assert "; verified by " in line
    assert main(["sync", *given]) == 0
    lines = "".join(part.read_text() for part in sorted(log.glob("part-m-*"))).splitlines()
    assert sum(line.startswith("SKIP: ") for line in lines) == len(files)
    assert main(["sync", "-v", source.as_uri(), target.as_uri()]) == 255
    assert "-v is valid only with -log" in capsys.readouterr().err


def test_a_log_of_a_mirror_that_failed_has_no_unfinished_parts(
    source: Path, tmp_path: Path
) -> None:
    target, log = tmp_path / "target", tmp_path / "log"
    (target / "d" / "b").mkdir(parents=True)
    options = Options(update=True, log_path=log.as_uri())
    with pytest.raises(HowdahError, match="Target is dir"):
        sync(source.as_uri(), target.as_uri(), processes=2, options=options)
    assert [each.name for each in log.iterdir() if each.name.startswith("_")] == []


@pytest.mark.parametrize("ignores", [False, True])
def test_a_pipe_below_the_source_is_named_and_not_waited_for(
    source: Path, tmp_path: Path, ignores: bool
) -> None:
    target = tmp_path / "target"
    os.mkfifo(source / "d" / "pipe")
    # With a writer that writes nothing, it can be opened.
    held = os.open(source / "d" / "pipe", os.O_RDWR)
    options = Options(update=True, ignore_failures=ignores)
    try:
        if ignores:
            done = sync(source.as_uri(), target.as_uri(), options=options)
            assert done.counters.files_failed == 1
            assert tree(target) == tree(source)
        else:
            with pytest.raises(CopyFailed, match=r"Cannot read .*/d/pipe: it is a named pipe"):
                sync(source.as_uri(), target.as_uri(), options=options)
    finally:
        os.close(held)
    assert not (target / "d" / "pipe").exists()


def test_a_failure_names_the_file_and_leaves_no_staging(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    (target / "d" / "b").mkdir(parents=True)
    with pytest.raises(HowdahError, match=r"Can't replace .*/d/b\. Target is dir"):
        sync(source.as_uri(), target.as_uri(), processes=1)
    assert [path.name for path in target.iterdir() if path.name.startswith(".distcp")] == []


def test_what_needs_a_cluster_is_refused_by_name(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidOptions, match="-atomic is an option of howdah distcp"):
        words.read(["-atomic", "a", "b"])
    with pytest.raises(UnsupportedOperation, match="-blocksperchunk"):
        words.as_mirror(Options(update=True, blocks_per_chunk=1))
    assert main(["sync", "-tmp", "a", source.as_uri(), tmp_path.as_uri()]) == 255
    assert "-atomic" not in words.usage()


def test_arguments_are_those_of_distcp() -> None:
    found, has_count = words.read(["-delete", "-m4", "-pug", "a", "b"])
    assert found.options.update
    assert found.options.delete
    assert found.options.preserves == "ug"
    assert (found.options.max_maps, has_count) == (4, True)
    found, has_count = words.read(["-overwrite", "a", "b"])
    assert (found.options.overwrite, found.options.update, has_count) == (True, False, False)


def test_pieces_have_some_files_or_some_bytes_the_largest_first() -> None:
    def entry(length: int) -> Entry:
        return Entry(Kind.FILE, 0, b"/s", b"/s", length=length)

    lengths = [1] * (MOST_FILES + 1) + [MOST_BYTES + 1, MOST_BYTES]
    found = list(pieces(map(entry, lengths)))
    assert [len(piece) for piece in found] == [1, 1, MOST_FILES, 1]
    assert [piece[0].length for piece in found[:2]] == [MOST_BYTES + 1, MOST_BYTES]
    assert sorted(each.length for piece in found for each in piece) == sorted(lengths)
    assert list(pieces([])) == []


def test_neither_spark_nor_arrow_is_needed(source: Path, tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "sys.modules['pyspark'] = sys.modules['pyarrow'] = None\n"
        "from howdah.cli.main import main\n"
        "raise SystemExit(main(['sync', '-m', '1', *sys.argv[1:]]))\n"
    )
    target = tmp_path / "target"
    subprocess.run(
        [sys.executable, "-c", program, source.as_uri(), target.as_uri()], check=True, timeout=60
    )
    assert tree(target) == tree(source)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_a_defect_ends_is_no_success(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(counters: Counters) -> None:
        raise ValueError("a defect")

    monkeypatch.setattr(_Mirror, "_progress", lambda self, files: broken)
    monkeypatch.setattr(pool, "MOST_FILES", 1)
    with pytest.raises(CopyFailed, match="pieces were not copied"):
        sync(source.as_uri(), (tmp_path / "target").as_uri(), processes=1)


@pytest.mark.parametrize("begins", [False, True])
def test_a_mirror_that_may_not_go_on_ends_in_the_middle(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begins: bool
) -> None:
    """Another job may have the target by now."""

    def refuse() -> None:
        raise CopyFailed("another one has it")

    (source / "huge").write_bytes(bytes(8 << 20))
    monkeypatch.setattr(pool, "MOST_FILES", 1)
    monkeypatch.setattr(pool, "CHECKED_S", 0.1)
    # At this rate the file takes hours.
    options = Options(update=True, bandwidth_mb=0.001, buffer_bytes=4096)
    wishes = Wishes(check=refuse, begins_processes=begins)
    with pytest.raises(CopyFailed, match="another one has it"):
        sync(
            source.as_uri(),
            (tmp_path / "to").as_uri(),
            processes=2,
            options=options,
            wishes=wishes,
        )
    assert not (tmp_path / "to" / "huge").exists()


def test_a_mirror_that_may_not_go_on_ends_in_the_middle_of_its_only_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[None] = []

    def refuse() -> None:
        calls.append(None)
        if len(calls) > 1:
            raise CopyFailed("another one has it")

    (tmp_path / "huge").write_bytes(bytes(8 << 20))
    monkeypatch.setattr("howdah.sync.job.MOST_BYTES", 1 << 20)
    monkeypatch.setattr(pool, "CHECKED_S", 0.1)
    # At this rate the file takes hours.
    options = Options(update=True, bandwidth_mb=0.001, buffer_bytes=4096)
    target = tmp_path / "to"
    with pytest.raises(CopyFailed, match="another one has it"):
        sync(
            (tmp_path / "huge").as_uri(),
            target.as_uri(),
            options=options,
            wishes=Wishes(check=refuse),
        )
    assert not target.exists()


def test_what_is_too_much_finds_no_entries_of_another_kind_at_the_target(
    source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "to"
    (target / "a").mkdir(parents=True)
    (target / "a" / "old").write_bytes(b"x")
    (target / "d").write_bytes(b"a file")
    wishes = Wishes(most=Amount(0, 0), replaces_kinds=True)
    with pytest.raises(TooMuch):
        sync(source.as_uri(), target.as_uri(), wishes=wishes)
    assert not (target / "a").exists()
    sync(source.as_uri(), target.as_uri(), processes=1)
    assert tree(target) == tree(source)
