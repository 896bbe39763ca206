"""Cases of Hadoop's command lines, read from the files that Hadoop's build ships for its own tests
(CLITestHelper): commands, and what the last of them says."""

from __future__ import annotations

import getpass
import re
import shlex
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.hadoop.tools_gateway import Outcome

Command = Callable[..., Outcome]
"""Runs a command, which is given by its name and its words."""

_PROGRAMS: Final = {
    "command": "dfs",
    "dfs-admin-command": "dfsadmin",
    "ec-admin-command": "ec",
    "crypto-admin-command": "crypto",
}


@dataclass(frozen=True, slots=True)
class Found:
    """What did not fit, and the exit code of each case."""

    wrong: list[str]
    codes: list[tuple[str, int]]


class CommandCases:
    """The cases of one file."""

    def __init__(
        self, files: Path, name: str, uri: str, replaced: Mapping[str, str] | None = None
    ) -> None:
        """`files` has the files of Hadoop's tests, `uri` is the filesystem of the cluster. Of what
        the cases say, this is `replaced`."""
        self._files = files
        self._uri = uri
        text = (files / name).read_text()
        for old, new in (replaced or {}).items():
            text = text.replace(old, new)
        self._cases = list(ElementTree.fromstring(text.encode()).iter("test"))

    def __len__(self) -> int:
        return len(self._cases)

    def run(self, run: Command, program: str) -> Found:
        """Run all cases in their order. `program` is how the usage calls Hadoop's program."""
        found = Found([], [])
        for case in self._cases:
            name = (case.findtext("description") or "").strip()
            for command in case.iterfind("test-commands/*"):
                outcome = run(_PROGRAMS[command.tag], *self._words(command))
            for command in case.iterfind("cleanup-commands/*"):
                run(_PROGRAMS[command.tag], *self._words(command))
            found.codes.append((name, outcome.code))
            for comparator in case.iterfind("comparators/comparator"):
                if not _fits(comparator, outcome, program):
                    expected = comparator.findtext("expected-output")
                    found.wrong.append(f"{name}: not {expected}: {outcome}")
        return found

    def _words(self, command: ElementTree.Element) -> list[str]:
        text = (command.text or "").replace("NAMENODE", self._uri)
        words = shlex.split(text.replace("CLITEST_DATA", str(self._files)))
        # Hadoop's tests have the filesystem in their configuration, too.
        return words if words[:1] == ["-fs"] else ["-fs", self._uri, *words]


def _fits(comparator: ElementTree.Element, outcome: Outcome, program: str) -> bool:
    expected = (comparator.findtext("expected-output") or "").replace("bin/hdfs", program)
    said = outcome.out + outcome.err
    match comparator.findtext("type"):
        case "SubstringComparator":
            return expected in said
        case "RegexpComparator":
            pattern = re.compile(expected.replace("USERNAME", getpass.getuser()))
            return any(pattern.search(line) for line in said.splitlines())
        case "RegexpAcrossOutputComparator":
            return re.search(expected, said) is not None
        case "TokenComparator":
            return all(token in said for token in re.split(r"[,\r\n]", expected))
        case kind:
            raise AssertionError(f"a comparator {kind} is not known")
