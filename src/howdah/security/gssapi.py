"""GSSAPI of MIT Kerberos by ctypes (shell: the library reads tickets and keytabs, and asks KDCs).

Only what clients and servers of Hadoop need: credentials of a ticket cache or a keytab, a context
with a named service or with whoever comes, wrapping. Types of ticket caches are the library's
business: none is read here.

Contexts hold native memory and belong to the process that made them: a forked child makes its own.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from howdah import errors
from howdah.protocol.sasl.principals import Principal

_LIBRARY: Final = "libgssapi_krb5.so.2"
_COMPLETE: Final = 0
_CONTINUE_NEEDED: Final = 1
_ERROR_BITS: Final = 0xFFFF0000
_OUT_OF_ORDER_BITS: Final = 2 | 4 | 8 | 16
"""Duplicate, old, out of sequence, gap: no errors to GSSAPI, but they are to us."""
_INITIATE: Final = 1
_ACCEPT: Final = 2
_INDEFINITE: Final = 0xFFFFFFFF
_DISPLAY_GSS: Final = 1
_DISPLAY_MECHANISM: Final = 2
_MUTUAL, _REPLAY, _SEQUENCE, _CONFIDENTIALITY, _INTEGRITY = 2, 4, 8, 16, 32
_ORDERED: Final = _REPLAY | _SEQUENCE
_FLAGS: Final = _MUTUAL | _REPLAY | _SEQUENCE | _CONFIDENTIALITY | _INTEGRITY

KRB5: Final = bytes.fromhex("2a864886f712010202")
_KERBEROS: Final = frozenset(
    (KRB5, bytes.fromhex("2a864882f712010202"), bytes.fromhex("2b05010502"))
)
"""With what Windows calls it, and its old name."""
SPNEGO: Final = bytes.fromhex("2b0601050502")
_PRINCIPAL_NAME: Final = bytes.fromhex("2a864886f71201020201")
_HOSTBASED_SERVICE: Final = bytes.fromhex("2a864886f71201020104")

_NO_WORDS: Final = ("", "Success", "Unknown error")

_u32 = ctypes.c_uint32


class _Buffer(ctypes.Structure):
    _fields_ = [("length", ctypes.c_size_t), ("value", ctypes.c_void_p)]


class _Oid(ctypes.Structure):
    _fields_ = [("length", _u32), ("elements", ctypes.c_void_p)]


class _OidSet(ctypes.Structure):
    _fields_ = [("count", ctypes.c_size_t), ("elements", ctypes.POINTER(_Oid))]


class _KeyValue(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class _KeyValueSet(ctypes.Structure):
    _fields_ = [("count", _u32), ("elements", ctypes.POINTER(_KeyValue))]


class GssFailure(Exception):
    """What the library says: major and minor code, and their words."""

    def __init__(self, major: int, minor: int, words: str, minor_words: str) -> None:
        # The mechanism's words say more than GSSAPI's, where there are any.
        super().__init__(words if minor_words in _NO_WORDS else minor_words)
        self.major = major
        self.minor = minor


@functools.cache
def library() -> Any:
    """The library. Raises LoginFailed, with what to install, where there is none."""
    names = [_LIBRARY, ctypes.util.find_library("gssapi_krb5")]
    reason = "it was not found"
    for name in filter(None, names):
        try:
            loaded: Any = ctypes.CDLL(name)
            if not hasattr(loaded, "gss_acquire_cred_from"):
                reason = f"{name} is not MIT's"
                continue
        except OSError as error:
            reason = str(error)
            continue
        return loaded
    raise errors.LoginFailed(
        f"Kerberos needs MIT's GSSAPI library, {_LIBRARY} ({reason}): install libgssapi-krb5-2 "
        "(Debian, Ubuntu) or krb5-libs (Fedora, RHEL)"
    )


def _oid(encoded: bytes) -> tuple[_Oid, Any]:
    """The identifier, and the memory that it points to, which has to live as long."""
    memory = ctypes.create_string_buffer(encoded, len(encoded))
    return _Oid(len(encoded), ctypes.cast(memory, ctypes.c_void_p)), memory


def _buffer(data: bytes) -> tuple[_Buffer, Any]:
    """A buffer over bytes, and what has to live as long."""
    pointer = ctypes.c_char_p(data)
    return _Buffer(len(data), ctypes.cast(pointer, ctypes.c_void_p)), pointer


def _bytes_of(oid: _Oid) -> bytes:
    return ctypes.string_at(oid.elements, oid.length)


def _moved_out(buffer: _Buffer) -> bytes:
    """The bytes of a buffer that the library made, which is given back to it."""
    data = ctypes.string_at(buffer.value, buffer.length) if buffer.length else b""
    minor = _u32()
    library().gss_release_buffer(ctypes.byref(minor), ctypes.byref(buffer))
    return data


def _words(code: int, kind: int) -> str:
    mechanism, _memory = _oid(KRB5)
    more, messages = _u32(0), list[str]()
    while True:
        out, minor = _Buffer(), _u32()
        failed = library().gss_display_status(
            ctypes.byref(minor),
            _u32(code),
            kind,
            ctypes.byref(mechanism),
            ctypes.byref(more),
            ctypes.byref(out),
        )
        if failed:
            break
        messages.append(_moved_out(out).decode("utf-8", "replace"))
        if not more.value:
            break
    return "; ".join(messages)


def _check(major: int, minor: _u32) -> int:
    major &= 0xFFFFFFFF
    if major & _ERROR_BITS:
        raise GssFailure(
            major, minor.value, _words(major, _DISPLAY_GSS), _words(minor.value, _DISPLAY_MECHANISM)
        )
    return major


class _Handle:
    """Something of the library's, which is given back to it with the last reference."""

    def __init__(self, release: str) -> None:
        self.value = ctypes.c_void_p()
        self.reference = ctypes.byref(self.value)
        weakref.finalize(self, _release, release, self.value).atexit = False


def _release(function: str, value: ctypes.c_void_p) -> None:
    if value:
        minor = _u32()
        getattr(library(), function)(ctypes.byref(minor), ctypes.byref(value))


def _release_context(value: ctypes.c_void_p) -> None:
    if value:
        minor = _u32()
        library().gss_delete_sec_context(ctypes.byref(minor), ctypes.byref(value), None)


def _name(text: str, kind: bytes) -> _Handle:
    minor = _u32()
    oid, _memory = _oid(kind)
    buffer, _bytes = _buffer(text.encode())
    name = _Handle("gss_release_name")
    _check(
        library().gss_import_name(
            ctypes.byref(minor), ctypes.byref(buffer), ctypes.byref(oid), name.reference
        ),
        minor,
    )
    return name


def _shown_name(name: _Handle) -> str:
    minor, out = _u32(), _Buffer()
    _check(
        library().gss_display_name(ctypes.byref(minor), name.value, ctypes.byref(out), None), minor
    )
    return _moved_out(out).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What credentials are: whose, and for how many seconds still."""

    principal: str
    lifetime_s: int


class Credential:
    """What a client can prove itself by, as the library found it in a store.

    `store` is MIT's: `ccache`, `client_keytab`. An empty one is the default cache, and the
    default client keytab. Raises GssFailure.
    """

    def __init__(
        self, store: Mapping[str, str], principal: str | None = None, *, for_spnego: bool = False
    ) -> None:
        self._name = None if principal is None else _name(principal, _PRINCIPAL_NAME)
        # SPNEGO finds no mechanism in a credential of one.
        self.handle = _acquire(store, self._name, _INITIATE, None if for_spnego else KRB5)

    def inquire(self) -> Inquiry:
        """Raises GssFailure: no credentials, expired ones."""
        minor, lifetime = _u32(), _u32()
        name = _Handle("gss_release_name")
        _check(
            library().gss_inquire_cred(
                ctypes.byref(minor),
                self.handle.value,
                name.reference,
                ctypes.byref(lifetime),
                None,
                None,
            ),
            minor,
        )
        return Inquiry(_shown_name(name), lifetime.value)


class AcceptorCredential:
    """What a server proves itself by: the keys of one principal in a keytab. Raises GssFailure.

    For RPC, tickets that came before are not kept on a disk (`rcache`): who repeats one does not
    know its key, and gets no further than the library's first answer. Over HTTP (`for_spnego`)
    nothing follows that needs the key, so the library's own memory of tickets is used there, which
    survives a restart: a ticket that was overheard is refused.
    """

    def __init__(self, keytab: str, principal: str, *, for_spnego: bool = False) -> None:
        self._name = _name(principal, _PRINCIPAL_NAME)
        store = {"keytab": keytab} if for_spnego else {"keytab": keytab, "rcache": "none:"}
        self.handle = _acquire(store, self._name, _ACCEPT, None if for_spnego else KRB5)


def _acquire(
    store: Mapping[str, str], name: _Handle | None, usage: int, mechanism: bytes | None
) -> _Handle:
    minor = _u32()
    oid, _memory = _oid(mechanism or KRB5)
    mechanisms = _OidSet(1, ctypes.pointer(oid))
    entries = [_KeyValue(key.encode(), value.encode()) for key, value in store.items()]
    array = (_KeyValue * len(entries))(*entries)
    values = _KeyValueSet(len(entries), array)
    handle = _Handle("gss_release_cred")
    _check(
        library().gss_acquire_cred_from(
            ctypes.byref(minor),
            None if name is None else name.value,
            _u32(_INDEFINITE),
            None if mechanism is None else ctypes.byref(mechanisms),
            usage,
            ctypes.byref(values) if entries else None,
            handle.reference,
            None,
            None,
        ),
        minor,
    )
    return handle


class _Context:
    """Both sides of a context: what they do once it is established."""

    def __init__(self) -> None:
        self._handle = ctypes.c_void_p()
        weakref.finalize(self, _release_context, self._handle).atexit = False
        self.is_established = False

    def wrap(self, data: bytes, *, confidential: bool) -> bytes:
        minor, out, state = _u32(), _Buffer(), ctypes.c_int()
        buffer, _bytes = _buffer(data)
        _check(
            library().gss_wrap(
                ctypes.byref(minor),
                self._handle,
                int(confidential),
                _u32(0),
                ctypes.byref(buffer),
                ctypes.byref(state),
                ctypes.byref(out),
            ),
            minor,
        )
        token = _moved_out(out)
        if confidential and not state.value:
            raise errors.AuthenticationFailed("the Kerberos library did not encrypt a message")
        return token

    def unwrap(self, token: bytes) -> tuple[bytes, bool]:
        """Raises ProtocolViolation."""
        minor, out, state = _u32(), _Buffer(), ctypes.c_int()
        buffer, _bytes = _buffer(token)
        major = library().gss_unwrap(
            ctypes.byref(minor),
            self._handle,
            ctypes.byref(buffer),
            ctypes.byref(out),
            ctypes.byref(state),
            None,
        )
        data = _moved_out(out)
        try:
            major = _check(major, minor)
        except GssFailure as error:
            raise errors.ProtocolViolation(
                f"a protected message was changed on its way: {error}"
            ) from error
        if major & _OUT_OF_ORDER_BITS:
            raise errors.ProtocolViolation(
                "a protected message is not the one that is due: it was repeated or left out "
                f"({_words(major, _DISPLAY_GSS)})"
            )
        return data, bool(state.value)

    def wrap_limit(self, most_bytes: int, *, confidential: bool) -> int:
        minor, limit = _u32(), _u32()
        _check(
            library().gss_wrap_size_limit(
                ctypes.byref(minor),
                self._handle,
                int(confidential),
                _u32(0),
                _u32(most_bytes),
                ctypes.byref(limit),
            ),
            minor,
        )
        return limit.value


class Context(_Context):
    """The initiator's side; `howdah.protocol.sasl.gssapi.SecurityContext`.

    Raises GssFailure in `step`; whoever knows what it is for says so.
    """

    def __init__(self, credential: Credential, target: Principal, mechanism: bytes = KRB5) -> None:
        super().__init__()
        if target.realm:
            # As it stands: the library would look up the host's canonical name otherwise.
            self._target = _name(str(target), _PRINCIPAL_NAME)
        else:
            self._target = _name(f"{target.primary}@{target.instance}", _HOSTBASED_SERVICE)
        self._credential = credential
        self._oid, self._memory = _oid(mechanism)

    def step(self, token: bytes) -> bytes:
        """The next token for the far end; empty if there is none."""
        minor, out, flags = _u32(), _Buffer(), _u32()
        buffer, _bytes = _buffer(token)
        major = library().gss_init_sec_context(
            ctypes.byref(minor),
            self._credential.handle.value,
            ctypes.byref(self._handle),
            self._target.value,
            ctypes.byref(self._oid),
            _u32(_FLAGS),
            _u32(0),
            None,
            ctypes.byref(buffer) if token else None,
            None,
            ctypes.byref(out),
            ctypes.byref(flags),
            None,
        )
        answer = _moved_out(out)
        _check(major, minor)
        if not major & _CONTINUE_NEEDED:
            if flags.value & _FLAGS != _FLAGS:
                raise errors.AuthenticationFailed(
                    "the Kerberos context lacks what was asked for: proof of the server, "
                    "integrity, confidentiality, or the order of messages"
                )
            self.is_established = True
        return answer


class AcceptedContext(_Context):
    """The acceptor's side; `howdah.protocol.sasl.gssapi.AcceptedContext`.

    Raises GssFailure in `step`; whoever knows what it is for says so.
    """

    def __init__(self, credential: AcceptorCredential, *, for_spnego: bool = False) -> None:
        super().__init__()
        self._for_spnego = for_spnego
        self._credential = credential
        self._client = ""
        self._flags = 0

    @property
    def client(self) -> str:
        assert self.is_established, "who it is is not proven"
        return self._client

    @property
    def is_confidential(self) -> bool:
        return bool(self._flags & _CONFIDENTIALITY)

    @property
    def is_ordered(self) -> bool:
        return self._flags & _ORDERED == _ORDERED

    def step(self, token: bytes) -> bytes:
        """The next token for the client; empty if there is none."""
        minor, out, flags = _u32(), _Buffer(), _u32()
        buffer, _bytes = _buffer(token)
        source, mechanism = _Handle("gss_release_name"), ctypes.POINTER(_Oid)()
        major = library().gss_accept_sec_context(
            ctypes.byref(minor),
            ctypes.byref(self._handle),
            self._credential.handle.value,
            ctypes.byref(buffer),
            None,
            source.reference,
            ctypes.byref(mechanism),
            ctypes.byref(out),
            ctypes.byref(flags),
            None,
            None,
        )
        answer = _moved_out(out)
        _check(major, minor)
        if not major & _CONTINUE_NEEDED:
            if not flags.value & _INTEGRITY and not self._for_spnego:
                # Over HTTP nothing is protected by the context: browsers do not ask for that.
                raise errors.AuthenticationFailed(
                    "the client's Kerberos context cannot tell whether a message was changed"
                )
            if mechanism and _bytes_of(mechanism.contents) not in _KERBEROS:
                # SPNEGO may agree on another one that is installed, whose names are no principals.
                raise errors.AuthenticationFailed("the client proves itself by other than Kerberos")
            self._client, self._flags = _shown_name(source), flags.value
            self.is_established = True
        return answer


def default_realm() -> str:
    """The realm of principals without one, as krb5.conf says; empty if it says none."""
    try:
        shown = _shown_name(_canonical(_name("howdah", _PRINCIPAL_NAME)))
    except GssFailure:
        return ""
    return shown.partition("@")[2]


def _canonical(name: _Handle) -> _Handle:
    minor = _u32()
    oid, _memory = _oid(KRB5)
    canonical = _Handle("gss_release_name")
    _check(
        library().gss_canonicalize_name(
            ctypes.byref(minor), name.value, ctypes.byref(oid), canonical.reference
        ),
        minor,
    )
    return canonical
