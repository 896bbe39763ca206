"""The text of a line of the audit log (pure; FSNamesystemAuditLogger, RFAAUDIT's layout).

    2026-11-23 03:40:35,123 INFO FSNamesystem.audit: allowed=true  ugi=ann (auth:SIMPLE)
        ip=/10.0.0.7  cmd=mkdirs  src=/a  dst=null  perm=ann:staff:rwxr-xr-x  proto=rpc

in one line, with a tab between two parts. Programs read these lines, so paths are escaped as Java
writes strings: a line break in a name is no line break here.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Final, NamedTuple

from google.protobuf.message import Message

from howdah.namenode.service.audit.calls import Subject, following, subject_of
from howdah.protocol.rpc.call import Caller

CLIENT_PORT: Final = "clientPort"


class Shown(NamedTuple):
    """What `perm` shows of an inode."""

    owner: str
    group: str
    mode: int


class Record(NamedTuple):
    """A call that is to be logged. `answer` is None if it was refused, or is not needed. What came
    by HTTP has a subject instead of a request."""

    wall_ms: int
    allowed: bool
    method: str
    request: Message | Subject
    answer: Message | None
    caller: Caller
    shown: Shown | None


@dataclass(frozen=True, slots=True)
class LineFormat:
    """What the configuration says of lines: `dfs.namenode.audit.log.*` and
    `hadoop.caller.context.*`. Sizes are of characters and bytes."""

    has_client_port: bool = False
    has_tracking_id: bool = False
    has_context: bool = False
    max_context: int = 128
    max_signature: int = 40
    separator: str = ","
    quiet_commands: frozenset[str] = frozenset()
    """Commands without lines (`dfs.namenode.audit.log.debug.cmdlist`)."""

    def line(self, record: Record, stamp: str) -> str | None:
        """The line of a call, with its end; of a rename with others in its turn, a line for each.
        None for a command that is not to be logged. `stamp` is the time of the record, as
        `2026-11-23 03:40:35,123`."""
        request = record.request
        subject = (
            request
            if isinstance(request, Subject)
            else subject_of(record.method, request, record.answer)
        )
        if subject.cmd in self.quiet_commands:
            return None
        lines = [self._line_of(record, subject, stamp)]
        if isinstance(request, Message) and record.allowed:
            more = following(request, record.answer)
            lines += [self._line_of(record, each, stamp) for each in more]
        return "".join(lines)

    def _line_of(self, record: Record, subject: Subject, stamp: str) -> str:
        caller = record.caller
        is_call = not isinstance(record.request, Subject)
        parts = [
            f"allowed={'true' if record.allowed else 'false'}",
            f"ugi={escaped(caller.display_name)}",
            f"ip=/{_java_address(caller.address)}",
            f"cmd={subject.cmd}",
            f"src={_or_null(subject.src)}",
            f"dst={_or_null(subject.dst)}",
            f"perm={_permission(record.shown)}",
        ]
        if self.has_tracking_id:
            parts.append("trackingId=null")
        # Hadoop's namenode knows no protocol of what was no call.
        parts.append(f"proto={caller.proto if is_call else 'null'}")
        context = self._context(caller)
        if context:
            parts.append(f"callerContext={context}")
        return f"{stamp} INFO FSNamesystem.audit: " + "\t".join(parts) + "\n"

    def _context(self, caller: Caller) -> str:
        """The context that a client gave, cut as configured; with the client's port, if wanted."""
        if not self.has_context:
            return ""
        text, signature = caller.context or ("", b"")
        if self.has_client_port and f"{CLIENT_PORT}:" not in text:
            port = f"{CLIENT_PORT}:{caller.port}"
            text = f"{text}{self.separator}{port}" if text else port
        if not text:
            return ""
        text = escaped(text)[: self.max_context]
        if signature and len(signature) <= self.max_signature:
            text += f":{escaped(signature.decode('utf-8', 'replace'))}"
        return text


def _or_null(text: str | None) -> str:
    return "null" if text is None else escaped(text)


_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\n": "\\n",
    "\t": "\\t",
    "\f": "\\f",
    "\r": "\\r",
}


def escaped(text: str) -> str:
    r"""A text as in a Java program: quotes, control characters, and what is not ASCII.

    >>> print(escaped('a\n"é" 😀'))
    a\n\"\u00E9\" \uD83D\uDE00
    """
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text
    return "".join(_ESCAPES.get(char) or _plain_or_units(char) for char in text)


def _plain_or_units(char: str) -> str:
    if " " <= char <= "\x7f":
        return char
    units = char.encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _java_address(address: str) -> str:
    """An address as Java shows it: IPv6 with all eight groups."""
    if ":" not in address:
        return address
    bare, percent, zone = address.partition("%")
    try:
        ip = ipaddress.IPv6Address(bare)
    except ValueError:
        return address
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    groups = (f"{int(group, 16):x}" for group in ip.exploded.split(":"))
    return ":".join(groups) + percent + zone


_LETTERS: Final = "rwxrwxrwx"


def _permission(shown: Shown | None) -> str:
    if shown is None:
        return "null"
    bits = [letter if shown.mode >> (8 - at) & 1 else "-" for at, letter in enumerate(_LETTERS)]
    if shown.mode & 0o1000:
        bits[8] = "t" if shown.mode & 1 else "T"
    return f"{shown.owner}:{shown.group}:{''.join(bits)}"
