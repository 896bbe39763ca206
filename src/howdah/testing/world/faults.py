"""What breaks in a cluster, and when: drawn from the seed, and healed again.

A plan of faults is made before anything runs, from a source of chance of its own. So a fault can be
left out without changing what the others are, which is how a failing seed is made smaller
(`FaultPlan.without`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from howdah.testing.world.cluster import CONTROLLER, DATANODE, NAMENODE, Cluster, Server
from howdah.testing.world.network import Stream
from howdah.testing.world.processes import Machine, Process

KILL: Final = "kill"
POWER: Final = "power"
PAUSE: Final = "pause"
CUT: Final = "cut"
ONE_WAY: Final = "one way"
ISOLATE: Final = "isolate"
SLOW_DISK: Final = "slow disk"
HANGING_DISK: Final = "hanging disk"
FULL_DISK: Final = "full disk"
CLOCK: Final = "clock"
SCARCE: Final = "scarce"
BLACKOUT: Final = "blackout"
"""All machines of servers lose their power at one moment: what is promised is on a disk."""

FAILING_DISK: Final = "failing disk"
"""Calls of a disk fail with EIO."""
BIT_ROT: Final = "bit rot"
"""A bit of a replica, or of its checksums, turns over on the disk."""
CLOG: Final = "clog"
"""Machines are cut off one after another, and come back in another order."""
DRIFT: Final = "drift"
"""A wall clock runs faster or slower."""
SPLIT: Final = "split"
"""A machine is cut off from the machines of all other servers, or from those that are no
datanodes; clients reach it."""
RESET: Final = "reset"
"""The connections of a machine break, again and again, and what is under way on them is lost.
Perhaps its wires are slow meanwhile, and much is under way."""
LOSE: Final = "lose"
"""Some messages between a machine and namenodes are lost, each with its connection."""
AWAY: Final = "away"
"""A datanode is down until the namenode has given it up."""
RIVAL: Final = "rival"
"""A failover controller stands still, and no other namenode reaches its own, nor do machines that
the fault may name: another one takes over, while the first one serves on, if it is the active."""

ORDINARY: Final = (
    *(KILL, POWER, PAUSE, CUT, CUT, ONE_WAY, ISOLATE, SLOW_DISK, HANGING_DISK, BLACKOUT, BLACKOUT),
    *(SPLIT, AWAY, RESET),
)
ALL: Final = (*ORDINARY, FULL_DISK, CLOCK, SCARCE, FAILING_DISK, BIT_ROT, CLOG, DRIFT)
KINDS: Final = tuple(dict.fromkeys(ALL))
"""All kinds of faults, by name."""
_PAUSE_S: Final = 3.0
"""The mean time between two faults is half of it."""
_WITHIN_S: Final = 8.0
_SPLIT_NAMENODES: Final = 0.6
"""How often it is a namenode that is split: it may be an active, which does not know."""
_RESETS_S: Final = (0.02, 0.4)
"""So long a machine's connections live meanwhile."""
_LOST: Final = (0.02, 0.5)
"""How likely a message is lost, at least and at most."""
_SLOW_NS: Final = (10_000_000, 100_000_000)
_AWAY_S: Final = (16.0, 40.0)
_JUMP_S: Final = 3600.0
_DRIFT_PPM: Final = 100_000.0
_FAILS: Final = (0.05, 0.3, 1.0)
"""How likely a call of a failing disk fails."""
_SAFE_COPIES: Final = 2
_OPERATIONS: Final = ("read", "write", "sync", "name")
_RESOURCES: Final = ("thread", "open", "socket", "accept", "fork", "memory")


@dataclass(frozen=True, slots=True)
class Fault:
    """Says what breaks, when, and for how long."""

    kind: str
    at_s: float
    duration_s: float
    target: str
    """A server for `kill`, `away`, `pause`, `scarce` and `rival`, else a machine, or more."""
    other: str = ""
    amount: float = 0.0

    def __str__(self) -> str:
        to = f"-{self.other}" if self.other else ""
        return f"{self.kind} {self.target}{to} at {self.at_s:.3f} s for {self.duration_s:.3f} s"


class FaultPlan:
    """Holds faults in their order."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(sorted(faults, key=lambda fault: fault.at_s))

    @classmethod
    def draw(
        cls,
        dice: random.Random,
        cluster: Cluster,
        count: int,
        kinds: Sequence[str] = ORDINARY,
        *,
        only: Collection[str] = (),
    ) -> FaultPlan:
        """Draw so many faults of these kinds, of servers and machines of a cluster. `only` names
        those that they hit, if not all; wires between them and all others may be cut."""
        faults: list[Fault] = []
        at_s = 0.0
        servers = sorted(cluster.servers)
        machines = sorted(cluster.world.machines)
        disks = {server.machine.name for server in cluster.servers.values()}
        # A namenode whose disk was full stays in safe mode until an operator ends that.
        filling = disks - {s.machine.name for s in cluster.servers.values() if s.role is NAMENODE}
        naming = sorted(disks - filling) or sorted(disks)
        storing = sorted(s.machine.name for s in cluster.servers.values() if s.role is DATANODE)
        others = machines
        if only:
            servers, machines = ([n for n in names if n in only] for names in (servers, machines))
            disks &= {*only}
        for _ in range(count):
            at_s += dice.uniform(0.01, _PAUSE_S)
            kind = dice.choice(kinds)
            fault = Fault(kind, at_s, dice.uniform(0.1, _WITHIN_S), "", amount=dice.random())
            if kind == BLACKOUT:
                fault = replace(fault, duration_s=min(fault.duration_s, _WITHIN_S / 4))
            elif kind in (KILL, PAUSE, SCARCE):
                fault = replace(fault, target=dice.choice(servers))
            elif kind in (CUT, ONE_WAY):
                if only:
                    left = dice.choice(machines)
                    right = dice.choice([name for name in others if name != left])
                else:
                    left, right = dice.sample(machines, 2)
                fault = replace(fault, target=left, other=right)
            elif kind == ISOLATE:
                fault = replace(fault, target=dice.choice(machines))
            elif kind == SPLIT:
                among = naming if dice.random() < _SPLIT_NAMENODES else sorted(disks)
                fault = replace(fault, target=dice.choice(among))
            elif kind == AWAY:
                away = [s.name for s in cluster.servers.values() if s.role is DATANODE] or servers
                fault = replace(fault, target=dice.choice(away), duration_s=dice.uniform(*_AWAY_S))
            elif kind == CLOG:
                # In this order they are cut off, and in the other one they come back.
                among = dice.sample(machines, dice.randrange(2, len(machines) + 1))
                order = dice.sample(among, len(among))
                fault = replace(fault, target=",".join(among), other=",".join(order))
            elif kind == BIT_ROT and storing:
                fault = replace(fault, target=dice.choice(storing))
            else:
                possible = filling if kind == FULL_DISK and filling else disks
                fault = replace(fault, target=dice.choice(sorted(possible)))
            if kind in (KILL, POWER):
                fault = replace(fault, duration_s=min(fault.duration_s, _WITHIN_S / 2))
            faults.append(fault)
        return cls(faults)

    def without(self, dropped: Collection[int]) -> FaultPlan:
        """Return the same but for those at these places."""
        return FaultPlan([f for place, f in enumerate(self.faults) if place not in dropped])


class Supervisor:
    """Starts again what has ended, as an init system does, and lets a plan of faults happen."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.world = cluster.world
        self.happened: list[Fault] = []
        self.ended: list[str] = []
        """Servers that ended by themselves."""
        self._is_over = False
        self._dark: set[str] = set()
        self._broken: set[tuple[str, str]] = set()
        """Disks and clocks: the kind of fault, and the machine."""
        self._healing: list[Callable[[], None]] = []
        cluster.ended = self._server_ended

    @property
    def count(self) -> int:
        return len(self.happened)

    def follow(self, plan: FaultPlan) -> None:
        """Let the faults of a plan happen from now on, but for those that the world leaves out."""
        first = self.world.planned_faults
        self.world.planned_faults += len(plan.faults)
        for place, fault in enumerate(plan.faults, first):
            if place not in self.world.left_out:
                self.world.scheduler.after(fault.at_s, partial(self._happen, fault, place))

    def heal(self) -> None:
        """End all faults: wires, disks and clocks are well, and what is down comes up."""
        self._is_over = True
        for heal in list(self._healing):
            heal()
        self.world.network.heal_all()
        for machine in self.world.machines.values():
            machine.start()
        self._dark.clear()
        for server in self.cluster.servers.values():
            self._up(server)

    # -- servers

    def _server_ended(self, server: Server, process: Process) -> None:
        self.ended.append(f"{server.name}={process.status}@{self.world.now_s:.1f}")
        self.world.scheduler.after(1.0, lambda: self._up(server))

    def _up(self, server: Server) -> None:
        if not server.is_up and server.machine.name not in self._dark:
            server.start()

    # -- faults

    def _happen(self, fault: Fault, place: int) -> None:
        if self._is_over:
            return
        undo = self._break(fault)
        if undo is None:
            return
        self.happened.append(fault)
        self.world.faults.append(f"{place}: {fault}")
        self.world.story.record("fault", str(fault))

        def heal() -> None:
            if heal in self._healing:
                self._healing.remove(heal)
                undo()

        self._healing.append(heal)
        self.world.scheduler.after(fault.duration_s, heal)

    def _break(self, fault: Fault) -> Callable[[], None] | None:
        """Do it; how to undo it, or None if it can't happen now."""
        if fault.kind == BLACKOUT:
            return self._black_out()
        if fault.kind == CLOG:
            return self._clog(fault)
        if fault.kind in (KILL, AWAY, PAUSE, SCARCE):
            return self._break_server(fault, self.cluster.servers[fault.target])
        if fault.kind == RIVAL:
            return self._let_rival_in(self.cluster.servers[fault.target], fault.other)
        machine = self.world.machines[fault.target]
        match fault.kind:
            case "power":
                return self._lose_power(machine)
            case "cut":
                return self._cut([(machine, self.world.machines[fault.other])], both=True)
            case "one way":
                return self._cut([(machine, self.world.machines[fault.other])], both=False)
            case "isolate":
                others = [other for other in self.world.machines.values() if other is not machine]
                return self._cut([(machine, other) for other in others], both=True)
            case "split":
                others = self._split_from(machine, with_datanodes=fault.amount < 0.5)
                return self._cut([(machine, other) for other in others], both=True)
        if fault.kind == BIT_ROT:
            return self._let_rot(fault, machine)
        if fault.kind == RESET:
            return self._keep_resetting(fault, machine)
        if fault.kind == LOSE:
            return self._lose_messages(fault, machine)
        return self._break_disk(fault, machine)

    def _break_server(self, fault: Fault, server: Server) -> Callable[[], None] | None:
        process = server.process
        if process is None or process.is_dead or process.is_stopped:
            return None
        if fault.kind in (KILL, AWAY):
            server.kill()
            return lambda: self._up(server)
        if fault.kind == SCARCE:
            resource = _RESOURCES[int(fault.amount * len(_RESOURCES))]
            process.faults[resource] = 0.2
            return process.faults.clear
        process.stop()
        return process.go_on

    def _let_rival_in(self, controller: Server, others: str) -> Callable[[], None] | None:
        process = controller.process
        if process is None or process.is_dead or process.is_stopped:
            return None
        own = controller.machine
        namenodes = [s for s in self.cluster.servers.values() if s.role is NAMENODE]
        away = dict.fromkeys(s.machine for s in namenodes if s.machine is not own)
        away |= dict.fromkeys(self.world.machines[name] for name in others.split(",") if name)
        connect = self._cut([(own, machine) for machine in away], both=True)
        process.stop()

        def undo() -> None:
            connect()
            process.go_on()

        return undo

    def _lose_power(self, machine: Machine) -> Callable[[], None] | None:
        if not machine.has_power:
            return None
        servers = [s for s in self.cluster.servers.values() if s.machine is machine]
        if not servers:
            return None  # the clients' own machine: there would be nothing to look at
        self._dark.add(machine.name)
        self.cluster.power_off(machine)

        def on() -> None:
            self._dark.discard(machine.name)
            machine.start()
            # Controllers come later than the namenodes that they look after.
            for server in sorted(servers, key=lambda s: s.role is CONTROLLER):
                self._up(server)

        return on

    def _black_out(self) -> Callable[[], None]:
        machines = dict.fromkeys(server.machine for server in self.cluster.servers.values())
        undone = [undo for undo in map(self._lose_power, machines) if undo is not None]

        def on() -> None:
            for undo in undone:
                undo()

        return on

    def _cut(self, ways: Sequence[tuple[Machine, Machine]], *, both: bool) -> Callable[[], None]:
        network = self.world.network
        pairs = [(one.address, other.address) for one, other in ways]
        if both:
            pairs += [(other, one) for one, other in pairs]
        for source, target in pairs:
            network.cut(source, target)

        def heal() -> None:
            for source, target in pairs:
                network.heal(source, target)

        return heal

    def _keep_resetting(self, fault: Fault, machine: Machine) -> Callable[[], None]:
        dice = random.Random(f"{fault.amount}")
        is_over: list[bool] = []

        def reset() -> None:
            if is_over:
                return
            for process in list(machine.processes.values()):
                for stream in process.descriptors.descriptions():
                    if isinstance(stream, Stream) and not stream.is_local and stream.is_connected:
                        stream.break_off()
            self.world.scheduler.after(dice.uniform(*_RESETS_S), reset)

        def heal() -> None:
            is_over.append(True)
            self.world.network.slow.pop(machine.address, None)

        if dice.random() < 0.5:
            self.world.network.slow[machine.address] = _SLOW_NS
        reset()
        return heal

    def _lose_messages(self, fault: Fault, machine: Machine) -> Callable[[], None]:
        least, most = _LOST
        chance = least + fault.amount * (most - least)
        lossy = self.world.network.lossy
        namenodes = [s.machine for s in self.cluster.servers.values() if s.role is NAMENODE]
        ways = [(machine.address, other.address) for other in namenodes if other is not machine]
        ways += [(other, one) for one, other in ways]
        lossy.update(dict.fromkeys(ways, chance))

        def heal() -> None:
            for way in ways:
                lossy.pop(way, None)

        return heal

    def _split_from(self, machine: Machine, *, with_datanodes: bool) -> list[Machine]:
        servers = [s for s in self.cluster.servers.values() if s.machine is not machine]
        others = [s for s in servers if with_datanodes or s.role is not DATANODE] or servers
        return list(dict.fromkeys(server.machine for server in others))

    def _clog(self, fault: Fault) -> Callable[[], None]:
        """Cut machines off in the first half of the time, and heal them in the second."""
        names, order = fault.target.split(","), fault.other.split(",")
        cut: dict[str, Callable[[], None]] = {}
        all_machines = self.world.machines.values()

        def clog(name: str) -> None:
            machine = self.world.machines[name]
            if not self._is_over:
                others = [other for other in all_machines if other is not machine]
                cut[name] = self._cut([(machine, other) for other in others], both=True)
                self.world.story.record("fault", f"{name} is clogged")

        def heal(name: str) -> None:
            undo = cut.pop(name, None)
            if undo is not None:
                undo()
                self.world.story.record("fault", f"{name} is not clogged any more")

        step_s = fault.duration_s / (2 * len(names))
        for place, name in enumerate(names):
            self.world.scheduler.after(place * step_s, partial(clog, name))
        for place, name in enumerate(order, len(names)):
            self.world.scheduler.after(place * step_s, partial(heal, name))

        def heal_all() -> None:
            for name in list(cut):
                heal(name)

        return heal_all

    def _let_rot(self, fault: Fault, machine: Machine) -> Callable[[], None] | None:
        """Turn over a bit of a replica of which two other machines have all bytes safe: with more
        faults than that, bytes are lost by right."""
        replicas = {
            (name, other.name): node
            for other in self.world.machines.values()
            for disk in other.mounts.disks()
            for name, node in disk.files("blk_")
        }

        def is_safe(name: str, other: str, data: bytearray) -> bool:
            node = replicas.get((name, other))
            return node is not None and node.safe == data and node.data == data

        possible = [
            (name, node)
            for (name, where), node in replicas.items()
            if where == machine.name
            and node.data
            and sum(is_safe(name, each, node.data) for each in self.world.machines) > _SAFE_COPIES
        ]
        if not possible:
            return None
        dice = random.Random(f"{fault.amount}")
        name, node = dice.choice(sorted(possible, key=lambda each: each[0]))
        bit = dice.randrange(len(node.data) * 8)
        node.flip(bit)
        self.world.story.record("fault", f"bit {bit} of {name} on {machine.name} turns over")
        return lambda: None

    def _break_disk(self, fault: Fault, machine: Machine) -> Callable[[], None] | None:
        # One at a time: the second would be healed to what the first has left.
        key = (fault.kind, machine.name)
        if key in self._broken:
            return None
        self._broken.add(key)
        undo = self._break_part(fault, machine)

        def heal() -> None:
            self._broken.discard(key)
            undo()

        return heal

    def _break_part(self, fault: Fault, machine: Machine) -> Callable[[], None]:
        disks = machine.mounts.disks()
        disk = disks[int(fault.amount * len(disks))]
        if fault.kind == DRIFT:
            machine.wall.drift((fault.amount - 0.5) * 2 * _DRIFT_PPM)

            def run_right() -> None:
                drifted_ns = machine.wall.drift(0.0)
                machine.wall.offset_ns -= drifted_ns

            return run_right
        if fault.kind == FAILING_DISK:
            dice = random.Random(f"{fault.amount}")
            chance = dice.choice(_FAILS)
            failing = dice.sample(_OPERATIONS, dice.randrange(1, len(_OPERATIONS) + 1))
            disk.failing = dict.fromkeys(failing, chance)
            return disk.failing.clear
        if fault.kind == CLOCK:
            jump_s = (fault.amount - 0.5) * 2 * _JUMP_S
            machine.wall.jump(jump_s)

            def set_right() -> None:
                machine.wall.jump(-jump_s)

            return set_right
        if fault.kind == HANGING_DISK:
            disk.hangs_until_ns = self.world.scheduler.now_ns + round(fault.duration_s * 1e9)

            def go_on() -> None:
                disk.hangs_until_ns = 0

            return go_on
        if fault.kind == FULL_DISK:
            capacity_bytes = disk.capacity_bytes
            disk.capacity_bytes = disk.used_bytes

            def empty() -> None:
                disk.capacity_bytes = capacity_bytes

            return empty
        before = disk.sync_range_ns
        disk.sync_range_ns = (before[0] * 50, before[1] * 100)

        def recover() -> None:
            disk.sync_range_ns = before

        return recover
