"""What must hold after every step, whatever has happened.

- A generation stamp never goes back, neither a replica's at a datanode nor a block's at
  the namenode.
- Nothing is shown to readers that isn't there.
- What a writer was promised by `hflush`, `hsync` or `close`, and what a closed file
  holds, lies on a disk, in replicas that are not older than the block.
- All replicas that the namenode counts for a complete block hold the file's bytes.

A power cut may take what was not synced. Whatever it takes from the last disk that had it
is promised no more; but what was synced is. The disks are those of the block's pipeline: of
one that was set up, too, before the namenode is told of it.
"""

from __future__ import annotations

from howdah import errors
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.namenode.state.inodes.inodes import Block, BlockState, File
from howdah.testing.in_memory import POOL_ID
from howdah.testing.simulator.datanodes.datanode import Datanode
from howdah.testing.simulator.datanodes.disk import Disk, Place, ReplicaFiles
from howdah.testing.simulator.datanodes.store import good_length
from howdah.testing.simulator.history import Violation
from howdah.testing.simulator.namenode import Namenode
from howdah.testing.simulator.nameservice import Nameservice
from howdah.testing.simulator.writing import OutputStream

_Blocks = list[tuple[int, Block, bytes]]
"""Each block with its offset, and what it holds, or may hold if it is open."""


class Checks:
    """Holds the promises of `Namenode.history` against all disks."""

    def __init__(self, namenode: Namenode | Nameservice, nodes: list[Datanode]) -> None:
        self._namenode = namenode
        self._nodes = nodes
        self._stamps: dict[tuple[str, int], int] = {}
        self._block_stamps: dict[int, int] = {}
        self.streams: dict[str, OutputStream] = {}
        """By writer; those of the dead are dropped as they are found."""
        self.damaged: set[tuple[str, int]] = set()
        """(node, block id) of replicas that a power cut may have damaged."""
        self._cut_ahead: set[tuple[int, int]] = set()
        """(block id, stamp) of replicas that a power cut hit in a pipeline that the namenode
        had yet to be told of."""

    def check(self) -> None:
        self._namenode.history.check_promises()
        self._check_stamps()
        for path in self._namenode.history.files:
            file = self._file(path)
            if file is not None:
                blocks = self._blocks_of(path, file)
                self._check_block_stamps(blocks)
                self._note_what_a_new_pipeline_has_lost(path, blocks)
                self._check_file(path, blocks)
                self._check_pipeline(path, file, blocks)

    # --- stamps, lengths ---

    def _check_stamps(self) -> None:
        for node in self._nodes:
            if not node.process.alive:
                continue
            for replica in node.store.replicas.of_pool(POOL_ID):
                key = node.name, replica.block_id
                stamp = replica.generation_stamp
                # A copy that ends early leaves nothing, and an older one may come after it.
                if replica.state is not ReplicaState.TEMPORARY:
                    if stamp < self._stamps.get(key, 0):
                        raise Violation(f"the stamp of {replica!r} at {node} went back")
                    self._stamps[key] = stamp
                length = len(node.disk.names[replica.block_id][1].block.content)
                is_there = replica.visible_bytes <= replica.length_bytes <= length
                if not is_there and key not in self.damaged:
                    raise Violation(f"{node} shows more of {replica!r} than it has")

    def _check_block_stamps(self, blocks: _Blocks) -> None:
        if self._namenode.process.alive:
            for _, block, _ in blocks:
                stamp = block.generation_stamp
                if stamp < self._block_stamps.get(block.block_id, 0):
                    raise Violation(f"the stamp of {block} went back")
                self._block_stamps[block.block_id] = stamp

    def forget_stamps(self, node: Datanode) -> None:
        """Its power was cut: a name that was not synced is the old one again."""
        for key in [key for key in self._stamps if key[0] == node.name]:
            del self._stamps[key]

    def forget_block_stamps(self) -> None:
        """The namenode lost edits of which nobody was told."""
        self._block_stamps.clear()

    # --- pipelines ---

    def _check_pipeline(self, path: str, file: File, blocks: _Blocks) -> None:
        """What the writer's pipeline has acknowledged is at every node of it, and what a node
        shows is at each one behind it. That is so as long as the pipeline is the first one: in
        another each node keeps, and shows, what the first has acknowledged to it."""
        stream = self.streams.get(file.writer or "")
        if stream is None or not stream.pipeline.is_streaming:
            return
        if not stream.client.process.alive:
            del self.streams[stream.client.name]
            return
        located, last = stream.pipeline.block, stream.pipeline.last_block
        assert located is not None, "it is streaming"
        assert last is not None, "it is streaming"
        if not blocks or blocks[-1][1].block_id != last.block_id:
            return
        start, block, expected = blocks[-1]
        acked, behind = expected[: last.length_bytes], len(expected)
        for address in reversed(located.nodes):
            node = self._node(address.uuid)
            entry = node.disk.names.get(last.block_id)
            if (node.name, last.block_id) in self.damaged or entry is None:
                return
            content = bytes(entry[1].block.content)
            if not content.startswith(acked):
                raise Violation(
                    f"{path}: {len(acked)} bytes behind {start} are acknowledged, {node} has "
                    f"{_disk_text(node.disk, block)}, not {acked!r}"
                )
            replica = node.store.find(last.block_id)
            if not node.process.alive or replica is None:
                return
            is_first = not stream.pipeline.counts.recoveries and (
                # After an announced restart all that is there counts as acknowledged.
                node.started_at <= stream.opened_at
            )
            if is_first and replica.visible_bytes > behind:
                raise Violation(f"{node} shows {replica.visible_bytes} bytes of {replica!r}")
            behind = min(behind, replica.length_bytes)

    # --- bytes ---

    def _file(self, path: str) -> File | None:
        inode = self._namenode.inner.namesystem.namespace.find(path)
        return inode if isinstance(inode, File) else None

    def _check_file(self, path: str, blocks: _Blocks) -> None:
        history = self._namenode.history
        promised, synced = history.promised_bytes(path), history.synced_bytes(path)
        is_lost = path in history.lost_to_power
        end = 0
        for start, block, expected in blocks:
            if block.state is BlockState.COMPLETE:
                self._check_replicas(path, block, expected)
            wanted = synced if is_lost else max(promised, synced)
            wanted = min(wanted - start, len(expected))
            if wanted > 0 and self.available(block, expected) < wanted:
                raise Violation(
                    f"{path}: {wanted} bytes of {block} are promised, or synced, and no disk "
                    f"has them: {self._describe(block)}"
                )
            end = start + len(expected)
        if promised > end and not is_lost:
            raise Violation(f"{path}: {promised} bytes are promised, it has blocks for {end}")

    def available(self, block: Block, expected: bytes) -> int:
        """The most that one disk has of what the block is to hold, and can prove to have."""
        best = 0
        for node in self._nodes:
            entry = node.disk.names.get(block.block_id)
            if entry is None:
                continue
            name, files = entry
            if name.place is Place.TMP or name.generation_stamp < block.generation_stamp:
                continue
            content = bytes(files.block.content)
            if (node.name, block.block_id) in self.damaged:
                proven = _proven(files)
                # A final one is taken whole, or not at all.
                is_good = name.place is not Place.FINALIZED or proven == len(content)
                content = content[:proven] if is_good else b""
            common_bytes = _common(content, expected)
            # Of a closed block the namenode takes final replicas and whole ones alone.
            is_whole = name.place is Place.FINALIZED and common_bytes == len(expected)
            if block.state is BlockState.UNDER_CONSTRUCTION or is_whole:
                best = max(best, common_bytes)
        return best

    def _check_replicas(self, path: str, block: Block, expected: bytes) -> None:
        for storage in block.replicas:
            node = self._node(storage.node.identity.uuid)
            if (node.name, block.block_id) in self.damaged:
                continue
            if isinstance(self._namenode, Nameservice) and not storage.reported:
                continue  # An active before may have had it deleted.
            entry = node.disk.names.get(block.block_id)
            if (
                entry is None
                or entry[0].place is not Place.FINALIZED
                or entry[0].generation_stamp != block.generation_stamp
                or bytes(entry[1].block.content) != expected
            ):
                raise Violation(
                    f"{path}: {node} is counted for {block} and has "
                    f"{_disk_text(node.disk, block)}, not {expected!r}"
                )

    def _node(self, uuid: str) -> Datanode:
        return next(node for node in self._nodes if node.address.uuid == uuid)

    def _describe(self, block: Block) -> str:
        return "; ".join(f"{node}: {_disk_text(node.disk, block)}" for node in self._nodes)

    # --- power ---

    def power_was_cut(self, node: Datanode, block_ids: set[int]) -> None:
        """Take note of what nobody can be held to any more. `block_ids` were on its disk."""
        self.forget_stamps(node)
        self.damaged |= {(node.name, block_id) for block_id in block_ids}
        history = self._namenode.history
        for path in history.files:
            acked = history.acked_bytes(path)
            for start, block, expected in self._blocks(path):
                wanted = min(acked - start, len(expected))
                if wanted > 0 and (
                    self.available(block, expected) < wanted
                    or self._is_believed(node, block, expected, wanted)
                ):
                    history.lost_to_power.add(path)
                entry = node.disk.names.get(block.block_id)
                if entry is not None and entry[0].generation_stamp > block.generation_stamp:
                    self._cut_ahead.add((block.block_id, entry[0].generation_stamp))

    def _note_what_a_new_pipeline_has_lost(self, path: str, blocks: _Blocks) -> None:
        """The namenode has heard of a pipeline only now: it makes replicas elsewhere stale,
        which are not a disk that still has the bytes that a power cut has taken from it."""
        history = self._namenode.history
        for start, block, expected in blocks:
            key = block.block_id, block.generation_stamp
            if key in self._cut_ahead:
                self._cut_ahead.discard(key)
                wanted = min(history.acked_bytes(path) - start, len(expected))
                if wanted > 0 and self.available(block, expected) < wanted:
                    history.lost_to_power.add(path)

    def _is_believed(self, node: Datanode, block: Block, expected: bytes, wanted: int) -> bool:
        """True if the node has a final replica that lost acknowledged bytes: a pipeline that is
        closed again, and a recovery, prefer it to those that were being written and have all.
        That is no breach, since without a sync nobody was promised anything of a power cut."""
        entry = node.disk.names.get(block.block_id)
        if entry is None or entry[0].place is not Place.FINALIZED:
            return False
        content = bytes(entry[1].block.content)[: _proven(entry[1])]
        return _common(content, expected) < wanted

    def is_lost(self, path: str) -> bool:
        """True if power cuts have taken what the namenode knows of: a block may never get
        its replicas back, and a file may not be closed before somebody decides about it."""
        return bool(self.damaged) and any(
            self.available(block, expected) < block.length_bytes
            for _, block, expected in self._blocks(path)
        )

    def _blocks(self, path: str) -> _Blocks:
        file = self._file(path)
        return [] if file is None else self._blocks_of(path, file)

    def _blocks_of(self, path: str, file: File) -> _Blocks:
        text = self._namenode.history.text(path)
        blocks, start = [], 0
        for block in file.blocks:
            is_open = block.state is BlockState.UNDER_CONSTRUCTION
            length = block.length_bytes
            end = len(text) if is_open else start + length
            blocks.append((start, block, text[start:end]))
            start += length
        return blocks


def _proven(files: ReplicaFiles) -> int:
    try:
        return good_length(files)[0]
    except errors.ChecksumMismatch:
        return 0


def _common(one: bytes, other: bytes) -> int:
    if other.startswith(one):
        return len(one)
    limit = min(len(one), len(other))
    if one[:limit] == other[:limit]:
        return limit
    return next(index for index in range(limit) if one[index] != other[index])


def _disk_text(disk: Disk, block: Block) -> str:
    entry = disk.names.get(block.block_id)
    if entry is None:
        return "nothing"
    name, files = entry
    return f"{name.place.value}_{name.generation_stamp} {bytes(files.block.content)!r}"
