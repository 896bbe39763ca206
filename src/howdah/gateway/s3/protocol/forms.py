"""Forms by which browsers upload: `multipart/form-data`, bytes in, fields and the file's bytes out.

    --BOUNDARY CRLF  Content-Disposition: form-data; name="key" CRLF CRLF  VALUE CRLF
    …
    --BOUNDARY CRLF  Content-Disposition: form-data; name="file"; … CRLF CRLF  BYTES CRLF
    --BOUNDARY-- CRLF

Fields stand before the file; what follows it counts for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from howdah.gateway.s3.protocol.refusals import Refused
from howdah.gateway.s3.protocol.requests import S3Request

if TYPE_CHECKING:
    from typing_extensions import Buffer

_MAX_FIELDS_BYTES: Final = 20 << 10
_MAX_FIELDS: Final = 100
_MAX_HEAD_BYTES: Final = 4 << 10
_MAX_BEHIND_BYTES: Final = 1 << 20
_FILE: Final = "file"
_TYPE: Final = re.compile(
    r"multipart/form-data\s{0,9};\s{0,9}"
    r'boundary=(?:"([!#-~ ]{1,70})"|([!#-+\--:<-~]{1,70}))\s{0,9}\Z',
    re.IGNORECASE,
)
_PARAMETER: Final = re.compile(
    r';\s{0,9}([a-z*]{1,20})\s{0,9}=\s{0,9}(?:"([^"]{0,4000})"|([^;\s]{0,4000}))'
)


def boundary_of(content_type: str) -> bytes | None:
    """Return the boundary of a form's parts; None for another type.

    >>> boundary_of("multipart/form-data; boundary=--x1")
    b'--x1'
    """
    match = _TYPE.match(content_type.strip())
    return None if match is None else (match[1] or match[2]).encode("ascii")


def is_form(request: S3Request) -> bool:
    """Return whether a request is one that a browser makes of a form."""
    return (
        request.method == "POST"
        and not request.key
        and not request.query
        and request.headers.get("content-type", "")
        .strip()
        .lower()
        .startswith("multipart/form-data")
    )


class Form:
    """One form. `fields` first, `file` then."""

    def __init__(self, pieces: Iterable[Buffer], boundary: bytes) -> None:
        """Read the fields. Raises Refused."""
        self._pieces = iter(pieces)
        self._mark = b"\r\n--" + boundary
        # As if a line stood before it, the first boundary is like the others.
        self._buffer = bytearray(b"\r\n")
        self.fields: Mapping[str, str] = {}
        """By their names in lower case. That of the file has its name, if it has one."""
        self.content_type = ""
        """Of the file, as the browser says."""
        self._read_fields()

    def _read_fields(self) -> None:
        fields: dict[str, str] = {}
        self._until(self._mark, _MAX_FIELDS_BYTES)
        count = 0
        while True:
            if self._until(b"\r\n", _MAX_HEAD_BYTES).strip():
                raise _malformed("it has no file, and POST requires exactly one")
            headers = self._head()
            name, file_name = _names(headers.get("content-disposition", ""))
            if name == _FILE:
                self.content_type = headers.get("content-type", "")
                fields[_FILE] = file_name
                self.fields = fields
                return
            value = self._until(self._mark, _MAX_FIELDS_BYTES)
            count += len(name) + len(value)
            if count > _MAX_FIELDS_BYTES or len(fields) >= _MAX_FIELDS:
                raise Refused(
                    "MaxPostPreDataLengthExceededError",
                    "Your POST request fields preceding the upload file were too large.",
                )
            if name in fields:
                raise _malformed(f"the field {name} comes twice")
            fields[name] = _text(value)

    def _head(self) -> dict[str, str]:
        """The headers of a part; names are in lower case."""
        headers: dict[str, str] = {}
        while line := self._until(b"\r\n", _MAX_HEAD_BYTES):
            name, colon, value = _text(line).partition(":")
            if not colon or len(headers) >= _MAX_FIELDS:
                raise _malformed("a part begins with its headers")
            headers[name.strip().lower()] = value.strip()
        return headers

    def _until(self, mark: bytes, most_bytes: int) -> bytes:
        """Take what stands before a mark, and the mark. Raises Refused."""
        begin = 0
        while (at := self._buffer.find(mark, begin)) < 0:
            begin = max(0, len(self._buffer) - len(mark))
            if len(self._buffer) > most_bytes + len(mark):
                raise _malformed(f"its fields have {most_bytes} bytes at most")
            self._receive()
        if at > most_bytes:
            raise _malformed(f"its fields have {most_bytes} bytes at most")
        found = bytes(self._buffer[:at])
        del self._buffer[: at + len(mark)]
        return found

    def _receive(self) -> None:
        piece = next(self._pieces, None)
        if piece is None:
            raise _malformed("it ends before its last boundary")
        self._buffer += piece

    def file(self) -> Iterator[bytes]:
        """Yield the bytes of the file. Raises Refused, also behind the last of them."""
        # So many bytes at the end may be the beginning of the mark.
        kept = len(self._mark) - 1
        while (at := self._buffer.find(self._mark)) < 0:
            ready = len(self._buffer) - kept
            if ready > 0:
                yield bytes(self._buffer[:ready])
                del self._buffer[:ready]
            self._receive()
        if at:
            yield bytes(self._buffer[:at])
        behind = 0
        for piece in self._pieces:
            behind += memoryview(piece).nbytes
            if behind > _MAX_BEHIND_BYTES:
                raise _malformed("too much follows the file")


def _names(disposition: str) -> tuple[str, str]:
    """Return the names of a field, in lower case, and of its file. Raises Refused."""
    kind, _, _ = disposition.partition(";")
    found = {
        match[1]: match[2] if match[2] is not None else match[3]
        for match in _PARAMETER.finditer(disposition)
    }
    name = found.get("name", "")
    if kind.strip().lower() != "form-data" or not name:
        raise _malformed("a part has Content-Disposition: form-data, and a name")
    # Some browsers send the path on their machine.
    file_name = re.split(r"[/\\]", found.get("filename", ""))[-1]
    return name.lower(), file_name.replace("%22", '"')


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise _malformed("fields are in UTF-8") from None


def _malformed(why: str) -> Refused:
    return Refused(
        "MalformedPOSTRequest", f"The body of your POST request is not well-formed: {why}"
    )
