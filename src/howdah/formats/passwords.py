"""The file of names and salted hashes of passwords (pure).

    # howdah passwords 1
    alice:$scrypt$ln=15,r=8,p=3$SALT$KEY

A line for each user: the name, and a hash by scrypt (RFC 7914) as the PHC's format has it, which
passlib and others read and write. `ln`, `r` and `p` are what one guess costs: a file may have
several costs, and each password keeps the one that it was set with. Salt and key are in base64
without padding. Empty lines and lines that begin with `#` say nothing.

Passwords are compared by their characters (NFC) and not by how a keyboard composes them (RFC 8265).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from howdah import errors
from howdah.formats.malformed import MalformedRecord

HEADER: Final = "# howdah passwords 1\n"
SALT_BYTES: Final = 16
FEWEST_CHARACTERS: Final = 8
MOST_CHARACTERS: Final = 1024
"""Of a password."""
_KEY_BYTES: Final = 32
_FEWEST_BYTES: Final = 8
_MOST_BYTES: Final = 64
"""Of a salt or a key that others have made."""
_MOST_MEMORY_BYTES: Final = 256 << 20
_STAMP_CHARACTERS: Final = 16
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,254}\Z", re.ASCII)
"""What fits into a cookie, a URL and an audit log as it is."""
_LINE: Final = re.compile(
    r"(?P<name>[^:]*):\$scrypt\$ln=(?P<ln>\d{1,2}),r=(?P<r>\d{1,3}),p=(?P<p>\d{1,3})"
    r"\$(?P<salt>[A-Za-z0-9+/]+)\$(?P<key>[A-Za-z0-9+/]+)\Z",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one guess takes: 128 · 2^ln · r bytes of memory, p times. The default is one of those
    that OWASP names: 32 MiB, and most of a second of one core."""

    ln: int = 15
    r: int = 8
    p: int = 3

    def __post_init__(self) -> None:
        if not (1 <= self.ln <= 24 and 1 <= self.r <= 64 and 1 <= self.p <= 64):
            raise errors.IllegalArgument(f"scrypt by {self} is not supported")
        if self.memory_bytes > _MOST_MEMORY_BYTES:
            raise errors.IllegalArgument(
                f"scrypt by {self} takes {self.memory_bytes} bytes of memory, and "
                f"{_MOST_MEMORY_BYTES} are allowed"
            )

    @property
    def memory_bytes(self) -> int:
        return 128 * self.r * ((1 << self.ln) + self.p + 2)

    def __str__(self) -> str:
        return f"ln={self.ln},r={self.r},p={self.p}"


@dataclass(frozen=True, slots=True)
class PasswordRecord:
    """One user's."""

    user: str
    cost: Cost
    salt: bytes = field(repr=False)
    key: bytes = field(repr=False)

    @property
    def stamp(self) -> str:
        """Names this password among all that a user has had, and tells nothing of it."""
        return hashlib.sha256(self.salt + self.key).hexdigest()[:_STAMP_CHARACTERS]

    def matches(self, password: str) -> bool:
        """Whether that is the password. Takes what `cost` says, whatever the password is."""
        key = _derived(password, self.salt, self.cost, len(self.key))
        return hmac.compare_digest(key, self.key)

    @property
    def line(self) -> str:
        return f"{self.user}:$scrypt${self.cost}${_encoded(self.salt)}${_encoded(self.key)}\n"


def check_user(name: str) -> None:
    """Raises IllegalArgument for what no user of a login is called."""
    if "@" in name or "/" in name:
        raise errors.IllegalArgument(
            f"{name!r} is no name for a login: with @ or / it would be a principal, of which "
            "hadoop.security.auth_to_local makes another user where a delegation token is shown. "
            "Take the short name"
        )
    if not _NAME.match(name):
        raise errors.IllegalArgument(
            f"{name!r} is no name for a login: letters, digits and . _ + - are, and at most 255 "
            "of them"
        )


def record_of(user: str, password: str, salt: bytes, cost: Cost | None = None) -> PasswordRecord:
    """Return the record of a new password; `salt` is random.

    Raises IllegalArgument for a name that is none, and a password that is too short or too long.
    """
    check_user(user)
    count = len(_normal(password))
    if not FEWEST_CHARACTERS <= count <= MOST_CHARACTERS:
        raise errors.IllegalArgument(
            f"a password has {FEWEST_CHARACTERS} to {MOST_CHARACTERS} characters, and not {count}"
        )
    cost = cost or Cost()
    return PasswordRecord(user, cost, salt, _derived(password, salt, cost, _KEY_BYTES))


def parse(text: str) -> dict[str, PasswordRecord]:
    """Return the records of a file by their users.

    Raises MalformedRecord, which names the line and shows nothing of it.

    >>> parse("# of nobody\\n\\n")
    {}
    """
    records: dict[str, PasswordRecord] = {}
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if not line.strip() or line.startswith("#"):
            continue
        try:
            record = _parsed(line)
        except errors.IllegalArgument as error:
            raise MalformedRecord(f"line {number}: {error.message}") from None
        if record.user in records:
            raise MalformedRecord(f"line {number}: {record.user} has a line already")
        records[record.user] = record
    return records


def written(records: Iterable[PasswordRecord]) -> str:
    """Return the text of a file.

    >>> written([])
    '# howdah passwords 1\\n'
    """
    return HEADER + "".join(
        record.line for record in sorted(records, key=lambda record: record.user)
    )


def _parsed(line: str) -> PasswordRecord:
    match = _LINE.match(line)
    if match is None:
        raise errors.IllegalArgument("it is not NAME:$scrypt$ln=…,r=…,p=…$SALT$KEY")
    check_user(match["name"])
    cost = Cost(int(match["ln"]), int(match["r"]), int(match["p"]))
    return PasswordRecord(match["name"], cost, _decoded(match["salt"]), _decoded(match["key"]))


def _derived(password: str, salt: bytes, cost: Cost, length_bytes: int) -> bytes:
    return hashlib.scrypt(
        _normal(password).encode("utf-8", "surrogatepass"),
        salt=salt,
        n=1 << cost.ln,
        r=cost.r,
        p=cost.p,
        # Room for what OpenSSL counts beside it.
        maxmem=cost.memory_bytes + (1 << 20),
        dklen=length_bytes,
    )


def _normal(password: str) -> str:
    return unicodedata.normalize("NFC", password)


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        raise errors.IllegalArgument("salt and key are in base64 without padding") from None
    if not _FEWEST_BYTES <= len(data) <= _MOST_BYTES or _encoded(data) != text:
        raise errors.IllegalArgument(
            f"salt and key have {_FEWEST_BYTES} to {_MOST_BYTES} bytes, in base64 without padding"
        )
    return data
