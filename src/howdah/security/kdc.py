"""What krb5.conf says of KDCs, and how their clocks differ from ours (shell: asks them).

For hints to people alone: whom a client believes is the business of the library, and no time of a
KDC is signed.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import socket
import struct
import time
from pathlib import Path
from typing import Any, Final

from howdah import errors
from howdah.protocol.sasl.kdc_clock import decode_time_s, encode_question

_LIBRARY: Final = "libkrb5.so.3"
_USUAL_FILE: Final = "/etc/krb5.conf"
_FILES: Final = "KRB5_CONFIG"
_PORT: Final = 88
_LENGTH: Final = struct.Struct(">I")
_MOST_REPLY_BYTES: Final = 64 * 1024
_RESOLUTION_S: Final = 0.5
"""A KDC says whole seconds, cut off."""

Address = tuple[str, int]


def configuration_files() -> list[Path]:
    """The files that MIT's library reads on this machine, whether they are there or not."""
    named = os.environ.get(_FILES) or _USUAL_FILE
    return [Path(name) for name in named.split(":") if name]


def kdcs_of(realm: str) -> list[Address]:
    """The KDCs that krb5.conf names for a realm; none if it leaves that to DNS, or there is no
    library that could say."""
    found: list[Address] = []
    for text in _values("realms", realm, "kdc"):
        host, _, port = text.strip().rpartition(":") if _has_port(text) else (text.strip(), "", "")
        found.append((host.strip("[]"), int(port) if port else _PORT))
    return found


def _has_port(text: str) -> bool:
    host, colon, port = text.strip().rpartition(":")
    return bool(colon) and port.isascii() and port.isdigit() and (":" not in host or "]" in host)


def seconds_ahead(realm: str, timeout_s: float) -> float | None:
    """How far the clock of a realm's KDC is ahead of ours, to a second; None where none of them
    says so in time."""
    deadline_s = time.monotonic() + timeout_s
    for address in kdcs_of(realm):
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            return None
        try:
            began_s = time.time()
            at_s = decode_time_s(_exchange(address, encode_question(realm, int(began_s)), left_s))
            middle_s = (began_s + time.time()) / 2
        except (OSError, errors.ProtocolViolation):
            continue  # The next one may say it.
        return at_s + _RESOLUTION_S - middle_s
    return None


def _exchange(address: Address, question: bytes, timeout_s: float) -> bytes:
    """Over TCP, which every KDC of today takes."""
    with socket.create_connection(address, timeout_s) as connection:
        connection.settimeout(timeout_s)
        connection.sendall(_LENGTH.pack(len(question)) + question)
        (length,) = _LENGTH.unpack(_receive(connection, _LENGTH.size))
        if length > _MOST_REPLY_BYTES:
            raise errors.ProtocolViolation(f"a KDC announces {length} bytes")
        return _receive(connection, length)


def _receive(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise ConnectionError("a KDC ended the connection")
        data += piece
    return bytes(data)


def _values(*names: str) -> list[str]:
    """The values of a relation of krb5.conf, as MIT's library reads it with all its includes."""
    library = _library()
    if library is None:
        return []
    context, profile = ctypes.c_void_p(), ctypes.c_void_p()
    if library.krb5_init_context(ctypes.byref(context)):
        return []
    try:
        if library.krb5_get_profile(context, ctypes.byref(profile)):
            return []
        path = (ctypes.c_char_p * (len(names) + 1))(*(name.encode() for name in names), None)
        values = ctypes.POINTER(ctypes.c_char_p)()
        if library.profile_get_values(profile, path, ctypes.byref(values)):
            return []
        found: list[str] = []
        while (value := values[len(found)]) is not None:
            found.append(value.decode("utf-8", "replace"))
        library.profile_free_list(values)
        return found
    finally:
        if profile:
            library.profile_release(profile)
        library.krb5_free_context(context)


def _library() -> Any:
    for name in filter(None, (_LIBRARY, ctypes.util.find_library("krb5"))):
        try:
            library: Any = ctypes.CDLL(name)
        except OSError:
            continue
        if hasattr(library, "krb5_get_profile") and hasattr(library, "profile_get_values"):
            return library
    return None
