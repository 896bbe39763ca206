"""Calls of `complete` that wait until datanodes have reported enough replicas (pure).

Hadoop's namenode answers such a call with False at once, and the client asks again after a
pause. Here the answer waits for the report, which comes within milliseconds, and is False
at the deadline of `dfs.namenode.…` only (FS-135). Each waiting call is answered by a report,
by the deadline, by an error or a defect of the attempt, or by `refuse_all`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from howdah import errors
from howdah.namenode.service.writing.complete import Closing, PendingClose
from howdah.namenode.state.inodes.file_blocks import ClientBlock
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import TRUE, Deferred, Encoded, defect


@dataclass(slots=True, eq=False)
class _Held:
    pending: PendingClose
    answer: Deferred = field(default_factory=Deferred)


class PendingCompletes:
    """The waiting calls, by inode."""

    def __init__(self, closing: Closing) -> None:
        self._closing = closing
        self._held: dict[int, list[_Held]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._held.values()))

    def complete(
        self,
        caller: Caller,
        path: str,
        *,
        client_name: str,
        inode_id: int,
        last: ClientBlock | None,
    ) -> pb.CompleteResponseProto | Encoded | Deferred:
        """Close the file: the answer, now or when it is decided."""
        pending = self._closing.complete(
            caller, path, client_name=client_name, inode_id=inode_id, last=last
        )
        if pending.outcome is not None:
            return TRUE if pending.outcome else pb.CompleteResponseProto(result=False)
        held = _Held(pending)
        self._held.setdefault(pending.inode_id, []).append(held)
        return held.answer

    def recheck(self, inode_ids: list[int] | None = None) -> None:
        """Datanodes reported replicas of these files (None: any), or time passed."""
        for inode_id in list(self._held) if inode_ids is None else inode_ids:
            waiting = self._held.pop(inode_id, None)
            if waiting is None:
                continue
            still = [held for held in waiting if not self._try(held)]
            if still:
                self._held[inode_id] = still

    def _try(self, held: _Held) -> bool:
        """True if the call is answered."""
        try:
            self._closing.try_close(held.pending)
        except errors.HowdahError as error:
            held.answer.settle(error)
        except Exception as error:  # noqa: BLE001 - the others get their answers
            held.answer.settle(defect("complete", error))
        else:
            if held.pending.outcome is None:
                return False
            held.answer.settle(pb.CompleteResponseProto(result=held.pending.outcome))
        return True

    def refuse_all(self, error: errors.HowdahError) -> None:
        """Nothing can be closed here any more."""
        held_by_inode, self._held = self._held, {}
        for waiting in held_by_inode.values():
            for held in waiting:
                held.answer.settle(error)
