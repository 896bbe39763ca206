"""fsck of a namenode in memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from howdah.namenode.service.fsck.options import parse_options
from howdah.namenode.service.fsck.report import Fsck
from howdah.testing.in_memory import InMemoryNamenode

RunFsck = Callable[..., str]


@pytest.fixture
def fsck(namenode: InMemoryNamenode) -> RunFsck:
    """`fsck("/a", "files", "blocks", user="alice")`: the whole text."""

    def run(path: str = "/", *flags: str, user: str = "root", **values: str) -> str:
        query = {"path": path, **dict.fromkeys(flags, "1"), **values}
        return "".join(Fsck(namenode.namesystem).run(user, "10.9.9.9", parse_options(query)))

    return run
