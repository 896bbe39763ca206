"""Paths and URIs of Hadoop filesystems, without any filesystem (pure).

Mirrors org.apache.hadoop.fs.Path where users can see it: runs of slashes are
one, a trailing slash means nothing, `.` and `..` are resolved lexically. Unlike a
URL a path is never decoded: a percent sign, a question mark, a hash, a space or a
colon is a character of the name.

Only what begins with a scheme and `://` or `:/` is a URI. So `a:b` is a relative
path here, where Java sees a scheme in it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from howdah.errors import IllegalArgument, InvalidPath

PathLike = str | os.PathLike[str]


class PathOfFileSystem(os.PathLike[str]):
    """A path that knows its filesystem (`howdah.Path`): its text is the full URI, wherever it is
    no path of this machine."""


SEPARATOR = "/"
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/]*)(.*)", re.DOTALL)
_ABSOLUTE_WITHOUT_AUTHORITY = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(/(?!/).*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Location:
    """A path with the filesystem that it names; scheme and authority may be empty."""

    scheme: str
    authority: str
    path: str

    @property
    def is_qualified(self) -> bool:
        return bool(self.scheme)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}" if self.scheme else self.path


def parse(text: PathLike) -> Location:
    """Split `hdfs://host:port/path`, `hdfs:///path`, `hdfs:/path` or a bare path.

    The path is left as it is written; see `normalize`.
    """
    raw = text_of(text)
    if not raw:
        raise InvalidPath("A path may not be empty")
    match = _URI.fullmatch(raw)
    if match:
        return Location(match[1].lower(), match[2], match[3] or SEPARATOR)
    match = _ABSOLUTE_WITHOUT_AUTHORITY.fullmatch(raw)
    if match:
        return Location(match[1].lower(), "", match[2])
    return Location("", "", raw)


def text_of(path: PathLike) -> str:
    """What is written in a path. Raises TypeError for what is none."""
    raw = str(path) if isinstance(path, PathOfFileSystem) else os.fspath(path)
    if not isinstance(raw, str):
        raise TypeError(f"A path is a str, not {type(raw).__name__}")
    return raw


def normalize(path: str, working_directory: str = SEPARATOR) -> str:
    """The absolute path: relative ones start at `working_directory`.

    >>> normalize("a//b/./../c/", "/user/me")
    '/user/me/a/c'
    """
    if not path.startswith(SEPARATOR):
        path = f"{working_directory}/{path}"
    if is_normal(path):
        return path
    parts: list[str] = []
    for part in path.split(SEPARATOR):
        if part == "..":
            if not parts:
                raise InvalidPath(f"Invalid path name {path!r}: it leads above the root")
            parts.pop()
        elif part and part != ".":
            parts.append(part)
    return SEPARATOR + SEPARATOR.join(parts)


def is_normal(path: str) -> bool:
    """Whether it is absolute, names no filesystem, and stays as it is. False does not mean that
    `normalize` will change it.

    >>> is_normal("/a/b"), is_normal("a/b"), is_normal("/a/../b"), is_normal("/a/")
    (True, False, False, False)
    """
    return (
        path.startswith(SEPARATOR)
        and "//" not in path
        and "/." not in path
        and (path[-1] != SEPARATOR or len(path) == 1)
    )


def join(parent: str, *names: str) -> str:
    """`parent` with `names` below it; an absolute name starts over."""
    path = parent
    for name in names:
        if name.startswith(SEPARATOR):
            path = name
        elif name:
            path = path + name if path.endswith(SEPARATOR) else f"{path}/{name}"
    return path


def parent_of(path: str) -> str | None:
    """The directory above a normalised path; None above the root."""
    if path == SEPARATOR:
        return None
    return path.rpartition(SEPARATOR)[0] or SEPARATOR


def name_of(path: str) -> str:
    """The last component of a normalised path; empty for the root."""
    return path.rpartition(SEPARATOR)[2]


def is_under(path: str, directory: str) -> bool:
    """Whether a normalised path is `directory` or lies below it."""
    return directory == SEPARATOR or path == directory or path.startswith(directory + SEPARATOR)


_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(path: str) -> str:
    """A path within a line that people read: what would end the line, move the cursor or
    isn't UTF-8 is written as an escape.

    >>> shown("/a\\nb")
    '/a\\\\nb'
    """
    return _UNPRINTABLE.sub(_escaped, path) if not path.isprintable() else path


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00  # the byte that it stands for
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"


_UMASK_CLAUSE = re.compile(r"([ugoa]*)([+=-])([rwxX]*)")


def parse_umask(text: str) -> int:
    """Return the bits that a umask takes away: octal (`022`) or symbolic (`u=rwx,g=rx,o=`).

    Symbolic clauses name the allowed bits, as in a shell and in Hadoop.
    """
    value = text.strip()
    if re.fullmatch(r"[01]?[0-7]{1,3}", value):
        return int(value, 8) & 0o777
    allowed = 0o777
    for clause in value.split(","):
        match = _UMASK_CLAUSE.fullmatch(clause.strip())
        if not match:
            raise IllegalArgument(
                f"{text!r} is not a umask: give octal digits, or clauses such as u=rwx,g=rx,o="
            )
        who, operator, letters = match.groups()
        bits = sum({"r": 4, "w": 2, "x": 1, "X": 1}[letter] for letter in set(letters))
        for letter in set(who) or {"a"}:
            mask = {"u": 0o700, "g": 0o070, "o": 0o007, "a": 0o777}[letter]
            chosen = (bits * 0o111) & mask
            if operator == "=":
                allowed = allowed & ~mask | chosen
            elif operator == "+":
                allowed |= chosen
            else:
                allowed &= ~chosen
    return 0o777 & ~allowed
