"""Files of lines, concatenated.

A line stays a line: a newline is added at the end of a file that does not end with one.
Compressed files become one compressed stream.

Files are refused if readers would read other rows in the joined file:

- CSV files that all begin with the same line, if the user does not say whether that is a header.
  One header is kept, and the others must be equal to it; a header ends where its quotes do.
- JSON values of several lines, as readers take such a file for one value.
- CSV files with different line ends, as readers take those of a file's first lines.
- Text in UTF-16 or UTF-32, which has a mark at its beginning or zero bytes in its first line. One
  UTF-8 byte order mark, at the beginning, is kept.
"""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.spark.compaction.plan import Format, compression_of, format_of

_BUFFER: Final = 4 << 20
_UTF8_MARK: Final = b"\xef\xbb\xbf"
_OTHER_MARKS: Final = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_LONGEST_VALUE: Final = 64 << 20
DIFFERENT: Final = b"\n"
"""The `header` of files that begin with different lines: no line has a line end in it."""


class _Source(Protocol):
    def read(self, count: int, /) -> bytes: ...

    def readline(self, limit: int = -1, /) -> bytes: ...


class _Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


class HeadersDiffer(errors.HowdahError, ValueError):
    """Two files of one directory have different headers."""


class NotJoinable(errors.UnsupportedOperation):
    """The joined file would have other rows than the files."""


@dataclass(slots=True)
class Joined:
    """The number of files that were joined and of their lines or records; `filled` of the files
    are not empty. `header` is the first line of all of these, or what else they must have in
    common: `DIFFERENT` if they begin with different lines, None if all files are empty."""

    files: int = 0
    records: int = 0
    header: bytes | None = None
    filled: int = 0


def join(
    fs: FileSystem,
    sources: Iterable[FileStatus],
    raw: Any,
    suffix: str,
    has_headers: bool | None = None,
) -> Joined:
    """Write the lines of all sources to `raw`."""
    made = Joined()
    out = _compressed(raw, suffix, "wb")
    joiner = _Joiner(format_of(suffix), has_headers, out, made)
    for status in sources:
        with fs.open(status.path) as stream:
            joiner.add(status.path, _compressed(stream, suffix, "rb"))
    if out is not raw:
        out.close()
    return made


def count(raw: Any, suffix: str) -> int:
    """The number of lines of a file."""
    source, lines, last = _compressed(raw, suffix, "rb"), 0, b""
    while piece := source.read(_BUFFER):
        lines += piece.count(b"\n")
        last = piece[-1:]
    return lines + (last not in (b"", b"\n"))


def _compressed(raw: Any, suffix: str, mode: str) -> Any:
    match compression_of(suffix):
        case ".gz":
            return gzip.GzipFile(fileobj=raw, mode=mode)
        case ".bz2":
            return bz2.BZ2File(raw, mode=cast(Any, mode))
        case _:
            return raw


class _Joiner:
    """Appends one file after the other."""

    def __init__(self, kind: Format, has_headers: bool | None, out: _Sink, made: Joined) -> None:
        self._is_json = kind is Format.JSON
        self._has_headers = has_headers if kind is Format.CSV else False
        self._out = out
        self._made = made
        self._is_csv = kind is Format.CSV
        self._first: bytes | None = None
        self._line_end = b""

    def add(self, path: str, source: _Source) -> None:
        made = self._made
        made.files += 1
        first = source.readline(_LONGEST_VALUE)
        if not first:
            return
        made.filled += 1
        # Without a mark, too: one byte put at the end of a file would shift all that follows.
        if first.startswith(_OTHER_MARKS) or b"\0" in first:
            raise NotJoinable(f"{path} is in UTF-16 or UTF-32")
        if self._first is not None:
            first = first.removeprefix(_UTF8_MARK)
        if self._is_json:
            line = first
            while _is_blank(line) and (line := source.readline(_LONGEST_VALUE)):
                first += line
            _check_value(path, line)
        if first.endswith(b"\n"):
            self._end_lines(path, b"\r\n" if first.endswith(b"\r\n") else b"\n")
        if self._has_headers:
            while first.count(b'"') % 2 and (more := source.readline(_LONGEST_VALUE)):
                first += more
            self._header(path, first, source)
            return
        if self._has_headers is None:
            self._compare(first)
        self._first = first
        self._copy(first, source)

    def _end_lines(self, path: str, line_end: bytes) -> None:
        if self._is_csv and self._line_end not in (b"", line_end):
            raise NotJoinable(f"{path} ends its lines otherwise than others")
        self._line_end = line_end

    def _copy(self, begin: bytes, source: _Source) -> None:
        last = b""
        piece = begin or source.read(_BUFFER)
        while piece:
            self._out.write(piece)
            self._made.records += piece.count(b"\n")
            last = piece[-1:]
            piece = source.read(_BUFFER)
        if last and last != b"\n":
            self._line_end = self._line_end or b"\n"
            self._out.write(self._line_end)
            self._made.records += 1

    def _header(self, path: str, header: bytes, source: _Source) -> None:
        plain = _without_newline(header)
        if self._first is None:
            self._first = self._made.header = plain
            self._copy(header, source)
        elif plain != self._first:
            raise HeadersDiffer(f"{path} begins with another line than others")
        else:
            self._copy(b"", source)

    def _compare(self, first: bytes) -> None:
        plain = _without_newline(first)
        if self._first is None:
            self._made.header = plain
        elif plain != self._made.header:
            self._made.header = DIFFERENT


def _without_newline(line: bytes) -> bytes:
    return line.removeprefix(_UTF8_MARK).rstrip(b"\r\n")


def check_headers(joined: Iterable[tuple[int, bytes | None]], has_headers: bool | None) -> None:
    """Check that the joined files of several shares fit together. `joined` has of each the number
    of files that are not empty, and `Joined.header`.

    Raises `HeadersDiffer`; and `NotJoinable` if the files may have headers and nobody said so.
    """
    files, headers = 0, set()
    for count, header in joined:
        if header is not None:
            files += count
            headers.add(header)
    if has_headers and len(headers) > 1:
        raise HeadersDiffer("its files begin with different lines, which are said to be headers")
    if has_headers is None and files > 1 and len(headers) == 1 and DIFFERENT not in headers:
        raise NotJoinable(
            f"its files all begin with the line {_abridged(headers.pop())}: say whether that is a "
            "header (--header) or not (--no-header)"
        )


def _abridged(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return repr(text if len(text) <= 60 else text[:60] + "…")


def _is_blank(line: bytes) -> bool:
    return not line.removeprefix(_UTF8_MARK).strip()


def _check_value(path: str, line: bytes) -> None:
    if _is_blank(line):
        return
    try:
        json.loads(line.removeprefix(_UTF8_MARK))
    except ValueError as error:
        raise NotJoinable(f"{path} does not begin with a line that is a JSON value") from error
