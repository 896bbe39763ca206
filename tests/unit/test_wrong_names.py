"""A wrong name is answered with the right one."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys

import pytest

import howdah
import howdah.aio
from howdah import Path
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.status import FileStatus
from howdah.wrong_names import FILE_STATUS, FILESYSTEM, MODULE

STATUS = FileStatus("/a", 1, False, 1, 1, 0, 0, 0o644, "o", "g")


@pytest.fixture
def fs() -> FileSystem:
    return howdah.connect("mem://wrong-names/")


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("listdir", "MemoryFileSystem has no 'listdir': it is ls(path)"),
        ("listStatus", "MemoryFileSystem has no 'listStatus': it is list_status"),
        ("getFileStatus", "MemoryFileSystem has no 'getFileStatus': it is get_file_status"),
        ("copyFromLocalFile", "'copyFromLocalFile': it is put(local, path)"),
        ("getHomeDirectory", "'getHomeDirectory': it is home_directory()"),
        ("get_replication", "'get_replication': did you mean set_replication?"),
        ("renam", "'renam': did you mean rename?"),
        ("nonsense", "MemoryFileSystem has no 'nonsense'"),
    ],
)
def test_a_filesystem_says_what_it_has_instead(fs: FileSystem, name: str, answer: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(fs, name)
    assert str(raised.value).endswith(answer)
    assert raised.value.name == name
    assert not hasattr(fs, name)


def test_the_error_travels_between_processes(fs: FileSystem) -> None:
    """As `multiprocessing` and its kin send what a task raised."""
    with pytest.raises(AttributeError) as raised:
        fs.listdir  # type: ignore[attr-defined] # noqa: B018
    for again in (pickle.loads(pickle.dumps(raised.value)), copy.copy(raised.value)):
        assert isinstance(again, AttributeError)
        assert str(again) == "MemoryFileSystem has no 'listdir': it is ls(path)"


def test_the_asynchronous_filesystem_says_the_same() -> None:
    with pytest.raises(AttributeError, match=r"AsyncFileSystem has no 'listdir': it is ls\(path\)"):
        howdah.aio.connect("mem://x").listdir  # type: ignore[attr-defined] # noqa: B018


def test_a_status_and_a_path_say_what_they_have_instead() -> None:
    for name, answer in (("size", "length"), ("getLen", "length"), ("st_mode", "permission")):
        with pytest.raises(AttributeError, match=f"FileStatus has no '{name}': it is {answer}$"):
            getattr(STATUS, name)
    with pytest.raises(AttributeError, match="modification_time_ms"):
        STATUS.modificationTime  # type: ignore[attr-defined] # noqa: B018
    with pytest.raises(AttributeError, match="did you mean exists"):
        Path("mem://x/").exist  # type: ignore[attr-defined] # noqa: B018


def test_the_module_says_what_it_has_instead() -> None:
    with pytest.raises(AttributeError, match=r"howdah has no 'Client': it is connect\(uri\)"):
        howdah.Client  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean FileStatus"):
        howdah.FileStat  # noqa: B018


def test_a_module_that_is_not_imported_says_so() -> None:
    code = "import howdah; howdah.fsspec"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert b"AttributeError: howdah.fsspec is a module: import howdah.fsspec" in child.stderr
    assert b"Did you mean" not in child.stderr


def test_an_error_within_a_property_stays_what_it_was() -> None:
    class Broken(HdfsFileSystem):
        @property
        def uri(self) -> str:
            raise AttributeError("what really happened")

    with pytest.raises(AttributeError, match="what really happened"):
        Broken.__new__(Broken).uri  # noqa: B018


KNOWN = {
    "FileSystem": (FILESYSTEM, set(dir(HdfsFileSystem))),
    "FileStatus": (FILE_STATUS, set(dir(FileStatus))),
    "howdah": (MODULE, set(dir(howdah))),
}


@pytest.mark.parametrize("owner", KNOWN)
def test_no_habit_is_a_name_of_ours_and_every_answer_is(owner: str) -> None:
    habits, known = KNOWN[owner]
    assert habits.keys() & known == set()
    assert {answer for answer in habits.values() if not is_known(answer, known)} == set()


def is_known(answer: str, known: set[str]) -> bool:
    """Whether an answer begins with a member, or is something in a module of howdah."""
    first = re.split(r"\W", answer)[0]
    return first == "howdah" or first in known
