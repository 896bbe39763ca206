"""Calls of `append` that wait until datanodes have reported all replicas (pure).

A file is closed when one replica of its last block was reported (FS-135), though its
writer has seen all of them written: the other reports follow within milliseconds. An
append within these milliseconds would get a pipeline of the reported replicas only.
Hadoop's client then asks for one more datanode, gets the one whose report is late, and
fails, because that one has the replica already. Other clients leave a stale replica.

So the answer waits until the whole pipeline has reported, but no longer than `WAIT_MS`:
a datanode that died at that very moment never reports. A call whose caller is gone by
then opens nothing: the file would stay open for nobody until its lease expires.
"""

from __future__ import annotations

from collections.abc import Callable

from howdah import errors
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes.inodes import Block, File
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred, defect

WAIT_MS = 1000

Run = Callable[[pb.AppendRequestProto, Caller], pb.AppendResponseProto]


class PendingAppends:
    """`run` is the append itself, which checks everything: nothing is decided here."""

    def __init__(self, namesystem: Namesystem, run: Run) -> None:
        self._namesystem = namesystem
        self._blocks = namesystem.block_manager.blocks
        self._run = run
        self._held: dict[int, list[_Held]] = {}

    def append(
        self, request: pb.AppendRequestProto, caller: Caller
    ) -> pb.AppendResponseProto | Deferred:
        """The answer, now or when the replicas have been reported."""
        block = self._awaited(request)
        if block is None:
            return self._run(request, caller)
        held = _Held(request, caller, self._namesystem.clock.monotonic_ms() + WAIT_MS)
        self._held.setdefault(block.file_id, []).append(held)
        return held.answer

    def _awaited(self, request: pb.AppendRequestProto) -> Block | None:
        """The block that the client would go on with, if replicas of it are due."""
        try:
            file = self._namesystem.resolver.resolve(request.src).inode
        except errors.HowdahError:
            return None  # the append says what is wrong
        if not isinstance(file, File) or file.writer is not None or not file.blocks:
            return None
        return file.blocks[-1] if self._blocks.awaited_reports(file.blocks[-1]) else None

    def recheck(self, inode_ids: list[int] | None = None) -> None:
        """Datanodes reported of these files (None: any), or time passed."""
        if not self._held:
            return
        now_ms = self._namesystem.clock.monotonic_ms()
        for inode_id in list(self._held) if inode_ids is None else inode_ids:
            still = []
            for held in self._held.pop(inode_id, ()):
                if held.answer.withdrawn:
                    continue  # Nobody would write what is opened now.
                try:
                    if self._must_wait(held, inode_id, now_ms):
                        still.append(held)
                        continue
                    outcome: pb.AppendResponseProto | errors.HowdahError = self._run(
                        held.request, held.caller
                    )
                except errors.HowdahError as error:
                    outcome = error
                except Exception as error:  # noqa: BLE001 - the others get their answers
                    outcome = defect("append", error)
                held.answer.settle(outcome)
            if still:
                self._held[inode_id] = still

    def refuse_all(self, error: errors.HowdahError) -> None:
        """Nothing can be appended to here any more."""
        held_by_inode, self._held = self._held, {}
        for waiting in held_by_inode.values():
            for held in waiting:
                held.answer.settle(error)

    def _must_wait(self, held: _Held, inode_id: int, now_ms: int) -> bool:
        block = self._awaited(held.request)
        if block is None:
            return False
        if now_ms >= held.deadline_ms:
            self._blocks.stop_awaiting_reports(block)
            return False
        return block.file_id == inode_id


class _Held:
    __slots__ = ("answer", "caller", "deadline_ms", "request")

    def __init__(self, request: pb.AppendRequestProto, caller: Caller, deadline_ms: int) -> None:
        self.request = request
        self.caller = caller
        self.deadline_ms = deadline_ms
        self.answer = Deferred()
