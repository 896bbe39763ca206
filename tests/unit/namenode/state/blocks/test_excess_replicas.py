"""Which replica goes where there are too many (FS-015)."""

from __future__ import annotations

import random
from collections.abc import Sequence

from howdah.namenode.state.blocks.datanodes import (
    Datanode,
    DatanodeIdentity,
    Storage,
    StorageReport,
)
from howdah.namenode.state.blocks.excess_replicas import SILENT_MS, choose_excess, excess_kinds
from howdah.namenode.state.blocks.network import Network
from howdah.namenode.state.blocks.placement import Placement
from howdah.namenode.state.blocks.policies import BY_DEFAULT, Policy

BLOCK_ID = 1
NOW_MS = 1_000_000
DISK, SSD, ARCHIVE = 1, 2, 3


def replica(
    name: str,
    rack: str = "/r",
    *,
    kind: int = DISK,
    free: int = 500,
    domain: str = "",
    silent_ms: int = 0,
) -> Storage:
    node = Datanode(DatanodeIdentity(name, name, name, 9866, 9864, 9867), rack, NOW_MS - silent_ms)
    node.upgrade_domain = domain
    storage = node.storage(f"DS-{name}", kind)
    storage.update(StorageReport(storage.storage_id, kind, False, 1000, 0, free, 0, 0))
    return storage


def chosen(
    live: Sequence[Storage],
    wanted_kinds: Sequence[int] = (DISK, DISK, DISK),
    policy: Policy = BY_DEFAULT,
    candidates: Sequence[Storage] | None = None,
) -> Storage | None:
    network = Network()
    for storage in live:
        network.note(storage.node)
    placing = Placement(network, random.Random(1), policy)
    return choose_excess(
        BLOCK_ID,
        live if candidates is None else candidates,
        live,
        lacking_without=lambda gone: placing.lacking(
            [storage.node for storage in live if storage is not gone], len(live) - 1
        ),
        wanted_kinds=wanted_kinds,
        now_ms=NOW_MS,
    )


def test_the_only_one_of_a_second_rack_stays_however_full_it_is() -> None:
    alone = replica("alone", "/b", free=0)
    rest = [replica("a1", "/a", free=300), replica("a2", "/a"), replica("a3", "/a")]
    assert chosen([alone, *rest]) is rest[0]


def test_with_enough_racks_one_of_the_fullest_rack_goes() -> None:
    live = [replica("a1", "/a", free=0), replica("b1", "/b", free=90), replica("b2", "/b")]
    assert chosen([*live, replica("c1", "/c", free=0)]) is live[1]


def test_a_type_that_the_policy_wants_less_of_goes_first() -> None:
    archive = replica("archive", kind=ARCHIVE, free=900)
    live = [replica("d1", free=0), replica("d2"), replica("d3"), archive]
    assert chosen(live) is archive
    assert excess_kinds(live, [DISK] * 3) == {ARCHIVE}
    assert excess_kinds(live, [ARCHIVE, DISK, DISK]) == {DISK}


def test_racks_are_kept_at_the_cost_of_types() -> None:
    archive = replica("archive", "/b", kind=ARCHIVE)
    live = [replica("a1", "/a", free=100), replica("a2", "/a"), replica("a3", "/a"), archive]
    assert chosen(live) is live[0]


def test_a_datanode_that_has_been_silent_for_a_while_goes_before_a_full_one() -> None:
    silent = replica("silent", free=900, silent_ms=SILENT_MS + 1)
    full = replica("full", free=0, silent_ms=SILENT_MS)
    assert chosen([full, silent, replica("c"), replica("d")]) is silent


def test_the_fullest_storage_goes_among_equals() -> None:
    live = [replica("a", free=300), replica("b", free=100), replica("c", free=200)]
    assert chosen([*live, replica("d", free=400)]) is live[1]


def test_one_that_may_be_deleted_anyway_goes_before_all_others() -> None:
    alone = replica("alone", "/b", free=900)
    alone.node.maybe_invalidated.add(BLOCK_ID)
    rest = [replica(f"a{n}", "/a", free=0) for n in range(3)]
    assert chosen([*rest, alone]) is alone


def test_upgrade_domains_are_kept_where_the_policy_wants_them() -> None:
    live = [
        replica("a", "/a", domain="u1", free=0),
        replica("b", "/b", domain="u2", free=300),
        replica("c", "/b", domain="u2", free=200),
        replica("d", "/b", domain="u3", free=0),
    ]
    assert chosen(live, policy=Policy(domains=3)) is live[2]


def test_there_is_none_among_none() -> None:
    live = [replica("a"), replica("b")]
    assert chosen(live, candidates=[]) is None
    assert chosen(live, candidates=live[1:]) is live[1]
