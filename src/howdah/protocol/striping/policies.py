"""Erasure coding policies: which codec, how many units, how large a cell (pure).

A policy's name is made of the rest (`ErasureCodingPolicy.composePolicyName`): codec, data units,
parity units, KiB of a cell. The five that every Hadoop has go over the wire and into images by
their ids alone; whoever adds one gets an id from 64 on, which is never given again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

KIB: Final = 1024
DEFAULT_CELL_BYTES: Final = 1 << 20
REPLICATION_ID: Final = 0
"""Of files and directories that are replicated on purpose below a directory with a policy."""
REPLICATION_NAME: Final = "replication"
FIRST_USER_ID: Final = 64
MAX_ID: Final = 127
NO_ID: Final = -1
"""Of a policy of which only the name is known, and of one that has no id yet."""
_NAME: Final = re.compile(r"(.+)-([1-9]\d*)-([1-9]\d*)-([1-9]\d*)k", re.ASCII)


@dataclass(frozen=True, slots=True)
class Schema:
    """A codec and its numbers; `options` are a user's, and mean nothing to the codecs."""

    codec: str
    data_units: int
    parity_units: int
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def units(self) -> int:
        """Return how many internal blocks a full group has."""
        return self.data_units + self.parity_units


@dataclass(frozen=True, slots=True)
class Policy:
    """A schema with the length of its cells, and the id that inodes have for it."""

    policy_id: int
    schema: Schema
    cell_bytes: int = DEFAULT_CELL_BYTES

    @property
    def name(self) -> str:
        """Return the name that users know.

        >>> SYSTEM_POLICIES[1].name
        'RS-6-3-1024k'
        """
        schema = self.schema
        cell_kib = self.cell_bytes // KIB
        return f"{schema.codec.upper()}-{schema.data_units}-{schema.parity_units}-{cell_kib}k"


SYSTEM_POLICIES: Final[Mapping[int, Policy]] = {
    policy_id: Policy(policy_id, Schema(codec, data_units, parity_units))
    for policy_id, codec, data_units, parity_units in (
        (1, "rs", 6, 3),
        (2, "rs", 3, 2),
        (3, "rs-legacy", 6, 3),
        (4, "xor", 2, 1),
        (5, "rs", 10, 4),
    )
}


def policy_named(name: str) -> Policy:
    """Return the policy of a name, with the id `NO_ID` unless it is one of the system's. Raises
    `ValueError` for what is no name of a policy.

    >>> policy_named("RS-LEGACY-12-4-64k").schema.data_units
    12
    """
    system = _BY_NAME.get(name)
    if system is not None:
        return system
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} does not say its units and cells, as RS-6-3-1024k does")
    codec, *numbers = match.groups()
    data_units, parity_units, cell_kib = map(int, numbers)
    return Policy(NO_ID, Schema(codec.lower(), data_units, parity_units), cell_kib * KIB)


_BY_NAME: Final = {policy.name: policy for policy in SYSTEM_POLICIES.values()}
