"""What the namenode is told of the length of a block that is being written (shell).

Every sync of a stream tells it, behind the acks of what is counted. The call is made by itself
(`report`), or in one step with hearing the last ack (`prepare`,
`howdah.client.writing.inline_sync`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.client.writing.machine import Machine
from howdah.rpc.connection import PreparedCall


class LengthUpdates:
    """Those of one output stream's blocks. Thread-safe."""

    def __init__(
        self, machine: Machine, namenode: NamenodeProxy, client_name: str, file_id: int
    ) -> None:
        self._machine = machine
        self._namenode = namenode
        self._client_name = client_name
        self._file_id = file_id
        self._holder: object = None
        self._freed = threading.Condition(machine.lock)
        self._durable: tuple[int, int] | None = None
        """A block's id, and the length of it that the namenode cannot forget."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """While the namenode is told a length, or asked for a block: so a length never lands on
        the block after the one it was measured on."""
        who = object()
        try:
            with self._machine.lock:
                while not self.acquire(who):
                    self._freed.wait()
            yield
        finally:
            with self._machine.lock:
                self.free(who)

    def acquire(self, who: object) -> bool:
        """With the machine's lock: whether `who` holds them now, and nobody else does."""
        if self._holder is None:
            self._holder = who
        return self._holder is who

    def free(self, who: object) -> None:
        """With the machine's lock: `who` does not hold them, or not any more."""
        if self._holder is who:
            self._holder = None
            self._freed.notify()

    def report(self, *, durable: bool) -> None:
        """Let the namenode know how long the acknowledged part of the last block is.

        The first length of a block is durable in any case: without one a namenode that was just
        started takes the block for one that nobody has written to, until datanodes report it, and
        readers find nothing there. A length that is not durable is told again by the next sync,
        also where nothing was written in between: the namenode may have forgotten it.
        """
        pipeline = self._machine.pipeline
        with self.held():
            with self._machine.lock:
                last = pipeline.last_block
            if last is None or (last.block_id, last.length_bytes) == self._durable:
                return
            known = self._durable
            durable = durable or known is None or known[0] != last.block_id
            with errors.naming(pipeline.path):
                self._namenode.fsync(
                    pipeline.path,
                    self._client_name,
                    last.length_bytes,
                    self._file_id,
                    durable=durable,
                )
            if durable:
                self._durable = (last.block_id, last.length_bytes)

    def prepare(self, block_id: int, length: int, *, durable: bool) -> PreparedCall | None:
        """A call that tells this length, for who holds them and is about to hear that so much is
        acknowledged; None where it is for `report` to do."""
        known = self._durable
        if known is None or known[0] != block_id or known[1] >= length:
            return None
        return self._namenode.prepare_fsync(
            self._machine.pipeline.path,
            self._client_name,
            length,
            self._file_id,
            durable=durable,
        )

    def told_durably(self, block_id: int, length: int) -> None:
        """Who holds them has told this length by a call that is."""
        self._durable = (block_id, length)
