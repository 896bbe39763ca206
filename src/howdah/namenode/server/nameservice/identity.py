"""Which namenode this process is, and the log that it shares (shell: asks for own addresses).

Hadoop: NameNode.initializeGenericKeys, HAUtil.isHAEnabled, FSNamesystem.getSharedEditsDirs. A
namenode whose nameservice has several (`dfs.ha.namenodes.NS`) shares its log with them, in
`dfs.namenode.shared.edits.dir`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from howdah import errors
from howdah.config import Configuration, keys, nameservices
from howdah.config.journal_uri import JournalUri, is_journal_uri
from howdah.formats.version import NamenodeVersion
from howdah.namenode.journal.quorum.quorum_log import QuorumLog
from howdah.namenode.journal.quorum.settings import QuorumSettings
from howdah.namenode.journal.shared_directory import SharedDirectory
from howdah.namenode.state.edit_log.shared_log import SharedLog
from howdah.runtime.local_addresses import is_this_host

MakeSharedLog = Callable[[NamenodeVersion], SharedLog]


@dataclass(frozen=True, slots=True)
class Place:
    """A namenode among those of its nameservice. All configurations have plain keys."""

    conf: Configuration
    identity: nameservices.Identity
    others: dict[str, Configuration]

    @property
    def is_highly_available(self) -> bool:
        return bool(self.others)


def place_of(conf: Configuration) -> Place:
    """Raises InvalidConfiguration where the configuration leaves open which namenode it is."""
    identity = nameservices.this_namenode(conf, is_this_host)
    return Place(
        nameservices.specialise(conf, identity.nameservice, identity.namenode),
        identity,
        nameservices.others(conf, identity),
    )


def alone(conf: Configuration, operation: str, instead: str) -> Configuration:
    """Return the configuration with the keys of this namenode plain, for what a namenode does that
    shares its log with nobody. Raises UnsupportedOperation if it does."""
    place = place_of(conf)
    if place.is_highly_available:
        raise errors.UnsupportedOperation(
            f"{operation} is not supported for a namenode that shares its log with "
            f"{', '.join(place.others)}: {instead}"
        )
    return place.conf


def shared_log_of(place: Place, caller: Callable[[], str | None]) -> MakeSharedLog | None:
    """How to have the shared log; None for a namenode that is alone. `caller` says as whom journal
    nodes are called, and is asked where there are some. Raises InvalidConfiguration, and what
    `caller` raises."""
    key = keys.DFS_NAMENODE_SHARED_EDITS_DIR
    addresses = place.conf.get(key)
    if not place.is_highly_available:
        return None
    if len(addresses) != 1:
        raise errors.InvalidConfiguration(
            f"{key.name} = {','.join(addresses)!r}: the namenodes of {place.identity.nameservice} "
            "share one log, and this key says where"
        )
    address = addresses[0]
    if is_journal_uri(address):
        try:
            uri = JournalUri.parse(address)
        except errors.IllegalArgument as error:
            raise errors.InvalidConfiguration(f"{key.name}: {error}") from error
        settings = QuorumSettings.of(place.conf, caller())
        nameservice = place.identity.nameservice
        return lambda version: QuorumLog(uri, version, settings, nameservice)
    scheme = urlsplit(address).scheme.lower()
    if scheme != "file":
        raise errors.InvalidConfiguration(
            f"{key.name} = {address!r}: a shared log is at qjournal://HOST:PORT;HOST:PORT;"
            "HOST:PORT/JOURNAL, or at file:///DIRECTORY"
        )
    if not place.conf.get(keys.DFS_HA_FENCING_METHODS):
        raise errors.InvalidConfiguration(
            f"{key.name} = {address!r}: a directory does not keep a former active namenode from "
            f"writing. Set {keys.DFS_HA_FENCING_METHODS.name}, or share the log by journal nodes"
        )
    root = Path(unquote(urlsplit(address).path))
    return lambda version: SharedDirectory(root, version)
