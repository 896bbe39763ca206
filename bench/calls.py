"""CPU time of the namenode's calls, in process: frames in, answers out, records packed.

No socket, no disk and no second thread: this is what a call costs the namenode's loop before
the kernel and the journal have their part, and other work on the machine hardly disturbs it.
As many connections as callers, each with one call in flight; what a turn of the loop commits
becomes durable at the turn's end. The operations are those of Hadoop's NNThroughputBenchmark.
A pair of `create` and `complete` counts as one.
"""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

import load
from harness import Figure, Options, Results, Skipped, figure, main, progress
from operations import Made, Requests, infos, opens, tree

from howdah.namenode.service.ha.categories import CategoryGate
from howdah.namenode.service.ha.durability_barrier import DurableBarrier
from howdah.namenode.service.ha.states import HAContext, HAState
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.call_ids import CLIENT_ID_BYTES
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.service import Registry
from howdah.rpc.server import RpcServer, _Connection
from howdah.runtime.metrics.rpc import RpcMetrics
from howdah.testing.in_memory import SUPERUSER, InMemoryNamenode

CALLERS = 8
DATANODES = 3


class _Transport(asyncio.Transport):
    """Takes what the server sends."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []

    def get_extra_info(self, name: str, default: object = None) -> object:
        return ("10.9.9.9", 40000) if name == "peername" else default

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append(bytes(data))

    def is_closing(self) -> bool:
        return False


class _Log:
    """A log that is durable whenever it is asked."""

    def __init__(self, last_txid: int) -> None:
        self.last_txid = self.durable_txid = last_txid
        self.written_bytes = 0
        self.sends = False

    def poll_durable(self) -> int:
        return self.durable_txid

    def want(self, txid: int) -> bool:
        return False

    def answer(self, *answer: object) -> int:
        return 0

    def returned(self, txid: int) -> Sequence[tuple[Callable[[bytes], object], bytes]]:
        return ()

    def append(self, records: Sequence[bytes], *, now: bool) -> bool:
        self.written_bytes += len(b"".join(records))
        self.last_txid += len(records)
        return False


class Subject:
    """A namenode and its connections, all in this process."""

    def __init__(self) -> None:
        self.namenode = InMemoryNamenode()
        self.nodes = [self.namenode.join(f"dn{n}") for n in range(DATANODES)]
        core = self.namenode.core
        self.turn: list[Callable[[], None]] = []
        self.barrier = DurableBarrier(core, self.turn.append)
        self.log = self.barrier.log = _Log(core.last_txid)
        context = HAContext(lambda: 0)
        context.enter(HAState.ACTIVE)
        registry = Registry(
            [self.namenode.client.service()],
            CategoryGate(context),
            is_open=lambda: context.is_active,
        )
        self.server = RpcServer(registry, barrier=self.barrier)
        self.figures = RpcMetrics(registry.method_names())
        self.connections: list[tuple[_Connection, _Transport, bytes]] = []
        for _ in range(CALLERS):
            connection, transport = _Connection(self.server, self.figures), _Transport()
            connection.connection_made(transport)
            client_id = os.urandom(CLIENT_ID_BYTES)
            context_frame = wire.encode_context(load.PROTOCOL, SUPERUSER, client_id)
            connection.data_received(wire.preamble() + context_frame)
            self.connections.append((connection, transport, client_id))
        self.calls = 0

    def run(self, requests: Requests) -> tuple[float, list[list[bytes]]]:
        """CPU seconds for all calls, `requests[n]` those of one connection; and the answers."""
        frames = []
        for (_, _, client_id), calls in zip(self.connections, requests, strict=True):
            frames.append(
                [
                    wire.encode_call(
                        protocol=load.PROTOCOL,
                        method=method,
                        request=request,
                        call_id=self.calls + number,
                        client_id=client_id,
                    )
                    for number, (method, request) in enumerate(calls)
                ]
            )
        self.calls += max(map(len, requests))
        feeds = [connection.data_received for connection, _, _ in self.connections]
        gc.collect()
        began = time.process_time()
        for turn in zip_longest(*frames):
            for feed, frame in zip(feeds, turn, strict=True):
                if frame is not None:
                    feed(frame)
            self.end_turn()
        took = time.process_time() - began
        return took, [
            self._answers(transport, len(calls))
            for (_, transport, _), calls in zip(self.connections, requests, strict=True)
        ]

    def end_turn(self) -> None:
        """The loop has served all that it found ready, and the log is durable."""
        turn, self.turn[:] = list(self.turn), []
        for act in turn:
            act()
        self.barrier.durable(self.log.last_txid)

    def _answers(self, transport: _Transport, expected: int) -> list[bytes]:
        """All calls were answered, and none with an error."""
        data, transport.sent = b"".join(transport.sent), []
        found = []
        for payload in wire.FrameBuffer().feed(data):
            header, body = wire.decode_answer(payload)
            if header.status:
                raise load.LoadFailed(f"{header.exceptionClassName}: {header.errorMsg}")
            found.append(body)
        if len(found) != expected:
            raise load.LoadFailed(f"{expected} calls had {len(found)} answers")
        return found

    def report(self, blocks: Sequence[types_pb2.ExtendedBlockProto]) -> None:
        """The datanodes have replicas of these blocks."""
        for block in blocks:
            block.numBytes = 16
            for node in self.nodes:
                node.store(block.blockId, block.generationStamp, block.numBytes)


def rounds(subject: Subject, number: int, files: int) -> Iterator[tuple[str, float]]:
    """Every operation once, with what it took: µs each."""
    calls = files * 4

    def each(name: str, requests: Requests, operations: int) -> tuple[str, float]:
        return name, subject.run(requests)[0] * 1e6 / operations

    yield each("getFileInfo", infos(CALLERS, calls), calls)
    yield each("getBlockLocations, no block", opens(CALLERS, calls), calls)
    made = Made(number, CALLERS, files)
    yield each("create+close", made.creations(), files)
    yield each("mkdirs", made.mkdirs(), files)
    yield each("rename", made.renames(), files)
    yield each("delete", made.deletions(), files)
    subject.run(made.openings())
    took, answers = subject.run(made.blocks())
    added = [
        [pb.AddBlockResponseProto.FromString(body).block.b for body in bodies] for bodies in answers
    ]
    for blocks in added:
        subject.report(blocks)
    yield "addBlock+complete", (took + subject.run(made.closes(added))[0]) * 1e6 / files
    yield each("getBlockLocations, one block", made.locations(), files)


def measure(options: Options) -> Results:
    return iter(asyncio.run(_measure(options)))


async def _measure(options: Options) -> list[Figure | Skipped]:
    """In a loop, which connections ask for the time."""
    subject = Subject()
    calls = tree()
    subject.run([calls] + [[] for _ in range(CALLERS - 1)])
    values: dict[str, list[float]] = {}
    files = 400 if options.quick else 2000
    for number in range(1 + options.repeats(7, 3)):
        progress(f"round {number}")
        for name, took_us in rounds(subject, number, files):
            if number:
                values.setdefault(name, []).append(took_us)
    return [figure(f"{name}: CPU in process", "µs", took) for name, took in values.items()]


if __name__ == "__main__":
    main(measure)
