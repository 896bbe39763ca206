"""Encryption zones: key servers that do not answer, keys that are gone or were rolled (pure)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from howdah.config import keys
from howdah.doctor.findings import Finding, error, warning
from howdah.doctor.inputs import EncryptedZone, Encryption, Facts

_ABOUT: Final = "encryption"
_KEY: Final = keys.HADOOP_SECURITY_KEY_PROVIDER_PATH.name


def check(facts: Facts) -> Iterator[Finding]:
    encryption = facts.encryption
    if encryption is None:
        return
    yield from _provider(encryption)
    yield from _servers(encryption)
    for zone in encryption.zones:
        yield from _zone(zone)


def _provider(encryption: Encryption) -> Iterator[Finding]:
    count = len(encryption.zones)
    if encryption.problem:
        yield error(
            _ABOUT,
            f"{_KEY} names what is not supported: {encryption.problem}",
            f"run key servers (howdah kms, or Hadoop's), and set {_KEY} = kms://…; until then no "
            "files are created in encryption zones",
        )
    elif not encryption.provider and count:
        yield error(
            _ABOUT,
            f"there are {count} encryption zones, and {_KEY} is not set for the namenode",
            f"set {_KEY}: nobody creates a file in them, or reads one",
        )


def _servers(encryption: Encryption) -> Iterator[Finding]:
    silent = [server for server in encryption.servers if server.problem]
    if not silent:
        return
    if len(silent) == len(encryption.servers):
        problems = "; ".join(dict.fromkeys(server.problem for server in silent))
        yield error(
            _ABOUT,
            f"no key server answers: {problems}",
            "start them: files of encryption zones are neither created nor opened",
        )
        return
    for server in silent:
        yield warning(
            _ABOUT,
            f"the key server {server.name} does not answer: {server.problem}",
            "start it: the others answer for it",
        )


def _zone(zone: EncryptedZone) -> Iterator[Finding]:
    if zone.is_key_there is False:
        yield error(
            _ABOUT,
            f"the key {zone.key_name} of the encryption zone {zone.path} is gone",
            "restore it from a backup of the key servers: without it no file there can be read",
        )
        return
    if zone.failures:
        yield warning(
            _ABOUT,
            f"{zone.failures} files of {zone.path} kept their keys when they were re-encrypted",
            "see the namenode's log for the reason, and submit the zone again: howdah crypto "
            f"-reencryptZone -start -path {zone.path}",
        )
    if zone.current_version and zone.version_name != zone.current_version:
        last = f"last by {zone.version_name}" if zone.version_name else "never"
        yield warning(
            _ABOUT,
            f"the key of {zone.path} was rolled to {zone.current_version}, and its files were "
            f"re-encrypted {last}",
            f"howdah crypto -reencryptZone -start -path {zone.path}, if files there are older",
        )
