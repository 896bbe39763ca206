"""`/encryption`: encryption zones, how far their re-encryption is, and key servers (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from howdah.web.pages import explorer, units
from howdah.web.pages.html import Child, tag
from howdah.web.pages.layout import facts, live, section, table, verdict
from howdah.web.status import EncryptionStatus, ZoneStatus

PATH: Final = "/encryption"


def page(encryption: EncryptionStatus, zones: Sequence[ZoneStatus], total: int) -> list[Child]:
    """The body of the page."""
    rest = total - len(zones)
    return [
        _verdict(encryption, total),
        section("key-servers", "Key servers", facts(_facts(encryption))),
        live(
            "zones",
            table(
                "Encryption zones",
                ("Zone", "Key", "Re-encryption", "Key version", "Files", "Failures", "Up to"),
                [_row(zone) for zone in zones],
                numbers=(4, 5),
                empty="There are no zones: howdah crypto -createZone -keyName KEY -path PATH.",
            ),
            tag("p", f"{rest:,} more are not shown.", class_="quiet") if rest > 0 else None,
        ),
        live(
            "keys",
            table(
                "Keys for new files",
                ("Key", "Ready"),
                [[name, f"{count:,}"] for name, count in encryption.keys_ready.items()],
                numbers=(1,),
                empty="None are ready: this namenode is not active, or there are no zones.",
            ),
        ),
    ]


def _verdict(encryption: EncryptionStatus, total: int) -> Child:
    if encryption.is_failing:
        return verdict("bad", "No key server answers", [encryption.last_failure])
    if encryption.unsupported:
        return verdict("bad", "Key servers are not asked", [encryption.unsupported])
    if not encryption.provider:
        if total:
            reason = "hadoop.security.key.provider.path is not set: zones take no new files."
            return verdict("bad", "There are no key servers", [reason])
        return verdict("ok", "There are neither key servers nor zones", [])
    if encryption.reencryption_failures:
        reason = (
            f"{encryption.reencryption_failures:,} files kept their keys when they were to be "
            "re-encrypted. The log names their batches."
        )
        return verdict("warn", "Some files were not re-encrypted", [reason])
    return verdict("ok", "Key servers answer", [])


def _facts(encryption: EncryptionStatus) -> list[tuple[str, Child]]:
    return [
        ("Address", encryption.provider or "none"),
        ("Calls answered", f"{encryption.answered:,}"),
        ("Calls that none answered", f"{encryption.failed:,}"),
        ("Last failure", encryption.last_failure or "none"),
        ("Files re-encrypted since the start", f"{encryption.reencrypted:,}"),
    ]


def _row(zone: ZoneStatus) -> list[Child]:
    state: Child = zone.state or "never"
    if zone.completed_ms:
        state = f"{zone.state} {units.utc_text(zone.completed_ms)}"
    elif zone.submitted_ms:
        state = f"{zone.state}, begun {units.utc_text(zone.submitted_ms)}"
    has_run = bool(zone.state)
    return [
        tag("a", zone.path, href=explorer.link_to(zone.path)),
        zone.key_name,
        state,
        zone.version_name,
        f"{zone.reencrypted:,}" if has_run else "",
        f"{zone.failures:,}" if has_run else "",
        zone.last_file,
    ]
