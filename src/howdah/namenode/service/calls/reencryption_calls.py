"""Re-encryption as administrators ask for it: begun, cancelled, listed (pure).

Hadoop's `FSDirEncryptionZoneOp`, `EncryptionZoneManager`. Checks first, then an edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.namenode.service.calls.encryption_zones import because, check_active, zones_after
from howdah.namenode.service.calls.reencryption import Reencryptor, ended, progress_edit
from howdah.namenode.service.calls.zone_keys import ZoneKeys
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes.inodes import Directory
from howdah.namenode.state.inodes.xattrs import ENCRYPTION_ZONE
from howdah.namenode.state.tree.encryption_zones import (
    Reencryption,
    Zone,
    attribute_of,
    reencryption_of,
    zone_of,
)
from howdah.protocol.rpc.call import Caller

START: Final = "START"
CANCEL: Final = "CANCEL"


@dataclass(frozen=True, slots=True)
class ZoneStatus:
    """A zone, its last re-encryption, and whether that is being worked on."""

    zone: Zone
    reencryption: Reencryption
    is_processing: bool


class ReencryptionCalls:
    """Operations on the re-encryption of zones."""

    def __init__(self, namesystem: Namesystem, reencryptor: Reencryptor) -> None:
        self._namesystem = namesystem
        self._reencryptor = reencryptor

    def check(self, caller: Caller, path: str, action: str) -> ZoneKeys:
        """What is seen of a call before its zone. Raises AccessDenied, SafeMode, RemoteError, and
        StandbyError when this namenode has ceased to be active since the call came."""
        namesystem = self._namesystem
        check_active(namesystem)
        namesystem.permissions.check_superuser(
            namesystem.identities.of(caller.user), f"{action.lower()} re-encryption of {path}"
        )
        namesystem.safe_mode.check(
            f"NameNode in safemode, cannot {action} re-encryption on zone {path}"
        )
        if namesystem.zone_keys is None:
            raise errors.RemoteError(
                "No key provider configured, re-encryption operation is rejected"
                f"{because(namesystem.key_provider_trouble)}"
            )
        return namesystem.zone_keys

    def zone_at(self, caller: Caller, path: str, missing: str) -> Zone:
        """Return the zone whose directory this is. Raises PathNotFound, in the `missing` words, and
        RemoteError."""
        _, resolved = self._namesystem.resolver.resolve_to_change(caller, path)
        inode = resolved.require(missing)
        is_zone = (
            isinstance(inode, Directory) and attribute_of(inode.xattrs, ENCRYPTION_ZONE) is not None
        )
        zone = zone_of(inode) if is_zone else None
        if zone is None:
            raise errors.RemoteError(f"Path {resolved.path} is not the root of an encryption zone.")
        return zone

    def check_may_start(self, caller: Caller, path: str) -> Zone:
        """Return the zone that may be re-encrypted. Raises as `check` and `zone_at`, and
        RemoteError for one whose re-encryption is under way."""
        self.check(caller, path, START)
        zone = self.zone_at(caller, path, "INode does not exist for {}")
        if self._namesystem.namespace.zones.is_reencrypting(zone.directory.inode_id):
            raise errors.RemoteError(
                f"Zone {zone.directory.path} is already submitted for re-encryption."
            )
        return zone

    def start(self, caller: Caller, path: str, version_name: str) -> None:
        """Submit a zone, whose new files have keys by this version of its key from now on."""
        namesystem = self._namesystem
        zone = self.check_may_start(caller, path)
        submitted = Reencryption(version_name, max(namesystem.clock.wall_ms(), 1))
        namesystem.commit(
            progress_edit(zone.directory, submitted, caller.client_id, caller.call_id)
        )
        self._reencryptor.submitted()

    def cancel(self, caller: Caller, path: str) -> None:
        """Leave a zone as far as it has come. Raises as `check_may_start`, and RemoteError for one
        that is not being re-encrypted."""
        namesystem = self._namesystem
        self.check(caller, path, CANCEL)
        zone = self.zone_at(caller, path, "cannot find {}")
        progress = reencryption_of(zone.directory)
        if progress is None or progress.is_over:
            raise errors.RemoteError(f"Zone {zone.directory.path} is not under re-encryption")
        cancelled = ended(progress, namesystem.clock.wall_ms(), is_cancelled=True)
        namesystem.commit(
            progress_edit(zone.directory, cancelled, caller.client_id, caller.call_id)
        )
        self._reencryptor.cancelled()

    def page(self, caller: Caller, behind_id: int) -> tuple[list[ZoneStatus], bool]:
        """Return the zones that were ever submitted, in the order of their ids, and whether there
        are more. Raises AccessDenied."""
        namesystem = self._namesystem
        namesystem.permissions.check_superuser(
            namesystem.identities.of(caller.user), "list the re-encryption of zones"
        )
        found: list[ZoneStatus] = []
        for status in self.statuses(behind_id):
            if len(found) == namesystem.settings.reencryption_limit:
                return found, True
            found.append(status)
        return found, False

    def statuses(self, behind_id: int = 0) -> list[ZoneStatus]:
        """Return all of them behind an id."""
        working_on = self._reencryptor.zone_id
        return [
            ZoneStatus(
                zone, progress, zone.directory.inode_id == working_on and not progress.is_over
            )
            for zone in zones_after(self._namesystem, behind_id)
            if (progress := reencryption_of(zone.directory)) is not None
        ]
