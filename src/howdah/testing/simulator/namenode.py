"""The simulated namenode: the real namesystem in a process that can die.

It is `howdah.testing.in_memory`, called through the network. As in the real server no
answer leaves before every edit is on the disk that the call made or may have seen, so a
namenode that is killed forgets edits, but none that anybody was told of; but for lengths that
an `hflush` told, of which their writer knows. A start replays the log that is left.
"""

from __future__ import annotations

from google.protobuf.message import Message

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.codec import decode_record
from howdah.namenode.service.calls.settings import Settings
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.service import Deferred
from howdah.testing.in_memory import InMemoryNamenode, ManualClock, outcome
from howdah.testing.simulator.history import History
from howdah.testing.simulator.network import Network
from howdah.testing.simulator.tasks import PAUSE, Process, Steps, Wait, World

CALL_TIMEOUT_S = 60.0
TICK_S = 2.0


class Namenode:
    """`namesystem` is the present start's; `durable` are the records that are on the disk."""

    def __init__(
        self, world: World, network: Network, settings: Settings, clock: ManualClock
    ) -> None:
        self.world = world
        self.network = network
        self.history = History()
        self.inner = InMemoryNamenode(settings, clock=clock)
        self.durable = 0
        self._noted = 0
        self._followed = 0
        self.name = "namenode"
        self.members = [self]
        self.process = Process("namenode", "namenode")
        self._start()

    def _start(self) -> None:
        self.process = Process("namenode", "namenode")
        process = self.process
        process.at_death.append(lambda: self.network.process_died(process))
        self.world.spawn(process, "journal", self._sync())
        self.world.spawn(process, "tick", self._tick())

    def kill(self) -> None:
        """What was not on the disk may be lost, from some edit on."""
        self.world.kill(self.process)
        log = self.inner.log
        lost = self.world.choices.below(len(log) - self.durable + 1)
        self.inner.log = log[: len(log) - lost]

    def stop(self) -> None:
        """In order: all that was committed is durable."""
        self.inner.tick()
        self.world.kill(self.process)

    def start(self) -> None:
        self.inner = self.inner.restarted()
        self.inner.namesystem.last_txid = len(self.inner.log)
        self.durable = len(self.inner.log)
        self._noted = self._followed = 0
        self.history.start_over()
        self._note_decided()
        self._start()

    @property
    def is_durable(self) -> bool:
        """All that it has decided is on its disk."""
        return self.durable == len(self.inner.log)

    # --- what goes on by itself ---

    def _sync(self) -> Steps[None]:
        while True:
            yield Wait(lambda: self.durable < len(self.inner.log))
            handed_over = len(self.inner.log)
            yield PAUSE
            self.durable = handed_over
            self._note_decided()

    def _tick(self) -> Steps[None]:
        while True:
            yield from self.world.sleep(TICK_S)
            for line in self.inner.tick():
                self.world.note("namenode", line)
            self._note_decided()

    def _note_decided(self) -> None:
        """Note what has been decided, and tell the history what of it nobody can forget any
        more: before that nobody was told of it, and a crash may undo it."""
        log = self.inner.log
        for record in log[self._noted :]:
            edit = decode_record(record).edit
            if not isinstance(edit, edits.SetGenstampV2Op | edits.AllocateBlockIdOp):
                self.world.note("namenode", brief(edit))
        self._noted = len(log)
        for record in log[self._followed : self.durable]:
            self._followed += 1
            self.history.follow(decode_record(record).edit)

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

        def handler() -> Steps[Message]:
            yield PAUSE
            try:
                answer = self.inner.call(
                    method, request, client_id=client_id, call_id=call_id, address=address
                )
                self._note_decided()
                if isinstance(answer, Deferred):
                    deferred = answer
                    yield Wait(lambda: deferred.settled)
                    settled = outcome(deferred)
                    assert settled is not None, "it is settled"
                    answer = settled
            except errors.HowdahError:
                self._note_decided()
                yield from self._until_durable()
                raise
            if not is_early(request):
                yield from self._until_durable()
            return answer

        return self.network.call(caller, self.process, method, handler, CALL_TIMEOUT_S)

    def _until_durable(self) -> Steps[None]:
        txid = len(self.inner.log)
        yield Wait(lambda: self.durable >= txid)


def is_early(request: Message) -> bool:
    """Whether the answer may leave before what it changed is durable (`rpc.service.Early`)."""
    return isinstance(request, pb.FsyncRequestProto) and request.visibleOnly


def brief(edit: edits.Edit) -> str:
    blocks = getattr(edit, "blocks", None)
    text = f"{edit.opcode.name} {getattr(edit, 'path', '')}"
    if blocks is not None:
        text += " " + ", ".join(
            f"blk_{block.block_id}_{block.generation_stamp} of {block.length_bytes}"
            for block in blocks
        )
    return text
