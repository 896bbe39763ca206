"""Locks of versions of objects: until when, or whether, one may not be deleted.

A lock is in an extended attribute of the version's file, as JSON. What a bucket gives each new
version is in one of its directory's. Locks hold among requests of S3: who may delete files by HDFS
may delete these.

Each change of a lock is an attribute of its own, with the next number, and the highest number is
what counts. Filesystems make an attribute only if there is none of its name: so of two gateways
that have read the same lock one changes it, and the other one reads it again.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from howdah.gateway.s3.protocol.documents import Child, Element, parsed
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.gateway.s3.protocol.versions import Versioning

ATTRIBUTE: Final = "user.howdah.s3.lock"
_CHANGED: Final = re.compile(re.escape(ATTRIBUTE) + r"\.([1-9][0-9]{0,8})")
BUCKET_ATTRIBUTE: Final = "user.howdah.s3.locks"
"""On the directory of a bucket whose versions may be locked."""
PREFIX: Final = "x-amz-object-lock-"
MODE: Final = f"{PREFIX}mode"
UNTIL: Final = f"{PREFIX}retain-until-date"
HOLD: Final = f"{PREFIX}legal-hold"
BYPASS: Final = "x-amz-bypass-governance-retention"
ENABLED: Final = "x-amz-bucket-object-lock-enabled"
MAX_DOCUMENT_BYTES: Final = 64 << 10
_DAY_MS: Final = 24 * 3600 * 1000
_DAYS_OF_YEAR: Final = 365
_MAX_DAYS: Final = 100 * _DAYS_OF_YEAR
_LAST_MS: Final = 253_402_300_799_000
"""The end of the year 9999: no later time can be written."""


class Mode(enum.Enum):
    """Who may end a retention early."""

    GOVERNANCE = "GOVERNANCE"
    """The owner of the bucket, if he says so."""
    COMPLIANCE = "COMPLIANCE"
    """Nobody."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Until when a version may not be deleted."""

    mode: Mode
    until_ms: int


@dataclass(frozen=True, slots=True)
class Lock:
    """Of one version."""

    retention: Retention | None = None
    is_held: bool = False
    """Whether it may not be deleted until that is taken back."""


@dataclass(frozen=True, slots=True)
class Default:
    """What new versions get that have no retention of their own."""

    mode: Mode
    unit: str
    """`Days` or `Years`."""
    count: int

    def from_ms(self, now_ms: int) -> Retention:
        """Return the retention of a version that is made now."""
        days = self.count * (_DAYS_OF_YEAR if self.unit == "Years" else 1)
        return Retention(self.mode, min(now_ms + days * _DAY_MS, _LAST_MS))


@dataclass(frozen=True, slots=True)
class Locking:
    """Of a bucket whose versions may be locked."""

    default: Default | None = None


@dataclass(frozen=True, slots=True)
class BucketState:
    """What the directory of a bucket says of versions."""

    versioning: Versioning = Versioning.OFF
    locking: Locking | None = None


# What may be done.


def check_deletable(lock: Lock, now_ms: int, *, may_bypass: bool) -> None:
    """Raises Refused for a version that is locked."""
    if lock.is_held:
        raise _denied("it has a legal hold")
    kept = lock.retention
    if (
        kept is not None
        and kept.until_ms > now_ms
        and not (may_bypass and kept.mode is Mode.GOVERNANCE)
    ):
        raise _denied(f"it is retained until {time_text(kept.until_ms)} ({kept.mode.value})")


def check_replacing(
    old: Retention | None, new: Retention | None, now_ms: int, *, may_bypass: bool
) -> None:
    """Raises Refused for a retention that may not take the place of another one: a shorter one, or
    one of another mode."""
    if old is None or old.until_ms <= now_ms:
        return
    if new is not None and new.mode is old.mode and new.until_ms >= old.until_ms:
        return
    if not (may_bypass and old.mode is Mode.GOVERNANCE):
        raise _denied(f"its retention lasts until {time_text(old.until_ms)} ({old.mode.value})")


def check_future(lock: Lock, now_ms: int) -> None:
    """Raises Refused for a retention that is over when it begins."""
    if lock.retention is not None and lock.retention.until_ms <= now_ms:
        raise Refused(
            "InvalidArgument", "The retain until date must be in the future!", ArgumentName=UNTIL
        )


def not_lockable() -> Refused:
    return Refused("InvalidRequest", "Bucket is missing Object Lock Configuration")


def _denied(why: str) -> Refused:
    return Refused("AccessDenied", f"Access Denied because object protected by object lock: {why}")


# Headers.


def lock_of_headers(headers: Mapping[str, str]) -> Lock | None:
    """Return the lock that a request gives a new version; None where it says nothing. Raises
    Refused."""
    mode, until, hold = (headers.get(name) for name in (MODE, UNTIL, HOLD))
    if mode is None and until is None and hold is None:
        return None
    if (mode is None) != (until is None):
        raise Refused("InvalidArgument", f"{MODE} and {UNTIL} must both be supplied")
    retention = None
    if mode is not None and until is not None:
        retention = Retention(_mode(mode, "InvalidArgument"), _time_ms(until, "InvalidArgument"))
    return Lock(retention, hold is not None and _is_on(hold, "InvalidArgument"))


def headers_of(lock: Lock | None) -> dict[str, str]:
    """Return what an answer about a version says of its lock."""
    if lock is None:
        return {}
    headers = {HOLD: "ON" if lock.is_held else "OFF"}
    if lock.retention is not None:
        headers[MODE] = lock.retention.mode.value
        headers[UNTIL] = time_text(lock.retention.until_ms)
    return headers


# Documents.


def retention_of_document(document: bytes) -> Retention | None:
    """Return the retention that a client asks for; None for an empty one, which ends it. Raises
    Refused."""
    root = parsed(document, "Retention")
    mode, until = root.value("Mode"), root.value("RetainUntilDate")
    if mode is None and until is None:
        return None
    return Retention(_mode(mode or "", "MalformedXML"), _time_ms(until or "", "MalformedXML"))


def hold_of_document(document: bytes) -> bool:
    """Return whether a client asks for a legal hold. Raises Refused."""
    return _is_on(parsed(document, "LegalHold").value("Status") or "", "MalformedXML")


def locking_of_document(document: bytes) -> Locking:
    """Return what a client asks for. Raises Refused."""
    root = parsed(document, "ObjectLockConfiguration")
    if root.value("ObjectLockEnabled") != "Enabled":
        raise Refused("MalformedXML", "ObjectLockEnabled is Enabled: it is never taken back")
    rules = list(root.all("Rule"))
    if not rules:
        return Locking()
    defaults = list(rules[0].all("DefaultRetention"))
    if len(rules) != 1 or len(defaults) != 1:
        raise Refused("MalformedXML", "there is one Rule, with one DefaultRetention")
    return Locking(_default(defaults[0]))


def _default(element: Element) -> Default:
    mode = _mode(element.value("Mode") or "", "MalformedXML")
    given = [(unit, element.value(unit)) for unit in ("Days", "Years")]
    counts = [(unit, text) for unit, text in given if text is not None]
    if len(counts) != 1:
        raise Refused("MalformedXML", "a DefaultRetention has Days or Years")
    unit, text = counts[0]
    most = _MAX_DAYS if unit == "Days" else _MAX_DAYS // _DAYS_OF_YEAR
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise Refused(
            "InvalidArgument", f"Default retention period must be 1 to {most} {unit.lower()}"
        )
    return Default(mode, unit, int(text))


def children_of_locking(locking: Locking) -> list[Child]:
    """Return what a document `ObjectLockConfiguration` has in it."""
    found: list[Child] = [("ObjectLockEnabled", "Enabled")]
    default = locking.default
    if default is not None:
        kept: list[Child] = [("Mode", default.mode.value), (default.unit, str(default.count))]
        found.append(("Rule", [("DefaultRetention", kept)]))
    return found


def children_of_retention(retention: Retention) -> list[Child]:
    """Return what a document `Retention` has in it."""
    return [("Mode", retention.mode.value), ("RetainUntilDate", time_text(retention.until_ms))]


def time_text(time_ms: int) -> str:
    """Return a time as documents have it, never before it is.

    >>> time_text(1_900_000_000_001)
    '2030-03-17T17:46:40.001Z'
    """
    time = datetime.fromtimestamp(time_ms // 1000, UTC)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03}Z"


def _mode(text: str, code: str) -> Mode:
    try:
        return Mode(text)
    except ValueError:
        raise Refused(code, "the mode of a retention is GOVERNANCE or COMPLIANCE") from None


def _is_on(text: str, code: str) -> bool:
    if text not in ("ON", "OFF"):
        raise Refused(code, "a legal hold is ON or OFF")
    return text == "ON"


def _time_ms(text: str, code: str) -> int:
    try:
        time = datetime.fromisoformat(text.strip())
        seconds = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise Refused(code, "a retention has a date such as 2030-01-01T00:00:00Z") from None
    return min(max(round(seconds * 1000), 0), _LAST_MS)


# Attributes.


def encoded(lock: Lock) -> bytes:
    kept = lock.retention
    fields: dict[str, object] = {"hold": lock.is_held}
    if kept is not None:
        fields |= {"mode": kept.mode.value, "until": kept.until_ms}
    return json.dumps(fields).encode()


def attribute_of(number: int) -> str:
    """Return the name of the attribute with a lock that was changed so often.

    >>> attribute_of(0), attribute_of(2)
    ('user.howdah.s3.lock', 'user.howdah.s3.lock.2')
    """
    return f"{ATTRIBUTE}.{number}" if number else ATTRIBUTE


def locks_in(attributes: Mapping[str, bytes]) -> dict[int, Lock]:
    """Return the locks in a file's attributes, by how often the lock was changed before each. The
    one with the highest number counts; others are left for a moment, or by a gateway that died."""
    found: dict[int, Lock] = {}
    for name, data in attributes.items():
        number = _number_of(name)
        if number is not None and (lock := decoded(data)) is not None:
            found[number] = lock
    return found


def _number_of(name: str) -> int | None:
    if name == ATTRIBUTE:
        return 0
    found = _CHANGED.fullmatch(name)
    return None if found is None else int(found[1])


def lock_in(attributes: Mapping[str, bytes]) -> Lock | None:
    """Return the lock that a file's attributes say; None where it has never been locked."""
    found = locks_in(attributes)
    return found[max(found)] if found else None


def decoded(data: bytes | None) -> Lock | None:
    """Return the lock that an attribute says; None without one. One that is damaged holds: what was
    locked may not become free by that."""
    if data is None:
        return None
    try:
        fields = json.loads(data)
        retention = _retention(fields)
        return Lock(retention, fields.get("hold") is True)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return Lock(is_held=True)


def _retention(fields: Mapping[str, Any]) -> Retention | None:
    if "mode" not in fields:
        return None
    until_ms = fields["until"]
    if type(until_ms) is not int or not 0 <= until_ms <= _LAST_MS:
        raise ValueError(f"{until_ms} is no time")
    return Retention(Mode(fields["mode"]), until_ms)


def encoded_locking(locking: Locking) -> bytes:
    default = locking.default
    if default is None:
        return b"{}"
    fields = {"mode": default.mode.value, "unit": default.unit, "count": default.count}
    return json.dumps(fields).encode()


def decoded_locking(data: bytes | None) -> Locking | None:
    """Return what the attribute of a bucket says; None without one. One that is damaged has no
    default."""
    if data is None:
        return None
    try:
        fields = json.loads(data)
        unit, count = fields["unit"], fields["count"]
        if unit not in ("Days", "Years") or type(count) is not int or not 1 <= count <= _MAX_DAYS:
            return Locking()
        return Locking(Default(Mode(fields["mode"]), unit, count))
    except (ValueError, LookupError, TypeError, RecursionError):
        return Locking()
