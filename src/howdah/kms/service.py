"""What a key server does for its users (shell: dice and the clock are handed in).

Each call is allowed or refused, and stands in the audit log.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from howdah import errors
from howdah.kms.call_audit import CallAudit, note
from howdah.kms.state.access import KeyAccess, Operation, Use, list_name_of
from howdah.kms.state.key_table import (
    DEFAULT_CIPHER,
    DEFAULT_LENGTH_BITS,
    Key,
    check_new_key,
    split_version,
    version_name,
)
from howdah.protocol.encryption_zones.counter import IV_BYTES, KEY_BYTES, key_wrapping_iv
from howdah.protocol.encryption_zones.key_calls import DECRYPTED, encode
from howdah.protocol.encryption_zones.messages import EncryptedKey
from howdah.security.aes import ShortTexts

_PURPOSE: Final = "keys of files"
_MOST_GENERATED: Final = 10_000
_LENGTHS_BITS: Final = frozenset(8 * count for count in KEY_BYTES)
_MOST_CIPHERS: Final = 256
"""Of versions of keys that were used last."""
Edit = Callable[[dict[str, Key]], None]


class KeyStore(Protocol):
    """Where keys are kept. Thread-safe."""

    def keys(self) -> Mapping[str, Key]:
        """Return all keys. Raises InvalidConfiguration where they cannot be read."""

    def change(self, edit: Edit) -> None:
        """Change the keys, for good when it returns. Raises what `edit` raises."""


class KeyService:
    """Answers the calls of one key server. Thread-safe."""

    def __init__(
        self,
        store: KeyStore,
        access: Callable[[], KeyAccess],
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        random: Callable[[int], bytes] = os.urandom,
        audit: CallAudit | None = None,
    ) -> None:
        """`access` has the lists as they are now. Without `audit` each call has its line."""
        self._store = store
        self._access = access
        self._now_ms = now_ms
        self._random = random
        self._audit = audit or CallAudit()
        self._ciphers: dict[bytes, ShortTexts] = {}

    # --- keys ---------------------------------------------------------------------------

    def create(
        self,
        user: str,
        name: str,
        *,
        cipher: str | None = None,
        length_bits: int = 0,
        material: bytes | None = None,
        description: str = "",
        attributes: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Make a key, of these bytes or of random ones.

        Raises AccessDenied, IllegalArgument for what cannot be a key, and RemoteError for one that
        is there.
        """
        access = self._called(user, Operation.CREATE, "CREATE_KEY", name)
        if material is not None:
            self._called(user, Operation.SET_KEY_MATERIAL, "CREATE_KEY", name)
        length_bits = length_bits or DEFAULT_LENGTH_BITS
        if material is not None and length_bits != len(material) * 8:
            raise errors.IllegalArgument(
                f"Wrong key length. Required {length_bits}, but got {len(material) * 8}"
            )
        # Before any are drawn: a number from outside may be of gigabytes, or below 0.
        if length_bits not in _LENGTHS_BITS:
            raise errors.IllegalArgument("a key has 128, 192 or 256 bits")
        key = Key(
            name,
            self._now_ms(),
            (self._random(length_bits // 8) if material is None else material,),
            description,
            dict(attributes or {}),
            cipher or DEFAULT_CIPHER,
        )
        check_new_key(key)
        if not access.allows_use(user, list_name_of(name, key.attributes), Use.MANAGEMENT):
            self._audit.note_refused("CREATE_KEY", name, user)
            raise errors.AccessDenied(f"User [{user}] is not authorized to create key !!")

        def add(keys: dict[str, Key]) -> None:
            if name in keys:
                raise errors.RemoteError(f"Key {name} already exists")
            keys[name] = key

        self._store.change(add)
        note("OK", "CREATE_KEY", name, user, f"UserProvidedMaterial:{material is not None}")
        return self._version(user, key, len(key.versions) - 1)

    def roll(self, user: str, name: str, material: bytes | None = None) -> dict[str, Any]:
        """Add a version to a key. Raises AccessDenied, IllegalArgument, PathNotFound."""
        self._called(user, Operation.ROLLOVER, "ROLL_NEW_VERSION", name)
        if material is not None:
            self._called(user, Operation.SET_KEY_MATERIAL, "ROLL_NEW_VERSION", name)
        self._used(user, self._key(name), Use.MANAGEMENT)
        rolled: Key | None = None

        def add(keys: dict[str, Key]) -> None:
            nonlocal rolled
            if name not in keys:
                raise _missing(name)
            fresh = self._random(keys[name].length_bits // 8) if material is None else material
            keys[name] = rolled = keys[name].rolled(fresh)

        self._store.change(add)
        assert rolled is not None, "it was changed"
        note("OK", "ROLL_NEW_VERSION", name, user, f"NewVersion:{rolled.current_version}")
        return self._version(user, rolled, len(rolled.versions) - 1)

    def delete(self, user: str, name: str) -> None:
        """Take a key away. Raises AccessDenied, PathNotFound."""
        self._called(user, Operation.DELETE, "DELETE_KEY", name)
        self._used(user, self._key(name), Use.MANAGEMENT)

        def remove(keys: dict[str, Key]) -> None:
            if keys.pop(name, None) is None:
                raise _missing(name)

        self._store.change(remove)
        note("OK", "DELETE_KEY", name, user)

    def invalidate_cache(self, user: str, name: str) -> None:
        """Nothing is made ahead here: it is only seen whether the user may."""
        self._called(user, Operation.ROLLOVER, "INVALIDATE_CACHE", name)
        self._used(user, self._key(name), Use.MANAGEMENT)
        note("OK", "INVALIDATE_CACHE", name, user)

    def names(self, user: str) -> list[str]:
        """Return the names of all keys. Raises AccessDenied."""
        self._called(user, Operation.GET_KEYS, "GET_KEYS", None)
        names = sorted(self._store.keys())
        note("OK", "GET_KEYS", "*", user)
        return names

    def metadata(self, user: str, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return what is known of keys; nothing of those that are not there."""
        self._called(user, Operation.GET_METADATA, "GET_METADATA", ",".join(names))
        keys = self._store.keys()
        found = [keys.get(name) for name in names]
        for key in found:
            if key is not None:
                self._used(user, key, Use.READ)
        note("OK", "GET_METADATA", ",".join(names), user)
        return [{} if key is None else key.metadata() for key in found]

    def current_version(self, user: str, name: str) -> dict[str, Any]:
        """Return the bytes of a key. Raises AccessDenied, PathNotFound."""
        return self.versions(user, name, "GET_CURRENT_KEY")[-1]

    def versions(
        self, user: str, name: str, call: str = "GET_KEY_VERSIONS"
    ) -> list[dict[str, Any]]:
        """The same, of all versions."""
        self._called(user, Operation.GET, call, name)
        key = self._key(name)
        self._used(user, key, Use.READ)
        note("OK", call, name, user)
        return [self._version(user, key, number) for number in range(len(key.versions))]

    def version(self, user: str, version: str) -> dict[str, Any]:
        """The same, of one version."""
        name, number = split_version(version)
        found = self.versions(user, name, "GET_KEY_VERSION")
        if number >= len(found):
            raise _missing(version)
        return found[number]

    # --- keys of files ------------------------------------------------------------------

    def generate(self, user: str, name: str, count: int) -> list[EncryptedKey]:
        """Make keys, encrypted by the last version of a key. Raises AccessDenied, PathNotFound, and
        IllegalArgument for too many."""
        self._called(user, Operation.GENERATE_EEK, "GENERATE_EEK", name)
        if not 0 < count <= _MOST_GENERATED:
            raise errors.IllegalArgument(f"{count} keys: 1 to {_MOST_GENERATED} are made at a time")
        key = self._key(name)
        self._used(user, key, Use.GENERATE_EEK)
        length = len(key.versions[-1])
        made = [self._encrypted(key, self._random(length)) for _ in range(count)]
        self._audit.note_frequent("GENERATE_EEK", name, user)
        return made

    def decrypt(self, user: str, wanted: EncryptedKey) -> dict[str, Any]:
        """Return the key that an encrypted one is. Raises AccessDenied, PathNotFound."""
        self._called(user, Operation.DECRYPT_EEK, "DECRYPT_EEK", wanted.version_name)
        key, number = self._version_of(wanted)
        self._used(user, key, Use.DECRYPT_EEK)
        self._audit.note_frequent("DECRYPT_EEK", wanted.version_name, user)
        material = encode(self._wrapped(key.versions[number], wanted.iv, wanted.material))
        return {"name": key.name, "versionName": DECRYPTED, "material": material}

    def reencrypt(self, user: str, wanted: Sequence[EncryptedKey]) -> list[EncryptedKey]:
        """Return keys, encrypted by the last version of theirs; those that are stay as they are.
        The vector of a file stays. Raises AccessDenied, PathNotFound."""
        answers: list[EncryptedKey] = []
        for name in dict.fromkeys(each.key_name for each in wanted):
            self._called(user, Operation.GENERATE_EEK, "REENCRYPT_EEK", name)
            self._used(user, self._key(name), Use.GENERATE_EEK)
            self._audit.note_frequent("REENCRYPT_EEK", name, user)
        for each in wanted:
            key, number = self._version_of(each)
            if number == len(key.versions) - 1:
                answers.append(each)
                continue
            plain = self._wrapped(key.versions[number], each.iv, each.material)
            answers.append(
                EncryptedKey(
                    key.name,
                    key.current_version,
                    each.iv,
                    self._wrapped(key.versions[-1], each.iv, plain),
                )
            )
        return answers

    def _encrypted(self, key: Key, plain: bytes) -> EncryptedKey:
        iv = self._random(IV_BYTES)
        return EncryptedKey(
            key.name, key.current_version, iv, self._wrapped(key.versions[-1], iv, plain)
        )

    def _wrapped(self, by: bytes, iv: bytes, data: bytes) -> bytes:
        """Encrypt or decrypt the key of a file."""
        cipher = self._ciphers.get(by)
        if cipher is None:
            if len(self._ciphers) >= _MOST_CIPHERS:
                self._ciphers.clear()
            cipher = self._ciphers[by] = ShortTexts(by, _PURPOSE)
        return cipher.apply(key_wrapping_iv(iv), data)

    def _version_of(self, wanted: EncryptedKey) -> tuple[Key, int]:
        wanted.check()
        name, number = split_version(wanted.version_name)
        if name != wanted.key_name:
            raise errors.IllegalArgument(
                f"KeyVersion '{wanted.version_name}' does not belong to the key '{wanted.key_name}'"
            )
        key = self._key(name)
        if number >= len(key.versions):
            raise _missing(wanted.version_name)
        return key, number

    # --- who may ------------------------------------------------------------------------

    def _called(self, user: str, operation: Operation, name: str, key: str | None) -> KeyAccess:
        access = self._access()
        try:
            access.check_call(user, operation, name, key)
        except errors.AccessDenied:
            self._audit.note_refused(name, key or "*", user)
            raise
        return access

    def _used(self, user: str, key: Key, use: Use) -> None:
        try:
            self._access().check_use(user, list_name_of(key.name, key.attributes), use)
        except errors.AccessDenied:
            self._audit.note_refused(use, key.name, user)
            raise

    def _key(self, name: str) -> Key:
        key = self._store.keys().get(name)
        if key is None:
            raise _missing(name)
        return key

    def _version(self, user: str, key: Key, number: int) -> dict[str, Any]:
        """A version; its bytes are for those who may get keys."""
        fields = {"name": key.name, "versionName": version_name(key.name, number)}
        if self._access().allows_call(user, Operation.GET):
            fields["material"] = encode(key.versions[number])
        return fields


def _missing(name: str) -> errors.PathNotFound:
    return errors.PathNotFound(f"'{name}' not found")
