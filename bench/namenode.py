"""Calls a second of the namenode, from 1, 8 and 32 concurrent callers.

`getFileInfo` asks for files four directories deep. `open` is what a client asks before it
reads, `getBlockLocations`, of the same files, as in Hadoop's NNThroughputBenchmark; they
are empty there as well. `create+close` makes an empty
file by `create` and `complete`, each durable in the edit log before it is
answered; a pair counts as one. The CPU time is that of the namenode's process,
user and system, and hardly depends on what else the machine does.

The peer is Hadoop's namenode under the same load, in turn with ours, after as
much warm-up as makes its compiler settle. See `load.py` for the load.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from apache import ApacheCluster, NoPeer
from harness import Options, Results, Skipped, figure, group_cpu, main, progress, scratch
from load import Request, Run, run_load

from howdah.config import namenode_address
from howdah.local.cluster import LocalCluster
from howdah.local.layout import Layout
from howdah.local.servers import Detached
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2

CALLERS = (1, 8, 32)
DIRECTORIES = 50
FILES = 500
OURS = "howdah"
APACHE = "Hadoop's namenode"


@dataclass(slots=True)
class Subject:
    """A namenode, and what was measured of it by figure."""

    address: tuple[str, int]
    pid: int
    made: int = 0
    rates: dict[str, list[float]] = field(default_factory=dict)
    cpu_us: dict[str, list[float]] = field(default_factory=dict)

    def run(self, callers: list[list[Request]], calls_an_operation: int, name: str | None) -> None:
        """Put the load on, and remember how it went under `name`, if there is one."""
        before = group_cpu(self.pid)
        took = run_load(self.address, callers)
        after = group_cpu(self.pid)
        if name is None:
            return
        operations = took.calls / calls_an_operation
        self.rates.setdefault(name, []).append(operations / took.wall_s)
        if before is not None and after is not None:
            used_us = (after - before).total_s * 1e6
            self.cpu_us.setdefault(name, []).append(used_us / operations)
        _tell(name, took, operations)


def measure(options: Options) -> Results:
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "namenode"))
        subjects = {OURS: stack.enter_context(_howdah(base / "howdah"))}
        try:
            peer = stack.enter_context(ApacheCluster(base / "apache", 0))
        except NoPeer as error:
            yield Skipped(APACHE, str(error))
        else:
            subjects[APACHE] = Subject(peer.address, peer.pid("namenode"))
        for name, subject in subjects.items():
            progress(f"{name}: {FILES} files, then warm-up")
            subject.run([_tree()], 1, None)
            for _ in range(3):
                subject.run(_infos(8, 10_000), 1, None)
                subject.run(_opens(8, 10_000), 1, None)
                subject.run(_creations(subject, 8, 2000), 2, None)
        calls = 10_000 if options.quick else 40_000
        for _ in range(options.repeats(5, 2)):
            for callers in CALLERS:
                for name, subject in subjects.items():
                    progress(f"{name}: {callers} callers")
                    fewer = calls // 4 if callers == 1 else calls
                    subject.run(_infos(callers, fewer), 1, f"getFileInfo, {callers} callers")
                    subject.run(_opens(callers, fewer), 1, f"open, {callers} callers")
                    subject.run(
                        _creations(subject, callers, fewer // 8),
                        2,
                        f"create+close, {callers} callers",
                    )
    ours = subjects[OURS]
    theirs = subjects.get(APACHE, Subject(("", 0), 0))
    for name in sorted(ours.rates, reverse=True, key=lambda name: name.split(",")[0]):
        target = "≥ 15,000" if name.startswith("getFileInfo, 3") else ""
        peers = {APACHE: theirs.rates.get(name, [])}
        yield figure(name, "/s", ours.rates[name], peers, target=target)
        if name in ours.cpu_us:
            peers = {APACHE: theirs.cpu_us.get(name, [])}
            yield figure(f"{name}: CPU each", "µs", ours.cpu_us[name], peers)


@contextmanager
def _howdah(base: Path) -> Iterator[Subject]:
    """A namenode of ours, alone, as a process of its own."""
    layout = Layout.plan(base, datanodes=1)
    layout.save()
    cluster = LocalCluster(layout, Detached())
    cluster.start_all(["namenode"])
    try:
        cluster.wait_ready(["namenode"])
        yield Subject(namenode_address(layout.client_conf()), cluster.pids["namenode"])
    finally:
        cluster.stop(["namenode"])


def _path(number: int) -> str:
    return f"/bench/tree/d{number % DIRECTORIES:02}/f{number:04}"


def _tree() -> list[Request]:
    """The files that are asked for."""
    calls: list[Request] = [
        (
            "mkdirs",
            pb.MkdirsRequestProto(
                src=f"/bench/tree/d{number:02}",
                masked=types_pb2.FsPermissionProto(perm=0o755),
                createParent=True,
            ),
        )
        for number in range(DIRECTORIES)
    ]
    for number in range(FILES):
        calls += _creation(_path(number))
    return calls


def _creation(path: str) -> list[Request]:
    return [
        (
            "create",
            pb.CreateRequestProto(
                src=path,
                masked=types_pb2.FsPermissionProto(perm=0o644),
                clientName="bench",
                createFlag=pb.CREATE,
                createParent=True,
                replication=1,
                blockSize=128 << 20,
            ),
        ),
        ("complete", pb.CompleteRequestProto(src=path, clientName="bench")),
    ]


def _creations(subject: Subject, callers: int, files: int) -> list[list[Request]]:
    """`files` new files, dealt out to the callers, each with a directory of its own."""
    subject.made += 1
    return [
        [
            call
            for number in range(files // callers)
            for call in _creation(f"/bench/made/{subject.made}/{caller}/{number}")
        ]
        for caller in range(callers)
    ]


def _infos(callers: int, calls: int) -> list[list[Request]]:
    return [
        [
            ("getFileInfo", pb.GetFileInfoRequestProto(src=_path((number * 7 + caller) % FILES)))
            for number in range(calls // callers)
        ]
        for caller in range(callers)
    ]


def _opens(callers: int, calls: int) -> list[list[Request]]:
    return [
        [
            (
                "getBlockLocations",
                pb.GetBlockLocationsRequestProto(
                    src=_path((number * 7 + caller) % FILES), offset=0, length=128 << 20
                ),
            )
            for number in range(calls // callers)
        ]
        for caller in range(callers)
    ]


def _tell(name: str, took: Run, operations: float) -> None:
    progress(
        f"    {name}: {operations / took.wall_s:,.0f}/s, "
        f"the load was busy {took.load_cpu_s / took.wall_s:.0%} of the time"
    )


if __name__ == "__main__":
    main(measure)
