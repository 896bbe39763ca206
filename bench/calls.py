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
import time
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from harness import Figure, Options, Results, Skipped, figure, main, progress
from operations import Made, Requests, infos, opens, tree

from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from tests.support.served_namenode import ServedNamenode

CALLERS = 8
DATANODES = 3


class Subject(ServedNamenode):
    """A namenode and its connections, all in this process."""

    def __init__(self) -> None:
        super().__init__(DATANODES)
        self.callers = [self.client() for _ in range(CALLERS)]
        self.calls = 0

    def run(self, requests: Requests) -> tuple[float, list[list[bytes]]]:
        """CPU seconds for all calls, `requests[n]` those of one connection; and the answers."""
        frames = []
        for caller, calls in zip(self.callers, requests, strict=True):
            frames.append(
                [
                    caller.frame(method, request, self.calls + number)
                    for number, (method, request) in enumerate(calls)
                ]
            )
        self.calls += max(map(len, requests))
        feeds = [caller.feed for caller in self.callers]
        gc.collect()
        began = time.process_time()
        for turn in zip_longest(*frames):
            for feed, frame in zip(feeds, turn, strict=True):
                if frame is not None:
                    feed(frame)
            self.end_turn()
        took = time.process_time() - began
        return took, [
            caller.answers(len(calls)) for caller, calls in zip(self.callers, requests, strict=True)
        ]

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
