"""Encryption zones: made, listed, looked up, and what cannot cross their bounds (pure).

Hadoop's `FSDirEncryptionZoneOp`, `EncryptionZoneManager`. Checks first, then an edit.
"""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.edits import XAttr
from howdah.namenode.service.calls.permissions import Access
from howdah.namenode.service.calls.resolved_path import Resolved
from howdah.namenode.service.calls.zone_keys import ZoneKeys
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes.inodes import Directory, File, INode
from howdah.namenode.state.inodes.xattrs import ENCRYPTION_ZONE
from howdah.namenode.state.tree.encryption_zones import (
    Zone,
    attribute_of,
    file_attribute,
    file_key,
    zone_at,
    zone_attribute,
    zone_of,
)
from howdah.protocol.rpc.call import Caller

UNKNOWN_VERSION: Final = "org.apache.hadoop.hdfs.UnknownCryptoProtocolVersionException"


class ZoneCalls:
    """Operations on encryption zones."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem

    def check_may_create(self, caller: Caller, path: str, key_name: str) -> ZoneKeys:
        """What is seen before a key server is asked. Raises AccessDenied, RemoteError, SafeMode,
        and StandbyError when this namenode has ceased to be active since the call came."""
        namesystem = self._namesystem
        check_active(namesystem)
        namesystem.permissions.check_superuser(
            namesystem.identities.of(caller.user), f"create an encryption zone for {path}"
        )
        if namesystem.zone_keys is None:
            raise errors.RemoteError(
                f"Can't create an encryption zone for {path} since no key provider is available."
                f"{because(namesystem.key_provider_trouble)}"
            )
        if not key_name:
            raise errors.RemoteError("Must specify a key name when creating an encryption zone")
        namesystem.safe_mode.check(f"Cannot create encryption zone on {path}")
        return namesystem.zone_keys

    def create(self, caller: Caller, path: str, key_name: str) -> None:
        """Make an empty directory a zone; there is a key of that name."""
        namesystem = self._namesystem
        keys = self.check_may_create(caller, path, key_name)
        _, resolved = namesystem.resolver.resolve_to_change(caller, path)
        inode = resolved.require("cannot find {}")
        if not isinstance(inode, Directory):
            raise errors.RemoteError("Attempt to create an encryption zone for a file.")
        if attribute_of(inode.xattrs, ENCRYPTION_ZONE) is not None:
            raise errors.RemoteError(f"Directory {resolved.path} is already an encryption zone.")
        if inode.children:
            raise errors.RemoteError(
                "Attempt to create an encryption zone for a non-empty directory."
            )
        namesystem.commit(
            edits.SetXAttrOp(
                resolved.path,
                (zone_attribute(key_name),),
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )
        keys.warm_up(key_name)

    def of(self, caller: Caller, path: str) -> Zone | None:
        """Return the zone that a path is in; None outside of zones. Raises AccessDenied for those
        who may not read there."""
        namesystem = self._namesystem
        who, resolved = namesystem.resolver.resolve_checked(caller, path)
        if resolved.inode is not None:
            namesystem.permissions.check(who, resolved.inode, Access.READ)
        return zone_of(resolved.last_existing) if namesystem.namespace.zones else None

    def list(self, caller: Caller, behind_id: int) -> tuple[list[Zone], bool]:
        """Return zones in the order of their ids, and whether there are more. Raises
        AccessDenied."""
        namesystem = self._namesystem
        namesystem.permissions.check_superuser(
            namesystem.identities.of(caller.user), "list encryption zones"
        )
        found: list[Zone] = []
        for zone in zones_after(namesystem, behind_id):
            if len(found) == namesystem.settings.zones_limit:
                return found, True
            found.append(zone)
        return found, False

    def check_move(self, source: Resolved, target: Resolved) -> None:
        """Raises RemoteError for a move out of a zone, into one, or from one to another: the keys
        of files would be those of another zone. A zone itself moves as what is in the zone above
        it. Nothing moves within a zone whose files' keys are being encrypted anew."""
        zones = self._namesystem.namespace.zones
        if not zones or source.inode is None:
            return
        is_zone = attribute_of(source.inode.xattrs, ENCRYPTION_ZONE) is not None
        before = zone_of(source.parent if is_zone else source.inode)
        after = zone_of(target.last_existing)
        if before is not None and after is None:
            raise errors.RemoteError(f"{source.path} can't be moved from an encryption zone.")
        if before is None and after is not None:
            raise errors.RemoteError(f"{source.path} can't be moved into an encryption zone.")
        if before is not None and after is not None and before.directory is not after.directory:
            raise errors.RemoteError(
                f"{source.path} can't be moved from encryption zone {before.directory.path} to "
                f"encryption zone {after.directory.path}."
            )
        if before is not None and zones.is_reencrypting(before.directory.inode_id):
            raise errors.RemoteError(
                f"{source.path} can't be moved because encryption zone {before.directory.path} is "
                "currently under re-encryption"
            )

    def attributes_for_new_file(
        self, above: INode | None, *, is_raw: bool, knows_zones: bool
    ) -> tuple[XAttr, ...]:
        """Return what a new file below a directory has for its key: nothing outside of zones, and
        for who writes cipher text by the raw path, which brings its key.

        Raises KeyAwaited, and RemoteError for a client that would write plain text, and where no
        key server is configured.
        """
        if not self._namesystem.namespace.zones or is_raw:
            return ()
        zone = zone_of(above)
        if zone is None:
            return ()
        if not knows_zones:
            raise errors.RemoteError(
                "No crypto protocol versions provided by the client are supported. Client "
                "provided: [] NameNode supports: [CryptoProtocolVersion{description='Unknown', "
                "version=1, unknownValue=null}, CryptoProtocolVersion{description='Encryption "
                "zones', version=2, unknownValue=null}]",
                java_class=UNKNOWN_VERSION,
            )
        return self._new_key(zone)

    def attributes_for_emptied_file(self, file: File) -> tuple[XAttr, ...]:
        """Return what a file of a zone has for another key; nothing for one that is not encrypted.
        Raises KeyAwaited, and RemoteError where no key server is configured."""
        zone = zone_of(file) if self._namesystem.namespace.zones else None
        if zone is None or file_key(file.xattrs, zone) is None:
            return ()
        return self._new_key(zone)

    def _new_key(self, zone: Zone) -> tuple[XAttr, ...]:
        keys = self._namesystem.zone_keys
        if keys is None:
            raise errors.RemoteError(
                f"No KeyProvider is configured, cannot access encryption zone {zone.directory.path}"
                f"{because(self._namesystem.key_provider_trouble)}"
            )
        return (file_attribute(keys.take(zone.key_name)),)


def check_active(namesystem: Namesystem) -> None:
    """Raises StandbyError: a call that waited for a key server may change nothing any more."""
    if not namesystem.role.writable:
        raise errors.StandbyError("Operation category WRITE is not supported in state standby")


def because(trouble: str) -> str:
    """Return what Hadoop's words lack: why there are no key servers."""
    return f" ({trouble})" if trouble else ""


def zones_after(namesystem: Namesystem, behind_id: int = 0) -> list[Zone]:
    """Return the zones of the namespace as it is now, in the order of their ids. Those whose cipher
    is not known are among them, and those whose attribute is damaged (`trouble_with`)."""
    namespace = namesystem.namespace
    found: list[Zone] = []
    for inode_id in namespace.zones.ids_after(behind_id):
        inode = namespace.inodes.get(inode_id)
        if inode is None:
            namespace.zones.discard(inode_id)
        elif isinstance(inode, Directory) and namespace.is_attached(inode):
            zone = zone_at(inode)
            if zone is not None:
                found.append(zone)
    return found
