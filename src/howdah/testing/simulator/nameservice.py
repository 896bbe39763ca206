"""The simulated nameservice: namenodes with one log, of which one is active.

Each member is the real namesystem in a process that can die or freeze. The shared log is a list of
records with an epoch, as a quorum of journal nodes keeps it: who takes over gets the next
epoch and reads to the end, and whoever writes under an older one is refused and ends. What an
active had sent and nobody acknowledged may be in the log that the next one finds, or not.

The answers of a member wait until all that it decided is in the log, but for those to an
`hflush`. To clients an active answers only while it is the latest (its lease sees to that,
`howdah.namenode.service.ha.durability_barrier`); to datanodes also one that was replaced and does
not know it, as Hadoop's would.
"""

from __future__ import annotations

import io
from collections import deque
from typing import Final

from google.protobuf.message import Message

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.codec import decode_record
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.images.image import write_image
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.protocol.rpc.service import Deferred
from howdah.testing.in_memory import CLUSTER, InMemoryNamenode, ManualClock, outcome, replayed
from howdah.testing.simulator.history import History, Violation
from howdah.testing.simulator.namenode import CALL_TIMEOUT_S, TICK_S, brief, is_early
from howdah.testing.simulator.network import Network
from howdah.testing.simulator.tasks import PAUSE, Process, Steps, Wait, World

MEMBERS: Final = 2
TAIL_S: Final = 1.0
FAILOVER_PAUSE_S: Final = 0.5
_ONLY_ACTIVE: Final = frozenset({"commitBlockSynchronization", "reportBadBlocks"})
_OF_DATANODES: Final = frozenset(
    method.name for method in pb.DESCRIPTOR.services_by_name["DatanodeProtocolService"].methods
)


class Nameservice:
    """`log` are the records that are durable, and `writer` who may add to them."""

    def __init__(
        self, world: World, network: Network, settings: Settings, clock: ManualClock
    ) -> None:
        self.world = world
        self.network = network
        self.settings = settings
        self.clock = clock
        self.history = History()
        first = InMemoryNamenode(settings, clock=clock)
        self.log: list[bytes] = list(first.log)
        self.epoch = 0
        self._followed = 0
        self._asked: dict[str, int] = {}
        self.members = [Member(self, number) for number in range(MEMBERS)]
        self.writer = self.members[0]
        self.inner = self.writer.inner
        """Of the latest active, also when its process has died."""
        self.take_over(self.writer)

    # --- as the others see it ---

    @property
    def name(self) -> str:
        return "nameservice"

    @property
    def process(self) -> Process:
        return self.writer.process

    @property
    def has_active(self) -> bool:
        return self.writer.process.alive and self.writer.is_active

    @property
    def is_durable(self) -> bool:
        return self.writer.durable == len(self.writer.inner.log)

    def call(
        self,
        caller: Process,
        method: str,
        request: Message,
        address: str,
        client_id: bytes = b"",
        call_id: int = 0,
    ) -> Steps[Message]:
        """A call of a client, which tries one member after the other under the same id."""
        failure: errors.HowdahError | None = None
        for _ in range(2 * MEMBERS):
            number = self._asked.setdefault(caller.name, 0)
            try:
                return (
                    yield from self.members[number].call(
                        caller, method, request, address, client_id, call_id
                    )
                )
            except (errors.StandbyError, errors.Unreachable, errors.CallTimeout) as error:
                failure = error
                self._asked[caller.name] = (number + 1) % MEMBERS
                yield from self.world.sleep(FAILOVER_PAUSE_S)
        raise errors.Unreachable(f"no namenode serves {method}: {failure}")

    # --- failovers ---

    def take_over(self, chosen: Member) -> None:
        """`chosen` becomes active, whatever the active before may still believe."""
        before = self.writer
        if before.epoch == self.epoch:
            self._recover(before)
        self.epoch += 1
        self.writer = chosen
        chosen.become_active()
        self.inner = chosen.inner
        self.note_durable()

    def hand_over(self) -> None:
        """A graceful failover."""
        before = self.writer
        self.log.extend(before.inner.log[len(self.log) :])
        before.become_standby()
        self.take_over(next(member for member in self.members if member is not before))

    def _recover(self, before: Member) -> None:
        """What it had sent and nobody acknowledged: some of it is found."""
        sent = before.inner.log[before.durable :]
        recovered_edits = len(sent) - self.world.choices.below(len(sent) + 1)
        self.log.extend(sent[:recovered_edits])

    def note_durable(self) -> None:
        """Tell the history what nobody can forget any more."""
        for record in self.log[self._followed :]:
            self._followed += 1
            edit = decode_record(record).edit
            if not isinstance(edit, edits.SetGenstampV2Op | edits.AllocateBlockIdOp):
                self.world.note(f"log {self._followed}", brief(edit))
            self.history.follow(edit)

    def disagreement(self) -> str:
        """In what a standby that has read all and heard all differs from the active; nothing
        where it does not."""
        for member in self.members:
            if member is self.writer:
                continue
            namesystem, active = member.inner.namesystem, self.inner.namesystem
            if namesystem.last_txid != active.last_txid:
                return f"{member.name} has read {namesystem.last_txid} of {active.last_txid} edits"
            if _image(namesystem) != _image(active):
                raise Violation(f"{member.name} has another namespace at {namesystem.last_txid}")
            for block_id, block in active.namespace.blocks.items():
                here = sorted(s.storage_id for s in namesystem.namespace.blocks[block_id].replicas)
                there = sorted(storage.storage_id for storage in block.replicas)
                if here != there:
                    return f"{member.name} knows {block} at {here}, the active at {there}"
        return ""


class Member:
    """One namenode. `inner.log` has what it decided, if it is active, behind what it read."""

    def __init__(self, service: Nameservice, number: int) -> None:
        self.service = service
        self.world = service.world
        self.name = f"namenode{number}"
        self.is_active = False
        self.epoch = -1
        self.durable = 0
        self.start(len(service.log))

    def __repr__(self) -> str:
        return self.name

    def start(self, txid: int) -> None:
        """A process that begins as a standby, with so much of the log."""
        log = self.service.log
        self.inner = InMemoryNamenode(
            self.service.settings,
            namespace=replayed(decode_record(record).edit for record in log[:txid]),
            clock=self.service.clock,
        )
        self.inner.namesystem.last_txid = txid
        self.inner.namesystem.become_standby()
        self.is_active, self.epoch = False, -1
        self.process = Process(self.name, self.name)
        process = self.process
        process.at_death.append(lambda: self.service.network.process_died(process))
        self.world.spawn(process, "journal", self._sync())
        self.world.spawn(process, "tick", self._tick())
        self.world.spawn(process, "tail", self._tail())

    def kill(self) -> None:
        """What was not acknowledged may be lost."""
        self.world.kill(self.process)

    # --- roles ---

    def become_active(self) -> None:
        service, namesystem = self.service, self.inner.namesystem
        self._follow(len(service.log))
        self.inner.log = list(service.log)
        self.durable = len(service.log)
        self.is_active, self.epoch = True, service.epoch
        namesystem.become_active()
        namesystem.commit(edits.StartLogSegmentOp())

    def become_standby(self) -> None:
        self.inner.client.refuse_waiting(errors.StandbyError(f"{self.name} becomes a standby"))
        self.inner.namesystem.become_standby()
        self.is_active, self.epoch = False, -1
        self.inner.log = []

    def _follow(self, txid: int) -> None:
        namesystem = self.inner.namesystem
        for record in self.service.log[namesystem.last_txid : txid]:
            namesystem.follow(decode_record(record))
        if namesystem.last_txid == len(self.service.log):
            namesystem.caught_up()

    # --- what goes on by itself ---

    def _sync(self) -> Steps[None]:
        service = self.service
        while True:
            yield Wait(lambda: self.is_active and self.durable < len(self.inner.log))
            handed_over = len(self.inner.log)
            yield PAUSE
            if not self.is_active:
                continue
            if self.epoch != service.epoch:
                self.world.note(self.name, "may not write the log any more, and ends")
                self.world.kill(self.process)
                return
            if handed_over > self.durable:
                service.log.extend(self.inner.log[len(service.log) : handed_over])
                self.durable = handed_over
                service.note_durable()

    def _tick(self) -> Steps[None]:
        while True:
            yield from self.world.sleep(TICK_S)
            if self.is_active:
                for line in self.inner.tick():
                    self.world.note(self.name, line)
            else:
                self.inner.namesystem.tick()
                deque(self.inner.namesystem.block_manager.redundancy_round(), maxlen=0)

    def _tail(self) -> Steps[None]:
        while True:
            yield from self.world.sleep(TAIL_S)
            if not self.is_active:
                lag = len(self.service.log) - self.inner.namesystem.last_txid
                self._follow(len(self.service.log) - self.world.choices.below(lag + 1))

    # --- calls ---

    def call(
        self,
        caller: Process,
        method: str,
        request: Message,
        address: str,
        client_id: bytes = b"",
        call_id: int = 0,
    ) -> Steps[Message]:
        """One attempt at a call."""
        is_of_datanode = method in _OF_DATANODES

        def handler() -> Steps[Message]:
            yield PAUSE
            if not self.is_active and (not is_of_datanode or method in _ONLY_ACTIVE):
                raise errors.StandbyError(f"{self.name} does not serve {method}")
            try:
                answer = self.inner.call(
                    method, request, client_id=client_id, call_id=call_id, address=address
                )
                if isinstance(answer, Deferred):
                    deferred = answer
                    yield Wait(lambda: deferred.settled)
                    settled = outcome(deferred)
                    assert settled is not None, "it is settled"
                    answer = settled
            except errors.HowdahError:
                yield from self._until_sure(is_of_datanode)
                raise
            is_alone = self.epoch == self.service.epoch
            if not (is_early(request) and is_alone):
                yield from self._until_sure(is_of_datanode)
            return answer

        return self.service.network.call(caller, self.process, method, handler, CALL_TIMEOUT_S)

    def _until_sure(self, is_of_datanode: bool) -> Steps[None]:
        """All that was decided is in the log; and to clients nobody else has taken over."""
        txid, epoch = len(self.inner.log), self.epoch
        if self.is_active:
            yield Wait(lambda: self.durable >= txid or self.epoch != epoch)
            if not is_of_datanode:
                yield Wait(lambda: not self.is_active or self.epoch == self.service.epoch)


def _image(namesystem: Namesystem) -> bytes:
    """All that an image keeps of the namespace."""
    while namesystem.reap():
        continue
    image = io.BytesIO()
    write_image(namesystem.namespace, CLUSTER.namespace_id, namesystem.last_txid, image)
    return image.getvalue()
