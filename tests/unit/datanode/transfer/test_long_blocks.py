"""Internal blocks that are longer than 2 GiB: they are read, summed up and made anew behind that.

Their files are mostly holes, so they take no room and little time.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from howdah.datanode.settings import DataSettings
from howdah.datanode.state.messages import Reconstruct
from howdah.datanode.state.reconstruction import plan
from howdah.datanode.state.volumes import block_files
from howdah.datanode.transfer.decoding import Sources, decoded, internal_block
from howdah.datanode.transfer.peers import connect_to
from howdah.datanode.transfer.remote_replica import RemoteReplica
from howdah.protocol.data_transfer.blocks import NO_TOKEN, ExtendedBlock, StorageType
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, checksum_chunks
from howdah.protocol.data_transfer.meta_header import encode_meta_header
from howdah.protocol.striping.coder import Coder
from howdah.protocol.striping.layout import FIRST_GROUP_ID, GroupLayout
from howdah.protocol.striping.policies import Policy, Schema

Lab = Any
CELL = 64 << 10
POLICY = Policy(64, Schema("rs", 2, 1), CELL)
SPEC = ChecksumSpec(ChecksumType.CRC32C, 512)
SETTINGS = DataSettings(socket_timeout_s=30, write_timeout_s=30)
HOLE = 1 << 31
TAIL = CELL + 700
LENGTH = HOLE + TAIL
GROUP = ExtendedBlock("BP-7-127.0.0.1-1", FIRST_GROUP_ID, 1001, 2 * LENGTH - (CELL - 700))
"""Its last stripe has 700 bytes more than a cell: the last cell of block 1 is short."""


def tails() -> dict[int, bytes]:
    """What follows the zeros in each internal block."""
    layout = GroupLayout(POLICY, GROUP.length_bytes)
    made = {
        index: random.Random(index).randbytes(layout.block_length(index) - HOLE)
        for index in range(2)
    }
    parity = bytearray(len(made[0]))
    Coder("rs", 2, 1).encode([made[0], made[1]], [parity])
    return {**made, 2: bytes(parity)}


def put(lab: Lab, root: Path, index: int, tail: bytes) -> Any:
    """A datanode that finds this block in its directories."""
    lab.node(root=root).close()
    node = lab.node(root=root)
    directory = Path(node.volumes.all[0].finalized_directory(lab.POOL, GROUP.block_id + index))
    node.close()
    directory.mkdir(parents=True, exist_ok=True)
    name = block_files.block_file_name(GROUP.block_id + index)
    with (directory / name).open("wb") as file:
        file.seek(HOLE)
        file.write(tail)
    sums = bytearray(SPEC.sums_length(len(tail)))
    checksum_chunks(SPEC, tail, sums)
    zeros = bytearray(4)
    checksum_chunks(SPEC, bytes(512), zeros)
    meta = encode_meta_header(SPEC) + bytes(zeros) * (HOLE // 512) + sums
    (directory / f"{name}_{GROUP.generation_stamp}.meta").write_bytes(meta)
    return lab.node(root=root, settings=SETTINGS)


def test_what_lies_behind_two_gib_is_read_and_decoded(lab: Lab, tmp_path: Path) -> None:
    layout = GroupLayout(POLICY, GROUP.length_bytes)
    expected = tails()
    nodes = {index: put(lab, tmp_path / f"long{index}", index, expected[index]) for index in (1, 2)}
    for index, node in nodes.items():
        block = internal_block(GROUP, index, layout.block_length(index))
        start = HOLE - 300
        connection = connect_to(node.address, SETTINGS, 30, block.pool_id, NO_TOKEN)
        replica = RemoteReplica(connection, node.address, block, start)
        found = bytearray(block.length_bytes - start)
        replica.read_into(memoryview(found))
        replica.finish()
        assert found == bytes(300) + expected[index]
    order = Reconstruct(
        GROUP,
        POLICY,
        tuple(node.address for node in nodes.values()),
        tuple(nodes),
        (nodes[1].address,),
        (StorageType.DISK,),
        ("",),
    )
    work = plan(order)
    assert (work.lost, work.length_bytes) == ((0,), layout.block_length(0))
    sources = Sources(order, work, SETTINGS, lambda corrupt: None)
    try:
        read = sources.read(HOLE, work.length_bytes)
        made = decoded(order, work, read, work.length_bytes - HOLE, validates=True)
    finally:
        sources.close()
    assert made[0] == expected[0]
