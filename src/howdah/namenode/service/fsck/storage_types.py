"""`-storagepolicies`: on which types of storage blocks are, and by which policy (pure).

Hadoop's `StoragePolicySummary`. A set of replicas is of the first policy whose types it has,
in order, with the last of them for all further replicas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final

from howdah.formats.edits.edits import StorageKind
from howdah.namenode.state.inodes.storage_policies import ON_THE_WIRE, POLICIES, StoragePolicy

_HEAD: Final = "Storage Policy                  "
_COLUMNS: Final = "# of blocks       % of blocks\n"

_ORDER: Final = (
    StorageKind.RAM_DISK,
    StorageKind.SSD,
    StorageKind.DISK,
    StorageKind.ARCHIVE,
    StorageKind.PROVIDED,
    StorageKind.NVDIMM,
)
"""From the fastest, as Hadoop sorts them."""
_RANKS: Final = {ON_THE_WIRE[kind]: rank for rank, kind in enumerate(_ORDER)}

_Kinds = tuple[int, ...]
"""The types of a block's replicas as ranks, sorted."""


class StorageTypes:
    """The blocks of one run, by the types of their replicas and the policy that they
    should follow."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[_Kinds, StoragePolicy]] = Counter()

    def add(self, storage_types: Sequence[int], policy: StoragePolicy) -> None:
        """The types by their numbers on the wire."""
        kinds = tuple(sorted(_RANKS[number] for number in storage_types if number in _RANKS))
        self._counts[kinds, policy] += 1

    def text(self) -> str:
        total = self._counts.total()
        good, bad = [], []
        for (kinds, wanted), count in self._counts.most_common():
            actual = _policy_of(kinds)
            shown = _listed(kinds) + (f"({actual.name})" if actual is not None else "")
            share = _share(count, total)
            if actual is wanted:
                good.append(f"{shown:<25} {count:10d}  {share:>20}\n")
            else:
                bad.append(f"{shown:<35} {wanted.name:<20} {count:10d}  {share:>20}\n")
        text = (
            f"\nBlocks satisfying the specified storage policy:\n{_HEAD}{_COLUMNS}{''.join(good)}"
        )
        if not bad:
            return f"{text}\nAll blocks satisfy specified storage policy.\n"
        return (
            f"{text}\nBlocks NOT satisfying the specified storage policy:\n"
            f"{_HEAD}Specified Storage Policy      {_COLUMNS}{''.join(bad)}"
        )


def _policy_of(kinds: _Kinds) -> StoragePolicy | None:
    for policy in POLICIES.values():
        wanted = tuple(sorted(_RANKS[ON_THE_WIRE[kind]] for kind in policy.kinds))
        count = len(wanted)
        if len(kinds) >= count and kinds == wanted + wanted[-1:] * (len(kinds) - count):
            return policy
    return None


def _listed(kinds: _Kinds) -> str:
    """`SSD:1,DISK:2`."""
    return ",".join(f"{_ORDER[rank].name}:{count}" for rank, count in Counter(kinds).items())


def _share(count: int, total: int) -> str:
    percent = Decimal(100 * count) / Decimal(total)
    return f"{percent.quantize(Decimal('0.0001'), rounding=ROUND_HALF_EVEN)}%"
