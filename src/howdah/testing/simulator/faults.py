"""What happens to a simulated cluster: bad luck, repairs, and time.

Each method makes one thing happen, and says whether it could.
"""

from __future__ import annotations

from collections.abc import Callable

from howdah.testing.simulator.clients import Client
from howdah.testing.simulator.config import HARD_LIMIT_S, PATH, SOFT_LIMIT_S, Stage
from howdah.testing.simulator.datanodes.datanode import Datanode
from howdah.testing.simulator.failovers import Failovers
from howdah.testing.simulator.namenode import Namenode
from howdah.testing.simulator.nameservice import Nameservice
from howdah.testing.simulator.tasks import Steps
from howdah.testing.simulator.workloads import Lives

HARMLESS = (
    *("restart", "thaw", "mend", "start_namenode", "elect", "end_stale", "thaw_namenode"),
    *("reader", "opener", "time"),
)
_JUMPS_S = (1, 1, 1, 5, 5, 30, SOFT_LIMIT_S + 5, HARD_LIMIT_S + 5)


class Faults:
    """The fate of the servers and of the network."""

    def __init__(self, stage: Stage, lives: Lives) -> None:
        self._stage = stage
        self._world = stage.world
        self._choices = stage.choices
        self._plan = stage.plan
        self._lives = lives
        self.failovers = (
            Failovers(stage.namenode, stage.choices, stage.checks.forget_block_stamps)
            if isinstance(stage.namenode, Nameservice)
            else None
        )

    def table(self) -> list[tuple[int, str, Callable[[], bool]]]:
        """All that may happen: how often in a thousand steps, its name, and what does it."""
        plan = self._plan
        return [
            (plan.kill, "kill", self._kill),
            (plan.restart, "restart", self._restart),
            (plan.freeze, "freeze", self._freeze),
            (plan.thaw, "thaw", self._thaw),
            (plan.cut, "cut", self._cut),
            (plan.mend, "mend", self._mend),
            (plan.reset, "reset", self._reset),
            (plan.power, "power", self._cut_power),
            (plan.storm, "storm", self._storm),
            (plan.disaster, "disaster", self._disaster),
            (plan.disk, "disk", self._fail_disk),
            (plan.announce, "announce", self._announce),
            (plan.kill_writer, "kill_writer", self._kill_writer),
            (plan.kill_namenode, "kill_namenode", self._kill_namenode),
            (plan.stop_namenode, "stop_namenode", self._stop_namenode),
            (plan.start_namenode, "start_namenode", self.start_namenode),
            (plan.time, "time", self._jump),
            (plan.reader, "reader", self._lives.read_once),
            (plan.opener, "opener", self._lives.open_another),
            (plan.replicate, "replicate", self._replicate),
            *self._table_of_failovers(),
        ]

    def _table_of_failovers(self) -> list[tuple[int, str, Callable[[], bool]]]:
        plan, failovers = self._plan, self.failovers
        if failovers is None:
            return []
        return [
            (plan.take_over, "take_over", failovers.take_over),
            (plan.hand_over, "hand_over", failovers.hand_over),
            (plan.elect, "elect", failovers.elect),
            (plan.end_stale, "end_stale", failovers.end_stale),
            (plan.freeze_namenode, "freeze_namenode", failovers.freeze),
            (plan.thaw_namenode, "thaw_namenode", failovers.thaw),
        ]

    def _replicate(self) -> bool:
        """Somebody wants another number of replicas; and disks are filled by others, so that
        namenodes choose others when some are in excess."""
        if PATH not in self._stage.namenode.history.files:
            return False
        for node in self._stage.nodes:
            node.used_bytes = self._choices.below(1000)
        replication = 1 + self._choices.below(len(self._stage.nodes))
        client = self._stage.client("administrator")

        def replicate() -> Steps[None]:
            yield from client.call(lambda namenode: namenode.set_replication(PATH, replication))
            self._world.note(client.name, f"wants {replication} replicas")

        self._world.spawn(client.process, "main", replicate())
        return True

    def _some(self, nodes: list[Datanode]) -> Datanode | None:
        return nodes[self._choices.below(len(nodes))] if nodes else None

    def _up(self) -> list[Datanode]:
        cut = {host for pair in self._stage.network.cuts for host in pair}
        return [node for node in self._stage.nodes if node.process.runs and node.name not in cut]

    def _victim(self) -> Datanode | None:
        up = self._up()
        return self._some(up) if len(up) > len(self._stage.nodes) - self._plan.most_down else None

    def _kill(self) -> bool:
        node = self._victim()
        if node is None:
            return False
        self._world.note(node, "is killed")
        node.kill()
        return True

    def _restart(self) -> bool:
        node = self._some([node for node in self._stage.nodes if not node.process.alive])
        if node is None:
            return False
        self._world.note(node, "starts")
        node.start()
        return True

    def _freeze(self) -> bool:
        node = self._victim()
        if node is None:
            return False
        self._world.note(node, "freezes")
        node.process.frozen = True
        return True

    def _thaw(self) -> bool:
        node = self._some([n for n in self._stage.nodes if n.process.alive and n.process.frozen])
        if node is None:
            return False
        self._world.note(node, "thaws")
        node.process.frozen = False
        return True

    def _hosts(self, node: Datanode) -> list[str]:
        """Whom it may be cut off from."""
        others = [other.name for other in self._stage.nodes if other is not node]
        writers = [writer.name for writer in self._stage.writers if writer.process.alive]
        return [*others, *(member.name for member in self._stage.namenode.members), *writers]

    def _cut(self) -> bool:
        node = self._victim()
        if node is None:
            return False
        hosts = self._hosts(node)
        other = hosts[self._choices.below(len(hosts))]
        self._world.note(node, f"is cut off from {other}")
        self._stage.network.cuts.add(frozenset((node.name, other)))
        return True

    def _mend(self) -> bool:
        if not self._stage.network.cuts:
            return False
        pairs = sorted(self._stage.network.cuts, key=sorted)
        pair = pairs[self._choices.below(len(pairs))]
        self._world.note("network", f"{' and '.join(sorted(pair))} reach each other again")
        self._stage.network.cuts.discard(pair)
        return True

    def _reset(self) -> bool:
        node = self._stage.nodes[self._choices.below(len(self._stage.nodes))]
        hosts = self._hosts(node)
        other = hosts[self._choices.below(len(hosts))]
        count = self._stage.network.break_between(node.name, other)
        if count:
            self._world.note("network", f"{count} connections of {node} and {other} break")
        return count > 0

    def _cut_power(self) -> bool:
        node = self._victim()
        if node is None:
            return False
        self._lose_power(node)
        return True

    def _lose_power(self, node: Datanode) -> None:
        self._world.note(node, "loses its power")
        node.kill()
        blocks = set(node.disk.names)
        node.disk.cut_power(self._choices)
        self._stage.checks.power_was_cut(node, blocks)

    def _storm(self) -> bool:
        """They may be back at once, as machines are that share a switch, or a script."""
        up = [node for node in self._stage.nodes if node.process.runs]
        for node in up:
            how = self._choices.below(3)
            if how == 0:
                continue
            if how == 2 and self._plan.power:
                self._lose_power(node)
            else:
                self._world.note(node, "is killed with others")
                node.kill()
            if self._choices.below(2) == 1:
                self._world.note(node, "starts")
                node.start()
        return True

    def _disaster(self) -> bool:
        if not any(self._stage.checks.streams[w.name].promised.written for w in self._writing()):
            return False
        for writer in self._writing():
            self._world.note(writer.name, "dies")
            self._world.kill(writer.process)
        self._storm()
        if self._choices.below(3) == 2 and self._plan.kill_namenode:
            self._kill_namenode()
        return True

    def _writing(self) -> list[Client]:
        return [
            w
            for w in self._stage.writers
            if w.process.alive and w.name in self._stage.checks.streams
        ]

    def _fail_disk(self) -> bool:
        node = self._victim()
        if node is None:
            return False
        self._world.note(node, "will fail a write")
        node.disk.failing = 1
        return True

    def _announce(self) -> bool:
        node = self._victim()
        if node is None:
            return False
        self._world.note(node, "announces that it restarts")
        node.announce_restart()

        def die() -> Steps[None]:
            yield from self._world.sleep(1.0)
            if node.process is process:
                self._world.note(node, "ends to restart")
                node.kill()

        process = node.process
        self._world.spawn(process, "the end", die())
        return True

    def _kill_writer(self) -> bool:
        writers = [writer for writer in self._stage.writers if writer.process.alive]
        if not writers:
            return False
        writer = writers[self._choices.below(len(writers))]
        self._world.note(writer.name, "is killed")
        self._world.kill(writer.process)
        return True

    def _kill_namenode(self) -> bool:
        if self.failovers is not None:
            return self.failovers.kill()
        assert isinstance(self._stage.namenode, Namenode), "there is but one"
        if not self._stage.namenode.process.alive:
            return False
        self._world.note("namenode", "is killed")
        self._stage.namenode.kill()
        return True

    def _stop_namenode(self) -> bool:
        assert isinstance(self._stage.namenode, Namenode), "there is but one"
        if not self._stage.namenode.process.alive:
            return False
        self._world.note("namenode", "stops in order")
        self._stage.namenode.stop()
        return True

    def start_namenode(self) -> bool:
        if self.failovers is not None:
            return self.failovers.start()
        assert isinstance(self._stage.namenode, Namenode), "there is but one"
        if self._stage.namenode.process.alive:
            return False
        self._world.note("namenode", "starts")
        self._stage.namenode.start()
        self._stage.checks.forget_block_stamps()
        return True

    def _jump(self) -> bool:
        seconds = _JUMPS_S[self._choices.below(len(_JUMPS_S))]
        self._world.note("clock", f"{seconds} s pass while everybody waits")
        self._world.clock.advance(seconds * 1000)
        return True
