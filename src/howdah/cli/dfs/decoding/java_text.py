"""Numbers as Java writes them (pure)."""

from __future__ import annotations

import math
import struct
from decimal import Decimal

_LEAST_PLAIN = 1e-3
_LEAST_POWER = 1e7


def double_text(value: float) -> str:
    """As Double.toString, from Java 19 on: older ones write some numbers with more digits.

    >>> double_text(0.1), double_text(1e10), double_text(1e-5), double_text(100.0)
    ('0.1', '1.0E10', '1.0E-5', '100.0')
    """
    # Of numbers that one digit tells from others Java writes the nearest with two.
    two = f"{value:.1e}"
    return _text(value, two if float(two) == value else repr(value))


def float_text(value: float) -> str:
    """As Float.toString, of a number that has 32 bits.

    >>> float_text(struct.unpack(">f", struct.pack(">f", 0.1))[0])
    '0.1'
    """
    for digits in range(2, 10):
        text = f"{value:.{digits}g}"
        if not math.isfinite(value) or _as_float(text) == value:
            return _text(value, text)
    raise AssertionError("nine digits tell any float apart")


def _as_float(text: str) -> float:
    try:
        number: float = struct.unpack(">f", struct.pack(">f", float(text)))[0]
    except OverflowError:
        return math.inf
    return number


def _text(value: float, shortest: str) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign, digits, exponent = Decimal(shortest).as_tuple()
    assert isinstance(exponent, int), "it is finite"
    minus = "-" if sign else ""
    text = "".join(map(str, digits)).lstrip("0")
    if not text:
        return f"{minus}0.0"
    trimmed = text.rstrip("0")
    exponent += len(text) - len(trimmed)
    point = len(trimmed) + exponent  # digits before the point
    if _LEAST_PLAIN <= abs(value) < _LEAST_POWER:
        if point <= 0:
            return f"{minus}0.{'0' * -point}{trimmed}"
        whole = trimmed[:point].ljust(point, "0")
        return f"{minus}{whole}.{trimmed[point:] or '0'}"
    return f"{minus}{trimmed[0]}.{trimmed[1:] or '0'}E{point - 1}"
