"""Asks key servers for the keys of new files, on threads beside the loop (shell).

The namenode asks as itself: its users' rights count when they open a file. It has one question
about a key under way at a time (`howdah.namenode.service.calls.zone_keys`), and a key server that
hangs holds up a thread and nobody else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from howdah import errors
from howdah.config import Configuration, keys
from howdah.namenode.service.calls.encryption_zones import zones_after
from howdah.namenode.service.calls.zone_keys import Made, ZoneKeys
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.tree.encryption_zones import trouble_with
from howdah.protocol.encryption_zones.messages import EncryptedKey
from howdah.protocol.encryption_zones.provider_address import ProviderAddress
from howdah.runtime import background_threads, unexpected_errors

if TYPE_CHECKING:
    from howdah.security.key_servers import KeyServers

log = logging.getLogger(__name__)

T = TypeVar("T")
_MOST_NAMED: Final = 50
_MOST_AT_ONCE: Final = 8
"""Questions to key servers: one for each zone's key at most, and those about new zones."""


class KeyFetcher:
    """Implements a `KeyServer` for one namenode; its methods are called on the loop."""

    def __init__(self, servers: KeyServers, post: Callable[[Callable[[], None]], None]) -> None:
        """`post` calls on the loop what it is given."""
        self._servers = servers
        self._post = post
        self._under_way = 0

    def generate(self, key_name: str, count: int, done: Callable[[Made], None]) -> None:
        self._ask(lambda: self._servers.generate(key_name, count), done)

    def check(self, key_name: str, done: Callable[[errors.HowdahError | None], None]) -> None:
        def exists() -> None:
            if self._servers.metadata(key_name) is None:
                raise errors.RemoteError(f"Key {key_name} doesn't exist.")

        self._ask(exists, done)

    def reencrypt(self, wanted: Sequence[EncryptedKey], done: Callable[[Made], None]) -> None:
        """Who asks this counts his questions himself, and takes nobody's place here."""
        self._begin(lambda: self._servers.reencrypt(wanted), done)

    def _ask(self, ask: Callable[[], T], done: Callable[[T | errors.HowdahError], None]) -> None:
        if self._under_way >= _MOST_AT_ONCE:
            busy = errors.RetriableError("too many questions to key servers are under way")
            self._post(lambda: done(busy))
            return
        self._under_way += 1

        def heard(outcome: T | errors.HowdahError) -> None:
            self._under_way -= 1
            done(outcome)

        self._begin(ask, heard)

    def _begin(self, ask: Callable[[], T], heard: Callable[[T | errors.HowdahError], None]) -> None:
        def work() -> None:
            outcome: T | errors.HowdahError
            try:
                outcome = ask()
            except errors.HowdahError as error:
                outcome = error
            except Exception as error:  # noqa: BLE001 - who waits for keys hears it
                unexpected_errors.note("a question to key servers", error, "no key has come")
                outcome = errors.RemoteError(f"the key servers could not be asked: {error!r}")
            self._post(lambda: heard(outcome))

        future = background_threads.begin(work, "howdah-zone-keys")
        if future.done() and (error := future.exception()) is not None:
            failed = errors.RetriableError(str(error))
            self._post(lambda: heard(failed))


def _zones_by_key(namesystem: Namesystem) -> str:
    """Which zones each key has, as far as a line has room."""
    zones: dict[str, list[str]] = {}
    for zone in zones_after(namesystem)[:_MOST_NAMED]:
        zones.setdefault(zone.key_name, []).append(zone.directory.path)
    return "; ".join(f"{', '.join(paths)} of the key {key}" for key, paths in sorted(zones.items()))


def zone_keys_of(
    conf: Configuration,
    namesystem: Namesystem,
    caller: str,
    post: Callable[[Callable[[], None]], None],
) -> ZoneKeys | None:
    """Return the keys for new files in zones; None where no key servers are configured, or such as
    are not supported: files in zones are refused then, and nothing else. An active namenode has
    some keys ready for each zone before the first file comes."""
    key = keys.HADOOP_SECURITY_KEY_PROVIDER_PATH
    text = conf.get(key)
    if not text:
        return None
    try:
        address = ProviderAddress.of(text)
    except errors.InvalidConfiguration as error:
        # What is no address of key servers may have a password in it.
        scheme = text.partition(":")[0]
        namesystem.key_provider_trouble = (
            f"{key.name} names a key provider {scheme}:, and only kms: is supported"
            if "://" in text and scheme != "kms"
            else f"{key.name} cannot be used: {error}"
        )
        log.error(
            "%s (from %s). No encryption zones are made, and those that are there take no new "
            "files and are not re-encrypted: %s",
            namesystem.key_provider_trouble,
            conf.source(key.name),
            _zones_by_key(namesystem) or "there are none",
        )
        return None
    from howdah.security.key_servers import KeyServers

    servers = KeyServers(address, conf, caller)
    zone_keys = ZoneKeys(
        KeyFetcher(servers, post),
        namesystem.clock.monotonic_ms,
        size=conf.get(keys.HADOOP_SECURITY_KMS_CLIENT_ENCRYPTED_KEY_CACHE_SIZE),
        low=conf.get(keys.HADOOP_SECURITY_KMS_CLIENT_ENCRYPTED_KEY_CACHE_LOW_WATERMARK),
        expiry_ms=round(
            conf.get(keys.HADOOP_SECURITY_KMS_CLIENT_ENCRYPTED_KEY_CACHE_EXPIRY) * 1000
        ),
    )

    def role_changed() -> None:
        # What was made before another namenode was active may be by versions that are old now.
        zone_keys.forget_all()
        if not namesystem.role.writable:
            return
        for zone in zones_after(namesystem):
            trouble = trouble_with(zone)
            if trouble is None:
                zone_keys.warm_up(zone.key_name)
            else:
                log.error("no file is read or written there: %s", trouble)

    namesystem.on_role.append(role_changed)
    return zone_keys
