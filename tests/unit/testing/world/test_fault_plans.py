"""Faults are drawn from a seed before anything happens, and can be left out one by one."""

from __future__ import annotations

import random

import pytest

from howdah.testing.world import Process, World
from howdah.testing.world.cluster import DATANODE, NAMENODE, Cluster
from howdah.testing.world.faults import (
    ALL,
    AWAY,
    BIT_ROT,
    CLOCK,
    CLOG,
    CUT,
    DRIFT,
    FAILING_DISK,
    FULL_DISK,
    KILL,
    KINDS,
    ORDINARY,
    RESET,
    SPLIT,
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


def test_clocks_are_right_again_after_jumps_and_drifts_that_overlap(cluster: Cluster) -> None:
    supervisor = Supervisor(cluster)
    wall = cluster.world.machines["dn0"].wall
    supervisor.follow(
        FaultPlan([Fault(DRIFT, 1.0, 5.0, "dn0", amount=0.9), Fault(CLOCK, 2.0, 6.0, "dn0")])
    )
    cluster.world.run_for(3.0)
    drifted_ns = wall.now_ns() - cluster.world.machines["dn1"].wall.now_ns()
    assert -3600e9 < drifted_ns < -3599e9
    cluster.world.run_for(60.0)
    assert supervisor.count == 2
    assert wall.now_ns() == cluster.world.machines["dn1"].wall.now_ns()


def test_a_clogged_network_comes_back_in_another_order(cluster: Cluster) -> None:
    supervisor, network = Supervisor(cluster), cluster.world.network
    one, two, nn = (cluster.world.machines[name].address for name in ("dn0", "dn1", "nn"))
    supervisor.follow(FaultPlan([Fault(CLOG, 0.0, 4.0, "dn0,dn1", "dn0,dn1")]))
    cluster.world.run_for(0.5)
    assert network.gets_through(two, nn)
    assert not network.gets_through(one, nn)
    cluster.world.run_for(1.0)
    assert not network.gets_through(two, nn)
    cluster.world.run_for(1.0)
    assert network.gets_through(one, nn)
    assert not network.gets_through(two, nn)
    cluster.world.run_for(1.0)
    assert not network.cuts


def test_healing_ends_a_clog_before_all_of_it_happened(cluster: Cluster) -> None:
    supervisor = Supervisor(cluster)
    supervisor.follow(FaultPlan([Fault(CLOG, 0.0, 4.0, "dn0,dn1", "dn1,dn0")]))
    cluster.world.run_for(0.5)
    cluster.servers.clear()
    supervisor.heal()
    cluster.world.run_for(9.0)
    assert not cluster.world.network.cuts


def test_a_bit_turns_over_only_where_two_other_machines_have_the_bytes_safe(
    cluster: Cluster,
) -> None:
    cluster.server(DATANODE, "dn2", cluster.world.machine("dn2"))
    supervisor = Supervisor(cluster)
    disks = [cluster.world.machines[f"dn{number}"].disk for number in range(3)]
    nodes = []
    for disk in disks:
        node = disk.new_file(0o644)
        disk.change_names((disk.root, "blk_1", node))
        node.write(0, b"some bytes")
        nodes.append(node)
    rot = FaultPlan([Fault(BIT_ROT, 0.1, 1.0, "dn0", amount=0.3)])
    supervisor.follow(rot)
    cluster.world.run_for(1.0)
    assert supervisor.count == 0
    for node in nodes:
        node.sync()
    supervisor.follow(rot)
    cluster.world.run_for(1.0)
    assert supervisor.count == 1
    differing = [a ^ b for a, b in zip(nodes[0].data, nodes[1].data, strict=True) if a != b]
    assert len(differing) == 1
    assert differing[0].bit_count() == 1
    assert nodes[0].safe == nodes[0].data
    supervisor.follow(FaultPlan([Fault(BIT_ROT, 0.1, 1.0, "dn1", amount=0.3)]))
    cluster.world.run_for(1.0)
    assert supervisor.count == 1


def test_a_disk_fails_for_a_while(cluster: Cluster) -> None:
    supervisor = Supervisor(cluster)
    disk = cluster.world.machines["dn0"].disk
    supervisor.follow(FaultPlan([Fault(FAILING_DISK, 1.0, 2.0, "dn0", amount=0.5)]))
    cluster.world.run_for(2.0)
    assert disk.failing
    cluster.world.run_for(2.0)
    assert not disk.failing


def test_each_kind_of_fault_can_be_drawn_and_healed(cluster: Cluster) -> None:
    for kind in KINDS:
        plan = FaultPlan.draw(random.Random(5), cluster, 3, [kind])
        assert [fault.kind for fault in plan.faults] == [kind] * 3
    supervisor = Supervisor(cluster)
    supervisor.follow(FaultPlan.draw(random.Random(5), cluster, 40, ALL))
    cluster.world.run_for(30.0)
    cluster.servers.clear()
    supervisor.heal()
    assert not cluster.world.network.cuts
    assert not any(machine.disk.failing for machine in cluster.world.machines.values())


def test_a_datanode_has_a_disk_for_each_volume_but_the_first() -> None:
    cluster = Cluster(World(1), {"dfs.datanode.data.dir": "/data,/volume1,/volume2"})
    machine = cluster.world.machine("dn")
    cluster.server(DATANODE, "dn", machine)
    assert len(machine.mounts.disks()) == 3
    assert machine.mounts.disk_of("/data/x") is machine.disk
    assert machine.mounts.disk_of("/volume2/x") is machine.mounts.disks()[2]

    def devices(process: Process) -> set[int]:
        os = process.modules.load("os")
        return {os.stat(path).st_dev for path in ("/", "/volume1", "/volume2")}

    assert len(cluster.world.call(machine, "looker", devices)) == 3


def test_memory_is_short_for_large_buffers_only() -> None:
    world = World(1)

    def read(process: Process) -> None:
        os = process.modules.load("os")
        descriptor = os.open("/file", os.O_RDWR | os.O_CREAT)
        os.write(descriptor, b"x")
        process.faults["memory"] = 1.0
        assert os.pread(descriptor, 100, 0) == b"x"
        with pytest.raises(MemoryError):
            os.pread(descriptor, 1 << 20, 0)

    world.call(world.machine("one"), "reader", read)


def test_a_split_machine_is_reached_by_clients_alone() -> None:
    world = World(1)
    cluster = Cluster(world)
    for name in ("dn0", "dn1"):
        cluster.server(DATANODE, name, world.machine(name))
    world.machine("clients")
    supervisor = Supervisor(cluster)
    supervisor.follow(FaultPlan([Fault(SPLIT, 0.0, 4.0, "dn0")]))
    world.run_for(1.0)
    dn0, dn1, clients = (world.machines[name].address for name in ("dn0", "dn1", "clients"))
    assert not world.network.gets_through(dn0, dn1)
    assert not world.network.gets_through(dn1, dn0)
    assert world.network.gets_through(clients, dn0)
    world.run_for(4.0)
    assert not world.network.cuts


def test_a_datanode_that_is_away_is_so_for_longer_than_it_may_be_silent(cluster: Cluster) -> None:
    plan = FaultPlan.draw(random.Random(3), cluster, 20, [AWAY])
    assert {fault.target for fault in plan.faults} == {"dn0", "dn1"}
    heartbeats_s = 2 * 2.0 + 10 * 1.0
    assert min(fault.duration_s for fault in plan.faults) > heartbeats_s


def test_connections_of_a_machine_break_and_work_again_afterwards() -> None:
    world = World(1)
    cluster = Cluster(world)
    cluster.server(DATANODE, "dn0", world.machine("dn0"))
    clients = world.machine("clients")
    broken: list[str] = []

    def listen(process: Process) -> None:
        socket = process.modules.load("socket")
        server = socket.create_server(("0.0.0.0", 9000))
        while True:
            connection, _ = server.accept()
            try:
                while connection.recv(10):
                    connection.sendall(b"answer")
            except OSError as error:
                broken.append(f"server: {error.strerror}")

    def call(process: Process) -> float:
        socket, time = process.modules.load("socket"), process.modules.load("time")
        began_s = time.monotonic()
        while time.monotonic() - began_s < 10.0:
            try:
                with socket.create_connection(("dn0", 9000)) as connection:
                    while time.monotonic() - began_s < 10.0:
                        connection.sendall(b"question")
                        assert connection.recv(10)
                        time.sleep(0.01)
            except OSError as error:
                broken.append(f"client: {error.strerror}")
        return float(time.monotonic() - began_s)

    world.process(world.machines["dn0"], "listener").start(listen)
    supervisor = Supervisor(cluster)
    supervisor.follow(FaultPlan([Fault(RESET, 1.0, 3.0, "dn0")]))
    world.call(clients, "caller", call)
    assert "client: Connection reset by peer" in broken
    assert "server: Connection reset by peer" in broken
    assert 4 < len(broken) < 2 * 3.0 / 0.02
