"""What Hadoop 3.5.0's own coders and writers made, in `hadoop_vectors.json`.

Inputs are made by a rule that stands in the file, so that it needs to hold sums alone.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from pathlib import Path
from typing import Any


@functools.cache
def vectors() -> dict[str, Any]:
    """Return the whole file."""
    loaded: dict[str, Any] = json.loads(
        Path(__file__).with_name("hadoop_vectors.json").read_text(encoding="utf-8")
    )
    return loaded


def generated(label: str, length: int) -> bytes:
    """Return bytes by the rule: SHA-512 of the label and the numbers from 0 on."""
    parts = bytearray()
    for number in itertools.count():
        if len(parts) >= length:
            return bytes(parts[:length])
        parts += hashlib.sha512(f"{label} part {number}".encode("ascii")).digest()
    raise AssertionError


def units_of(coder: dict[str, Any], length: int) -> list[bytes]:
    """Return the data units of a coder's vectors."""
    name = f"{coder['codec']}-{coder['data']}-{coder['parity']}"
    return [generated(f"{name} unit {index}", length) for index in range(coder["data"])]
