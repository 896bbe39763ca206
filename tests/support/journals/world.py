"""Nodes, writers and readers, and the dice that say what happens next.

A writer is a generator of the calls that it waits for. In each step of the world one thing
happens: a request gets to a node or is lost, with its answer or without; one that was given
up long ago arrives after all; a node dies or starts; time passes; a call expires; somebody
reads; another writer takes over while the former one still believes in itself.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from howdah import errors
from howdah.namenode.state.edit_log.journal import Batch
from howdah.namenode.state.quorum.edits_sender import Sender
from howdah.namenode.state.quorum.majority import agreed, trusted_records
from howdah.namenode.state.quorum.messages import Answer, Heartbeat
from howdah.namenode.state.quorum.quorum import QuorumCall, Sending, Steps, Writer, majority
from howdah.namenode.state.quorum.recovery import recover
from tests.support.journals.history import History, Violation
from tests.support.journals.node import END, Crashes, Node

LEASES_MS = (300, 2500, 1000)
"""Of the writers in turns: they need not have the same."""
QUEUE_BYTES = 60


@dataclass(frozen=True, slots=True)
class Faults:
    """Chances. The first ones are of what happens to one request, the rest of what happens in
    one step of the world."""

    down: float = 0.0
    """The node dies before the request arrives; `up`: it starts again."""
    up: float = 0.1
    lost: float = 0.0
    unanswered: float = 0.0
    late: float = 0.0
    """The writer gives it up, and it arrives at any time."""
    slow: float = 0.0
    """Other things happen before it arrives, and before its answer does."""
    crash: float = 0.0
    """Before or after each change of a disk."""
    takeover: float = 0.0
    kill: float = 0.0
    cut: float = 0.0
    """Some writer loses sight of some nodes, or sees all of them again."""
    read: float = 0.0
    expire: float = 0.0
    pass_time: float = 0.05
    replaced: float = 0.0
    """A node loses its disk while the others are well, and another one joins in its place."""
    give_up: float = 0.0
    """A writer that has taken over, and perhaps begun, does not go on."""
    restarted: float = 0.0
    """A node dies and is up again before anybody asks it something."""


NONE = Faults()
STORM = Faults(
    0.1,
    0.1,
    0.02,
    0.02,
    0.02,
    0.1,
    0.005,
    0.01,
    0.005,
    0.01,
    0.03,
    0.01,
    give_up=0.05,
)
"""Nodes go up and down with a probability of 0.1 a call."""
CUTS = Faults(
    0.003, 0.2, 0.005, 0.005, 0.005, 0.3, 0.001, 0.02, 0.02, 0.05, 0.05, 0.01, give_up=0.1
)
"""Little fails but the network between some writers and some nodes, and the writers."""
CRASHES = Faults(
    0.002, 0.3, 0.01, 0.01, 0.01, 0.1, 0.02, 0.005, 0.01, 0.02, 0.05, 0.005, give_up=0.05
)
"""Nodes die in the middle of what they do."""
LOSSES = Faults(
    0.01,
    0.3,
    0.01,
    0.01,
    0.01,
    0.1,
    0.003,
    0.02,
    0.02,
    0.03,
    0.03,
    0.01,
    replaced=0.02,
)
"""Disks are lost, one at a time, and writers take over while a new node joins."""
RESTARTS = replace(CRASHES, restarted=0.1)
"""Nodes start again between two calls, so that their writers go on where they were."""
PLANS = {
    "storm": STORM,
    "cuts": CUTS,
    "crashes": CRASHES,
    "losses": LOSSES,
    "restarts": RESTARTS,
}


@dataclass(slots=True)
class UnderWay:
    """A request between its writer and its node, or with its `outcome` on the way back."""

    sending: Sending
    process: Process
    outcome: Answer | OSError = None
    has_arrived: bool = False


class Process:
    """A namenode that wants to be the writer: it takes over, writes, and rolls."""

    def __init__(self, name: str, world: World, batches: int) -> None:
        self.name = name
        lease_ms = LEASES_MS[world.generations % len(LEASES_MS)]
        self.writer = Writer(
            world.names, queue_bytes=QUEUE_BYTES, lease_ms=lease_ms, heartbeat_ms=lease_ms // 3
        )
        self.waits_for: QuorumCall | None = None
        self.serve_from_ms: int | None = None
        self.ended: OSError | None = None
        self.has_finished = False
        self.killed = False
        self.known = 0
        """So many edits it has, read or written, whether acknowledged or not."""
        self.asked: deque[tuple[int, int]] = deque()
        """Answers that wait until it is certain that nobody else served: when they were
        computed, and in which step."""
        self.unseen: set[str] = set()
        """Nodes to which nothing goes, and from which nothing comes."""
        self._world = world
        self._steps = self._life(batches)

    def __repr__(self) -> str:
        return self.name

    @property
    def is_alive(self) -> bool:
        return self.ended is None and not self.has_finished and not self.killed

    def serves(self, now_ms: int) -> bool:
        since_ms = self.serve_from_ms
        if since_ms is None or now_ms < since_ms or not self.is_alive:
            return False
        return now_ms < self.writer.lease_until_ms()

    def is_asked(self, now_ms: int) -> None:
        """Somebody reads, and waits."""
        if self.is_alive and self.serve_from_ms is not None and self.serve_from_ms <= now_ms:
            self.asked.append((now_ms, self._world.steps))
            self.answer()

    def answer(self) -> None:
        """Answers leave as in `howdah.namenode.service.ha.durability_barrier`."""
        asked, writer = self.asked, self.writer
        while asked and self.is_alive and not writer.lost:
            if asked[0][0] > writer.proved_at_ms():
                return
            self._world.history.answer(writer.epoch or 0, asked.popleft()[1])

    def go_on(self) -> None:
        """Run to the next call that is not decided yet."""
        while self.is_alive and (self.waits_for is None or self.waits_for.is_decided):
            try:
                self.waits_for = next(self._steps)
            except StopIteration:
                self.has_finished = True
            except Violation:
                raise
            except OSError as error:
                self.ended = error
                self._world.note(self, f"ends: {error}")

    def _life(self, batches: int) -> Steps[None]:
        world, writer = self._world, self.writer
        recovered = yield from recover(writer)
        world.note(self, f"has recovered {recovered}")
        log = world.read_all()
        if len(log) < recovered.end_txid:
            raise Violation(f"{self}: {recovered}, and {len(log)} transactions are found")
        who = f"{self} in epoch {recovered.epoch}"
        world.history.promise(1, log, who)
        if world.is_alone(self):
            world.history.found(log, who)
            if recovered.is_exact and len(log) != recovered.end_txid:
                raise Violation(f"{self}: {recovered}, and {len(log)} transactions are found")
        self.known = len(log)
        sender, txid = Sender(writer), len(log)
        dice, give_up = world.dice, world.faults.give_up
        while batches > 0 and dice.random() >= give_up:
            first_txid = txid = txid + 1
            yield from sender.begin(first_txid)
            start = b"%d start" % txid
            self.known = txid
            sender.append(Batch(txid, 1, start + END))
            written = [start]
            if dice.random() < 0.7:
                yield from self._flush(sender, first_txid, written)
            self.serve_from_ms = recovered.serve_from_ms
            for _ in range(dice.randint(0, 4)):
                count = dice.randint(1, 3)
                new = [b"%d %s" % (txid + 1 + i, self.name.encode()) for i in range(count)]
                sender.append(Batch(txid + 1, count, b"".join(each + END for each in new)))
                txid += count
                self.known = txid
                written += new
                batches -= 1
                if dice.random() < 0.6:
                    yield from self._flush(sender, first_txid, written)
            yield from sender.end(txid)
            self._acknowledge(first_txid, written)
            batches -= 1
        yield from self._end(sender, recovered.serve_from_ms)

    def _end(self, sender: Sender, serve_from_ms: int) -> Steps[None]:
        self.serve_from_ms = None
        if sender.may_resign(self._world.now_ms, serve_from_ms):
            self._world.note(self, "resigns")
            self.writer.resigned = True
            call = self.writer.enqueue("heartbeat", Heartbeat(resigns=True))
            if not call.is_decided:
                yield call

    def _flush(self, sender: Sender, first_txid: int, written: Sequence[bytes]) -> Steps[None]:
        yield from sender.flush()
        self._acknowledge(first_txid, written)

    def _acknowledge(self, first_txid: int, written: Sequence[bytes]) -> None:
        history = self._world.history
        history.promise(first_txid, written, str(self))
        if self.serves(self._world.now_ms):
            history.answered = max(history.answered, first_txid + len(written) - 1)


class World:
    """All of it. The same dice make the same run."""

    def __init__(
        self,
        dice: random.Random,
        nodes: int = 3,
        faults: Faults = NONE,
        crashes: Crashes | None = None,
    ) -> None:
        self.dice = dice
        self.faults = faults
        self.now_ms = 1_000_000
        self.calls = 0
        self.steps = 0
        self.crashes = crashes or Crashes(dice, faults.crash)
        self.names = tuple(f"jn{number}" for number in range(nodes))
        self.nodes = {name: Node(name, dice, self.crashes) for name in self.names}
        for node in self.nodes.values():
            node.peers = self.nodes
            node.start(self.now_ms)
        self.history = History()
        self.processes: list[Process] = []
        self.generations = 0
        self.trace: list[str] = []
        self.drops: Mapping[str, frozenset[int]] = {}
        """By node, the numbers of the requests that are lost."""
        self.drops_answers = False
        self._under_way: list[UnderWay] = []
        self._loses_disks = faults.replaced > 0
        self.sent = dict.fromkeys(self.names, 0)
        """By node, how many requests were sent to it."""

    def note(self, who: object, what: str) -> None:
        self.trace.append(f"{self.now_ms - 1_000_000:8} #{self.calls:<5} {who}: {what}")

    def begin(self, batches: int = 8) -> Process:
        """Another writer takes over."""
        self.generations += 1
        process = Process(f"w{self.generations}", self, batches)
        self.processes.append(process)
        process.go_on()
        return process

    def run_writer(self, batches: int = 8) -> Process:
        """One writer from its beginning to its end, with nobody else; the nodes get their
        requests in turns. A node that died starts again when the writer has ended."""
        process = self.begin(batches)
        while process.is_alive:
            if not any([self.send(process, name) for name in self.names]):
                self._expire(process)
            process.go_on()
        self.processes.remove(process)
        for node in self.nodes.values():
            node.start(self.now_ms)
        return process

    def is_alone(self, process: Process) -> bool:
        """Nobody else can have promised anything since it has taken over. A younger writer that
        took over meanwhile may be gone already."""
        is_youngest = process.writer.epoch == max(
            node.disk.state.promised_epoch for node in self.nodes.values()
        )
        return is_youngest and self.processes == [process] and not self._under_way

    def run(self, generations: int, most_steps: int) -> None:
        """Until so many writers have begun, or so many things have happened."""
        for _ in range(most_steps):
            if self.generations >= generations and not self.processes:
                break
            self.step(may_begin=self.generations < generations)

    def step(self, *, may_begin: bool = True) -> None:
        dice, faults = self.dice, self.faults
        if may_begin and (not self.processes or dice.random() < faults.takeover):
            self.begin(dice.randint(1, 12))
        if dice.random() < faults.pass_time:
            self.now_ms += dice.choice((1, 50, 400, 1500))
            for process in self.processes:
                process.is_asked(self.now_ms)
        if dice.random() < faults.read:
            self._read()
        if dice.random() < faults.cut:
            self._cut()
        if faults.replaced:
            self._lose_and_sync()
        if faults.restarted and dice.random() < faults.restarted:
            node = self.nodes[dice.choice(self.names)]
            if node.is_up:
                node.crash()
                node.start(self.now_ms)
        if self._under_way and dice.random() < 0.4:
            self._go_on(self._under_way.pop(dice.randrange(len(self._under_way))))
        if self.processes:
            self._let_work(dice.choice(self.processes))
        self.check_serving()

    def check_serving(self) -> None:
        self.steps += 1
        serving = [each for each in self.processes if each.serves(self.now_ms)]
        if serving:
            known = [(each.writer.epoch or 0, each.known) for each in serving]
            self.history.serve(known, self.steps)

    def _let_work(self, process: Process) -> None:
        dice, faults = self.dice, self.faults
        first = dice.randrange(len(self.names))
        in_turn = self.names[first:] + self.names[:first]
        is_idle = not any(self.send(process, name) for name in in_turn)
        if (is_idle and dice.random() < 0.1) or dice.random() < faults.expire:
            self._expire(process)
        process.go_on()
        # One that has ended still sends heartbeats.
        if dice.random() < (faults.kill if process.is_alive else 0.1):
            self.note(process, "is killed")
            process.killed = True
            self.processes.remove(process)

    def heal(self) -> None:
        """Everybody is up, and one more writer takes over without any fault."""
        self.faults, self.crashes = NONE, Crashes(self.dice)
        self.drops = {}
        self.processes.clear()
        self._under_way.clear()
        for node in self.nodes.values():
            node.use(self.crashes)
            node.start(self.now_ms)
        process = self.run_writer(3)
        if not process.has_finished:
            raise Violation(f"nothing is wrong any more, and {process} ends: {process.ended}")
        self.history.check_finished(self.nodes.values())

    # What a reader sees.

    def read_all(self) -> list[bytes]:
        """The finished segments, as a majority of the nodes tells of them. Raises OSError."""
        up = [node for node in self.nodes.values() if node.is_up]
        needed = majority(len(self.nodes))
        if len(up) < needed:
            raise errors.Unreachable("too few journal nodes are up")
        finished: dict[int, tuple[bytes, ...]] = {}
        # When disks are lost, a segment may be at fewer nodes than a majority for a while.
        asked = up if self._loses_disks else self.dice.sample(up, needed)
        for node in asked:
            for segment, records in node.finished().items():
                known = finished.setdefault(segment.first_txid, records)
                if known != records:
                    raise Violation(f"{node} has other records in the finished {segment}")
        log: list[bytes] = []
        for first_txid in sorted(finished):
            if first_txid != len(log) + 1 and self._is_down_with(len(log) + 1):
                raise errors.Unreachable(f"who has the segment at {len(log) + 1} is down")
            if first_txid != len(log) + 1:
                raise Violation(f"a segment begins with {first_txid} behind {len(log)}")
            log += finished[first_txid]
        return log

    def _is_down_with(self, first_txid: int) -> bool:
        return self._loses_disks and any(
            segment.first_txid == first_txid
            for node in self.nodes.values()
            if not node.is_up
            for segment in node.finished()
        )

    def _read(self) -> None:
        """A standby asks for what is new: of the nodes' memory, or of unfinished segments."""
        dice, needed = self.dice, majority(len(self.nodes))
        from_txid = max(1, len(self.history.log) + 1 - dice.randint(0, 4))
        of_files = dice.random() < 0.4
        logs: list[Sequence[bytes]] = []
        committed_txid = 0
        for node in dice.sample(list(self.nodes.values()), len(self.nodes)):
            try:
                logs.append(
                    node.unfinished_from(from_txid) if of_files else node.edits_from(from_txid)
                )
            except OSError:
                continue
            committed_txid = max(committed_txid, node.disk.state.committed_txid or 0)
            if len(logs) == needed and dice.random() < 0.5:
                break
        found = agreed(logs, needed)
        if of_files:
            found = found[: max(committed_txid - from_txid + 1, 0)]
        else:
            found = trusted_records(
                found, from_txid, committed_txid, lambda record: b"start" in record
            )
        self.history.promise(from_txid, found, "a reader")

    # What happens.

    def _expire(self, process: Process) -> None:
        call = process.waits_for
        if call is not None and process.is_alive:
            call.expire("it took too long")
            self.note(process, f"gives up {call.name}")

    def _cut(self) -> None:
        dice = self.dice
        if self.processes:
            count = dice.choice((0, 0, *range(1, len(self.names))))
            process = dice.choice(self.processes)
            process.unseen = set(dice.sample(self.names, count))
            self.note(process, f"does not see {sorted(process.unseen)}")

    def _lose_and_sync(self) -> None:
        first, second = (self.nodes[name] for name in self.dice.sample(self.names, 2))
        if self.dice.random() < self.faults.replaced:
            self._replace(first)
        if first.is_up and second.is_up and self.dice.random() < 0.1:
            first.sync(second)

    def _replace(self, lost: Node) -> None:
        """One at a time: the others are up, have a vote, and have what this one has finished.
        No promise is under way (A13): nobody would know of the one that was lost."""
        others = [node for node in self.nodes.values() if node is not lost]
        kept = {segment for node in others for segment in node.finished()}
        are_well = all(node.is_up and not node.is_joining for node in others)
        is_promising = any(each.is_alive and each.writer.epoch is None for each in self.processes)
        if are_well and not is_promising and kept.issuperset(lost.finished()):
            self.note(lost, "loses its disk, and is replaced")
            lost.replace(others, self.now_ms)

    def send(self, process: Process, name: str) -> bool:
        """One request to a node; False if there is none."""
        if name in process.unseen:
            return False
        sending = process.writer.pop(name, self.now_ms)
        if sending is None:
            return False
        self.calls += 1
        dice, faults = self.dice, self.faults
        number = self.sent[name] = self.sent[name] + 1
        request = UnderWay(sending, process)
        if number in self.drops.get(name, ()):
            if self.drops_answers:
                self._arrive(request)
            self._fail(sending, process, "was dropped")
        elif (chance := dice.random()) < faults.lost:
            self._fail(sending, process, "is lost")
        elif chance < faults.lost + faults.late:
            self._fail(sending, process, "is late")
            # Whatever becomes of it then, the writer has given it up.
            self._under_way.append(UnderWay(sending, _Gone(process)))
        elif dice.random() < faults.slow:
            self._under_way.append(request)
        else:
            self._arrive(request)
            self._go_on(request)
        return True

    def _fail(self, sending: Sending, process: Process, why: str) -> None:
        self.note(process, f"{sending.request} to {sending.node} {why}")
        error = errors.CallTimeout(f"{sending.node}: it {why}")
        process.writer.failed(sending, error, self.now_ms)

    def _arrive(self, request: UnderWay) -> None:
        sending, node = request.sending, self.nodes[request.sending.node]
        chance = self.dice.random()
        if node.is_up and chance < self.faults.down:
            self.note(node, "goes down")
            node.crash()
        elif not node.is_up and chance < self.faults.up:
            self.note(node, "comes up")
            node.start(self.now_ms)
        request.has_arrived = True
        try:
            request.outcome = node.call(sending.request, sending.stamp, self.now_ms)
        except OSError as error:
            request.outcome = error
            self.note(request.process, f"{node} refuses {sending.request}: {error}")

    def _go_on(self, request: UnderWay) -> None:
        sending, process, faults = request.sending, request.process, self.faults
        if not request.has_arrived:
            self._arrive(request)
            if self.dice.random() < faults.slow:
                self._under_way.append(request)
                return
        if isinstance(process, _Gone):
            return
        if sending.node in process.unseen or self.dice.random() < faults.unanswered:
            self._fail(sending, process, "is not answered")
        elif isinstance(request.outcome, OSError):
            process.writer.failed(sending, request.outcome, self.now_ms)
        else:
            process.writer.answered(sending, request.outcome, self.now_ms)
            process.answer()
        process.go_on()


class _Gone(Process):
    """Whoever sent a request, and does not wait for its answer."""

    def __init__(self, sender: Process) -> None:
        self.name = f"{sender.name} (given up)"
