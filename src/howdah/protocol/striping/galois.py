"""The field of 256 elements that Hadoop's coders compute in (pure).

Its polynomial is x^8 + x^4 + x^3 + x^2 + 1 (0x11D), and 2 generates all elements but 0. Addition
is xor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

POLYNOMIAL: Final = 0x11D
ELEMENTS: Final = 256
_ORDER: Final = ELEMENTS - 1

Matrix = Sequence[bytes]
"""Rows of equal length."""


def _powers() -> tuple[bytes, bytes]:
    exponentials, logarithms = bytearray(2 * _ORDER), bytearray(ELEMENTS)
    value = 1
    for exponent in range(_ORDER):
        exponentials[exponent] = exponentials[exponent + _ORDER] = value
        logarithms[value] = exponent
        value <<= 1
        if value >= ELEMENTS:
            value ^= POLYNOMIAL
    return bytes(exponentials), bytes(logarithms)


_EXPONENTIALS, _LOGARITHMS = _powers()


def multiply(a: int, b: int) -> int:
    """Return the product.

    >>> multiply(0x80, 2)
    29
    """
    return _EXPONENTIALS[_LOGARITHMS[a] + _LOGARITHMS[b]] if a and b else 0


def inverse(a: int) -> int:
    """Return what `a` times gives 1. Raises `ZeroDivisionError` for 0."""
    if not a:
        raise ZeroDivisionError("0 has no inverse")
    return _EXPONENTIALS[_ORDER - _LOGARITHMS[a]]


def power_of_2(exponent: int) -> int:
    """Return 2 to the power of a number that is not negative."""
    return _EXPONENTIALS[exponent % _ORDER]


def matrix_product(a: Matrix, b: Matrix) -> tuple[bytes, ...]:
    """Return a times b; a has as many columns as b has rows."""
    columns = list(zip(*b, strict=True))
    return tuple(
        bytes(_dot(row, column) for column in columns)  # one element each
        for row in a
    )


def _dot(row: Sequence[int], column: Sequence[int]) -> int:
    total = 0
    for a, b in zip(row, column, strict=True):
        total ^= multiply(a, b)
    return total


def identity(size: int) -> tuple[bytes, ...]:
    """Return the matrix with ones on its diagonal."""
    return tuple(bytes(int(i == j) for j in range(size)) for i in range(size))


def inverted(matrix: Matrix) -> tuple[bytes, ...]:
    """Return the inverse of a square matrix. Raises `ZeroDivisionError` where there is none."""
    size = len(matrix)
    # Gauss and Jordan: what makes the left half the identity makes the right half the inverse.
    rows = [bytearray(row) + one for row, one in zip(matrix, identity(size), strict=True)]
    for column in range(size):
        pivot = next((i for i in range(column, size) if rows[i][column]), None)
        if pivot is None:
            raise ZeroDivisionError("the matrix has no inverse")
        rows[column], rows[pivot] = rows[pivot], rows[column]
        factor = inverse(rows[column][column])
        rows[column] = bytearray(multiply(factor, value) for value in rows[column])
        for i in range(size):
            if i != column and (factor := rows[i][column]):
                rows[i] = bytearray(
                    value ^ multiply(factor, own)
                    for value, own in zip(rows[i], rows[column], strict=True)
                )
    return tuple(bytes(row[size:]) for row in rows)
