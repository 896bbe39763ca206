"""Kerberos, as `howdah.security.gssapi` shows it to a simulated process.

MIT's library is C code outside the world. In its place stand keys that follow from the names of
principals, in keytabs on simulated disks. A ticket is made at once, since no KDC is simulated; it
is good for the service whose key has sealed it, for a while, and shows who has the client's key.
Messages that a context wraps carry their number and a sum that takes the key of the context, so
that one that was changed, repeated or left out is found, as by the real one. Nothing here keeps
a secret from whoever reads this.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
import types
from collections.abc import Iterator, Mapping
from typing import Any, Final

from howdah.protocol.sasl.keytab import MAGIC
from howdah.testing.world.processes import Machine, Process

SEAM: Final = "howdah.security.gssapi"
KDC_SEAM: Final = "howdah.security.kdc"
REALM: Final = "WORLD"
LIFETIME_S: Final = 36_000
"""How long a ticket is good."""
_SKEW_S: Final = 300.0
"""By how much the clocks of a client and of a server may differ."""
_KEY_BYTES: Final = 32
_SUM_BYTES: Final = 16
_AES256: Final = 18
"""The type of a key, in keytabs."""
_NUMBER: Final = struct.Struct(">QB")
"""Of a wrapped message: its place, and whether it is confidential."""
_U16: Final = struct.Struct(">H")
_I32: Final = struct.Struct(">i")
_NAME_TYPE: Final = struct.Struct(">II")
_KEY_HEAD: Final = struct.Struct(">BHH")
_OVERHEAD: Final = _NUMBER.size + _SUM_BYTES


def key_of(principal: str) -> bytes:
    """The key that the realm has for a principal."""
    return hashlib.sha256(f"the key of {principal}".encode()).digest()


def give_keytab(machine: Machine, path: str, *principals: str) -> None:
    """Let a machine have a keytab with the keys of these principals of the realm, named without
    it."""
    entries = [_entry(f"{principal}@{REALM}") for principal in principals]
    machine.make_directory(path.rpartition("/")[0])
    machine.write_file(path, MAGIC + b"".join(entries), 0o600)


def _entry(principal: str) -> bytes:
    name, _, realm = principal.partition("@")
    components = name.split("/")
    texts = [text.encode() for text in (realm, *components)]
    entry = _U16.pack(len(components))
    entry += b"".join(_U16.pack(len(text)) + text for text in texts)
    entry += _NAME_TYPE.pack(1, 0) + _KEY_HEAD.pack(1, _AES256, _KEY_BYTES) + key_of(principal)
    return _I32.pack(len(entry)) + entry


def _keys_in(keytab: bytes) -> Iterator[tuple[str, bytes]]:
    """Principals, and their keys."""
    position = len(MAGIC)
    while position < len(keytab):
        (size,) = _I32.unpack_from(keytab, position)
        entry = keytab[position + _I32.size : position + _I32.size + size]
        position += _I32.size + size
        (count,) = _U16.unpack_from(entry)
        start, texts = _U16.size, list[str]()
        for _ in range(count + 1):
            (length,) = _U16.unpack_from(entry, start)
            texts.append(entry[start + _U16.size : start + _U16.size + length].decode())
            start += _U16.size + length
        realm, *components = texts
        yield f"{'/'.join(components)}@{realm}", entry[-_KEY_BYTES:]


class Failure(Exception):
    """Says what the library would say."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.major = self.minor = 1


class Inquiry:
    """Says whose credentials are, and for how many seconds still."""

    def __init__(self, principal: str, lifetime_s: int) -> None:
        self.principal = principal
        self.lifetime_s = lifetime_s


def _sum_of(key: bytes, *parts: bytes) -> bytes:
    return hmac.digest(key, b"".join(parts), "sha256")[:_SUM_BYTES]


def _masked(key: bytes, place: bytes, data: bytes) -> bytes:
    """What nobody reads without the key; the same again is the data."""
    mask = hashlib.shake_128(key + place).digest(len(data))
    return (int.from_bytes(data) ^ int.from_bytes(mask)).to_bytes(len(data))


class _Realm:
    """Answers one process."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def errors(self) -> Any:
        return self._process.modules.load("howdah.errors")

    def now_s(self) -> float:
        return self._process.machine.wall.now_ns() / 1e9

    def nonce(self) -> bytes:
        return self._process.random.randbytes(_SUM_BYTES)

    def key_in(self, keytab: str, principal: str | None) -> tuple[str, bytes]:
        """The principal, or the first one, and its key, in a file. Raises Failure."""
        path = self._process.modules.load("pathlib").Path(keytab.removeprefix("FILE:"))
        try:
            held = dict(_keys_in(path.read_bytes()))
        except OSError as error:
            raise Failure(f"Key table file '{path}' not found: {error}") from error
        name = principal or next(iter(held), "")
        if name not in held:
            raise Failure(f"No key table entry found for {name}")
        return name, held[name]


class _Context:
    """Both sides, once they have a key."""

    def __init__(self, realm: _Realm, *, begins: bool) -> None:
        self._realm = realm
        self._begins = begins
        self._key = b""
        self._sent = self._received = 0
        self.is_established = False

    def wrap(self, data: bytes, *, confidential: bool) -> bytes:
        place = _NUMBER.pack(self._sent << 1 | self._begins, confidential)
        self._sent += 1
        body = _masked(self._key, place, data) if confidential else bytes(data)
        return place + _sum_of(self._key, place, data) + body

    def unwrap(self, token: bytes) -> tuple[bytes, bool]:
        violation = self._realm.errors().ProtocolViolation
        if len(token) < _OVERHEAD:
            raise violation("a protected message was changed on its way: it is too short")
        place, due = bytes(token[: _NUMBER.size]), bytes(token[_NUMBER.size : _OVERHEAD])
        number, confidential = _NUMBER.unpack(place)
        body = bytes(token[_OVERHEAD:])
        data = _masked(self._key, place, body) if confidential else body
        if not hmac.compare_digest(due, _sum_of(self._key, place, data)):
            raise violation("a protected message was changed on its way")
        if number != self._received << 1 | (not self._begins):
            raise violation(
                "a protected message is not the one that is due: it was repeated or left out"
            )
        self._received += 1
        return data, bool(confidential)

    def wrap_limit(self, most_bytes: int, *, confidential: bool) -> int:
        return most_bytes - _OVERHEAD


def make(process: Process) -> Any:
    """Make the module, for one process."""
    realm = _Realm(process)

    class Credential:
        def __init__(
            self,
            store: Mapping[str, str],
            principal: str | None = None,
            *,
            for_spnego: bool = False,
        ) -> None:
            keytab = store.get("client_keytab")
            if keytab is None:
                raise Failure("No Kerberos credentials available")
            self.principal, self.key = realm.key_in(keytab, principal)

        def inquire(self) -> Inquiry:
            return Inquiry(self.principal, LIFETIME_S)

    class AcceptorCredential:
        def __init__(self, keytab: str, principal: str, *, for_spnego: bool = False) -> None:
            self.principal, self.key = realm.key_in(keytab, principal)

    class Context(_Context):
        def __init__(self, credential: Credential, target: Any, mechanism: bytes = b"") -> None:
            super().__init__(realm, begins=True)
            self._credential = credential
            self._target = str(target) if target.realm else f"{target}@{REALM}"
            self._nonce = realm.nonce()

        def step(self, token: bytes) -> bytes:
            if not token:
                return self._request_ticket()
            if not hmac.compare_digest(token, _sum_of(self._key, b"acceptor", self._nonce)):
                raise Failure("Decrypt integrity check failed")
            self.is_established = True
            return b""

        def _request_ticket(self) -> bytes:
            credential = self._credential
            if credential.key != key_of(credential.principal):
                raise Failure("Preauthentication failed")
            service_key = key_of(self._target)
            self._key = _sum_of(service_key, credential.principal.encode(), self._nonce)
            said = {
                "client": credential.principal,
                "service": self._target,
                "at_s": realm.now_s(),
                "nonce": self._nonce.hex(),
            }
            text = json.dumps(said).encode()
            return _sum_of(service_key, text) + text

    class AcceptedContext(_Context):
        is_confidential = is_ordered = True

        def __init__(self, credential: AcceptorCredential, *, for_spnego: bool = False) -> None:
            super().__init__(realm, begins=False)
            self._credential = credential
            self._client = ""

        @property
        def client(self) -> str:
            assert self.is_established, "who it is is not proven"
            return self._client

        def step(self, token: bytes) -> bytes:
            due, text = bytes(token[:_SUM_BYTES]), bytes(token[_SUM_BYTES:])
            if not hmac.compare_digest(due, _sum_of(self._credential.key, text)):
                raise Failure("Decrypt integrity check failed")
            said = json.loads(text)
            if abs(said["at_s"] - realm.now_s()) > _SKEW_S:
                raise Failure("Clock skew too great")
            nonce = bytes.fromhex(said["nonce"])
            self._client = said["client"]
            self._key = _sum_of(self._credential.key, self._client.encode(), nonce)
            self.is_established = True
            return _sum_of(self._key, b"acceptor", nonce)

    module: Any = types.ModuleType(SEAM)
    module.KRB5, module.SPNEGO = b"krb5", b"spnego"
    module.GssFailure, module.Inquiry = Failure, Inquiry
    module.Credential, module.AcceptorCredential = Credential, AcceptorCredential
    module.Context, module.AcceptedContext = Context, AcceptedContext
    module.default_realm = lambda: REALM
    return module


def make_kdc() -> Any:
    """Make the module that asks KDCs for their clocks: there are none to ask."""
    module: Any = types.ModuleType(KDC_SEAM)
    module.seconds_ahead = lambda realm, timeout_s: None
    return module
