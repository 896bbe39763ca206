"""Asks key servers whether they answer, and what they know of the keys of encryption zones
(shell)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.doctor.inputs import AskedKeyServer, EncryptedZone, Encryption
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.protocol.encryption_zones.provider_address import ProviderAddress
from howdah.runtime.users.current import process_user
from howdah.security.key_servers import KeyServers

_MOST_ZONES: Final = 1000
_NAMES_AT_ONCE: Final = 50
"""They are in the address of a call."""
_IMPATIENT: Final = {
    keys.HADOOP_SECURITY_KMS_CLIENT_TIMEOUT.name: "5s",
    keys.HADOOP_SECURITY_KMS_CLIENT_FAILOVER_MAX_RETRIES.name: "0",
}


def zones_of(fs: HdfsFileSystem) -> list[EncryptedZone]:
    """Return what a namenode says of its zones: nothing to those who may not list them."""
    try:
        said = {status.path: status for status in fs.list_reencryption()}
        zones = []
        for zone in fs.list_encryption_zones():
            last = said.get(zone.path)
            zones.append(
                EncryptedZone(
                    zone.path,
                    zone.key_name,
                    version_name="" if last is None else last.version_name,
                    failures=0 if last is None else last.failures,
                )
            )
            if len(zones) == _MOST_ZONES:
                break
    except errors.HowdahError:
        return []  # for want of a right, or one of before zones
    return zones


def look(
    conf: Configuration,
    user: str | None,
    said: str | None,
    zones: Sequence[EncryptedZone],
    *,
    asks: bool,
) -> Encryption | None:
    """Return what is known. `said` is where a namenode says that key servers are, None if none was
    asked; without `asks` no key server is spoken to."""
    provider = said if said is not None else conf.get(keys.HADOOP_SECURITY_KEY_PROVIDER_PATH) or ""
    if not provider:
        return Encryption(zones=tuple(zones)) if zones else None
    try:
        address = ProviderAddress.of(provider)
    except errors.InvalidConfiguration as error:
        return Encryption(provider, str(error), zones=tuple(zones))
    if not asks:
        return Encryption(provider, zones=tuple(zones))
    conf = conf.with_values(_IMPATIENT)
    caller = user or process_user()
    names = sorted({zone.key_name for zone in zones})

    def ask(host: str) -> tuple[AskedKeyServer, Mapping[str, Mapping[str, Any]] | None]:
        name = f"{host}:{address.port}"
        servers = KeyServers(replace(address, hosts=(host,)), conf, caller)
        try:
            if not names:
                servers.names()
            found = [
                fields
                for first in range(0, len(names), _NAMES_AT_ONCE)
                for fields in servers.metadata_of(names[first : first + _NAMES_AT_ONCE])
            ]
        except (errors.Unreachable, errors.CallTimeout, errors.ProtocolViolation) as error:
            return AskedKeyServer(name, str(error)), None
        except errors.RemoteError as error:
            return AskedKeyServer(name, str(error)), None  # It cannot, as without its file of keys.
        except errors.HowdahError:
            return AskedKeyServer(name), None  # It refuses this user, so it answers.
        finally:
            servers.close()
        return AskedKeyServer(name), dict(zip(names, found, strict=True))

    with ThreadPoolExecutor(len(address.hosts), thread_name_prefix="doctor-keys") as pool:
        answers = list(pool.map(ask, address.hosts))
    known = next((found for _, found in answers if found is not None), None)
    return Encryption(
        provider,
        servers=tuple(server for server, _ in answers),
        zones=tuple(zone if known is None else _judged(zone, known) for zone in zones),
    )


def _judged(zone: EncryptedZone, known: Mapping[str, Mapping[str, Any]]) -> EncryptedZone:
    fields = known.get(zone.key_name)
    if not fields:
        return replace(zone, is_key_there=False)
    versions = fields.get("versions")
    current = ""
    if isinstance(versions, int) and versions > 1:
        current = f"{zone.key_name}@{versions - 1}"
    return replace(zone, is_key_there=True, current_version=current)
