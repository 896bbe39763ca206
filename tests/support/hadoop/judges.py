"""Which of Hadoop's tests judge our servers, in which order, and why the others do not (shell).

A directory has two files. `hadoop_tests.txt` is made by `catalogue` from the jars: all tests that
start a cluster, and what those that take a server's process apart take first. `left_out.txt` is
written by hand: a test, or all tests of a class, and the reason. Every other test is run, and
has to pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.hadoop import catalogue

BATCH: Final = 5
"""Classes that share one Java process."""

ALONE: Final = (
    "org.apache.hadoop.fs.TestGlobPaths",
    "org.apache.hadoop.hdfs.TestDistributedFileSystem",
    "org.apache.hadoop.hdfs.TestViewDistributedFileSystem",
    "org.apache.hadoop.hdfs.TestDFSShell",
    # The bytes that all clients of the process have read are counted.
    "org.apache.hadoop.hdfs.TestDistributedFileSystemWithECFile",
    # It takes minutes.
    "org.apache.hadoop.hdfs.TestReadStripedFileWithDecodingDeletedData",
    "org.apache.hadoop.hdfs.TestDistributedFileSystemWithECFileWithRandomECPolicy",
)
"""Classes that leave something behind in their Java process, or find what another one left."""

TAKEN_OUT: Final = (
    # The context of clients, which the first client of a process makes, has to refresh locations.
    "org.apache.hadoop.hdfs.TestDFSInputStreamBlockLocations",
    # The threads of hedged reads, which the first client of a process makes, are counted.
    "org.apache.hadoop.hdfs.TestPread",
)
"""The same, but their batches are as if they were in them: so the others keep their company."""


@dataclass(frozen=True, slots=True)
class Judges:
    """The tests of a directory's files."""

    directory: Path

    @property
    def tests(self) -> Path:
        """The file of all tests that start a cluster."""
        return self.directory / "hadoop_tests.txt"

    def suites(self) -> dict[str, dict[str, str]]:
        """By class, of each test what it takes from inside a server, or nothing."""
        return catalogue.read(self.tests.read_text().splitlines())

    def reasons(self) -> dict[str, str]:
        """Of `left_out.txt`: by test, `CLASS#METHOD`, or by `CLASS#*`. Raises ValueError for a
        line without a reason, and for one that stands there twice."""
        found: dict[str, str] = {}
        for line in (self.directory / "left_out.txt").read_text().splitlines():
            if not line or line.startswith("# "):
                continue
            name, _, reason = line.partition(" ")
            if not reason.strip() or name in found:
                raise ValueError(f"left_out.txt: {line!r} has no reason, or stands there twice")
            found[name] = reason.strip()
        return found

    def run(self) -> dict[str, tuple[list[str], list[str]]]:
        """By class the tests that are run and those that are not, where any is."""
        excused = self.reasons()
        found = {}
        for suite, tests in self.suites().items():
            if f"{suite}#*" in excused:
                continue
            out = [test for test, inside in tests.items() if inside or f"{suite}#{test}" in excused]
            wanted = [test for test in tests if test not in out]
            if wanted:
                found[suite] = (wanted, out)
        return found


def batches(suites: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Classes that are run together, in order."""
    together = [suite for suite in sorted(suites) if suite not in ALONE]
    for at in range(0, len(together), BATCH):
        batch = [suite for suite in together[at : at + BATCH] if suite not in TAKEN_OUT]
        if batch:
            yield tuple(batch)
    for suite in (*ALONE, *TAKEN_OUT):
        if suite in suites:
            yield (suite,)


def pattern(suite: str, test: str) -> str:
    """For JUnit's option that leaves methods out."""
    return f"^{re.escape(suite)}#{re.escape(test)}$".replace(r"\#", "#")
