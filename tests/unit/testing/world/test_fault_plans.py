"""Faults are drawn from a seed before anything happens, and can be left out one by one."""

from __future__ import annotations

import random

import pytest

from howdah.testing.world import World
from howdah.testing.world.cluster import DATANODE, NAMENODE, Cluster
from howdah.testing.world.faults import (
    CUT,
    FULL_DISK,
    KILL,
    ORDINARY,
    Fault,
    FaultPlan,
    Supervisor,
)


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster(World(1))
    for role, name in (NAMENODE, "nn"), (DATANODE, "dn0"), (DATANODE, "dn1"):
        made.server(role, name, made.world.machine(name))
    return made


def test_a_seed_draws_the_same_faults(cluster: Cluster) -> None:
    first, second = (FaultPlan.draw(random.Random(7), cluster, 20) for _ in range(2))
    assert first.faults == second.faults
    assert {fault.kind for fault in first.faults} <= {*ORDINARY}
    assert len(first.faults) == 20


def test_a_fault_that_is_left_out_changes_no_other(cluster: Cluster) -> None:
    plan = FaultPlan.draw(random.Random(7), cluster, 5)
    assert plan.without({1, 3}).faults == (plan.faults[0], plan.faults[2], plan.faults[4])


def test_wires_are_whole_again_after_a_while(cluster: Cluster) -> None:
    supervisor = Supervisor(cluster)
    supervisor.follow(FaultPlan.draw(random.Random(3), cluster, 4, [CUT]))
    cluster.world.run_for(60.0)
    assert supervisor.count == 4
    assert not cluster.world.network.cuts


def test_healing_ends_all_faults_at_once(cluster: Cluster) -> None:
    supervisor = Supervisor(cluster)
    capacities = [m.disk.capacity_bytes for m in cluster.world.machines.values()]
    supervisor.follow(FaultPlan.draw(random.Random(3), cluster, 4, [CUT, FULL_DISK]))
    cluster.world.run_for(3.0)
    cluster.servers.clear()  # which would come up
    supervisor.heal()
    assert not cluster.world.network.cuts
    assert [m.disk.capacity_bytes for m in cluster.world.machines.values()] == capacities
    count = supervisor.count
    cluster.world.run_for(60.0)
    assert supervisor.count == count


def test_who_does_not_run_is_not_killed(cluster: Cluster) -> None:
    supervisor = Supervisor(cluster)
    supervisor.follow(FaultPlan.draw(random.Random(3), cluster, 4, [KILL]))
    cluster.world.run_for(60.0)
    assert supervisor.count == 0


def test_the_world_says_which_faults_do_not_happen() -> None:
    world = World(1, left_out=[0, 1])
    cluster = Cluster(world)
    for name in ("one", "two"):
        cluster.server(DATANODE, name, world.machine(name))
    supervisor = Supervisor(cluster)
    supervisor.follow(FaultPlan.draw(random.Random(3), cluster, 3, [CUT]))
    world.run_for(60.0)
    assert (world.planned_faults, supervisor.count) == (3, 1)


def test_two_faults_of_a_disk_at_a_time_leave_nothing_behind(cluster: Cluster) -> None:
    supervisor = Supervisor(cluster)
    before = [m.disk.capacity_bytes for m in cluster.world.machines.values()]
    both = [Fault(FULL_DISK, at_s, 5.0, "dn0") for at_s in (1.0, 2.0)]
    supervisor.follow(FaultPlan(both))
    cluster.world.run_for(60.0)
    assert supervisor.count == 1
    assert [m.disk.capacity_bytes for m in cluster.world.machines.values()] == before
