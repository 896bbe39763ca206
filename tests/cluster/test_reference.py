"""docs/reference.md: every public member of the filesystem is there, with an example that runs."""

from __future__ import annotations

import doctest
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import howdah
from howdah.fs.api import FileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

DOCS = Path(__file__).parents[2] / "docs"
FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("howdah_reference", DOCS / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference = _load()


@pytest.fixture
def fs(howdah_cluster: MiniCluster) -> Iterator[FileSystem]:
    conf = howdah_cluster.conf.with_values({"howdah.client.symlinks.enabled": "true"})
    with howdah.connect(howdah_cluster.uri, conf=conf) as own:
        own.mkdirs("/docs")
        own.write_bytes("/docs/a", b"0123456789")
        # The examples know three replicas; the file is whole with the first.
        wait_until(lambda: len(own.block_locations("/docs/a")[0].hosts) == 3)
        yield own
    with howdah_cluster.connect() as again:
        for directory in again.list_snapshottable_directories():
            if directory.path == "/docs":
                for snapshot in again.list_snapshots("/docs"):
                    again.delete_snapshot("/docs", snapshot.name)
                again.disallow_snapshot("/docs")
        again.delete("/docs", recursive=True)


@pytest.mark.parametrize("name", sorted(reference.members()))
def test_the_example_of_a_member_runs(name: str, fs: FileSystem) -> None:
    text, example = reference.parts_of(name)
    assert text, f"{name} has no docstring"
    assert example, f"{name} has no example in its docstring"
    told: list[str] = []
    test = doctest.DocTestParser().get_doctest(example + "\n", {"fs": fs}, name, None, 0)
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append)
    assert not told, "".join(told)


def test_the_page_is_what_the_code_says() -> None:
    page = (DOCS / "reference.md").read_text("utf-8")
    assert page == reference.page(), "./dev reference writes it anew"
