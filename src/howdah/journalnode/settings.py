"""What a journal node takes from its configuration (shell)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.journal_uri import JournalUri, is_journal_uri
from howdah.config.settings import read, setting
from howdah.config.value_types import Address

CACHE_BYTES: Final = 64 << 20
SHARED_EDITS: Final = "dfs.namenode.shared.edits.dir"


@dataclass(frozen=True, slots=True)
class SyncSettings:
    """How segments that were missed are fetched."""

    is_enabled: bool = setting(keys.DFS_JOURNALNODE_ENABLE_SYNC)
    interval_s: float = setting(keys.DFS_JOURNALNODE_SYNC_INTERVAL)
    timeout_s: float = setting(keys.DFS_EDIT_LOG_TRANSFER_TIMEOUT)
    bytes_per_s: int = setting(keys.DFS_EDIT_LOG_TRANSFER_BANDWIDTHPERSEC)
    formats: bool = setting(keys.DFS_JOURNALNODE_ENABLE_SYNC_FORMAT)
    """Whether journals that are at the others are made here."""

    @classmethod
    def of(cls, conf: Configuration) -> SyncSettings:
        return read(cls, conf)


def cache_bytes(conf: Configuration) -> int:
    return conf.get(keys.DFS_JOURNALNODE_EDIT_CACHE_SIZE_BYTES) or CACHE_BYTES


def quorums(conf: Configuration) -> dict[str, tuple[Address, ...]]:
    """Return the nodes of each journal that the configuration names, this one among them: every
    value of dfs.namenode.shared.edits.dir, whatever nameservice and namenode it is for.

    Raises InvalidConfiguration if a journal has two sets of nodes.
    """
    nodes: dict[str, tuple[Address, ...]] = {}
    for name, uri in _shared_edits(conf):
        known = nodes.setdefault(uri.journal_id, uri.nodes)
        if set(known) != set(uri.nodes):
            raise errors.InvalidConfiguration(
                f"{name}: journal {uri.journal_id} has other nodes in another value of "
                f"{SHARED_EDITS}"
            )
    return nodes


def _shared_edits(conf: Configuration) -> Iterable[tuple[str, JournalUri]]:
    for name, _ in conf.items():
        if name != SHARED_EDITS and not name.startswith(f"{SHARED_EDITS}."):
            continue
        text = conf.raw(name)
        if text is not None and is_journal_uri(text):
            try:
                yield name, JournalUri.parse(text)
            except errors.IllegalArgument as error:
                raise errors.InvalidConfiguration(f"{name}: {error}") from error
