"""Calls a second of the namenode, from 1, 8 and 32 concurrent callers.

The operations are those of Hadoop's NNThroughputBenchmark. `getFileInfo` asks for files four
directories deep. `open` is what a client asks before it reads, `getBlockLocations`, of the same
files, which are empty, as they are there. `create+close` makes an empty file by `create` and
`complete`, each durable in the edit log before it is answered; a pair counts as one. `mkdirs`,
`rename` and `delete` are of one directory or file each. `addBlock+complete` gives an open file a
block with three replicas, and closes it when its datanodes, which exist in name alone, have
reported it; `getBlockLocations` asks for that block. The CPU time is that of the namenode's
process, user and system, and hardly depends on what else the machine does.

The peer is Hadoop's namenode under the same load, in turn with ours, after as
much warm-up as makes its compiler settle. See `load.py` for the load.
"""

from __future__ import annotations

import itertools
import time
from contextlib import ExitStack

from apache import ApacheCluster, NoPeer
from block_reports import Nodes
from harness import Options, Results, Skipped, figure, main, progress, scratch
from operations import FILES, Made, infos, opens, tree
from subjects import APACHE, OURS, Subject, howdah

CALLERS = (1, 8, 32)
_REPORTS_S = 1.0
"""So long Hadoop's namenode may take to believe its datanodes, after it has answered them."""


class Bench:
    """The operations, on one namenode."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.nodes = Nodes(subject)

    def prepare(self) -> None:
        self.subject.run([tree()], 1, None)

    def round(self, runs: int, callers: int, calls: int, *, counts: bool) -> None:
        """Each operation once; the calls are a fifth as many where each is an edit."""
        run = self.subject.run

        def name(operation: str) -> str | None:
            return f"{operation}, {callers} callers" if counts else None

        run(infos(callers, calls), 1, name("getFileInfo"))
        run(opens(callers, calls), 1, name("open"))
        files = calls // 5 // callers * callers
        made = Made(runs, callers, files)
        run(made.creations(), 2, name("create+close"))
        run(made.mkdirs(), 1, name("mkdirs"))
        run(made.renames(), 1, name("rename"))
        run(made.deletions(), 1, name("delete"))
        self.nodes.heartbeats()
        run(made.openings(), 1, None)
        run(made.blocks(), 1, name("addBlock"))
        paths = made.open_paths()
        blocks = iter(self.nodes.write_last(list(itertools.chain(*paths))))
        time.sleep(_REPORTS_S)
        run(made.closes([[next(blocks) for _ in own] for own in paths]), 1, name("complete"))
        if not all(self.nodes.is_closed(own[-1]) for own in paths):
            raise RuntimeError("a file was not closed: its replicas were not known in time")
        run(made.locations(), 1, name("getBlockLocations"))


def measure(options: Options) -> Results:
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "namenode"))
        subjects = {OURS: stack.enter_context(howdah(base / "howdah"))}
        try:
            peer = stack.enter_context(ApacheCluster(base / "apache", 0))
        except NoPeer as error:
            yield Skipped(APACHE, str(error))
        else:
            subjects[APACHE] = Subject(peer.address, peer.pid("namenode"))
        numbers = itertools.count()
        benches = {name: Bench(subject) for name, subject in subjects.items()}
        for name, bench in benches.items():
            progress(f"{name}: {FILES} files, then warm-up")
            bench.prepare()
            for _ in range(3):
                bench.round(next(numbers), 8, 10_000, counts=False)
        calls = 10_000 if options.quick else 30_000
        for _ in range(options.repeats(5, 2)):
            for callers in CALLERS:
                number = next(numbers)
                for name, bench in benches.items():
                    progress(f"{name}: {callers} callers")
                    fewer = calls // 4 if callers == 1 else calls
                    bench.round(number, callers, fewer, counts=True)
        for bench in benches.values():
            bench.nodes.close()
    for subject in subjects.values():
        for callers in CALLERS:
            subject.add_up("addBlock", "complete", f"{callers} callers")
    ours = subjects[OURS]
    theirs = subjects.get(APACHE, Subject(("", 0), 0))
    for name in sorted(ours.rates, reverse=True, key=lambda name: name.split(",")[0]):
        target = "≥ 15,000" if name.startswith("getFileInfo, 3") else ""
        peers = {APACHE: theirs.rates.get(name, [])}
        yield figure(name, "/s", ours.rates[name], peers, target=target)
        if name in ours.cpu_us:
            peers = {APACHE: theirs.cpu_us.get(name, [])}
            yield figure(f"{name}: CPU each", "µs", ours.cpu_us[name], peers)


if __name__ == "__main__":
    main(measure)
