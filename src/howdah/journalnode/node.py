"""The journals of one node, by their ids (shell). Hadoop: JournalNode.getOrCreateJournal.

A journal is a directory below `dfs.journalnode.edits.dir`, named after its id; with the name
of a nameservice behind the key, its journals lie elsewhere. A request makes no directory but
to format one, and an id is a name and no path.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.journal_uri import check_journal_id
from howdah.config.nameservices import nameservices, value_of
from howdah.journalnode.journal import Journal
from howdah.journalnode.journal_storage import Fetcher
from howdah.storage.layout import StorageDirectory, StorageState

log = logging.getLogger(__name__)

MAX_JOURNALS: Final = 256
"""That are made by requests, at most."""
ELECTIONS_NAME: Final = ".howdah-elections"
"""The directory of elections. No journal has such a name."""


class JournalDirectories:
    """Says where the journals of each nameservice lie."""

    def __init__(self, default: Path, by_nameservice: Mapping[str, Path]) -> None:
        self.default = default
        self._by_nameservice = by_nameservice

    @classmethod
    def of(cls, conf: Configuration) -> JournalDirectories:
        """Read the directories from the configuration. Raises InvalidConfiguration."""
        directories = {}
        for name in nameservices(conf):
            value = value_of(conf, keys.DFS_JOURNALNODE_EDITS_DIR, name)
            if value is not None:
                directories[name] = _one(value, f"{keys.DFS_JOURNALNODE_EDITS_DIR.name}.{name}")
        default = conf.get(keys.DFS_JOURNALNODE_EDITS_DIR)
        return cls(_one(default, keys.DFS_JOURNALNODE_EDITS_DIR.name), directories)

    def of_nameservice(self, name: str) -> Path:
        return self._by_nameservice.get(name, self.default)

    def all(self) -> list[Path]:
        return list(dict.fromkeys([self.default, *self._by_nameservice.values()]))


def _one(paths: list[Path], key: str) -> Path:
    if len(paths) != 1 or not paths[0].is_absolute():
        raise errors.InvalidConfiguration(
            f"{key} has to be one absolute path: {', '.join(map(str, paths)) or 'it is empty'}"
        )
    return paths[0]


class Journals:
    """Keeps all journals that this node has opened. Any thread may ask."""

    def __init__(self, directories: JournalDirectories, fetcher: Fetcher, cache_bytes: int) -> None:
        self._directories = directories
        self._fetcher = fetcher
        self._cache_bytes = cache_bytes
        self._lock = threading.Lock()
        self._known: dict[str, Journal] = {}

    def open_all(self) -> None:
        """Lock and load what is there. A journal that fails stays its own trouble, and is
        tried again when somebody asks for it."""
        for directory in self._directories.all():
            for root in sorted(directory.iterdir()) if directory.is_dir() else ():
                if not _is_formatted(root):
                    continue
                try:
                    journal = self.get(root.name, root.parent)
                    log.info("journal %s: %s", journal.journal_id, journal.version())
                except (errors.HowdahError, OSError) as error:
                    log.error("the journal in %s cannot be used: %s", root, error)

    def find(self, journal_id: str, nameservice: str = "") -> Journal:
        """Return a journal that is there. Raises JournalNotFormatted, IllegalArgument."""
        journal = self.known(journal_id)
        if journal is not None:
            return journal
        directory = self._directories.of_nameservice(nameservice)
        if not _is_formatted(directory / journal_id):
            raise errors.JournalNotFormatted(
                f"Journal {directory / journal_id} not formatted ; journal id: {journal_id}"
            )
        return self.get(journal_id, directory)

    def is_formatted(self, journal_id: str, nameservice: str) -> bool:
        """Return whether a journal is formatted. Raises IllegalArgument."""
        journal = self.known(journal_id)
        if journal is not None:
            return journal.is_formatted()
        return _is_formatted(self._directories.of_nameservice(nameservice) / journal_id)

    def to_format(self, journal_id: str, nameservice: str) -> Journal:
        """Return a journal, whether it is formatted or not. Raises IllegalArgument."""
        journal = self.known(journal_id)
        if journal is not None:
            return journal
        if len(self.all()) >= MAX_JOURNALS:
            raise errors.IllegalArgument(
                f"journal {journal_id} is refused: {MAX_JOURNALS} are here already"
            )
        return self.get(journal_id, self._directories.of_nameservice(nameservice))

    def known(self, journal_id: str) -> Journal | None:
        """One that was used before. Raises IllegalArgument."""
        check_journal_id(journal_id)
        with self._lock:
            return self._known.get(journal_id)

    def get(self, journal_id: str, directory: Path) -> Journal:
        check_journal_id(journal_id)
        with self._lock:
            journal = self._known.get(journal_id)
            if journal is None:
                root = directory / journal_id
                journal = Journal(journal_id, root, self._fetcher, self._cache_bytes)
                self._known[journal_id] = journal
            return journal

    def all(self) -> list[Journal]:
        with self._lock:
            return list(self._known.values())

    def close(self) -> None:
        for journal in self.all():
            journal.close()


def _is_formatted(root: Path) -> bool:
    """A journal that an upgrade left half-way counts: it is brought to an end when it is
    opened."""
    if root.name.startswith("."):
        return False
    try:
        state = StorageDirectory(root).state()
    except errors.InconsistentStorage:
        return False
    return state in (StorageState.NORMAL, StorageState.UNFINISHED)
