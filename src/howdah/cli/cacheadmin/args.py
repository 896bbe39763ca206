"""What words of `cacheadmin` stand for: times to live."""

from __future__ import annotations

from typing import Final

from howdah.cli.arguments.admin_commands import Nonsense, Words, Wrong, number_of
from howdah.fs.hdfs.caching import NEVER_MS

_UNITS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def ttl_ms_of(words: Words, option: str) -> int | None:
    """Milliseconds of "30m" and the like."""
    text = words.value(option)
    if text is None:
        return None
    if text.lower() == "never":
        return NEVER_MS
    said = f"Error while parsing {option[1:]} value: Unable to parse relative time value of {text}"
    if len(text) < 2:
        raise Wrong(f"{said}: too short")
    number, unit = text[:-1], text[-1]
    try:
        value = number_of(number)
    except Nonsense:
        raise Wrong(f"{said}: {number} is not a number") from None
    if unit not in _UNITS:
        raise Wrong(f"{said}: unknown time unit {unit}")
    return value * _UNITS[unit]
