r"""Lines of the audit logs of namenodes, ours and Hadoop's, as rows (pure).

    2026-11-23 03:40:35,123 INFO FSNamesystem.audit: allowed=true<TAB>ugi=ann (auth:SIMPLE)<TAB>…

Everything before `allowed=` is the layout of whoever configured the log; a time is looked for in
it. Behind it are fields between tabs. Texts are escaped as Java writes strings (`\t`, `\u00E9`).
A caller's context may contain anything but a tab, and is the last field.

`ugi` names the user, how he proved it, and who acts for him:
`ann (auth:PROXY) via oozie/host@REALM (auth:KERBEROS)`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any, Final

from howdah.spark.tables import columns as of
from howdah.spark.tables.columns import Columns, as_text

AUDIT: Final = Columns(
    {
        "time": of.TIMESTAMP,
        "allowed": of.BOOLEAN,
        "user": of.STRING,
        "auth": of.STRING,
        "real_user": of.STRING,
        "ip": of.STRING,
        "cmd": of.STRING,
        "src": of.STRING,
        "dst": of.STRING,
        "owner": of.STRING,
        "group": of.STRING,
        "permission": of.INT,
        "tracking_id": of.STRING,
        "proto": of.STRING,
        "caller_context": of.STRING,
        "file": of.STRING,
        "malformed": of.STRING,
    }
)

_START: Final = re.compile(r"(?:^|[\s:])allowed=(true|false)\t")
_TIME: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?\d*(Z|[+-]\d\d:?\d\d)?"
)
_UGI: Final = re.compile(r"(.*?)(?: \(auth:(\w+)\))?(?: via (.*?)(?: \(auth:\w+\))?)?", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_NULL: Final = "null"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_SEPARATOR: Final = "\t"
_CONTEXT: Final = "callerContext"
_NEEDED: Final = ("ugi", "ip", "cmd", "src", "dst", "perm")


class AuditLines:
    """Makes rows of the lines of a file. `zone` is that of times that name none."""

    def __init__(self, file: str, zone: tzinfo) -> None:
        self._file = file
        self._zone = zone

    def row(self, line: str) -> dict[str, Any]:
        """The row of a line without its end. Of a line that is none of an audit log only `file` and
        `malformed`, which is the line, are set."""
        row: dict[str, Any] = dict.fromkeys(AUDIT.types)
        row["file"] = self._file
        start = _START.search(line)
        fields = None if start is None else _fields(line[start.end() :])
        if start is None or fields is None:
            row["malformed"] = as_text(line)
            return row
        user, auth, real_user = _user(fields["ugi"])
        owner, group, permission = _permission(fields["perm"])
        address = fields["ip"]
        row |= {
            "time": self._micros(line[: start.start()]),
            "allowed": start[1] == "true",
            "user": user,
            "auth": auth,
            "real_user": real_user,
            "ip": None if address == _NULL else address.removeprefix("/"),
            "cmd": _text(fields["cmd"]),
            "src": _text(fields["src"]),
            "dst": _text(fields["dst"]),
            "owner": owner,
            "group": group,
            "permission": permission,
            "tracking_id": _text(fields.get("trackingId", _NULL)),
            "proto": _text(fields.get("proto", _NULL)),
            "caller_context": _text(fields.get(_CONTEXT, _NULL)),
        }
        return row

    def _micros(self, head: str) -> int | None:
        found = _TIME.search(head)
        if found is None:
            return None
        *numbers, fraction, zone = found.groups()
        try:
            # Lines of the same minute follow each other, and zones change at minutes.
            minute = _minute(tuple(map(int, numbers[:5])), zone or "", self._zone)
            seconds = int(numbers[5])
        except ValueError:
            return None
        return minute + seconds * 1_000_000 + int((fraction or "0").ljust(6, "0"))


@lru_cache(maxsize=4096)
def _minute(numbers: tuple[int, int, int, int, int], zone: str, own: tzinfo) -> int:
    """Microseconds since 1970 of the beginning of a minute. Raises ValueError."""
    year, month, day, hour, minute = numbers
    if zone:
        text = f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:00"
        moment = datetime.fromisoformat(text + zone)
    else:
        moment = datetime(year, month, day, hour, minute, tzinfo=own)
    return (moment - _EPOCH) // _MICROSECOND


def _fields(text: str) -> dict[str, str] | None:
    """The fields behind `allowed`; None where one is missing that all lines have."""
    fields: dict[str, str] = {}
    for part in text.split(_SEPARATOR):
        name, equals, value = part.partition("=")
        if equals and name not in fields:
            fields[name] = value
    return fields if all(name in fields for name in _NEEDED) else None


@lru_cache(maxsize=1024)
def _user(ugi: str) -> tuple[str | None, str | None, str | None]:
    """Who it was, how he proved it, and who acted for him."""
    found = _UGI.fullmatch(ugi)
    if ugi == _NULL or found is None:
        return _text(ugi), None, None
    user, auth, real_user = found.groups()
    return unescaped(user), auth, None if real_user is None else unescaped(real_user)


@lru_cache(maxsize=1024)
def _permission(text: str) -> tuple[str | None, str | None, int | None]:
    """Owner, group and mode of `ann:staff:rwxr-x--T`."""
    owner, _, rest = text.partition(":")
    group, _, letters = rest.rpartition(":")
    if len(letters) < 9:
        return None, None, None
    bits = 0
    for letter in letters[:9]:
        bits = bits << 1 | (letter not in "-T")
    sticky = 0o1000 if letters[8] in "tT" else 0
    return unescaped(owner), unescaped(group), bits | sticky


def _text(value: str) -> str | None:
    return None if value == _NULL else unescaped(value)


def unescaped(text: str) -> str:
    r"""What a text says that is escaped as in a Java program.

    >>> unescaped(r"a\n\u00E9\\")
    'a\né\\'
    """
    if "\\" not in text:
        return as_text(text)
    plain = _ESCAPE.sub(_plain, text)
    # A character beyond 16 bits is two escapes.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _plain(found: re.Match[str]) -> str:
    if found[1] is not None:
        return chr(int(found[1], 16))
    return _LETTERS.get(found[2], found[2])
