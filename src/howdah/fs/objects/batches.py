"""Several requests in one, as Azure and Google take them: `multipart/mixed` (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from howdah import errors

_STATUS: Final = re.compile(rb"^HTTP/1\.[01] (\d{3})", re.MULTILINE)
_NUMBER: Final = re.compile(rb"^content-id:\s*<?(?:response-)?(\d+)>?\s*$", re.I | re.M)
_CODE: Final = re.compile(rb"^x-ms-error-code:\s*(\w+)", re.I | re.M)


def joined(boundary: str, heads: Iterable[str], *, number: str = "{}") -> bytes:
    """Build the body of a batch. Each head is a request line and its headers; `number` is the
    service's format of a Content-ID."""
    body = "".join(
        f"--{boundary}\r\nContent-Type: application/http\r\n"
        f"Content-Transfer-Encoding: binary\r\nContent-ID: {number.format(place)}\r\n\r\n{head}\r\n"
        for place, head in enumerate(heads)
    )
    return f"{body}--{boundary}--\r\n".encode()


def answers(body: bytes, content_type: str) -> dict[int, tuple[int, str]]:
    """Return the status and, from Azure, the error code of each request of a batch, by its number.
    Requests without numbers are counted in order. Raises `ProtocolViolation`."""
    boundary = content_type.partition("boundary=")[2].partition(";")[0].strip().strip('"')
    if not boundary:
        raise errors.ProtocolViolation("the answer to a batch has no boundary")
    statuses: dict[int, tuple[int, str]] = {}
    parts = [chunk for chunk in body.split(f"--{boundary}".encode())[1:] if _STATUS.search(chunk)]
    for place, part in enumerate(parts):
        status, number, code = _STATUS.search(part), _NUMBER.search(part), _CODE.search(part)
        assert status is not None
        if number is None and len(parts) == 1 and int(status[1]) >= 400 and code is not None:
            raise errors.ProtocolViolation(f"a batch is answered with {int(status[1])} as a whole")
        index = int(number[1]) if number else place
        statuses[index] = int(status[1]), code[1].decode() if code else ""
    return statuses
