"""What the namenode's web server says of encryption zones and key servers (pure)."""

from __future__ import annotations

from howdah.namenode.service.calls.encryption_zones import zones_after
from howdah.namenode.service.calls.reencryption import Reencryptor
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.tree.encryption_zones import Zone, reencryption_of
from howdah.web.status import EncryptionStatus, ZoneStatus


def encryption_status(namesystem: Namesystem, reencryptor: Reencryptor) -> EncryptionStatus:
    """Return the figures, as of now."""
    keys = namesystem.zone_keys
    status = EncryptionStatus(
        provider=namesystem.settings.key_provider_uri,
        unsupported=namesystem.key_provider_trouble,
        reencrypting=len(namesystem.namespace.zones.reencrypting),
        reencrypted=reencryptor.changed,
        reencryption_failures=reencryptor.failed,
    )
    if keys is None:
        return status
    answers = keys.answers
    return EncryptionStatus(
        provider=status.provider,
        answered=answers.answered,
        failed=answers.failed,
        is_failing=answers.is_failing,
        last_failure=answers.last_failure,
        keys_ready=keys.ready(),
        reencrypting=status.reencrypting,
        reencrypted=status.reencrypted,
        reencryption_failures=status.reencryption_failures,
    )


def zones_shown(
    namesystem: Namesystem, reencryptor: Reencryptor, most: int
) -> tuple[list[ZoneStatus], int]:
    """Return some of the zones, by their paths, and how many there are."""
    zones = sorted(zones_after(namesystem), key=lambda zone: zone.directory.path)
    return [_status_of(zone, reencryptor) for zone in zones[:most]], len(zones)


def _status_of(zone: Zone, reencryptor: Reencryptor) -> ZoneStatus:
    directory = zone.directory
    progress = reencryption_of(directory)
    if progress is None:
        return ZoneStatus(directory.path, zone.key_name)
    if progress.is_over:
        state = "cancelled" if progress.is_cancelled else "completed"
    else:
        state = "processing" if reencryptor.zone_id == directory.inode_id else "submitted"
    return ZoneStatus(
        directory.path,
        zone.key_name,
        state,
        progress.version_name,
        progress.submitted_ms,
        progress.completed_ms,
        progress.reencrypted,
        progress.failures,
        progress.last_file,
    )
