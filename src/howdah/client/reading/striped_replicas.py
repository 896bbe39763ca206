"""The block groups of one open file that is erasure coded, as its stream reads them.

Stands where `howdah.client.reading.file_replicas` does for replicated files; DFSStripedInputStream
in Hadoop. `open` gives a reader of a group's data (`striped_reader`), and this says which node has
an internal block and what it means that one fails:

- A node that failed is dead for the whole stream; another one that has the same internal block
  takes its place. Where there is none, the internal block is missing, and is decoded.
- One whose checksum is wrong is reported to the namenode by its own id, and never read again.
- A connection that ended after it had brought something is made anew, once an internal block, for
  datanodes end those whose reader takes nothing for minutes.
- Where more are missing than the policy makes up for, the namenode is asked for locations anew, as
  often and with such pauses as for a replicated file. Then the error names the group, and what
  is missing.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from howdah import errors
from howdah.client.reading.file_replicas import ReadContext
from howdah.client.reading.locations import FileLocations
from howdah.client.reading.readers import (
    Cancellation,
    ReadCancelled,
    ReadRequest,
    ReplicaReader,
)
from howdah.client.reading.statistics import ReadCounter
from howdah.client.reading.striped_reader import InternalBlockLost, StripedReader
from howdah.client.state.blocks import GroupMembers, LocatedBlock
from howdah.client.state.reading.attempts import Attempts, DeadNodes, NoneLeft
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.protocol.striping.coder import Coder
from howdah.protocol.striping.layout import GroupLayout
from howdah.protocol.striping.policies import Policy
from howdah.rpc import wait_notices
from howdah.runtime.signal_handlers import is_raised_by_handler
from howdah.runtime.sockets import PeerClosed
from howdah.runtime.tracing.span import NOTHING, Span

_log = logging.getLogger(__name__)


def internal_block(group: LocatedBlock, layout: GroupLayout, index: int) -> LocatedBlock:
    """Return an internal block of a group, with the nodes that have it; all take one token."""
    members = group.members
    assert members is not None, group
    places = [
        place
        for place, member in enumerate(members.indices)
        if member == index and place < len(group.nodes)
    ]
    block = replace(
        group.block,
        block_id=group.block.block_id + index,
        length_bytes=layout.block_length(index),
    )
    return LocatedBlock(
        block,
        0,
        tuple([group.nodes[place] for place in places]),
        tuple([group.storage_ids[place] for place in places if place < len(group.storage_ids)]),
        tuple([group.storage_types[place] for place in places if place < len(group.storage_types)]),
        token=members.token_at(places[0]) if places else group.token,
    )


class TooFewInternalBlocks(errors.BlockMissing):
    """More internal blocks of a group are missing than its policy makes up for.

    `failures` are the nodes that this read has tried; `all_corrupt`: nothing but wrong checksums.
    """

    failures: dict[DatanodeAddress, str]
    all_corrupt = False


class StripedReplicas:
    """Opens readers of one file's groups, and remembers what goes wrong. Thread-safe.

    Raises `UnsupportedOperation` for a policy whose codec is unknown here.
    """

    def __init__(
        self, locations: FileLocations, policy: Policy, context: ReadContext, span: Span = NOTHING
    ) -> None:
        """What is read is below `span` in a trace."""
        self.locations = locations
        self.policy = policy
        self.span = span
        self.counter = ReadCounter(context.tally)
        self.hints = context.hints
        self.context = context
        schema = policy.schema
        try:
            self._coder = Coder(schema.codec, schema.data_units, schema.parity_units)
        except ValueError as error:
            raise errors.UnsupportedOperation(
                f"{locations.path} is erasure coded by {policy.name}, which is not read here: "
                f"{error}"
            ).about(locations.path) from None
        self.dead = DeadNodes(context.settings.dead_node_memory_s)
        # Each is used by one step of the interpreter at a time, so threads may share them.
        self.corrupt: set[tuple[int, int, DatanodeAddress]] = set()
        self.broke_off: set[tuple[int, DatanodeAddress]] = set()

    @property
    def path(self) -> str:
        return self.locations.path

    def forked(self) -> None:
        """This is a child's copy now: no thread of the parent will release a lock here."""
        self.locations.forked()
        self.counter.forked()

    def attempts(self) -> Attempts:
        """The history of a read that begins now."""
        return Attempts(self.dead, self.context.settings.max_acquire_failures)

    def open(
        self,
        offset: int,
        length: int | None,
        attempts: Attempts,
        *,
        keep: bool,
        cancellation: Cancellation | None = None,
    ) -> tuple[LocatedBlock, ReplicaReader]:
        """A reader that stands at `offset` of the file, in its group; nothing is sent yet.

        It ends with the group, or `length` bytes on where that comes first.
        """
        group = self.locations.block_at(offset)
        count = group.end - offset if length is None else min(group.end - offset, length)
        start = offset - group.offset
        members = group.members or GroupMembers(group.length_bytes, (), ())
        layout = GroupLayout(self.policy, members.length_bytes)
        return group, StripedReader(
            layout,
            self._coder,
            _Group(self, replace(group, members=members), layout, keep=keep),
            start,
            start + count,
            group.nodes[0] if group.nodes else _NOBODY,
            self.context.striped_workers,
            cancellation,
        )

    # --- failures ---------------------------------------------------------------------------

    def failed(
        self,
        group: LocatedBlock,
        node: DatanodeAddress,
        error: errors.HowdahError | OSError,
        attempts: Attempts,
        *,
        delivered: bool = False,
    ) -> None:
        """Returns where the read may be tried again; raises the error where not.

        What single nodes failed at was noted before.
        """
        if not isinstance(error, TooFewInternalBlocks):
            raise error
        for failed, reason in error.failures.items():
            attempts.reasons[failed] = reason
        if error.all_corrupt:
            now = self.locations.refresh(group.offset)
            if self._are_all_known_corrupt(now):
                raise errors.ChecksumMismatch(str(error)) from None
        match attempts.none_left(group.nodes, time.monotonic()):
            case NoneLeft.TRY_DEAD | NoneLeft.ALL_CORRUPT:
                return
            case NoneLeft.GIVE_UP:
                raise errors.BlockMissing(
                    f"{error} (tried {attempts.rounds + 1} times, by "
                    "dfs.client.max.block.acquire.failures and dfs.client.retry.window.base)"
                ).about(self.path) from None
            case NoneLeft.WAIT:
                self._wait(group, error, attempts)

    def _are_all_known_corrupt(self, group: LocatedBlock) -> bool:
        """Whether fewer internal blocks are left that were never seen to be corrupt than it takes
        to read."""
        members = group.members
        if members is None:
            return False
        layout = GroupLayout(self.policy, members.length_bytes)
        sound = {
            index
            for index, node in zip(members.indices, group.nodes, strict=False)
            if not self.is_corrupt(group, index, node)
        }
        return len(sound) < layout.data_blocks

    def is_corrupt(self, group: LocatedBlock, index: int, node: DatanodeAddress) -> bool:
        """Whether a wrong checksum was seen of this internal block at this node."""
        key = (group.block.block_id + index, group.block.generation_stamp, node)
        return bool(self.corrupt) and key in self.corrupt

    def _wait(self, group: LocatedBlock, error: TooFewInternalBlocks, attempts: Attempts) -> None:
        """Until the namenode knows better, or for long enough to try all again."""
        now = self.locations.refresh(group.offset)
        if (now.block, now.nodes) == (group.block, group.nodes):
            settings = self.context.settings
            pause_s = attempts.pause_s(settings.retry_window_s, random.random())
            most_s = attempts.longest_s(settings.retry_window_s)
            wait_notices.show(
                f"{error}; it is tried again in {pause_s:.1f} s, for up to {most_s:g} s in all"
            )
            time.sleep(pause_s)
            now = self.locations.refresh(group.offset)
        self.dead.forget(now.nodes)


_NOBODY = DatanodeAddress("", "", "", 0)


class _Group:
    """The internal blocks of a group for one reader; `striped_reader.InternalBlocks`."""

    def __init__(
        self, file: StripedReplicas, group: LocatedBlock, layout: GroupLayout, *, keep: bool
    ) -> None:
        self._file = file
        self._group = group
        self._layout = layout
        self._keep = keep
        self._renewing = threading.Lock()
        self._renewed = False
        # Threads of other internal blocks add to these, by one step of the interpreter each.
        self._reasons: dict[int, str] = {}
        self._failures: dict[DatanodeAddress, str] = {}
        self._corrupt: set[int] = set()

    def open(self, index: int, start: int, end: int, cancellation: Cancellation) -> ReplicaReader:
        """A reader at the first node that works; `InternalBlockLost` where there is none."""
        context = self._file.context
        while True:
            group = self._group
            block = internal_block(group, self._layout, index)
            node = self._next_node(block, index)
            request = ReadRequest(
                self._file.path,
                block,
                node,
                start,
                end - start,
                context.client_name,
                self._file.hints,
                self._keep,
                cancellation,
                self._file.span,
            )
            try:
                for factory in context.factories:
                    reader = factory.open(request)
                    if reader is not None:
                        return reader
            except (errors.HowdahError, OSError) as error:
                cancellation.check()
                if not (isinstance(error, errors.InvalidToken) and self._renew_tokens(group)):
                    self._note(index, node, error, delivered=False)
            else:
                raise errors.UnsupportedOperation(
                    f"nothing here reads {block.block.name} from {node}"
                )

    def _next_node(self, block: LocatedBlock, index: int) -> DatanodeAddress:
        now_s = time.monotonic()
        nearest = self._file.context.nearest
        nodes = block.nodes
        if nearest is not None:
            nodes = tuple(sorted(nodes, key=lambda node: node.uuid != nearest))
        for node in nodes:
            if self._file.is_corrupt(self._group, index, node):
                self._corrupt.add(index)
            elif not self._file.dead.holds(node, now_s):
                return node
        if not nodes:
            self._reasons[index] = "no datanode has it"
        elif index not in self._reasons:
            self._reasons[index] = f"{', '.join(map(str, nodes))} failed before"
        raise InternalBlockLost

    def failed(
        self, index: int, reader: ReplicaReader, error: errors.HowdahError | OSError
    ) -> None:
        """Take note of a failure; raises the error where another node would not help."""
        self._note(index, reader.node, error, delivered=True)

    def _note(
        self,
        index: int,
        node: DatanodeAddress,
        error: errors.HowdahError | OSError,
        *,
        delivered: bool,
    ) -> None:
        if isinstance(error, errors.FileChanged | ReadCancelled):
            raise error
        is_timeout = isinstance(error, TimeoutError) and not isinstance(error, errors.HowdahError)
        if is_timeout or is_raised_by_handler(error):
            # Time-outs here have types of their own, so this is a signal handler's of the caller.
            raise error
        file = self._file
        block = internal_block(self._group, self._layout, index)
        _log.warning("%s: reading %s from %s: %s", file.path, block.block.name, node, error)
        file.counter.retried()
        self._reasons[index] = f"{node}: {error}"
        if isinstance(error, errors.ChecksumMismatch):
            file.corrupt.add((block.block.block_id, block.block.generation_stamp, node))
            self._report_corrupt(block, node)
        elif not (delivered and isinstance(error, PeerClosed) and self._may_reconnect(block, node)):
            self._failures[node] = str(error)
            file.dead.add(node, time.monotonic())

    def _renew_tokens(self, refused: LocatedBlock) -> bool:
        """Fetch the tokens of all internal blocks anew, once a reader, since they expire after
        some hours; whether there are others now than the `refused` ones."""
        with self._renewing:
            if self._group is not refused:
                return True
            if self._renewed:
                return False
            self._renewed = True
            fresh = self._file.locations.refresh(refused.offset)
            if fresh.members is None:
                return False
            self._group = fresh
        return True

    def _may_reconnect(self, block: LocatedBlock, node: DatanodeAddress) -> bool:
        key = (block.block.block_id, node)
        if key in self._file.broke_off:
            return False
        self._file.broke_off.add(key)
        return True

    def _report_corrupt(self, block: LocatedBlock, node: DatanodeAddress) -> None:
        try:
            self._file.context.namenode.report_bad_blocks([block.at(node)])
        except (errors.HowdahError, OSError) as failure:
            # The reader has other internal blocks; the datanode's scanner will find this one.
            _log.warning("cannot report %s as corrupt: %s", block.block.name, failure)

    def too_few(self, missing: Sequence[int]) -> errors.HowdahError:
        """The error that names the group, and each internal block with what became of it."""
        file, schema = self._file, self._file.policy.schema
        said = "; ".join(f"{index}: {self._reasons.get(index, 'missing')}" for index in missing)
        error = TooFewInternalBlocks(
            f"Could not read block group {self._group.block.name} of {file.path}: internal blocks "
            f"{list(missing)} are missing, and {file.policy.name} makes up for "
            f"{schema.parity_units} ({said})"
        ).about(file.path)
        error.failures = dict(self._failures)
        error.all_corrupt = self._corrupt.issuperset(missing)
        return error
