"""Nodes for files and tasks for nodes, over clusters of any shape."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from howdah.spark.locality.nodes import busiest, choose, holders, hosts, shares

nodes = st.sampled_from([f"10.0.0.{n}:9866" for n in range(6)])
replicas = st.lists(nodes, min_size=1, max_size=4, unique=True)
blocks = st.lists(st.tuples(st.integers(0, 1 << 40), replicas), max_size=8)
loads = st.dictionaries(nodes, st.floats(1, 1e15), max_size=6)


@given(blocks)
def test_holders_have_at_least_as_much_as_any_other_node(
    found: list[tuple[int, list[str]]],
) -> None:
    held: Counter[str] = Counter()
    for length, where in found:
        held.update(dict.fromkeys(where, length))
    best = holders(found)
    assert len(set(best)) == len(best)
    if sum(held.values()):
        assert {held[node] for node in best} == {max(held.values())}
        assert all(held[node] < max(held.values()) for node in held if node not in best)
    else:
        assert best == ()


def test_a_node_that_has_two_replicas_of_a_block_has_it_once() -> None:
    assert holders([(5, ["a", "a"]), (6, ["b"])]) == ("b",)


@given(st.binary(), replicas, loads)
def test_the_chosen_node_is_one_with_a_load_and_always_the_same(
    key: bytes, where: list[str], load: dict[str, float]
) -> None:
    chosen = choose(key, where, load)
    known = [node for node in where if node in load]
    assert chosen in known if known else chosen is None
    assert choose(key, list(reversed(where)), load) == chosen


def test_a_node_with_a_replica_of_everything_gets_no_more_than_the_others() -> None:
    # The writer's own node, and two others for each file.
    names = [f"n{number}" for number in range(10)]
    files = [(b"%d" % f, ["n0", names[1 + f % 9], names[1 + (f * 7 + 1) % 9]]) for f in range(9000)]
    load: Counter[str] = Counter()
    for _, where in files:
        load.update(dict.fromkeys(where, 1 / 3))
    got = Counter(choose(key, sorted(set(where)), load) for key, where in files)
    assert set(got) == set(names)
    # A tenth each; by a choice without loads it would be a third for the first.
    assert max(got.values()) < 0.15 * len(files)
    assert min(got.values()) > 0.05 * len(files)


@given(st.dictionaries(nodes, st.floats(1, 1e15), min_size=1), st.integers(0, 60))
def test_parts_are_all_given_away_and_every_node_gets_one(
    work: dict[str, float], more: int
) -> None:
    parts = len(work) + more
    own = shares(work, parts)
    given_away = [n for share in own for n in range(share.first, share.first + share.count)]
    assert given_away == list(range(parts))
    assert {share.node for share in own} == set(work)
    assert all(share.count >= 1 for share in own)


@given(st.dictionaries(nodes, st.floats(1, 1e15), min_size=1), st.integers(0, 60))
def test_no_part_could_go_to_a_node_whose_parts_are_larger(
    work: dict[str, float], more: int
) -> None:
    own = shares(work, len(work) + more)
    for giver in own:
        for taker in own:
            if giver.count > 1:
                size = work[giver.node] / (giver.count - 1)
                assert work[taker.node] / taker.count <= size * (1 + 1e-9)


def test_without_work_nobody_has_parts() -> None:
    assert shares({}, 3) == []


def test_where_nodes_are_too_many_the_busiest_stay() -> None:
    assert busiest({"a": 1, "b": 3, "c": 2}, 2) == {"b": 3, "c": 2}


def test_nodes_of_one_machine_are_one_host() -> None:
    assert hosts(["h1:9866", "h1:9867", "h2:9866"]) == {"h1", "h2"}
