"""A simulated cluster, and what happens to it (pure).

    simulation = Simulation(choices, Plan())
    simulation.run(600)     # with faults
    simulation.heal()       # everything is repaired, and what was promised is there

`choices` decides who runs next, which fault comes when, and what each client does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from howdah import errors
from howdah.client.settings.pipeline_rules import PipelineRules, ReplacementPolicy
from howdah.namenode.calls.core import Settings
from howdah.namenode.inodes.inodes import BlockState, File
from howdah.options import CreateFlag
from howdah.testing.in_memory import ManualClock
from howdah.testing.simulator.checks import Checks
from howdah.testing.simulator.clients import Client
from howdah.testing.simulator.datanode import Datanode
from howdah.testing.simulator.failovers import Failovers
from howdah.testing.simulator.history import Violation
from howdah.testing.simulator.namenode import Namenode
from howdah.testing.simulator.nameservice import Nameservice
from howdah.testing.simulator.network import Network
from howdah.testing.simulator.reading import Reader
from howdah.testing.simulator.tasks import Choices, Steps, World
from howdah.testing.simulator.writing import OpenFile, OutputStream

PATH = "/file"
BLOCK_BYTES = 32
SOFT_LIMIT_S = 60
HARD_LIMIT_S = 240
HEALING_S = 6000
HEALING_STEPS = 100_000
PATTERN = bytes(range(1, 251))
_JUMPS_S = (1, 1, 1, 5, 5, 30, SOFT_LIMIT_S + 5, HARD_LIMIT_S + 5)
_HARMLESS = (
    *("restart", "thaw", "mend", "start_namenode", "elect", "end_stale", "thaw_namenode"),
    *("reader", "opener", "time"),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What may happen, and how often: per thousand steps, while there is somebody to hit."""

    nodes: int = 4
    replication: int = 3
    kill: int = 4
    restart: int = 12
    freeze: int = 4
    thaw: int = 12
    cut: int = 4
    mend: int = 12
    reset: int = 6
    power: int = 0
    storm: int = 2
    """Several datanodes at once are killed, and, where power fails, may lose it."""
    disaster: int = 0
    """A storm, and the writers die in it, and maybe the namenode."""
    disk: int = 2
    announce: int = 2
    kill_writer: int = 3
    kill_namenode: int = 1
    stop_namenode: int = 1
    start_namenode: int = 50
    namenodes: int = 1
    take_over: int = 0
    """The standby replaces an active that does not know it."""
    hand_over: int = 0
    elect: int = 0
    """One becomes active, where none is."""
    end_stale: int = 0
    freeze_namenode: int = 0
    thaw_namenode: int = 0
    replicate: int = 0
    """The file is to have more replicas, or fewer."""
    time: int = 10
    reader: int = 8
    opener: int = 6
    most_down: int = 2
    """So many datanodes are killed, frozen or cut off at a time."""
    most_harm: int = 1000
    """So often anything goes wrong at all."""
    most_writers: int = 3
    actions: int = 14
    """What one writer does at most before it closes."""


CALM = Plan(
    kill=0,
    freeze=0,
    cut=0,
    reset=0,
    storm=0,
    disk=0,
    announce=0,
    kill_writer=0,
    kill_namenode=0,
    stop_namenode=0,
    time=0,
    opener=0,
)
"""Nothing goes wrong, and there is one writer; the order of things is left to chance."""

ONE_FAILS = replace(CALM, kill=10, freeze=3, cut=3, disk=3, announce=3, most_harm=1)
"""One datanode dies, freezes, or fails otherwise, once; and maybe comes back."""

POWER = Plan(power=5, kill=2, freeze=2, cut=2, storm=4)
"""Also machines that lose their power, and with it what they have not synced."""

TAKEOVERS = replace(
    CALM, disaster=4, restart=40, freeze=2, thaw=4, reset=4, kill_namenode=1, start_namenode=100
)
"""Writers die with datanodes around them, in one moment, and others take the file over."""

AMNESIA = replace(TAKEOVERS, disaster=6, power=1, kill_namenode=4)
"""Power and the namenode fail as well, which forgets lengths: datanodes alone know them."""


FAILOVER = Plan(
    namenodes=2,
    take_over=4,
    hand_over=2,
    elect=40,
    end_stale=15,
    freeze_namenode=2,
    thaw_namenode=20,
    kill_namenode=2,
    stop_namenode=0,
    start_namenode=30,
    replicate=5,
    kill=2,
    freeze=2,
    cut=2,
    disk=1,
    storm=1,
)
"""Two namenodes take over from each other, with and without knowing, while all goes on."""


@dataclass(slots=True)
class Counts:
    """What came of a run: to see that runs are not about nothing."""

    faults: dict[str, int] = field(default_factory=dict)
    flushes: int = 0
    syncs: int = 0
    closes: int = 0
    reads: int = 0
    failed_reads: int = 0
    failed_writers: int = 0
    takeovers: int = 0


class Simulation:
    """One run."""

    def __init__(self, choices: Choices, plan: Plan) -> None:
        self.plan = plan
        self.choices = choices
        self.counts = Counts()
        clock = ManualClock()
        self.world = World(clock, choices)
        self.network = Network(self.world)
        kind = Namenode if plan.namenodes == 1 else Nameservice
        self.namenode: Namenode | Nameservice = kind(
            self.world,
            self.network,
            Settings(
                "",
                default_replication=plan.replication,
                block_size_bytes=BLOCK_BYTES,
                min_block_size_bytes=4,
                bytes_per_checksum=4,
                heartbeat_expiry_ms=120_000,
                stale_datanode_ms=30_000,
                lease_soft_limit_ms=SOFT_LIMIT_S * 1000,
                lease_hard_limit_ms=HARD_LIMIT_S * 1000,
                block_recovery_timeout_ms=20_000,
                safe_mode_extension_ms=3_000,
                pending_copy_ms=60_000,
            ),
            clock,
        )
        self.nodes = [
            Datanode(self.world, self.network, self.namenode, number)
            for number in range(plan.nodes)
        ]
        self.datanodes = {node.address.transfer_address: node for node in self.nodes}
        for node in self.nodes:
            node.peers = self.datanodes
        self.checks = Checks(self.namenode, self.nodes)
        self.failovers = (
            Failovers(self.namenode, choices, self.checks.forget_block_stamps)
            if isinstance(self.namenode, Nameservice)
            else None
        )
        self.writers: list[Client] = []
        self.readers: list[Client] = []
        self.healing = False
        self._clients = 0
        self._faults = self._table()

    # --- running ---

    def run(self, steps: int) -> None:
        """So many steps, with faults; and a writer from the start."""
        self._until_joined()
        self.open_another()
        for _ in range(steps):
            self.step()

    def _until_joined(self) -> None:
        registry = self.namenode.inner.core.datanodes
        for _ in range(2000):
            storages = [s for node in registry.live() for s in node.storages.values()]
            if len(storages) == len(self.nodes) and all(s.reported for s in storages):
                return
            self._step_of_somebody(in_turn=True)
        raise AssertionError("the datanodes don't join")

    def step(self) -> None:
        """A fault, or one step of somebody."""
        if (self.plan.opener or self.plan.disaster) and not self._writer_lives():
            self.open_another()
        number = 1000 - 1 - self.choices.below(1000)
        for weight, name, happen in self._faults:
            if number < weight:
                if self._is_allowed(name) and happen():
                    self.counts.faults[name] = self.counts.faults.get(name, 0) + 1
                    self.checks.check()
                return
            number -= weight
        self._step_of_somebody()
        self.checks.check()

    def _writer_lives(self) -> bool:
        return any(writer.process.alive for writer in self.writers)

    def _is_allowed(self, fault: str) -> bool:
        faults = self.counts.faults
        harm = sum(count for name, count in faults.items() if name not in _HARMLESS)
        return fault in _HARMLESS or harm < self.plan.most_harm

    def _step_of_somebody(self, *, in_turn: bool = False) -> None:
        runnable = self.world.runnable()
        if not runnable:
            self._let_time_pass()
            return
        index = 0 if in_turn or len(runnable) == 1 else self.choices.below(len(runnable))
        self.world.run(runnable[index])

    def _let_time_pass(self) -> None:
        deadline_ms = self.world.next_deadline_ms()
        now_ms = self.world.now_ms
        self.world.clock.advance(1000 if deadline_ms is None else max(deadline_ms - now_ms, 0))

    # --- clients ---

    def _client(self, kind: str) -> Client:
        self._clients += 1
        return Client(
            self.world,
            self.network,
            self.namenode,
            self.datanodes,
            f"{kind}{self._clients}",
        )

    def open_another(self) -> bool:
        """A client comes that wants to write the file."""
        self.writers = [writer for writer in self.writers if writer.process.alive]
        if self.healing or len(self.writers) >= self.plan.most_writers:
            return False
        client = self._client("writer")
        self.writers.append(client)
        self.world.spawn(client.process, "main", self._write(client))
        return True

    def read_once(self) -> bool:
        self.readers = [reader for reader in self.readers if reader.process.alive]
        if self.healing or len(self.readers) >= 2:
            return False
        client = self._client("reader")
        self.readers.append(client)
        self.world.spawn(client.process, "main", self._read(client))
        return True

    def _write(self, client: Client) -> Steps[None]:
        """A writer's life. When it fails, it leaves the file to whoever comes next."""
        stream: OutputStream | None = None
        try:
            stream = yield from self._open(client)
            yield from self._work(client, stream)
        except (errors.HowdahError, OSError) as error:
            self.counts.failed_writers += stream is not None
            self.world.note(client.name, f"gives up: {type(error).__name__} {error}")
        if stream is not None:
            stream.stop()
        self.world.note(client.name, "goes")
        self.world.kill(client.process)

    def _work(self, client: Client, stream: OutputStream) -> Steps[None]:
        note = self.world.note
        for _ in range(1 + self.choices.below(self.plan.actions)):
            match self.choices.below(8):
                case 0 | 1 | 2 | 3:
                    size = 1 + self.choices.below(24)
                    start = len(stream.told.written)
                    yield from stream.write(_pattern(client.name, start, size))
                case 4 | 5:
                    yield from stream.sync(to_disk=False)
                    self.counts.flushes += 1
                    note(client.name, f"hflush: {stream.told.flushed_bytes} bytes")
                case 6:
                    end_block = self.choices.below(4) == 3
                    yield from stream.sync(to_disk=True, end_block=end_block)
                    self.counts.syncs += 1
                    note(client.name, f"hsync: {stream.told.synced_bytes} bytes")
                case 7:
                    yield from self.world.sleep(1 + 20 * self.choices.below(3))
        yield from stream.close()
        self.counts.closes += 1
        note(client.name, f"closed: {len(stream.told.written)} bytes")

    def _open(self, client: Client) -> Steps[OutputStream]:
        """Create the file, or append to it, whoever may have been at it before."""
        patience = 8
        while True:
            try:
                file = yield from self._create_or_append(client)
                break
            except (errors.AlreadyBeingCreated, errors.RecoveryInProgress):
                patience -= 1
                if not patience:
                    raise
                if self.choices.below(2) == 1:
                    self.counts.takeovers += 1
                    self.world.note(client.name, "recoverLease")
                    yield from client.ask(
                        lambda namenode: namenode.recover_lease(PATH, client.name)
                    )
                yield from self.world.sleep(10)
        self.world.note(client.name, "has opened the file")
        rules = PipelineRules(
            exclude_s=60.0,
            replacement=ReplacementPolicy(min_replication=1),
            restart_timeout_s=20.0,
            is_local=lambda node: node.uuid == "uuid-1",
        )
        told = self.namenode.history.writer(client.name)
        stream = OutputStream(client, file, told, rules, HARD_LIMIT_S)
        self.checks.streams[client.name] = stream
        return stream

    def _create_or_append(self, client: Client) -> Steps[OpenFile]:
        is_there = PATH in self.namenode.history.files
        if not is_there:
            status = yield from client.ask(
                lambda namenode: namenode.create(
                    PATH,
                    client.name,
                    masked=0o644,
                    unmasked=0o644,
                    flags=CreateFlag.CREATE,
                    create_parent=False,
                    replication=self.plan.replication,
                    block_size=BLOCK_BYTES,
                )
            )
            return OpenFile(PATH, status.fileId, BLOCK_BYTES, self.plan.replication)
        in_new_block = self.choices.below(4) == 3
        flags = CreateFlag.APPEND | (CreateFlag.NEW_BLOCK if in_new_block else CreateFlag.NONE)
        block, found = yield from client.ask(
            lambda namenode: namenode.append(PATH, client.name, flags)
        )
        assert found is not None, "the namenode tells the status"
        return OpenFile(
            PATH,
            found.fileId,
            BLOCK_BYTES,
            self.plan.replication,
            room=None if in_new_block else block,
            previous=block.block if in_new_block and block is not None else None,
        )

    def _read(self, client: Client) -> Steps[None]:
        history = self.namenode.history
        opening, promised = len(history.openings), history.promised_bytes(PATH)
        try:
            data = yield from Reader(client, PATH).read()
        except errors.PathNotFound:
            if promised:
                raise Violation(f"{client.name} does not find {PATH}") from None
            self.world.kill(client.process)
            return
        except (errors.HowdahError, OSError) as error:
            self.counts.failed_reads += 1
            self.world.note(client.name, f"cannot read: {type(error).__name__} {error}")
            self.world.kill(client.process)
            return
        self.counts.reads += 1
        self.world.note(client.name, f"has read {len(data)} bytes")
        self.check_read(data, opening, promised)
        self.world.kill(client.process)

    def check_read(self, data: bytes, opening: int, promised: int) -> None:
        """`data` was read by somebody who came when there had been so many writers."""
        history = self.namenode.history
        texts = history.texts_since(opening)
        if data and not any(text.startswith(data) for text in texts):
            raise Violation(f"{data!r} was read; the file has, or had, {texts!r}")
        if len(data) < promised and PATH not in history.lost_to_power:
            raise Violation(f"{len(data)} bytes were read, {promised} were promised before")

    # --- what happens ---

    def _table(self) -> list[tuple[int, str, Callable[[], bool]]]:
        plan = self.plan
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
            (plan.start_namenode, "start_namenode", self._start_namenode),
            (plan.time, "time", self._jump),
            (plan.reader, "reader", self.read_once),
            (plan.opener, "opener", self.open_another),
            (plan.replicate, "replicate", self._replicate),
            *self._table_of_failovers(),
        ]

    def _table_of_failovers(self) -> list[tuple[int, str, Callable[[], bool]]]:
        plan, failovers = self.plan, self.failovers
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
        if PATH not in self.namenode.history.files:
            return False
        for node in self.nodes:
            node.used_bytes = self.choices.below(1000)
        replication = 1 + self.choices.below(len(self.nodes))
        client = self._client("administrator")

        def ask() -> Steps[None]:
            yield from client.ask(lambda namenode: namenode.set_replication(PATH, replication))
            self.world.note(client.name, f"wants {replication} replicas")

        self.world.spawn(client.process, "main", ask())
        return True

    def _some(self, nodes: list[Datanode]) -> Datanode | None:
        return nodes[self.choices.below(len(nodes))] if nodes else None

    def _up(self) -> list[Datanode]:
        cut = {host for pair in self.network.cuts for host in pair}
        return [node for node in self.nodes if node.process.runs and node.name not in cut]

    def _victim(self) -> Datanode | None:
        up = self._up()
        return self._some(up) if len(up) > len(self.nodes) - self.plan.most_down else None

    def _kill(self) -> bool:
        node = self._victim()
        if node is None:
            return False
        self.world.note(node, "is killed")
        node.kill()
        return True

    def _restart(self) -> bool:
        node = self._some([node for node in self.nodes if not node.process.alive])
        if node is None:
            return False
        self.world.note(node, "starts")
        node.start()
        return True

    def _freeze(self) -> bool:
        node = self._victim()
        if node is None:
            return False
        self.world.note(node, "freezes")
        node.process.frozen = True
        return True

    def _thaw(self) -> bool:
        node = self._some([n for n in self.nodes if n.process.alive and n.process.frozen])
        if node is None:
            return False
        self.world.note(node, "thaws")
        node.process.frozen = False
        return True

    def _hosts(self, node: Datanode) -> list[str]:
        """Whom it may be cut off from."""
        others = [other.name for other in self.nodes if other is not node]
        writers = [writer.name for writer in self.writers if writer.process.alive]
        return [*others, *(member.name for member in self.namenode.members), *writers]

    def _cut(self) -> bool:
        node = self._victim()
        if node is None:
            return False
        hosts = self._hosts(node)
        other = hosts[self.choices.below(len(hosts))]
        self.world.note(node, f"is cut off from {other}")
        self.network.cuts.add(frozenset((node.name, other)))
        return True

    def _mend(self) -> bool:
        if not self.network.cuts:
            return False
        pairs = sorted(self.network.cuts, key=sorted)
        pair = pairs[self.choices.below(len(pairs))]
        self.world.note("network", f"{' and '.join(sorted(pair))} reach each other again")
        self.network.cuts.discard(pair)
        return True

    def _reset(self) -> bool:
        node = self.nodes[self.choices.below(len(self.nodes))]
        hosts = self._hosts(node)
        other = hosts[self.choices.below(len(hosts))]
        count = self.network.break_between(node.name, other)
        if count:
            self.world.note("network", f"{count} connections of {node} and {other} break")
        return count > 0

    def _cut_power(self) -> bool:
        node = self._victim()
        if node is None:
            return False
        self._lose_power(node)
        return True

    def _lose_power(self, node: Datanode) -> None:
        self.world.note(node, "loses its power")
        node.kill()
        blocks = set(node.disk.names)
        node.disk.cut_power(self.choices)
        self.checks.power_was_cut(node, blocks)

    def _storm(self) -> bool:
        """They may be back at once, as machines are that share a switch, or a script."""
        up = [node for node in self.nodes if node.process.runs]
        for node in up:
            how = self.choices.below(3)
            if how == 0:
                continue
            if how == 2 and self.plan.power:
                self._lose_power(node)
            else:
                self.world.note(node, "is killed with others")
                node.kill()
            if self.choices.below(2) == 1:
                self.world.note(node, "starts")
                node.start()
        return True

    def _disaster(self) -> bool:
        if not any(self.checks.streams[w.name].told.written for w in self._writing()):
            return False
        for writer in self._writing():
            self.world.note(writer.name, "dies")
            self.world.kill(writer.process)
        self._storm()
        if self.choices.below(3) == 2 and self.plan.kill_namenode:
            self._kill_namenode()
        return True

    def _writing(self) -> list[Client]:
        return [w for w in self.writers if w.process.alive and w.name in self.checks.streams]

    def _fail_disk(self) -> bool:
        node = self._victim()
        if node is None:
            return False
        self.world.note(node, "will fail a write")
        node.disk.failing = 1
        return True

    def _announce(self) -> bool:
        node = self._victim()
        if node is None:
            return False
        self.world.note(node, "announces that it restarts")
        node.announce_restart()

        def die() -> Steps[None]:
            yield from self.world.sleep(1.0)
            if node.process is process:
                self.world.note(node, "ends to restart")
                node.kill()

        process = node.process
        self.world.spawn(process, "the end", die())
        return True

    def _kill_writer(self) -> bool:
        writers = [writer for writer in self.writers if writer.process.alive]
        if not writers:
            return False
        writer = writers[self.choices.below(len(writers))]
        self.world.note(writer.name, "is killed")
        self.world.kill(writer.process)
        return True

    def _kill_namenode(self) -> bool:
        if self.failovers is not None:
            return self.failovers.kill()
        assert isinstance(self.namenode, Namenode), "there is but one"
        if not self.namenode.process.alive:
            return False
        self.world.note("namenode", "is killed")
        self.namenode.kill()
        return True

    def _stop_namenode(self) -> bool:
        assert isinstance(self.namenode, Namenode), "there is but one"
        if not self.namenode.process.alive:
            return False
        self.world.note("namenode", "stops in order")
        self.namenode.stop()
        return True

    def _start_namenode(self) -> bool:
        if self.failovers is not None:
            return self.failovers.start()
        assert isinstance(self.namenode, Namenode), "there is but one"
        if self.namenode.process.alive:
            return False
        self.world.note("namenode", "starts")
        self.namenode.start()
        self.checks.forget_block_stamps()
        return True

    def _jump(self) -> bool:
        seconds = _JUMPS_S[self.choices.below(len(_JUMPS_S))]
        self.world.note("clock", f"{seconds} s pass while everybody waits")
        self.world.clock.advance(seconds * 1000)
        return True

    # --- the end ---

    def heal(self) -> None:
        """Everything works again, no new writer comes; and all is as it was promised."""
        self.healing = True
        self.world.note("end", "everything is repaired")
        self.network.cuts.clear()
        for node in self.nodes:
            node.disk.failing = 0
            node.process.frozen = False
        if self.failovers is not None:
            self.failovers.heal()
        else:
            self._start_namenode()
        give_up_ms = self.world.now_ms + HEALING_S * 1000
        for _ in range(HEALING_STEPS):
            if self._is_healed():
                break
            if self.world.now_ms > give_up_ms:
                raise Violation(f"after {HEALING_S} s without a fault: {self._hindrance()}")
            for node in self.nodes:
                # One that has announced its restart may end yet.
                if not node.process.alive:
                    node.start()
            if self.failovers is not None:
                self.failovers.heal()  # One that was replaced may have noticed only now.
            self._step_of_somebody()
        else:
            raise Violation(f"after {HEALING_STEPS} steps without a fault: {self._hindrance()}")
        self.checks.check()
        self._check_readable()

    def _file(self) -> File | None:
        found = self.namenode.inner.core.namespace.find(PATH)
        return found if isinstance(found, File) else None

    def _hindrance(self) -> str:
        """What is not as it should be in the end; nothing if it is."""
        core, file = self.namenode.inner.core, self._file()
        if any(client.process.alive for client in (*self.writers, *self.readers)):
            return "a client is at work"
        if len(core.datanodes.live()) < len(self.nodes):
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
            if len(block.replicas) < min(file.replication, len(self.nodes)):
                return f"{block} has too few replicas: {block.replicas}"
            if self.plan.replicate and len(block.replicas) > file.replication:
                return f"{block} has too many replicas: {block.replicas}"
        return ""

    def _is_healed(self) -> bool:
        hindrance = self._hindrance()
        return not hindrance or (self._is_at_rest() and self.checks.is_lost(PATH))

    def _is_at_rest(self) -> bool:
        clients = (*self.writers, *self.readers)
        return not any(client.process.alive for client in clients)

    def _check_readable(self) -> None:
        """A reader gets just what the file holds."""
        if self._file() is None or self.checks.is_lost(PATH):
            return
        before = self.namenode.history.files[PATH]
        client = self._client("last-reader")
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


def _pattern(writer: str, start: int, size: int) -> bytes:
    """Bytes that no other writer writes at that place, and nobody elsewhere nearby."""
    offset = 97 * int(writer.removeprefix("writer"))
    return bytes(PATTERN[(offset + start + each) % len(PATTERN)] for each in range(size))
