"""help() is enough to work: public methods have examples, and these run."""

from __future__ import annotations

import doctest
import inspect
import io
from collections.abc import Iterator
from typing import Any

import pytest

import howdah
from howdah import FileStatus, FSDataInputStream, FSDataOutputStream, Path
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.memory import filesystem as memory

FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.fixture
def fs() -> Iterator[FileSystem]:
    """A filesystem as `docs/reference.md` has it: a directory with a file of ten bytes."""
    with howdah.connect("mem://examples/") as found:
        found.write_bytes("/docs/a", b"0123456789")
        yield found
    memory.forget("examples")
    memory.forget("docs")


def members(kind: type) -> Iterator[tuple[str, str]]:
    """The names of public members that are howdah's own, with their docstrings."""
    for name in dir(kind):
        member: Any = inspect.getattr_static(kind, name)
        own = any(name in vars(base) and base.__module__.startswith("howdah")
                  for base in kind.__mro__)  # fmt: skip
        if not name.startswith("_") and own and (callable(member) or isinstance(member, property)):
            yield name, inspect.getdoc(getattr(kind, name)) or ""


STREAMS = [
    pytest.param(text, id=f"{kind.__name__}.{name}")
    for kind in (FSDataInputStream, FSDataOutputStream)
    for name, text in members(kind)
    if text != inspect.getdoc(getattr(io.BufferedRandom, name, None))
]
OTHERS = {
    "howdah.Path": Path,
    "howdah.open": howdah.open,
    "howdah.arrow": howdah.arrow,
    "howdah.FileStatus": FileStatus,
}


def run(text: str, names: dict[str, Any]) -> None:
    told: list[str] = []
    example = text[text.index(">>>") :] + "\n"
    test = doctest.DocTestParser().get_doctest(example, names, "example", None, 0)
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append)
    assert not told, "".join(told)


@pytest.mark.parametrize("text", STREAMS)
def test_the_example_of_a_streams_member_runs(text: str, fs: FileSystem) -> None:
    assert ">>>" in text
    run(text, {"fs": fs})


@pytest.mark.parametrize("name", OTHERS)
def test_the_example_of_a_name_of_howdah_runs(name: str, fs: FileSystem) -> None:
    if name == "howdah.arrow":
        pytest.importorskip("pyarrow")
    run(inspect.getdoc(OTHERS[name]) or "", {"fs": fs, "howdah": howdah})


def test_each_method_of_a_filesystem_has_an_example_in_its_help() -> None:
    """They run in tests/cluster/test_reference.py."""
    lacking = {name for name, text in members(HdfsFileSystem) if ">>>" not in text}
    assert lacking == set()
