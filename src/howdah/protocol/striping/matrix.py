"""The matrices of Hadoop's codecs: parity of data, and lost units of others (pure).

All three are linear over `galois`, so each is told by its parity rows: parity unit i is row i
times the data units.

* `rs`: the rows are Cauchy's, 1 / (r xor j) for row r of k..k+m-1 and column j of 0..k-1. That is
  ISA-L's `gf_gen_cauchy1_matrix`.
* `rs-legacy`: parity is the remainder of the data, taken for a polynomial, divided by the product
  of (x - 2^i) for i < m. Data unit j is the coefficient of x^(m+j), parity unit i that of x^i.
* `xor`: a row of ones; there is no second one.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Final

from howdah.protocol.striping import galois

CODECS: Final = ("rs", "rs-legacy", "xor")
MAX_UNITS: Final = 32
"""Data and parity units of a policy; Hadoop's have 16 at the most, and native code has room for
as many inputs."""


@functools.lru_cache(maxsize=64)
def parity_rows(codec: str, data_units: int, parity_units: int) -> tuple[bytes, ...]:
    """Return a row for each parity unit.

    Raises `ValueError` for a codec that is unknown, and for numbers that it cannot have.

    >>> [row.hex() for row in parity_rows("rs", 3, 2)]
    ['f48e01', '47a77a']
    """
    if data_units < 1 or parity_units < 1 or data_units + parity_units > MAX_UNITS:
        raise ValueError(
            f"{codec} of {data_units} data and {parity_units} parity units: there is at least one "
            f"of each, and at most {MAX_UNITS} in all"
        )
    match codec:
        case "rs":
            return _cauchy_rows(data_units, parity_units)
        case "rs-legacy":
            return _remainder_rows(data_units, parity_units)
        case "xor":
            if parity_units != 1:
                raise ValueError(f"xor has one parity unit, and not {parity_units}")
            return (bytes([1] * data_units),)
    raise ValueError(f"{codec!r} is no codec; there are {', '.join(CODECS)}")


def _cauchy_rows(data_units: int, parity_units: int) -> tuple[bytes, ...]:
    return tuple(
        bytes(galois.inverse(row ^ column) for column in range(data_units))
        for row in range(data_units, data_units + parity_units)
    )


def _remainder_rows(data_units: int, parity_units: int) -> tuple[bytes, ...]:
    generator = [1]  # coefficients, that of x^0 first
    for root in range(parity_units):
        shifted = [0, *generator]
        scaled = [galois.multiply(galois.power_of_2(root), value) for value in (*generator, 0)]
        generator = [a ^ b for a, b in zip(shifted, scaled, strict=True)]
    # The remainder of x^(m+j) for each j: that of the power before it, times x.
    remainder = generator[:parity_units]
    columns = [remainder]
    for _ in range(1, data_units):
        highest = remainder[-1]
        remainder = [
            value ^ galois.multiply(highest, own)
            for value, own in zip((0, *remainder[:-1]), generator[:parity_units], strict=True)
        ]
        columns.append(remainder)
    return tuple(map(bytes, zip(*columns, strict=True)))


@functools.lru_cache(maxsize=4096)
def decode_rows(
    codec: str,
    data_units: int,
    parity_units: int,
    present: tuple[int, ...],
    wanted: tuple[int, ...],
) -> tuple[bytes, ...]:
    """Return a row for each wanted unit, over the present ones, whose indices come in any order.

    Units are counted from the first data unit to the last parity unit. Raises `ValueError` unless
    as many different units are present as there are data units, and all indices are right.
    """
    rows = (*galois.identity(data_units), *parity_rows(codec, data_units, parity_units))
    _check_indices(present, len(rows))
    _check_indices(wanted, len(rows))
    if len(present) != data_units:
        raise ValueError(
            f"{data_units} units make the others of {codec}-{data_units}-{parity_units}, and not "
            f"{len(present)}"
        )
    of_data = galois.inverted([rows[index] for index in present])
    return galois.matrix_product([rows[index] for index in wanted], of_data)


def _check_indices(indices: Sequence[int], units: int) -> None:
    if len(set(indices)) != len(indices) or not all(0 <= index < units for index in indices):
        raise ValueError(f"indices {list(indices)} are not different ones of {units} units")
