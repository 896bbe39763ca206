"""Bytes on their way between a connection and a file."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.gateway.transfers import _pour


class Output:
    closed = False

    def get_pos(self) -> int:
        return 0

    def write(self, data: bytes) -> None:
        raise AssertionError("nothing comes")

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    "failure", [errors.IllegalArgument("no"), RuntimeError("a defect"), OSError("ended")]
)
def test_file_is_closed_whatever_ends_its_body(failure: Exception) -> None:
    """The client of a gateway lives on, and renews the leases of all files that are open."""

    class Body:
        def read(self) -> bytes:
            raise failure

    out, body = Output(), Body()
    untyped: Any = _pour
    with pytest.raises(type(failure)):
        untyped(body, out, "/f")
    assert out.closed
