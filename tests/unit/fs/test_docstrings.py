"""Everything that a user of a filesystem calls says what it does."""

from __future__ import annotations

import inspect
import io
from collections.abc import Iterator

import pytest

from howdah.fs import builders, file_output, inotify, status, streams
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.local.filesystem import LocalFileSystem
from howdah.fs.memory.filesystem import MemoryFileSystem

MODULES = (builders, inotify, file_output, status, streams)
PROTOCOLS = {"BinaryWriter", "InnerInput", "InnerOutput", "NamenodeProxy"}
"""What is asked of those who bring a stream; and the calls, which the module of `howdah.client`
describes."""


def kinds() -> Iterator[type]:
    yield from (HdfsFileSystem, LocalFileSystem, MemoryFileSystem)
    yield pytest.importorskip("howdah.fsspec.filesystem").HowdahFileSystem
    for module in MODULES:
        for name, each in vars(module).items():
            own = inspect.isclass(each) and each.__module__.startswith("howdah.")
            if own and not name.startswith("_") and name not in PROTOCOLS:
                yield each


KINDS: list[type] = sorted(set(kinds()), key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", KINDS)
def test_public_members_have_docstrings(kind: type) -> None:
    members = (name for name in dir(kind) if not name.startswith("_"))
    found = {name: inspect.getattr_static(kind, name) for name in members}
    called = (
        name
        for name, member in found.items()
        if callable(member) or isinstance(member, property | classmethod | staticmethod)
    )
    # Python's own streams have members without docstrings in C.
    own = (name for name in called if not hasattr(io.BufferedRandom, name))
    assert [name for name in own if not inspect.getdoc(getattr(kind, name))] == []
    assert kind.__doc__
