"""Which units of a stripe do not fit the others."""

from __future__ import annotations

import random

import pytest

from howdah.protocol.striping.coder import Coder
from howdah.protocol.striping.comparison import wrong_units

LENGTH = 100


def stripe(coder: Coder) -> dict[int, memoryview]:
    dice = random.Random(7)
    data = [bytearray(dice.randbytes(LENGTH)) for _ in range(coder.data_units)]
    parity = [bytearray(LENGTH) for _ in range(coder.parity_units)]
    coder.encode(data, parity)
    return {index: memoryview(unit) for index, unit in enumerate([*data, *parity])}


@pytest.mark.parametrize("codec", ["rs", "rs-legacy"])
@pytest.mark.parametrize("wrong", range(5))
def test_one_wrong_unit_is_found_wherever_it_is(codec: str, wrong: int) -> None:
    coder = Coder(codec, 3, 2)
    units = stripe(coder)
    assert wrong_units(coder, units) == frozenset()
    units[wrong][LENGTH - 1] ^= 1
    assert wrong_units(coder, units) == frozenset({wrong})


def test_two_wrong_units_are_found_with_four_of_parity() -> None:
    coder = Coder("rs", 10, 4)
    units = stripe(coder)
    units[2][5] ^= 9
    units[13][6] ^= 9
    assert wrong_units(coder, units) == frozenset({2, 13})


@pytest.mark.parametrize(("codec", "data", "parity"), [("xor", 2, 1), ("rs", 6, 3)])
def test_it_is_not_said_which_units_are_wrong_where_it_cannot_be_known(
    codec: str, data: int, parity: int
) -> None:
    coder = Coder(codec, data, parity)
    units = stripe(coder)
    units[0][0] ^= 1
    units[1][1] ^= 1
    assert wrong_units(coder, units) is None


def test_what_is_missing_leaves_less_to_compare() -> None:
    coder = Coder("rs", 3, 2)
    units = stripe(coder)
    units[1][3] ^= 1
    del units[4]
    assert wrong_units(coder, units) is None
    del units[0]
    assert wrong_units(coder, units) == frozenset()
