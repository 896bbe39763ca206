"""The file of a key server's keys (shell), encrypted by a passphrase.

It is a JWE of RFC 7516, by `PBES2-HS512+A256KW` and `A256GCM`: any library for these opens it who
has the passphrase. Nobody but its owner may read it. Several servers may have one file: each reads
it anew when it has changed, and one at a time changes it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.kms.service import Edit
from howdah.kms.state.key_table import Key, parse, written
from howdah.security.guarded_file import change_guarded, read_guarded, signature_of

if TYPE_CHECKING:
    from joserfc.jwe import JWERegistry

log = logging.getLogger(__name__)

_ALGORITHM: Final = "PBES2-HS512+A256KW"
_ENCRYPTION: Final = "A256GCM"
_ROUNDS: Final = 250_000
"""Of the passphrase's derivation: more than what OWASP asks for (210,000), and as many as joserfc
takes."""
_MOST_BYTES: Final = 12 << 20
_LEAST_CHARACTERS: Final = 14
_MOST_PASSPHRASE_BYTES: Final = 4096


class KeyFile:
    """Implements a `KeyStore`. Thread-safe."""

    def __init__(self, path: Path, passphrase: str) -> None:
        self.path: Final = path
        self._passphrase = passphrase
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._keys: Mapping[str, Key] = {}

    def keys(self) -> Mapping[str, Key]:
        """Return the keys that the file has now; none if there is no file yet. Raises
        InvalidConfiguration."""
        with self._lock:
            seen = signature_of(self.path)
            if seen != self._seen:
                self._seen, self._keys = None, {}
                self._keys = self._read(self.path) if self.path.exists() else {}
                self._seen = seen
                log.info("%s has %d keys", self.path, len(self._keys))
            return self._keys

    def change(self, edit: Edit) -> None:
        """Change the keys, as they are in the file now. Raises InvalidConfiguration."""

        def edited(there: Path | None) -> str:
            keys = {} if there is None else self._read(there)
            edit(keys)
            return sealed(written(keys), self._passphrase)

        change_guarded(self.path, edited, creates=True)

    def _read(self, path: Path) -> dict[str, Key]:
        text, is_shown = read_guarded(path)
        if is_shown:
            raise errors.InvalidConfiguration(
                f"{path} can be read by others than its owner, and has keys in it: chmod 600"
            )
        try:
            return parse(opened(text, self._passphrase))
        except errors.ProtocolViolation as error:
            raise errors.InvalidConfiguration(f"{path}: {error.message}") from None


def read_passphrase(path: Path) -> str:
    """Return the passphrase in a file: its first line. Raises InvalidConfiguration for a file that
    others can read, and for a passphrase that is too short."""
    text, is_shown = read_guarded(path)
    if is_shown:
        raise errors.InvalidConfiguration(
            f"{path} can be read by others than its owner, and has a passphrase in it: chmod 600"
        )
    passphrase = text.split("\n", 1)[0]
    if not _LEAST_CHARACTERS <= len(passphrase) <= _MOST_PASSPHRASE_BYTES:
        raise errors.InvalidConfiguration(
            f"{path}: a passphrase has at least {_LEAST_CHARACTERS} characters, in one line"
        )
    return passphrase


def sealed(text: str, passphrase: str) -> str:
    """Return a text, encrypted by a passphrase. Raises InvalidConfiguration for one that is too
    long."""
    data = text.encode()
    if len(data) > _MOST_BYTES // 2:
        raise errors.InvalidConfiguration(f"{len(data)} bytes of keys are too many for one file")
    jwe, key, registry = _tools(passphrase)
    header = {"alg": _ALGORITHM, "enc": _ENCRYPTION, "p2c": _ROUNDS}
    result: str = jwe.encrypt_compact(header, data, key, registry=registry)
    return result


def opened(text: str, passphrase: str) -> str:
    """Return what was sealed. Raises ProtocolViolation for another passphrase, and for damage."""
    jwe, key, registry = _tools(passphrase)
    from joserfc.errors import JoseError

    try:
        plain = jwe.decrypt_compact(text.strip(), key, registry=registry).plaintext
    except (JoseError, ValueError):
        raise errors.ProtocolViolation(
            "it cannot be decrypted: the passphrase is another one, or the file is damaged"
        ) from None
    return "" if plain is None else plain.decode()


def _tools(passphrase: str) -> tuple[Any, Any, JWERegistry]:
    try:
        from joserfc import jwe
        from joserfc.jwk import OctKey
    except ImportError as error:
        raise errors.InvalidConfiguration(
            "a key server needs the packages joserfc and cryptography: pip install 'howdah[kms]'"
        ) from error

    class Registry(jwe.JWERegistry):
        max_ciphertext_length = _MOST_BYTES

    registry = Registry(algorithms=[_ALGORITHM, _ENCRYPTION])
    return jwe, OctKey.import_key(passphrase), registry
