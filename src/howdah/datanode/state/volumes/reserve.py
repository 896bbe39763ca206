"""What each volume leaves to others, by Hadoop's calculators (pure).

ReservedSpaceCalculator: bytes (`dfs.datanode.du.reserved`), a percentage of the filesystem
(`….pct`), the larger one of them (conservative) or the smaller one (aggressive). A key may be
followed by a directory and a storage type, by a directory, or by a storage type, as in
`dfs.datanode.du.reserved./data/1.ssd`; the more it says the sooner it counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.config.value_types import parse_int, parse_size

_PACKAGE: Final = "org.apache.hadoop.hdfs.server.datanode.fsdataset.impl.ReservedSpaceCalculator$"
ABSOLUTE: Final = f"{_PACKAGE}ReservedSpaceCalculatorAbsolute"
PERCENTAGE: Final = f"{_PACKAGE}ReservedSpaceCalculatorPercentage"
CONSERVATIVE: Final = f"{_PACKAGE}ReservedSpaceCalculatorConservative"
AGGRESSIVE: Final = f"{_PACKAGE}ReservedSpaceCalculatorAggressive"
CALCULATORS: Final = (ABSOLUTE, PERCENTAGE, CONSERVATIVE, AGGRESSIVE)


@dataclass(frozen=True, slots=True)
class Reserve:
    """Of one volume."""

    absolute_bytes: int = 0
    percent: int = 0
    calculator: str = ABSOLUTE

    def of(self, total_bytes: int) -> int:
        """Bytes, of a filesystem with so many."""
        part_bytes = total_bytes * self.percent // 100
        match self.calculator:
            case name if name == ABSOLUTE:
                return self.absolute_bytes
            case name if name == PERCENTAGE:
                return part_bytes
            case name if name == CONSERVATIVE:
                return max(self.absolute_bytes, part_bytes)
        return min(self.absolute_bytes, part_bytes)


def reserve_of(
    raw: Callable[[str], str | None],
    bytes_key: str,
    percent_key: str,
    calculator: str,
    kind: str,
    directory: str,
) -> Reserve:
    """`raw` gives the text of a key, or None. Raises `InvalidConfiguration`."""

    def value(key: str, parse: Callable[[str], int], most: int) -> int:
        kind_name = kind.lower()
        for name in (f"{key}.{directory}.{kind_name}", f"{key}.{directory}", f"{key}.{kind_name}"):
            text = raw(name)
            if text is not None:
                break
        else:
            name, text = key, raw(key) or "0"
        try:
            number = parse(text)
        except ValueError as error:
            raise errors.InvalidConfiguration(f"{name} = {text!r}: {error}") from error
        if not 0 <= number <= most:
            raise errors.InvalidConfiguration(f"{name} = {text!r} is not between 0 and {most}")
        return number

    return Reserve(
        value(bytes_key, parse_size, (1 << 63) - 1), value(percent_key, parse_int, 100), calculator
    )
