"""The replicas of one open file, as its stream reads them: which node, and what if it fails.

The shell around `howdah.client.state.reading.attempts`: looks blocks up, opens readers by the first
way that leads to a replica, reports corrupt replicas to the namenode (FS-100), waits
and asks for locations anew when every node of a block has failed. Shared by sequential,
positioned and hedged reads of a stream, from any thread.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.client.reading.hedged import SILENT_LOSSES, HedgedReads
from howdah.client.reading.locations import FileLocations
from howdah.client.reading.readers import (
    Cancellation,
    ReadCancelled,
    ReaderFactory,
    ReadRequest,
    ReplicaReader,
)
from howdah.client.reading.statistics import ReadCounter
from howdah.client.settings.settings import ClientSettings
from howdah.client.state.blocks import LocatedBlock
from howdah.client.state.reading.attempts import Attempts, DeadNodes, NoneLeft
from howdah.client.statistics import Tally
from howdah.client.thread_pool import Workers
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.protocol.data_transfer.op_requests import NO_HINTS, CachingHints
from howdah.rpc import wait_notices
from howdah.runtime.signal_handlers import is_raised_by_handler
from howdah.runtime.sockets import PeerClosed
from howdah.runtime.tracing.span import NOTHING, Span

_log = logging.getLogger(__name__)
_STRIPED_WORKERS: Final = Workers(18, "howdah-striped-read")
"""Of those who configure none."""


@dataclass(frozen=True, slots=True)
class ReadContext:
    """What the input streams of one client share.

    `factories` are the ways to a replica, the best one first; the last one always leads.
    `nearest` is the datanode, by its uuid, that is asked first for what it has.
    """

    namenode: NamenodeProxy
    settings: ClientSettings
    client_name: str
    factories: Sequence[ReaderFactory]
    hedged: HedgedReads | None = None
    tally: Tally | None = None
    nearest: str | None = None
    hints: CachingHints = NO_HINTS
    """Those of streams that have no wishes of their own."""
    striped_workers: Workers = _STRIPED_WORKERS
    """Threads that read several internal blocks of an erasure coded file at the same time."""


class FileReplicas:
    """Opens readers on one file, and remembers what goes wrong. Thread-safe."""

    def __init__(
        self, locations: FileLocations, context: ReadContext, span: Span = NOTHING
    ) -> None:
        """What is read is below `span` in a trace."""
        self.locations = locations
        self._span = span
        self.counter = ReadCounter(context.tally)
        settings = context.settings
        self.hints = context.hints
        self._context = context
        self._dead = DeadNodes(settings.dead_node_memory_s)
        self._broke_off: dict[DatanodeAddress, ExtendedBlock] = {}
        self._silent_losses: dict[DatanodeAddress, int] = {}

    @property
    def path(self) -> str:
        return self.locations.path

    def forked(self) -> None:
        """This is a child's copy now: no thread of the parent will release a lock here."""
        self.locations.forked()
        self.counter.forked()

    def attempts(self) -> Attempts:
        """The history of a read that begins now."""
        return Attempts(self._dead, self._context.settings.max_acquire_failures)

    # --- choosing and opening -----------------------------------------------------------

    def choose(self, offset: int, attempts: Attempts) -> tuple[LocatedBlock, DatanodeAddress]:
        """The block that holds `offset` of the file, and the node to ask for it next.

        Waits and asks the namenode anew where all nodes have failed. `BlockMissing` in
        the end, or `ChecksumMismatch` where every replica is corrupt.
        """
        while True:
            block = self.locations.block_at(offset)
            node = attempts.next_node(self._in_order(block), time.monotonic())
            if node is not None:
                return block, node
            self._none_left(block, attempts)

    def another(
        self, offset: int, attempts: Attempts, busy: Collection[DatanodeAddress]
    ) -> tuple[LocatedBlock, DatanodeAddress] | None:
        """A node beside those that are `busy` with the same read, if there is one."""
        block = self.locations.block_at(offset)
        node = attempts.next_node(self._in_order(block), time.monotonic(), busy)
        return None if node is None else (block, node)

    def _in_order(self, block: LocatedBlock) -> tuple[DatanodeAddress, ...]:
        """The nearest first, unless one that has the block in memory is preferred."""
        nodes = block.cached_first if self._context.settings.prefers_cached else block.nodes
        nearest = self._context.nearest
        if nearest is None:
            return nodes
        return tuple(sorted(nodes, key=lambda node: node.uuid != nearest))

    def open(
        self,
        offset: int,
        length: int | None,
        attempts: Attempts,
        *,
        keep: bool,
        cancellation: Cancellation | None = None,
    ) -> tuple[LocatedBlock, ReplicaReader]:
        """A reader that stands at `offset` of the file, at the first node that works.

        It ends with the block, or `length` bytes on where that comes first.
        `ReadCancelled` when that is what happens meanwhile.
        """
        while True:
            block, node = self.choose(offset, attempts)
            count = block.end - offset if length is None else min(block.end - offset, length)
            try:
                return block, self.open_at(
                    block, node, offset, count, keep=keep, cancellation=cancellation
                )
            except (errors.HowdahError, OSError) as error:
                if cancellation is not None:
                    cancellation.check()
                self.failed(block, node, error, attempts)

    def open_at(
        self,
        block: LocatedBlock,
        node: DatanodeAddress,
        offset: int,
        count: int,
        *,
        keep: bool = True,
        cancellation: Cancellation | None = None,
    ) -> ReplicaReader:
        """A reader of `count` bytes at one node."""
        context = self._context
        request = ReadRequest(
            self.path,
            block,
            node,
            offset - block.offset,
            count,
            context.client_name,
            self.hints,
            keep,
            cancellation,
            self._span,
        )
        for factory in context.factories:
            reader = factory.open(request)
            if reader is not None:
                return reader
        raise errors.UnsupportedOperation(f"nothing here reads {block.block.name} from {node}")

    # --- failures -----------------------------------------------------------------------

    def failed(
        self,
        block: LocatedBlock,
        node: DatanodeAddress,
        error: errors.HowdahError | OSError,
        attempts: Attempts,
        *,
        delivered: bool = False,
    ) -> None:
        """Take note that reading `block` from `node` failed, after it had `delivered` some.

        Raises the error where another node would not help.
        """
        if isinstance(error, errors.FileChanged | ReadCancelled):
            raise error
        is_timeout = isinstance(error, TimeoutError) and not isinstance(error, errors.HowdahError)
        if is_timeout or is_raised_by_handler(error):
            # Time-outs here have types of their own, so this is a signal handler's of the caller.
            raise error
        _log.warning("%s: reading %s from %s: %s", self.path, block.block.name, node, error)
        self.counter.retried()
        reason = str(error)
        if isinstance(error, errors.ChecksumMismatch):
            attempts.is_corrupt(node, reason)
            self._report_corrupt(block, node)
        elif isinstance(error, errors.InvalidToken) and attempts.may_renew_token():
            # Tokens expire after some hours, which a stream may well live for.
            attempts.broke_off(node, reason)
            self.locations.refresh(block.offset)
        elif delivered and isinstance(error, PeerClosed) and self._may_reconnect(block, node):
            attempts.broke_off(node, reason)
        else:
            attempts.failed(node, reason, time.monotonic())

    def lost(
        self,
        block: LocatedBlock,
        node: DatanodeAddress,
        attempts: Attempts,
        *,
        in_silence: bool,
    ) -> None:
        """A hedged read had its bytes from a node that was asked after `node`."""
        if not in_silence:
            self._silent_losses.pop(node, None)
            return
        losses = self._silent_losses[node] = self._silent_losses.get(node, 0) + 1
        if losses >= SILENT_LOSSES:
            self._silent_losses.pop(node, None)
            _log.warning(
                "%s: %s said nothing in %d reads of %s that other nodes were asked for later and "
                "answered; it is asked last from now on",
                self.path,
                node,
                SILENT_LOSSES,
                block.block.name,
            )
            attempts.failed(node, "it said nothing while others answered", time.monotonic())

    def _may_reconnect(self, block: LocatedBlock, node: DatanodeAddress) -> bool:
        """Once a block: datanodes end connections whose reader takes nothing for minutes."""
        before = self._broke_off.get(node)
        self._broke_off[node] = block.block
        return before is None or not before.is_same_as(block.block)

    def _report_corrupt(self, block: LocatedBlock, node: DatanodeAddress) -> None:
        try:
            self._context.namenode.report_bad_blocks([block.at(node)])
        except (errors.HowdahError, OSError) as failure:
            # The reader has other replicas; the datanode's scanner will find this one.
            _log.warning("cannot report %s as corrupt: %s", block.block.name, failure)

    def _none_left(self, block: LocatedBlock, attempts: Attempts) -> None:
        """Every node of the block has failed. Returns when there is something to try."""
        name = block.block.name
        match attempts.none_left(block.nodes, time.monotonic()):
            case NoneLeft.TRY_DEAD:
                return
            case NoneLeft.ALL_CORRUPT:
                # Replicas that were reported, or made, since the locations were fetched.
                now = self.locations.refresh(block.offset)
                if attempts.corrupt.issuperset(now.nodes):
                    raise errors.ChecksumMismatch(
                        f"Every replica of {name} of {self.path} is corrupt: "
                        f"{attempts.summary(block.nodes)}"
                    )
            case NoneLeft.GIVE_UP:
                raise errors.BlockMissing(
                    f"Could not obtain block {name} of {self.path}: "
                    f"{attempts.summary(block.nodes)} (tried {attempts.rounds + 1} times, by "
                    "dfs.client.max.block.acquire.failures and dfs.client.retry.window.base)"
                )
            case NoneLeft.WAIT:
                self._wait(block, attempts)

    def _wait(self, block: LocatedBlock, attempts: Attempts) -> None:
        """Until the namenode knows better, or for long enough to try all again."""
        now = self.locations.refresh(block.offset)
        if now.block == block.block and (attempts.next_node(now.nodes, time.monotonic()) is None):
            settings = self._context.settings
            pause_s = attempts.pause_s(settings.retry_window_s, random.random())
            most_s = attempts.longest_s(settings.retry_window_s)
            wait_notices.show(
                f"{self.path}: block {block.block.name} cannot be read now "
                f"({attempts.summary(now.nodes)}); it is tried again in {pause_s:.1f} s, for up to "
                f"{most_s:g} s in all"
            )
            time.sleep(pause_s)
            now = self.locations.refresh(block.offset)
        # A block that was recovered or cut meanwhile was asked for wrongly until now.
        attempts.forgive(now.nodes, time.monotonic())
