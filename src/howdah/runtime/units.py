"""Sizes, shares and times in words (pure).

Scripts parse what Hadoop's tools print, so it is Java's to the character; only `iec_size` is for
people alone.
"""

from __future__ import annotations

import struct
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

_PREFIXES: Final = "KMGTPE"
_IEC_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def byte_text(count_bytes: int) -> str:
    """A size with a binary prefix, and two decimals unless it is a round one.

    >>> byte_text(0), byte_text(1 << 20), byte_text(1536), byte_text(-2048)
    ('0 B', '1 MB', '1.50 KB', '-2 KB')
    """
    return f"{_prefixed(count_bytes, Decimal('0.01'))}B"


def human_size(count_bytes: int) -> str:
    """A size as `-h` of FsShell has it: a binary prefix, one decimal unless it is a round one.

    >>> human_size(1536), human_size(1 << 20), human_size(-2048), human_size(568)
    ('1.5 K', '1 M', '-2 K', '568')
    """
    return _prefixed(count_bytes, Decimal("0.1")).rstrip()


def _prefixed(count_bytes: int, decimals: Decimal) -> str:
    """The number, a blank and a prefix, rounded half up unless it is a round one."""
    sign = "-" if count_bytes < 0 else ""
    size = abs(count_bytes)
    if size < 1024:
        return f"{sign}{size} "
    power = min((size.bit_length() - 1) // 10, len(_PREFIXES))
    if size % (1 << 10 * power) == 0:
        return f"{sign}{size >> 10 * power} {_PREFIXES[power - 1]}"
    value = _rounded(size, power, decimals)
    if value >= 1024 and power < len(_PREFIXES):
        power += 1
        value = _rounded(size, power, decimals)
    return f"{sign}{value} {_PREFIXES[power - 1]}"


def _rounded(size: int, power: int, decimals: Decimal) -> Decimal:
    return (Decimal(size) / (1 << 10 * power)).quantize(decimals, rounding=ROUND_HALF_UP)


def iec_size(count_bytes: float) -> str:
    """A size as pages and progress lines have it.

    >>> iec_size(512), iec_size(1536), iec_size(1 << 60)
    ('512 B', '1.5 KiB', '1024.0 PiB')
    """
    value, unit = float(count_bytes), 0
    while abs(value) >= 1024 and unit < len(_IEC_UNITS) - 1:
        value /= 1024
        unit += 1
    return f"{value:.1f} {_IEC_UNITS[unit]}" if unit else f"{value:.0f} B"


def sized(count_bytes: int) -> str:
    """A size in bytes, and once more for people: `1536 (1.50 KB)`."""
    return f"{count_bytes} ({byte_text(count_bytes)})"


def percent_text(share: float) -> str:
    """A share of 100 with two decimals: `37.50%`."""
    if share != share:
        return "NaN%"
    return f"{Decimal(share).quantize(Decimal('0.01'), rounding=ROUND_HALF_UP)}%"


def java_float(value: float) -> str:
    """A number as Java prints its `float`: the fewest digits that tell it from its neighbours.

    >>> java_float(100), java_float(200 / 3), java_float(0.0001), java_float(12_345_678)
    ('100.0', '66.666664', '1.0E-4', '1.2345678E7')
    """
    if value != value:
        return "NaN"
    wanted = struct.pack("f", value)
    digits, exponent = "0", 0
    for count in range(1, 10):
        digits, _, power = f"{struct.unpack('f', wanted)[0]:.{count - 1}e}".partition("e")
        exponent = int(power)
        if struct.pack("f", float(f"{digits}e{exponent}")) == wanted:
            break
    if value == 0 or -3 <= exponent < 7:
        text = format(Decimal(f"{digits}e{exponent}"), "f")
        return text if "." in text else f"{text}.0"
    return f"{digits if '.' in digits else digits + '.0'}E{exponent}"


def java_date(wall_ms: int) -> str:
    """A time in this machine's zone: `Sat Nov 21 06:30:04 UTC 2026`."""
    moment = datetime.fromtimestamp(wall_ms // 1000).astimezone()
    day, month = _DAYS[moment.weekday()], _MONTHS[moment.month - 1]
    return f"{day} {month} {moment:%d %H:%M:%S %Z} {moment.year}"


def file_date(moment: datetime) -> str:
    """A time as part of a name: `2026-Nov-21-06-30-04`."""
    return f"{moment.year}-{_MONTHS[moment.month - 1]}-{moment:%d-%H-%M-%S}"


# Not by strftime, which would ask the locale.
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
)


def duration_text(millis: int) -> str:
    """Days, hours, minutes and seconds: DFSUtil.durationToString.

    >>> duration_text(90_061_999), duration_text(-1000)
    ('001:01:01:01.999', '-000:00:00:01.000')
    """
    minutes, seconds = divmod(abs(millis) // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    sign = "-" if millis < 0 else ""
    return f"{sign}{days:03}:{hours:02}:{minutes:02}:{seconds:02}.{abs(millis) % 1000:03}"


def date_text(millis: int) -> str:
    """A moment of the Unix epoch in local time, by ISO 8601: DFSUtil.dateToIso8601String.
    Milliseconds as they are for a year that has more than four digits."""
    try:
        return f"{datetime.fromtimestamp(millis // 1000).astimezone():%Y-%m-%dT%H:%M:%S%z}"
    except (OverflowError, ValueError, OSError):
        return str(millis)
