"""The address of a journal: which nodes keep it, and under which name (pure).

    qjournal://host1:8485;host2:8485;host3:8485/nameservice

Mirrors what Hadoop's Util.getLoggerAddresses and QuorumJournalManager.parseJournalId read of
`dfs.namenode.shared.edits.dir`. Hosts are not looked up here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from howdah.config.value_types import Address, parse_address
from howdah.errors import IllegalArgument

SCHEME: Final = "qjournal"
DEFAULT_PORT: Final = 8485
MAX_ID_BYTES: Final = 255


def is_journal_uri(text: str) -> bool:
    return text.strip().lower().startswith(f"{SCHEME}://")


def check_journal_id(journal_id: str) -> str:
    """The id, if it is one: a directory has its name. Raises IllegalArgument."""
    if (
        not journal_id
        or journal_id.startswith(".")
        or any(char in "/\\" or not char.isprintable() for char in journal_id)
        or len(journal_id.encode("utf-8", "surrogatepass")) > MAX_ID_BYTES
    ):
        raise IllegalArgument(
            f"bad journal identifier: {journal_id[:MAX_ID_BYTES]!r}",
            java_class="java.lang.IllegalArgumentException",
        )
    return journal_id


@dataclass(frozen=True, slots=True)
class JournalUri:
    """The nodes of a quorum, in the order of the address, and the journal's id."""

    nodes: tuple[Address, ...]
    journal_id: str

    @classmethod
    def parse(cls, text: str) -> JournalUri:
        """Raises IllegalArgument, which quotes the address."""
        text = text.strip()
        if not is_journal_uri(text):
            raise IllegalArgument(f"{text!r} is no address of a journal: {SCHEME}://HOST:PORT;…/ID")
        authority, _, journal_id = text[len(SCHEME) + 3 :].partition("/")
        parts = [part.strip() for part in authority.split(";")]
        try:
            nodes = tuple(parse_address(part, DEFAULT_PORT) for part in parts)
        except ValueError as error:
            raise IllegalArgument(f"{text!r} is no address of a journal: {error}") from error
        if len(set(nodes)) < len(nodes):
            raise IllegalArgument(f"{text!r} names a journal node twice")
        return cls(nodes, check_journal_id(journal_id))
