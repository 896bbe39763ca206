"""A filesystem in memory, mounted by a kernel that is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.mount.accounts import Accounts
from howdah.mount.callers import OneCaller
from howdah.mount.calls import Calls
from howdah.mount.mounted_tree import MountedTree, MountSettings
from tests.support.fake_kernel import FakeKernel, conversation

NAME = "mounted"
OWN_UID = 4711


@pytest.fixture
def fs() -> Iterator[MemoryFileSystem]:
    found = MemoryFileSystem(NAME, user="ann")
    found.mkdirs("/data")
    yield found
    forget(NAME)


@pytest.fixture
def tree(fs: MemoryFileSystem) -> MountedTree:
    accounts = Accounts(("ann", OWN_UID))
    return MountedTree(OneCaller(fs), accounts, "/data", MountSettings(2.0, 3.0))


@pytest.fixture
def calls(tree: MountedTree) -> Calls:
    return Calls(tree)


@pytest.fixture
def kernel(calls: Calls) -> Iterator[FakeKernel]:
    with conversation(calls) as found:
        yield found
