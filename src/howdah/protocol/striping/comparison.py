"""Says which units of a stripe do not fit the others (pure).

As many units as there are data units give all others. More of them are a check: those that are
computed again must be equal. Where they differ, units are left out one by one, then two by two,
until the others agree. With n units more than data units, up to n // 2 wrong ones are found for
certain; of more it is only known that something is wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from howdah.protocol.striping.coder import Coder


def wrong_units(
    coder: Coder, units: Mapping[int, memoryview], certain: Collection[int] = ()
) -> frozenset[int] | None:
    """Return which units do not fit the others, none where all fit; None where it cannot be said
    which ones they are.

    The units are by their indices, all of one length: shorter ones have their zeros. With no more
    of them than there are data units nothing can be compared, and all fit. `certain` ones cannot
    be wrong: the zeros of data blocks that do not exist.
    """
    spare = len(units) - coder.data_units
    if _agree(coder, units, units.keys()):
        return frozenset()
    for count in range(1, spare // 2 + 1):
        for suspects in combinations(sorted(units.keys() - set(certain)), count):
            if _agree(coder, units, units.keys() - set(suspects)):
                return frozenset(suspects)
    return None


def _agree(coder: Coder, units: Mapping[int, memoryview], among: Collection[int]) -> bool:
    """Whether some units are those of one stripe."""
    present = sorted(among)
    used, others = present[: coder.data_units], present[coder.data_units :]
    if not others:
        return True
    length = len(units[used[0]])
    computed = {index: bytearray(length) for index in others}
    coder.decode({index: units[index] for index in used}, computed)
    return all(units[index] == computed[index] for index in others)
