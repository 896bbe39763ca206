"""Products of matrices and units in the standard library, where the kernel is missing (pure).

A product with a constant is a translation of bytes, and a sum of units is the xor of two long
numbers: both are done in C by Python itself, at a few hundred MB/s.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from howdah.protocol.striping import galois

if TYPE_CHECKING:
    from typing_extensions import Buffer

PRODUCT_METHODS: Final = ("python",)
_PIECE_BYTES: Final = 64 << 10
"""Longer numbers are no quicker, and this bounds what is allocated."""


@functools.cache  # of 256 numbers
def _table(coefficient: int) -> bytes:
    return bytes(galois.multiply(coefficient, value) for value in range(galois.ELEMENTS))


def multiply_units(
    rows: Buffer, inputs: Sequence[Buffer], outputs: Sequence[Buffer], method: int, /
) -> None:
    """As the kernel's: byte p of output i becomes the sum of rows[i][j] times inputs[j][p].

    `rows` has the coefficients of one output after those of another. Inputs may be shorter than
    the outputs, as if zeros followed. Raises `ValueError` where sizes do not fit together,
    `BufferError` for an output that is read-only.
    """
    if method != 0:
        raise ValueError(f"there is no method {method}")
    coefficients = bytes(rows)
    sources = [memoryview(unit).cast("B") for unit in inputs]
    targets = [memoryview(unit).cast("B") for unit in outputs]
    _check(coefficients, sources, targets)
    length = len(targets[0]) if targets else 0
    for start in range(0, length, _PIECE_BYTES):
        end = min(start + _PIECE_BYTES, length)
        pieces = [bytes(source[start:end]) for source in sources]
        for i, target in enumerate(targets):
            total = 0
            for j, piece in enumerate(pieces):
                coefficient = coefficients[i * len(sources) + j]
                if coefficient and piece:
                    product = piece if coefficient == 1 else piece.translate(_table(coefficient))
                    total ^= int.from_bytes(product, "little")
            target[start:end] = total.to_bytes(end - start, "little")


def _check(
    coefficients: bytes, sources: Sequence[memoryview], targets: Sequence[memoryview]
) -> None:
    if len(coefficients) != len(sources) * len(targets):
        raise ValueError(
            f"{len(coefficients)} coefficients are not {len(targets)} rows of {len(sources)}"
        )
    for i, target in enumerate(targets):
        if target.readonly:
            raise BufferError(f"output {i} is read-only")
        if len(target) != len(targets[0]):
            raise ValueError(f"outputs have {len(targets[0])} and {len(target)} bytes")
        for j, source in enumerate(sources):
            if len(source) > len(target):
                raise ValueError(
                    f"input {j} has {len(source)} bytes, and outputs have {len(target)}"
                )
