"""What the tests of bulk work share: a directory for each, and a way to make and see trees."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from howdah.fs.api import FileSystem
from howdah.spark import Options, Outcome, distcp
from howdah.testing import MiniCluster

Tree = dict[str, bytes | None]
"""Paths below a directory with the content of files; None for a directory."""


@dataclass
class Bench:
    """A cluster with a directory of the test's own, and a Spark."""

    spark: Any
    cluster: MiniCluster
    fs: FileSystem
    root: str

    def uri(self, name: str) -> str:
        return f"{self.cluster.uri}{self.root}/{name}"

    def path(self, name: str) -> str:
        return f"{self.root}/{name}" if name else self.root

    def make(self, name: str, tree: Tree) -> None:
        make_tree(self.fs, self.path(name), tree)

    def tree(self, name: str) -> Tree:
        return read_tree(self.fs, self.path(name))

    def copy(self, sources: str | list[str], target: str, **options: Any) -> Outcome:
        """`distcp` between names of the test's directory, unless they are URIs."""
        given = [sources] if isinstance(sources, str) else sources
        return distcp(
            self.spark,
            [self._located(each) for each in given],
            self._located(target),
            options=Options(**options),
            conf=self.cluster.conf,
        )

    def _located(self, name: str) -> str:
        return name if "://" in name else self.uri(name)


def make_tree(fs: FileSystem, path: str, tree: Tree) -> None:
    fs.mkdirs(path)
    for name, content in tree.items():
        if content is None:
            fs.mkdirs(f"{path}/{name}")
        else:
            with fs.create(f"{path}/{name}", overwrite=True) as out:
                out.write(content)


def read_tree(fs: FileSystem, path: str) -> Tree:
    found: Tree = {}
    for _, directories, files in fs.walk(path):
        for directory in directories:
            found[directory.path.removeprefix(path + "/")] = None
        for file in files:
            with fs.open(file.path) as stream:
                found[file.path.removeprefix(path + "/")] = stream.read()
    return found


@pytest.fixture
def bench(
    spark: Any, howdah_cluster: MiniCluster, request: pytest.FixtureRequest
) -> Iterator[Bench]:
    name = re.sub(r"\W", "_", request.node.name)
    with howdah_cluster.connect() as fs:
        root = f"/distcp/{name}"
        fs.mkdirs(root)
        # The trash would make it for nobody but the one who deletes first.
        fs.mkdirs("/user")
        yield Bench(spark, howdah_cluster, fs, root)


@pytest.fixture
def run_cli(howdah_cluster: MiniCluster, spark: Any) -> Callable[..., int]:
    """`howdah distcp …` in this process, with the Spark that is there."""
    from howdah.cli import distcp as command

    def run(*words: str) -> int:
        return command.main(list(words), howdah_cluster.conf)

    return run
