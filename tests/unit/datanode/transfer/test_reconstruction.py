"""Lost internal blocks are made anew, over sockets between datanodes of this process."""

from __future__ import annotations

import contextlib
import itertools
import random
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.settings import DataSettings, ReconstructionSettings
from howdah.datanode.state.messages import CorruptFound, Reconstruct, ReplicaReceived
from howdah.datanode.state.reconstruction import plan
from howdah.datanode.transfer import reconstruction
from howdah.datanode.transfer.decoding import decoded, internal_block
from howdah.datanode.transfer.reconstruction import Reconstructions
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock, StorageType
from howdah.protocol.striping.coder import Coder
from howdah.protocol.striping.layout import FIRST_GROUP_ID, GroupLayout
from howdah.protocol.striping.policies import Policy, Schema

Lab = Any
POLICY = Policy(64, Schema("rs", 3, 2), 2048)
QUICK = ReconstructionSettings(piece_bytes=1536, silence_s=0.3)
SETTINGS = DataSettings(socket_timeout_s=5, write_timeout_s=5, reconstruction=QUICK)


def unit_blocks(data: bytes, policy: Policy = POLICY) -> dict[int, bytes]:
    """The internal blocks of a group, made by the definition, stripe by stripe."""
    layout, schema = GroupLayout(policy, len(data)), policy.schema
    coder = Coder(schema.codec, schema.data_units, schema.parity_units)
    blocks = {index: bytearray() for index in range(schema.units)}
    for start in range(0, len(data), layout.stripe_bytes):
        stripe = data[start : start + layout.stripe_bytes]
        cells = [
            stripe[at : at + policy.cell_bytes]
            for at in range(0, layout.stripe_bytes, policy.cell_bytes)
        ]
        parity = [bytearray(len(cells[0])) for _ in range(schema.parity_units)]
        coder.encode(cells, parity)
        for index, cell in enumerate([*map(bytes, cells), *map(bytes, parity)]):
            blocks[index] += cell
    return {index: bytes(block) for index, block in blocks.items() if block}


class Group:
    """A group whose internal blocks are at one datanode each, and two datanodes more."""

    def __init__(
        self, lab: Lab, length: int, policy: Policy = POLICY, data: bytes | None = None
    ) -> None:
        self.policy = policy
        self.data = random.Random(length).randbytes(length) if data is None else data
        self.block = ExtendedBlock(lab.POOL, FIRST_GROUP_ID, 1001, length)
        self.blocks = unit_blocks(self.data, policy)
        self.holders = {index: lab.node() for index in self.blocks}
        self.targets = [lab.node(), lab.node()]
        for index, content in self.blocks.items():
            self.put(lab, self.holders[index], index, content)

    def put(self, lab: Lab, node: Any, index: int, content: bytes) -> None:
        block = replace(internal_block(self.block, index, 0))
        lab.write_block(node, block, content)

    def order(self, live: list[int], targets: int = 1, **more: Any) -> Reconstruct:
        order = Reconstruct(
            self.block,
            self.policy,
            tuple(self.holders[index].address for index in live),
            tuple(live),
            tuple(node.address for node in self.targets[:targets]),
            (StorageType.DISK,) * targets,
            ("DS-0",) * targets,
        )
        return replace(order, **more)

    def made(self, number: int) -> tuple[int, bytes]:
        """Which internal block a target has told its namenode of, and its bytes."""
        node = self.targets[number]
        received = node.wait_for(ReplicaReceived)
        block = received.block
        content = node.content(block.block_id)
        assert block.length_bytes == len(content)
        return block.block_id - self.block.block_id, content


class Worker:
    def __init__(self, settings: DataSettings = SETTINGS) -> None:
        self.told: list[CorruptFound] = []
        self.counts: list[int] = []
        self.works = Reconstructions(settings, self.told.append, self.counts.append)

    def run(self, order: Reconstruct) -> None:
        self.works.start(order).result(30)


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.works.close()


LENGTHS = [10, 2048, 2049, 6144, 6145, 20_000, 24_576]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("lost", [[0], [4], [0, 3], [3, 4]])
def test_lost_blocks_are_what_they_were(
    lab: Lab, worker: Worker, length: int, lost: list[int]
) -> None:
    group = Group(lab, length)
    live = [index for index in group.blocks if index not in lost]
    worker.run(group.order(live, len(lost)))
    for number, index in enumerate(lost):
        assert group.made(number) == (index, group.blocks[index])
    assert sum(worker.counts) == 0
    assert not worker.told


def test_what_was_made_is_held_against_its_sources(lab: Lab) -> None:
    worker = Worker(replace(SETTINGS, reconstruction=replace(QUICK, validates=True)))
    for length in (10, 6145, 20_000):
        group = Group(lab, length)
        worker.run(group.order([index for index in group.blocks if index not in (0, 3)], 2))
        assert group.made(0) == (0, group.blocks[0])
        assert group.made(1) == (3, group.blocks[3])
    worker.works.close()


@pytest.mark.parametrize(
    ("policy", "lost"),
    [(POLICY, (0, 3)), (POLICY, (3, 4)), (Policy(65, Schema("rs", 2, 3), 2048), (0, 1, 4))],
    ids=["data and parity", "parity", "more than data units"],
)
@pytest.mark.parametrize("length", [10, 6145, 20_000])
def test_a_wrong_byte_in_any_block_that_was_made_is_found(
    policy: Policy, lost: tuple[int, ...], length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = unit_blocks(random.Random(length).randbytes(length), policy)
    lost = tuple(index for index in lost if index in blocks)
    node = DatanodeAddress("127.0.0.1", "localhost", "node", 1)
    order = Reconstruct(
        ExtendedBlock("BP-1", FIRST_GROUP_ID, 1001, length),
        policy,
        (node,) * (len(blocks) - len(lost)),
        tuple(index for index in blocks if index not in lost),
        (node,) * len(lost),
        (StorageType.DISK,) * len(lost),
        ("",) * len(lost),
    )
    work = plan(order)
    read = {index: memoryview(blocks[index]) for index in order.live[: work.needed]}

    def made() -> dict[int, memoryview]:
        return decoded(order, work, read, work.length_bytes, validates=True)

    right = {index: bytes(unit)[: len(blocks[index])] for index, unit in made().items()}
    assert right == {index: blocks[index] for index in lost}
    decode = Coder.decode
    for wrong in lost:

        def decode_wrongly(
            coder: Coder, present: Any, made: dict[int, Any], wrong: int = wrong
        ) -> None:
            decode(coder, present, made)
            if wrong in made:
                made[wrong][len(made[wrong]) // 2] ^= 1

        monkeypatch.setattr(Coder, "decode", decode_wrongly)
        with pytest.raises(errors.ChecksumMismatch, match="of which they were made"):
            made()
        monkeypatch.setattr(Coder, "decode", decode)


def test_what_does_not_fit_its_sources_is_never_finalized(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker(replace(SETTINGS, reconstruction=replace(QUICK, validates=True)))
    group = Group(lab, 20_000)
    decode, calls = Coder.decode, itertools.count(1)

    def decode_wrongly(coder: Coder, present: Any, made: dict[int, Any]) -> None:
        decode(coder, present, made)
        if 3 in made and next(calls) == 4:  # in the middle of the block
            made[3][100] ^= 1

    monkeypatch.setattr(Coder, "decode", decode_wrongly)
    worker.run(group.order([1, 2, 4], 2))
    assert "does not fit block 1" in caplog.text
    for target in group.targets:
        assert not [event for event in target.events if isinstance(event, ReplicaReceived)]
    monkeypatch.undo()
    worker.run(group.order([1, 2, 4], 2))
    assert group.made(0) == (0, group.blocks[0])
    assert group.made(1) == (3, group.blocks[3])
    worker.works.close()


def test_a_corrupt_source_is_told_and_another_one_is_read(
    lab: Lab, worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    group = Group(lab, 20_000)
    holder = group.holders[1]
    path = holder.block_path(group.block.block_id + 1)
    content = bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)
    worker.run(group.order([1, 2, 3, 4]))
    assert group.made(0) == (0, group.blocks[0])
    (corrupt,) = worker.told
    assert corrupt.block == internal_block(group.block, 1, len(group.blocks[1]))
    assert corrupt.node == holder.address
    assert "corrupt at offset 4608" in caplog.text


def test_sources_that_are_gone_or_silent_are_replaced(lab: Lab, worker: Worker) -> None:
    group = Group(lab, 20_000)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        dumb = DatanodeAddress("127.0.0.1", "localhost", "dumb", silent.getsockname()[1])
        order = group.order([2, 3, 4])
        nodes = (dumb, DatanodeAddress("127.0.0.1", "localhost", "gone", 1), *order.sources)
        worker.run(replace(order, sources=nodes, live=(1, 3, *order.live)))
    assert group.made(0) == (0, group.blocks[0])


class Faulty:
    """Stands before a datanode; of each answer it passes on so many bytes, and then says nothing,
    closes, or lies in each byte."""

    def __init__(self, node: DatanodeAddress, bytes_passed: int, then: str) -> None:
        self._node, self._bytes_passed, self._then = node, bytes_passed, then
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = replace(node, uuid=f"faulty-{node.uuid}", transfer_port=self._port)
        self._threads = [threading.Thread(target=self._serve)]
        self._open: list[socket.socket] = []
        self._threads[0].start()

    @property
    def _port(self) -> int:
        port: int = self._server.getsockname()[1]
        return port

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            far = socket.create_connection((self._node.ip, self._node.transfer_port))
            self._open += [near, far]
            for act in (partial(self._ask, near, far), partial(self._answer, near, far)):
                self._threads.append(threading.Thread(target=act))
                self._threads[-1].start()

    @staticmethod
    def _ask(near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := near.recv(65536):
                far.sendall(data)

    def _answer(self, near: socket.socket, far: socket.socket) -> None:
        left = self._bytes_passed
        with contextlib.suppress(OSError):
            while data := far.recv(65536):
                near.sendall(data[:left])
                rest, left = data[left:], max(left - len(data), 0)
                if rest and self._then == "lie":
                    near.sendall(bytes(byte ^ 1 for byte in rest))
                elif rest and self._then == "close":
                    near.shutdown(socket.SHUT_RDWR)
                    return

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join(20)
        for each in self._open:
            each.close()


@pytest.mark.parametrize("then", ["say nothing", "close", "lie"])
@pytest.mark.parametrize("bytes_passed", [(0, 0), (300, 4000), (2500, 2500), (5000, 6900)])
def test_sources_that_fail_on_the_way_leave_no_wrong_byte(
    lab: Lab, worker: Worker, bytes_passed: tuple[int, int], then: str
) -> None:
    """Two of three sources fail, in the same piece or one after the other; each has another."""
    group = Group(lab, 20_000)
    sources = {index: group.holders[index].address for index in (1, 2, 3)}
    faulty = [
        Faulty(sources[index], count, then)
        for index, count in zip((1, 3), bytes_passed, strict=True)
    ]
    try:
        order = group.order([2, 3, 1], 2)
        nodes = (faulty[0].address, sources[2], faulty[1].address)
        worker.run(replace(order, sources=nodes + order.sources[1:], live=(1, 2, 3, 3, 1)))
    finally:
        for each in faulty:
            each.close()
    assert group.made(0) == (0, group.blocks[0])
    assert group.made(1) == (4, group.blocks[4])


def test_a_target_never_has_a_block_whose_making_ended_half_way(
    lab: Lab, worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    group = Group(lab, 20_000)
    faulty = Faulty(group.holders[1].address, 4000, "close")
    try:
        order = group.order([1, 2, 3], 2)
        worker.run(replace(order, sources=(faulty.address, *order.sources[1:])))
    finally:
        faulty.close()
    assert "no source is left" in caplog.text
    for target in group.targets:
        assert not [event for event in target.events if isinstance(event, ReplicaReceived)]
        assert not target.files("finalized")


def test_without_enough_sources_nothing_is_made(
    lab: Lab, worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    group = Group(lab, 20_000)
    group.holders[3].close()
    worker.run(group.order([2, 3, 4]))
    assert "no source is left" in caplog.text
    assert not [e for e in group.targets[0].events if isinstance(e, ReplicaReceived)]
    assert sum(worker.counts) == 0


def test_a_target_that_is_gone_does_not_keep_the_other_from_its_block(
    lab: Lab, worker: Worker
) -> None:
    group = Group(lab, 20_000)
    group.targets[0].close()
    worker.run(group.order([1, 2, 4], 2))
    assert group.made(1) == (3, group.blocks[3])


def test_a_source_counts_for_half_a_copy(lab: Lab, worker: Worker) -> None:
    group = Group(lab, 10)
    worker.run(group.order([3, 4]))
    assert worker.counts == [1, -1]
    worker.counts.clear()
    worker.run(group.order([3, 4, 3, 4, 3, 4]))
    assert worker.counts == [3, -3]


def test_a_defect_is_logged_with_the_group_and_counts_no_more(
    lab: Lab, worker: Worker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def defect(*_: object, **__: object) -> None:
        raise ZeroDivisionError("nobody foresaw this")

    monkeypatch.setattr(reconstruction, "decoded", defect)
    group = Group(lab, 10)
    worker.run(group.order([3, 4]))
    assert "failed on a defect" in caplog.text
    assert group.block.name in caplog.text
    assert worker.counts == [1, -1]
    monkeypatch.undo()
    # The target drops what it got when it sees that nothing more comes.
    lab.wait_until(lambda: "during WriteBlock" in caplog.text)
    group.targets[0].wait_idle()
    worker.run(group.order([3, 4]))
    assert group.made(0) == (0, group.blocks[0])
