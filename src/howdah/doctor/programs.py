"""Which server a process is, by its command line (pure).

Two words count: for howdah the command after the program, as in `howdah datanode` or
`python -m howdah --conf /etc/howdah datanode`; for Hadoop the class that Java runs. Any other word,
such as a path or the name of a user, says nothing: an editor with hdfs-site.xml is no namenode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from howdah.doctor.inputs import ROLES

_PACKAGE: Final = "org.apache.hadoop.hdfs."
_CLASSES: Final = {
    _PACKAGE + "server.namenode.NameNode": "namenode",
    _PACKAGE + "server.datanode.DataNode": "datanode",
    _PACKAGE + "server.datanode.SecureDataNodeStarter": "datanode",
    _PACKAGE + "qjournal.server.JournalNode": "journalnode",
    _PACKAGE + "tools.DFSZKFailoverController": "zkfc",
    _PACKAGE + "server.federation.router.DFSRouter": "router",
    "org.apache.hadoop.fs.http.server.HttpFSServerWebServer": "httpfs",
}
_OTHER_NAMES: Final = {"dfsrouter": "router"}
_WITH_VALUE: Final = frozenset(("--conf", "-conf", "-D", "-fs", "--config", "--loglevel"))
"""Options before a command that take the next word."""
_LAUNCHER: Final = "howdah.testing.launcher"
"""The servers of test clusters are forked from it, and have its command line."""


def roles_of(words: Sequence[str]) -> frozenset[str]:
    """The roles that a process may have: one, or none, or any where its words don't tell."""
    if _LAUNCHER in words:
        return frozenset(ROLES)
    for number, word in enumerate(words):
        if word in _CLASSES:
            return frozenset((_CLASSES[word],))
        if word.rpartition("/")[2] in ("howdah", "hdfs") and _is_program(words, number):
            command = _command(words[number + 1 :])
            return frozenset((_OTHER_NAMES.get(command, command),))
    return frozenset()


def _is_program(words: Sequence[str], number: int) -> bool:
    """Whether the word is what runs: the first one, or one that an interpreter was given."""
    before = [word for word in words[:number] if not word.startswith("-")]
    return not before or (len(before) == 1 and "python" in before[0].rpartition("/")[2])


def _command(words: Sequence[str]) -> str:
    skips = False
    for word in words:
        if skips:
            skips = False
        elif word in _WITH_VALUE:
            skips = True
        elif not word.startswith("-"):
            return word
    return ""
