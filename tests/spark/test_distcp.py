"""`distcp` on a cluster: whole trees, copied by Spark's executors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah.copy.layout import InvalidInput
from howdah.copy.locks.tree_lock import is_lock
from howdah.copy.outcome import DuplicateFile
from howdah.fs import paths
from howdah.fs.hdfs.filesystem import HdfsFileSystem

pytestmark = pytest.mark.timeout(240)

# What a name may be on HDFS.
NAMES = ["plain", "two words", "50%20", 'it\'s "q"', "ünï→", "a\nb", "#?;&*"]
TREE = {
    **{f"d/{name}": name.encode() * 3 for name in NAMES},
    "d": None,
    "empty": None,
    "zero": b"",
    "big": bytes(range(256)) * 1000,
}


@pytest.mark.req("FS-158", "FS-160")
@pytest.mark.req("FS-081")
def test_tree_with_any_names_becomes_the_absent_target(bench: Any) -> None:
    bench.make("src", TREE)
    outcome = bench.copy("src", "dst")
    assert bench.tree("dst") == TREE
    assert outcome.counters.files_copied == len(NAMES) + 2
    assert outcome.counters.directories_copied == 3
    assert outcome.counters.bytes_copied == sum(len(data or b"") for data in TREE.values())


@pytest.mark.req("FS-162")
def test_existing_target_gets_the_directory_under_its_name(bench: Any) -> None:
    bench.make("src", {"a": b"1"})
    bench.make("dst", {"other": b"2"})
    bench.copy("src", "dst")
    assert bench.tree("dst") == {"other": b"2", "src": None, "src/a": b"1"}


@pytest.mark.req("FS-159")
@pytest.mark.req("FS-080")
def test_file_is_copied_to_another_name(bench: Any) -> None:
    bench.make("", {"file1": b"new"})
    bench.copy("file1", "file2")
    assert bench.tree("") == {"file1": b"new", "file2": b"new"}
    bench.make("", {"file1": b"newer"})
    bench.copy("file1", "file2")
    assert bench.tree("") == {"file1": b"newer", "file2": b"newer"}


@pytest.mark.req("FS-161")
def test_several_sources_and_patterns_go_into_one_target(bench: Any) -> None:
    bench.make("", {"x/a": b"1", "x2/b": b"2", "f": b"3"})
    bench.copy(["x*", "f"], "dst")
    assert bench.tree("dst") == {"x": None, "x/a": b"1", "x2": None, "x2/b": b"2", "f": b"3"}


@pytest.mark.req("FS-164", "LM-022")
@pytest.mark.req("FS-082")
def test_update_copies_what_has_changed_and_nothing_else(bench: Any) -> None:
    bench.make("src", {"same": b"1", "length": b"22", "content": b"old", "new": b"4"})
    bench.make("dst", {"same": b"1", "length": b"2", "content": b"OLD", "extra": b"5"})
    outcome = bench.copy("src", "dst", update=True)
    assert bench.tree("dst") == {
        "same": b"1",
        "length": b"22",
        "content": b"old",
        "new": b"4",
        "extra": b"5",
    }
    assert outcome.counters.files_copied == 3
    assert outcome.counters.files_skipped == outcome.counters.skipped_by_checksum == 1
    again = bench.copy("src", "dst", update=True)
    assert (again.counters.files_copied, again.counters.files_skipped) == (0, 4)


@pytest.mark.req("FS-163")
@pytest.mark.req("FS-083")
def test_overwrite_replaces_what_is_there(bench: Any) -> None:
    bench.make("src", {"a": b"1", "b": b"2"})
    bench.make("dst", {"a": b"other", "c": b"3"})
    outcome = bench.copy("src", "dst", overwrite=True)
    assert bench.tree("dst") == {"a": b"1", "b": b"2", "c": b"3"}
    assert outcome.counters.files_copied == 2


def test_two_sources_for_one_place_are_refused_before_anything_is_copied(bench: Any) -> None:
    bench.make("", {"x/d/f": b"1", "y/d/f": b"2"})
    with pytest.raises(DuplicateFile, match="would cause duplicates"):
        bench.copy(["x", "y"], "dst", update=True)
    assert not bench.fs.exists(bench.path("dst"))


def test_missing_source_is_refused(bench: Any) -> None:
    with pytest.raises(InvalidInput, match="doesn't exist"):
        bench.copy("nothing", "dst")


@pytest.mark.req("FS-165", "LM-063")
def test_who_asks_for_a_copy_reads_and_writes_nothing(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = {"big": bytes(range(256)) * 5000}
    bench.make("src", tree)

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("bytes are moved by the process that asks for it")

    create = HdfsFileSystem.create
    made: list[Any] = []

    def create_lock(fs: Any, path: str, **options: Any) -> Any:
        assert is_lock(paths.name_of(path))
        made.append(create(fs, path, **options))
        return made[-1]

    with monkeypatch.context() as patched:
        # The executors' processes know nothing of it.
        for name, method in (("open", refuse), ("create", create_lock), ("append", refuse)):
            patched.setattr(HdfsFileSystem, name, method)
        assert bench.copy("src/big", "dst").counters.bytes_copied == len(tree["big"])
    assert [out.get_pos() for out in made] == [0]
    with bench.fs.open(bench.path("dst")) as stream:
        assert stream.read() == tree["big"]


def test_command_copies_and_counts(
    bench: Any, run_cli: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    bench.make("src", {"a": b"1", "d/b": b"22"})
    assert run_cli(bench.uri("src"), bench.uri("dst")) == 0
    assert bench.tree("dst") == {"a": b"1", "d": None, "d/b": b"22"}
    assert capsys.readouterr().out == (
        "\tDistCp Counters\n\t\tBytes Copied=3\n\t\tBytes Expected=3\n"
        "\t\tDIR_COPY=2\n\t\tFiles Copied=2\n\t\tFiles Verified, Checksums Equal=2\n"
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 255),
        (["-delete", "/a", "/b"], 255),
        (["/nothing/at/all", "/b"], 255),
    ],
)
def test_command_that_makes_no_sense_ends_with_hadoops_code(
    run_cli: Callable[..., int], words: list[str], code: int
) -> None:
    assert run_cli(*words) == code
