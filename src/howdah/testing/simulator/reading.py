"""A simulated client that reads a whole file.

The steps of `howdah.client.reading.locations` and `file_replicas`, reduced to one pass over the
file: the length of a block that is being written is its datanodes' to say; a node that
fails makes way for the next; a replica that does not fit its checksums is reported.
"""

from __future__ import annotations

from howdah import errors
from howdah.client.state.blocks import LocatedBlock, LocatedBlocks
from howdah.testing.simulator.clients import Client
from howdah.testing.simulator.datanodes.store import Opened
from howdah.testing.simulator.tasks import Steps

ROUNDS = 3
ROUND_PAUSE_S = 4.0
WHOLE_FILE = 1 << 40


class Reader:
    """Reads `path` once."""

    def __init__(self, client: Client, path: str) -> None:
        self._client = client
        self._path = path

    def read(self) -> Steps[bytes]:
        """All that was readable when it began. Raises what a reader would be told."""
        located, last = yield from self._open()
        blocks = list(located.blocks)
        if last is not None:
            blocks = [block for block in blocks if block.offset != last.offset]
            blocks.append(last)
        out = bytearray()
        for block in blocks:
            if block.length_bytes:
                out += yield from self._read_block(block)
        return bytes(out)

    def _locate(self) -> Steps[LocatedBlocks]:
        return self._client.call(
            lambda namenode: namenode.get_block_locations(self._path, 0, WHOLE_FILE)
        )

    def _open(self) -> Steps[tuple[LocatedBlocks, LocatedBlock | None]]:
        reason = ""
        for _ in range(ROUNDS):
            located = yield from self._locate()
            last = located.last_block
            if last is None or located.last_block_complete:
                return located, None
            length, reason = yield from self._length_at_datanodes(last)
            if length is not None:
                return located, last.with_block(last.block.with_length(length))
            yield from self._client.world.sleep(ROUND_PAUSE_S)
        raise errors.CannotObtainBlockLength(f"{self._path}: {reason}")

    def _length_at_datanodes(self, block: LocatedBlock) -> Steps[tuple[int | None, str]]:
        if not block.nodes:
            return (None, "no datanode has it") if block.length_bytes else (0, "")
        said, absent = [], 0
        for node in block.nodes:
            datanode = self._client.datanodes[node.transfer_address]
            try:
                length = yield from datanode.call(
                    self._client.process,
                    "getReplicaVisibleLength",
                    lambda datanode=datanode: datanode.visible_length(block.block),  # type: ignore[misc]
                )
            except errors.ReplicaNotFound as error:
                absent += 1
                said.append(str(error))
            except (errors.HowdahError, OSError) as error:
                said.append(str(error))
            else:
                if length >= block.length_bytes:
                    return length, ""
                said.append("it waits for recovery, or has lost bytes")
        if absent == len(block.nodes) and not block.length_bytes:
            return 0, ""
        return None, "; ".join(said)

    def _read_block(self, block: LocatedBlock) -> Steps[bytes]:
        wanted = block.length_bytes
        said: list[str] = []
        for _ in range(ROUNDS):
            for node in block.nodes:
                try:
                    return (yield from self._read_from(block, node.transfer_address, wanted))
                except errors.ChecksumMismatch as error:
                    said.append(f"{node.hostname}: {error}")
                    yield from self._report(block.at(node))
                except (errors.HowdahError, OSError) as error:
                    said.append(f"{node.hostname}: {error}")
            yield from self._client.world.sleep(ROUND_PAUSE_S)
            located = yield from self._locate()
            for now in (*located.blocks, *filter(None, (located.last_block,))):
                if now.block.block_id == block.block.block_id:
                    block = now
        raise errors.BlockMissing(f"{block.block.name} of {self._path}: {'; '.join(said)}")

    def _read_from(self, block: LocatedBlock, address: str, wanted: int) -> Steps[bytes]:
        datanode = self._client.datanodes[address]
        data: bytes
        opened: Opened
        data, opened = yield from datanode.call(
            self._client.process, "READ_BLOCK", lambda: datanode.read(block.block, wanted)
        )
        opened.verify()
        return data

    def _report(self, block: LocatedBlock) -> Steps[None]:
        try:
            yield from self._client.call(lambda namenode: namenode.report_bad_blocks([block]))
        except (errors.HowdahError, OSError) as error:
            self._client.world.note(self._client.name, f"cannot report {block.block}: {error}")
