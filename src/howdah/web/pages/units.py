"""Numbers as people read them (pure)."""

from __future__ import annotations

from datetime import UTC, datetime


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 block`, `1,200 blocks`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def span(seconds: float) -> str:
    """`45 s`, `3 min`, `2 h 5 min`, `4 d 2 h`."""
    whole = max(0, round(seconds))
    if whole < 90:
        return f"{whole} s"
    minutes = round(whole / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days:,} d {hours} h" if hours else f"{days:,} d"


def utc_text(unix_ms: int) -> str:
    """`2026-07-01 12:00:05 UTC`."""
    try:
        return datetime.fromtimestamp(unix_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{unix_ms} ms after 1970"


def full(used_bytes: float, left_bytes: float) -> float:
    """Percent, as `df` counts it: of what can be used, without what the filesystem keeps back."""
    return percent(used_bytes, used_bytes + left_bytes)


def percent(part: float, whole: float) -> float:
    """0 to 100; 0 of nothing."""
    return max(0.0, min(100.0, 100 * part / whole)) if whole > 0 else 0.0
