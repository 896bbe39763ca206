"""OpenSSL's side of keystores and truststores, made anew when a file changes (shell).

Connections that are made keep what they began with; the next one gets what the files say now,
at most `reload_s` after they changed. A file that cannot be used is logged, and what was there
before goes on: a certificate that is half written must not stop a server.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Generic, TypeVar

from howdah.errors import InvalidConfiguration
from howdah.runtime.tls.key_material import KeyMaterial, read_key, read_trusted
from howdah.runtime.tls.stores import Store, Stores

log = logging.getLogger(__name__)

T = TypeVar("T")

_VERSIONS: Final = {
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
_NAMES: Final = (
    ("CHACHA20-POLY1305", "CHACHA20_POLY1305_SHA256"),
    ("AES128-GCM-SHA256", "AES_128_GCM_SHA256"),
    ("AES256-GCM-SHA384", "AES_256_GCM_SHA384"),
    ("AES128-CCM8", "AES_128_CCM_8"),
    ("AES256-CCM8", "AES_256_CCM_8"),
    ("AES128-CCM", "AES_128_CCM"),
    ("AES256-CCM", "AES_256_CCM"),
    ("AES128-SHA256", "AES_128_CBC_SHA256"),
    ("AES256-SHA256", "AES_256_CBC_SHA256"),
    ("AES256-SHA384", "AES_256_CBC_SHA384"),
    ("AES128-SHA", "AES_128_CBC_SHA"),
    ("AES256-SHA", "AES_256_CBC_SHA"),
)


class Kept(Generic[T]):
    """Keeps what was made of some files, and makes it again when one of them changes.
    Thread-safe."""

    def __init__(self, make: Callable[[], T], paths: tuple[Path, ...], interval_s: float) -> None:
        """Raises what `make` does."""
        self._make = make
        self._paths = paths
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._stamps = self._read_stamps()
        self._value = make()
        self._look_at_s = time.monotonic() + interval_s

    def get(self) -> T:
        """What there is now."""
        # Who comes while another one looks takes what there is.
        if time.monotonic() >= self._look_at_s and self._lock.acquire(blocking=False):
            try:
                self._reload_if_changed()
            finally:
                self._lock.release()
        return self._value

    def _reload_if_changed(self) -> None:
        self._look_at_s = time.monotonic() + self._interval_s
        stamps = self._read_stamps()
        if stamps == self._stamps:
            return
        names = ", ".join(str(path) for path in self._paths)
        try:
            self._value = self._make()
        except InvalidConfiguration as error:
            log.error("%s changed, and what was there before stays: %s", names, error)
            return
        self._stamps = stamps
        log.info("%s changed: new connections use what stands there now", names)

    def _read_stamps(self) -> list[tuple[int, int, int] | None]:
        """Return of each file that which changes with it."""
        stamps: list[tuple[int, int, int] | None] = []
        for path in self._paths:
            try:
                status = path.stat()
            except OSError:
                stamps.append(None)
            else:
                stamps.append((status.st_mtime_ns, status.st_size, status.st_ino))
        return stamps


def paths_of(stores: Stores) -> tuple[Path, ...]:
    return tuple(store.path for store in (stores.keystore, stores.truststore) if store is not None)


def server_context(stores: Stores) -> ssl.SSLContext:
    """Raises InvalidConfiguration."""
    assert stores.keystore is not None, "`server_stores` sees to it"
    context = _context(ssl.PROTOCOL_TLS_SERVER, stores)
    # A peer that begins anew, again and again, costs more than it pays.
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    _load_key(context, stores.keystore)
    if stores.needs_client_certificate:
        assert stores.truststore is not None, "`server_stores` sees to it"
        _load_trusted(context, stores.truststore)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_context(stores: Stores) -> ssl.SSLContext:
    """It checks the certificate and the name. Raises InvalidConfiguration."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT, stores)
    if stores.truststore is None:
        context.load_default_certs()
    else:
        _load_trusted(context, stores.truststore)
    if stores.keystore is not None:
        _load_key(context, stores.keystore)
    return context


def _context(kind: int, stores: Stores) -> ssl.SSLContext:
    context = ssl.SSLContext(kind)
    context.minimum_version = _VERSIONS[stores.versions[0]]
    context.maximum_version = _VERSIONS[stores.versions[-1]]
    if stores.excluded_ciphers or stores.included_ciphers:
        _choose_ciphers(context, stores)
    return context


def _choose_ciphers(context: ssl.SSLContext, stores: Stores) -> None:
    """Cipher suites have the names of RFCs, as Java knows them, or OpenSSL's; as with Jetty they
    may be patterns."""

    def listed(name: str, patterns: tuple[str, ...]) -> bool:
        names = {name, java_name(name)}
        return any(re.fullmatch(pattern, name) for pattern in patterns for name in names)

    kept = []
    for cipher in context.get_ciphers():
        name = cipher["name"]
        is_wanted = not stores.included_ciphers or listed(name, stores.included_ciphers)
        is_wanted = is_wanted and not listed(name, stores.excluded_ciphers)
        if not name.startswith("TLS_"):
            kept += [name] if is_wanted else []
        elif listed(name, stores.excluded_ciphers) and "TLSv1.3" in stores.versions:
            raise InvalidConfiguration(
                f"ssl.server.exclude.cipher.list: {name} cannot be excluded alone; take TLSv1.3 "
                "out of hadoop.ssl.enabled.protocols"
            )
    if not kept and "TLSv1.2" in stores.versions:
        raise InvalidConfiguration(
            "ssl.server.exclude.cipher.list and ssl.server.include.cipher.list leave no cipher "
            "suite for TLSv1.2"
        )
    if kept:
        context.set_ciphers(":".join(kept))


def java_name(name: str) -> str:
    """The name of a cipher suite in RFCs, of OpenSSL's.

    >>> java_name("ECDHE-RSA-AES256-GCM-SHA384")
    'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384'
    """
    if name.startswith("TLS_"):
        return name
    for ours, theirs in _NAMES:
        if name.endswith(ours):
            exchange = name.removesuffix(ours).strip("-") or "RSA"
            return f"TLS_{exchange.replace('-', '_')}_WITH_{theirs}"
    return name


def _load_trusted(context: ssl.SSLContext, store: Store) -> None:
    certificates = b"".join(dict.fromkeys(read_trusted(store)))
    try:
        context.load_verify_locations(cadata=certificates)
    except ssl.SSLError as error:
        raise InvalidConfiguration(
            f"{store.key}: {store.path}: a certificate in it is none: {error.reason}"
        ) from error
    # As with Java, whatever is in the truststore is trusted, be it no root.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN


def _load_key(context: ssl.SSLContext, store: Store) -> None:
    load_chain(context, store, read_key(store))


def load_chain(context: ssl.SSLContext, store: Store, material: KeyMaterial) -> None:
    """Raises InvalidConfiguration, for a key and a certificate that do not belong together too."""
    # Without it OpenSSL would ask at the terminal.
    password = "" if material.password is None else material.password.text
    try:
        with _as_file(material.pem) as path:
            context.load_cert_chain(path, password=lambda: password)
    except ssl.SSLError as error:
        why = {
            "KEY_VALUES_MISMATCH": "the key and the certificate do not belong together",
            "BAD_DECRYPT": "the password of the key is another one",
            "BAD_PASSWORD_READ": "the key has a password, and none is set",
        }.get(error.reason or "", f"OpenSSL says {error.reason or 'nothing of it'}")
        raise InvalidConfiguration(f"{store.key}: {store.path} cannot be used: {why}") from None
    except OSError as error:
        raise InvalidConfiguration(f"{store.key}: {store.path} cannot be used: {error}") from error


@contextlib.contextmanager
def _as_file(pem: bytes) -> Iterator[str]:
    """For OpenSSL, to which Python gives a key by way of a file alone: in memory where the system
    has such files, so that no key is written to a disk."""
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("howdah-key", os.MFD_CLOEXEC)
        try:
            os.write(number, pem)
            yield f"/proc/self/fd/{number}"
        finally:
            os.close(number)
    else:
        with tempfile.NamedTemporaryFile() as file:  # mode 600
            file.write(pem)
            file.flush()
            yield file.name
