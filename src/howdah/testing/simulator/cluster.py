"""A simulated cluster, and what happens to it.

    simulation = Simulation(choices, Plan())
    simulation.run(600)     # with faults
    simulation.heal()       # everything is repaired, and what was promised is there

`choices` decides who runs next, which fault comes when, and what each client does.
"""

from __future__ import annotations

from howdah.namenode.state.inodes.inodes import BlockState, File
from howdah.testing.simulator.config import PATH, Stage
from howdah.testing.simulator.fault_rates import Plan
from howdah.testing.simulator.faults import HARMLESS, Faults
from howdah.testing.simulator.history import Violation
from howdah.testing.simulator.nameservice import Nameservice
from howdah.testing.simulator.reading import Reader
from howdah.testing.simulator.tasks import Choices, Steps
from howdah.testing.simulator.workloads import Lives

HEALING_S = 6000
HEALING_STEPS = 100_000


class Simulation:
    """One run."""

    def __init__(self, choices: Choices, plan: Plan) -> None:
        stage = Stage(choices, plan)
        self._stage = stage
        self.world = stage.world
        self.namenode = stage.namenode
        self.counts = stage.counts
        self._choices = stage.choices
        self._plan = stage.plan
        self._lives = Lives(stage)
        self._faults = Faults(stage, self._lives)
        self._table = self._faults.table()

    # --- running ---

    def run(self, steps: int) -> None:
        """So many steps, with faults; and a writer from the start."""
        self._until_joined()
        self._lives.open_another()
        for _ in range(steps):
            self.step()

    def _until_joined(self) -> None:
        registry = self.namenode.inner.namesystem.datanode_manager.datanodes
        for _ in range(2000):
            storages = [s for node in registry.live() for s in node.storages.values()]
            if len(storages) == len(self._stage.nodes) and all(s.reported for s in storages):
                return
            self._step_of_somebody(in_turn=True)
        raise AssertionError("the datanodes don't join")

    def step(self) -> None:
        """A fault, or one step of somebody."""
        if (self._plan.opener or self._plan.disaster) and not self._lives.writer_lives():
            self._lives.open_another()
        number = 1000 - 1 - self._choices.below(1000)
        for weight, name, happen in self._table:
            if number < weight:
                if self._is_allowed(name) and happen():
                    self.counts.faults[name] = self.counts.faults.get(name, 0) + 1
                    self._stage.checks.check()
                return
            number -= weight
        self._step_of_somebody()
        self._stage.checks.check()

    def _is_allowed(self, fault: str) -> bool:
        faults = self.counts.faults
        harm = sum(count for name, count in faults.items() if name not in HARMLESS)
        return fault in HARMLESS or harm < self._plan.most_harm

    def _step_of_somebody(self, *, in_turn: bool = False) -> None:
        runnable = self.world.runnable()
        if not runnable:
            self._let_time_pass()
            return
        index = 0 if in_turn or len(runnable) == 1 else self._choices.below(len(runnable))
        self.world.run(runnable[index])

    def _let_time_pass(self) -> None:
        deadline_ms = self.world.next_deadline_ms()
        now_ms = self.world.now_ms
        self.world.clock.advance(1000 if deadline_ms is None else max(deadline_ms - now_ms, 0))

    # --- the end ---

    def heal(self) -> None:
        """Everything works again, no new writer comes; and all is as it was promised."""
        self._stage.healing = True
        self.world.note("end", "everything is repaired")
        self._stage.network.cuts.clear()
        for node in self._stage.nodes:
            node.disk.failing = 0
            node.process.frozen = False
        if self._faults.failovers is not None:
            self._faults.failovers.heal()
        else:
            self._faults.start_namenode()
        give_up_ms = self.world.now_ms + HEALING_S * 1000
        for _ in range(HEALING_STEPS):
            if self._is_healed():
                break
            if self.world.now_ms > give_up_ms:
                raise Violation(f"after {HEALING_S} s without a fault: {self._hindrance()}")
            for node in self._stage.nodes:
                # One that has announced its restart may end yet.
                if not node.process.alive:
                    node.start()
            if self._faults.failovers is not None:
                self._faults.failovers.heal()  # One that was replaced may have noticed only now.
            self._step_of_somebody()
        else:
            raise Violation(f"after {HEALING_STEPS} steps without a fault: {self._hindrance()}")
        self._stage.checks.check()
        self._check_readable()

    def _file(self) -> File | None:
        inode = self.namenode.inner.namesystem.namespace.find(PATH)
        return inode if isinstance(inode, File) else None

    def _hindrance(self) -> str:
        """What is not as it should be in the end; nothing if it is."""
        namesystem, file = self.namenode.inner.namesystem, self._file()
        if any(client.process.alive for client in (*self._stage.writers, *self._stage.readers)):
            return "a client is at work"
        if len(namesystem.datanode_manager.datanodes.live()) < len(self._stage.nodes):
            return "a datanode is not there"
        if not self.namenode.is_durable:
            return "the namenode writes its log"
        if isinstance(self.namenode, Nameservice) and self.namenode.disagreement():
            return self.namenode.disagreement()
        if file is None:
            return ""
        if file.writer is not None:
            return f"{file.writer} has the file open: {file.blocks}"
        for block in file.blocks:
            if block.state is not BlockState.COMPLETE:
                return f"{block} is not complete"
            if len(block.replicas) < min(file.replication, len(self._stage.nodes)):
                return f"{block} has too few replicas: {block.replicas}"
            if self._plan.replicate and len(block.replicas) > file.replication:
                return f"{block} has too many replicas: {block.replicas}"
        return ""

    def _is_healed(self) -> bool:
        hindrance = self._hindrance()
        return not hindrance or (self._is_at_rest() and self._stage.checks.is_lost(PATH))

    def _is_at_rest(self) -> bool:
        clients = (*self._stage.writers, *self._stage.readers)
        return not any(client.process.alive for client in clients)

    def _check_readable(self) -> None:
        """A reader gets just what the file holds."""
        if self._file() is None or self._stage.checks.is_lost(PATH):
            return
        before = self.namenode.history.files[PATH]
        client = self._stage.client("last-reader")
        done: list[bytes] = []

        def read() -> Steps[None]:
            done.append((yield from Reader(client, PATH).read()))

        task = self.world.spawn(client.process, "main", read())
        for _ in range(HEALING_STEPS):
            if task.done:
                break
            self._step_of_somebody()
        if not done:
            raise Violation("the healed file cannot be read")
        if done[0] != before.base:
            raise Violation(f"the healed file reads {done[0]!r}, not {before.base!r}")
