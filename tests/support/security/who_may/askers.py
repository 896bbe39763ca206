"""Who asks (pure)."""

from __future__ import annotations

from enum import Enum, unique
from typing import Final


@unique
class Asker(Enum):
    """A kind of caller, in the words of a table's head."""

    NOBODY = "without proof"
    """Says that he is the superuser, and shows nothing."""
    FORGED = "forged token"
    EXPIRED = "expired token"
    PROXY = "proxy beyond its rights"
    """A user with a ticket who acts for one that he may not act for."""
    STRANGER = "another user"
    """With a ticket. Owns nothing that is asked about."""
    OWNER = "owner"
    """With a ticket. Owns the file or the directory that is asked about."""
    TOKEN = "owner's token"
    """The owner's, by a delegation token in place of a ticket."""
    ADMINISTRATOR = "administrator"
    DATANODE = "datanode"
    """By its keytab, at its host."""
    FOREIGN_DATANODE = "datanode of another host"
    NAMENODE = "namenode"
    JOURNALNODE = "journal node"


UNPROVEN: Final = (Asker.NOBODY, Asker.FORGED, Asker.EXPIRED, Asker.PROXY)
"""Get nowhere, whatever they ask over RPC."""
