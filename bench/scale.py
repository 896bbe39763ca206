"""A namenode with a million files: memory, restart, checkpoint, creation, deletion.

The tree is a million files of one block in ten thousand directories, of which no
datanode has a replica; ours writes it as an image, and both namenodes start on a copy
of the same directory. Memory is what the process grew by, against one that started on
an empty directory. A restart takes until the first answer, from the process' start. What
others wait for is the longest of many `getFileInfo`, one after the other, by one caller.

The peer is Hadoop's namenode with a heap of 3 GB. What it has in memory is said in two ways: how
much its process grew, and what its heap holds when all rubbish is taken out.

HOWDAH_BENCH_FILES=10000000 measures ours with ten million files instead. The peer is left out where
that heap does not hold them.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

from apache import ApacheCluster, NoPeer
from harness import Options, Results, Skipped, figure, group_cpu, main, progress, scratch
from load import PROTOCOL, Request, run_load

from howdah.config import Configuration, keys, namenode_address
from howdah.errors import HowdahError
from howdah.formats.version import NamenodeVersion
from howdah.java import find_java_home
from howdah.local.layout import Layout
from howdah.local.servers import Detached
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.state.images.image import write_image
from howdah.namenode.state.inodes.inodes import ROOT_INODE_ID, BlockState, Directory, Traits
from howdah.namenode.state.tree.namespace import Namespace
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.rpc.client import RpcClient
from howdah.storage.image_files import save_image
from howdah.storage.layout import StorageDirectory

OURS = "howdah"
APACHE = "Hadoop's namenode"
FILES_A_DIRECTORY = 100
DIRECTORIES_A_PARENT = 100
TIMEOUT_S = 600.0
PROBED = "/probed/file"
CALLERS = 8
MOST_WITH_PEER = 2_000_000
VALUES = {
    # No datanode will ever report.
    "dfs.namenode.safemode.threshold-pct": "0",
    "dfs.namenode.checkpoint.txns": "1000000000",
}


class Subject(Protocol):
    """A namenode of one kind, which can be started on any directory."""

    name: str

    def start(self, image: Path | None) -> None:
        """Start it on a copy of a name directory; on an empty one if there is none."""

    def stop(self) -> None: ...

    @property
    def pid(self) -> int: ...

    @property
    def address(self) -> tuple[str, int]: ...


class Howdah:
    """Our namenode."""

    name = OURS

    def __init__(self, base: Path) -> None:
        self._layout = Layout.plan(base, datanodes=1, values=VALUES)
        self._layout.save()
        self._spawner = Detached()
        self._pid = 0

    def start(self, image: Path | None) -> None:
        place(self._layout.server_conf("namenode"), image)
        log = self._layout.log_path("namenode")
        self._pid = self._spawner.start("namenode", self._layout.command("namenode"), log)

    def stop(self) -> None:
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            while self._spawner.exit_status(self._pid) is None:
                time.sleep(0.01)
            self._pid = 0

    @property
    def conf(self) -> Configuration:
        """Of the namenode."""
        return self._layout.server_conf("namenode")

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def address(self) -> tuple[str, int]:
        return namenode_address(self._layout.client_conf())


class Apache:
    """Hadoop's."""

    name = APACHE

    def __init__(self, base: Path) -> None:
        self._cluster = ApacheCluster(base, 0, heap="3g", values=VALUES)

    def start(self, image: Path | None) -> None:
        place(self._cluster.layout.server_conf("namenode"), image)
        self._cluster.start()

    def stop(self) -> None:
        self._cluster.kill()

    @property
    def pid(self) -> int:
        return self._cluster.pid("namenode")

    @property
    def address(self) -> tuple[str, int]:
        return self._cluster.address


def place(conf: Configuration, image: Path | None) -> None:
    """Make the name directory of a server."""
    (target,) = conf.get(keys.DFS_NAMENODE_NAME_DIR)
    shutil.rmtree(target, ignore_errors=True)
    if image is None:
        format_namenode(conf)
    else:
        shutil.copytree(image, target)


# The tree.


def tree(files: int) -> Namespace:
    """So many files of one block, a hundred in each directory, all below `/tree`."""
    namespace = Namespace()
    inodes, blocks = namespace.inodes, namespace.blocks
    now_ms = int(time.time() * 1000)
    last_id = ROOT_INODE_ID
    traits = Traits("bench", "supergroup", 0o644, 1, 128 << 20)

    def directory(parent: Directory, name: str) -> Directory:
        nonlocal last_id
        last_id += 1
        made = Directory(last_id, name, "bench", "supergroup", 0o755, now_ms)
        inodes[last_id] = made
        parent.add(made)
        return made

    top = directory(namespace.root, "tree")
    parent = above = top
    for number in range(files):
        if number % (FILES_A_DIRECTORY * DIRECTORIES_A_PARENT) == 0:
            above = directory(top, f"parent-{number:08}")
        if number % FILES_A_DIRECTORY == 0:
            parent = directory(above, f"directory-{number:08}")
        last_id += 1
        file = inodes.files.new(last_id, f"part-{number:08}.data", traits, now_ms, now_ms)
        parent.add(file)
        namespace.last_block_id += 1
        namespace.generation_stamp += 1
        file.blocks.append(
            blocks.new(
                namespace.last_block_id,
                1 + number % (128 << 20),
                namespace.generation_stamp,
                last_id,
                BlockState.COMPLETE,
            )
        )
    namespace.last_inode_id = last_id
    return namespace


def image_of(base: Path, files: int) -> Path:
    """A name directory whose only image has the tree."""
    layout = Layout.plan(base, datanodes=1)
    conf = layout.server_conf("namenode")
    format_namenode(conf)
    (root,) = conf.get(keys.DFS_NAMENODE_NAME_DIR)
    storage = StorageDirectory(Path(root))
    namespace_id = storage.read_version(NamenodeVersion).namespace_id
    namespace = tree(files)
    save_image([storage.current], 0, lambda sink: write_image(namespace, namespace_id, 0, sink))
    return Path(root)


# What is measured.


class Asking:
    """A client of a namenode."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._client = RpcClient(address, PROTOCOL)

    def info(self, path: str) -> bool:
        """Whether the path is there."""
        request = pb.GetFileInfoRequestProto(src=path)
        return self._client.call("getFileInfo", request, pb.GetFileInfoResponseProto).HasField("fs")

    def first_answer(self) -> None:
        """Return with the first answer of a namenode that starts."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while True:
            try:
                self.info("/")
                return
            except HowdahError:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(0.005)

    def safe_mode(self, action: pb.SafeModeActionProto) -> bool:
        request = pb.SetSafeModeRequestProto(action=action, checked=False)
        return self._client.call("setSafeMode", request, pb.SetSafeModeResponseProto).result

    def leave_safe_mode(self) -> None:
        deadline_s = time.monotonic() + TIMEOUT_S
        while self.safe_mode(pb.SAFEMODE_LEAVE):
            if time.monotonic() > deadline_s:
                raise TimeoutError("the namenode stays in safe mode")
            time.sleep(0.1)

    def save(self) -> float:
        """Seconds that saving the namespace took."""
        before_s = time.monotonic()
        self._client.call(
            "saveNamespace",
            pb.SaveNamespaceRequestProto(),
            pb.SaveNamespaceResponseProto,
            timeout_s=TIMEOUT_S,
        )
        return time.monotonic() - before_s

    def delete(self, path: str) -> None:
        request = pb.DeleteRequestProto(src=path, recursive=True)
        self._client.call("delete", request, pb.DeleteResponseProto, timeout_s=TIMEOUT_S)

    def close(self) -> None:
        self._client.close()


@contextmanager
def waiting(address: tuple[str, int]) -> Iterator[Callable[[], float]]:
    """Somebody asks all the time, in a process of its own. The function ends that, and
    says how many seconds the longest answer took."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_ask, args=(theirs, address), daemon=True)
    child.start()
    try:
        ours.recv()

        def stop() -> float:
            ours.send("stop")
            longest: float = ours.recv()
            return longest

        yield stop
    finally:
        child.kill()
        child.join()


def _ask(pipe: Connection, address: tuple[str, int]) -> None:
    asking = Asking(address)
    for _ in range(200):
        asking.info(PROBED)
    pipe.send("ready")
    longest_s = 0.0
    while not pipe.poll(0.001):
        before_s = time.perf_counter()
        asking.info(PROBED)
        longest_s = max(longest_s, time.perf_counter() - before_s)
    pipe.send(longest_s)


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise ProcessLookupError(pid)


def live_heap_bytes(pid: int) -> int | None:
    """What is reachable in a Java heap; None without the tool that says it."""
    jcmd = find_java_home() / "bin" / "jcmd"
    found = jcmd if jcmd.exists() else shutil.which("jcmd")
    if found is None:
        return None
    command = [str(found), str(pid), "GC.class_histogram"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    total = next(line for line in said.splitlines() if line.startswith("Total"))
    return int(total.split()[2])


def creations(address: tuple[str, int], files: int, where: str) -> float:
    """Files a second that are made and closed, by some callers."""
    callers: list[list[Request]] = [
        [
            call
            for number in range(files // CALLERS)
            for call in creation(f"/{where}/{caller}/made-{number:08}.data")
        ]
        for caller in range(CALLERS)
    ]
    took = run_load(address, callers)
    return took.calls / 2 / took.wall_s


def creation(path: str) -> list[Request]:
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


def wait_until_idle(pid: int) -> None:
    """Return when the process has used next to no time for a while."""
    deadline_s = time.monotonic() + TIMEOUT_S
    idle = 0
    while idle < 4 and time.monotonic() < deadline_s:
        before = group_cpu(pid)
        time.sleep(0.5)
        after = group_cpu(pid)
        if before is None or after is None:
            return
        idle = idle + 1 if (after - before).total_s < 0.15 else 0


class Measured:
    """Figures of one namenode, by name."""

    def __init__(self, subject: Subject, files: int) -> None:
        self._subject = subject
        self._files = files
        self.values: dict[str, list[float]] = {}

    def note(self, name: str, value: float) -> None:
        progress(f"    {self._subject.name}: {name}: {value:,.4g}")
        self.values.setdefault(name, []).append(value)

    def _start(self, image: Path | None) -> tuple[Asking, float]:
        before_s = time.monotonic()
        self._subject.start(image)
        asking = Asking(self._subject.address)
        asking.first_answer()
        return asking, time.monotonic() - before_s

    def empty(self) -> tuple[int, int | None]:
        """The memory of a namenode without files."""
        subject = self._subject
        asking, _ = self._start(None)
        asking.close()
        wait_until_idle(subject.pid)
        try:
            is_java = subject.name == APACHE
            return resident_bytes(subject.pid), live_heap_bytes(subject.pid) if is_java else None
        finally:
            subject.stop()

    def create_rate(self, image: Path, name: str, files: int) -> None:
        """The rate of creation in a namenode that starts on the image."""
        subject = self._subject
        asking, _ = self._start(image)
        try:
            asking.leave_safe_mode()
            self._rates(name, files)
        finally:
            asking.close()
            subject.stop()

    def _rates(self, name: str, files: int) -> None:
        creations(self._subject.address, files // 4, "warm-up")
        for number in range(3):
            self.note(name, creations(self._subject.address, files, f"made-{number}"))

    def restart(self, image: Path) -> None:
        asking, took_s = self._start(image)
        self.note(RESTART, took_s)
        asking.close()
        self._subject.stop()

    def whole(self, image: Path, empty: tuple[int, int | None], files: int) -> None:
        """Everything else, with the whole tree."""
        subject = self._subject
        asking, _ = self._start(image)
        try:
            wait_until_idle(subject.pid)
            grown = resident_bytes(subject.pid) - empty[0]
            self.note(MEMORY, grown / self._files)
            live = live_heap_bytes(subject.pid) if subject.name == APACHE else None
            if live is not None and empty[1] is not None:
                self.note(LIVE, (live - empty[1]) / self._files)
            asking.leave_safe_mode()
            run_load(subject.address, [creation(PROBED)])
            self._rates(RATE_MANY, files)
            self._saves(asking)
            with waiting(subject.address) as stop:
                before_s = time.monotonic()
                asking.delete("/tree")
                wait_until_idle(subject.pid)
                progress(f"    {subject.name}: all gone after {time.monotonic() - before_s:.1f} s")
                self.note(DELETE_WAIT, stop() * 1000)
        finally:
            asking.close()
            subject.stop()

    def _saves(self, asking: Asking) -> None:
        """Several times: Java's compiler has seen none of it before the first."""
        subject = self._subject
        asking.safe_mode(pb.SAFEMODE_ENTER)
        for _ in range(SAVES):
            before = group_cpu(subject.pid)
            with waiting(subject.address) as stop:
                self.note(SAVE, asking.save())
                self.note(SAVE_WAIT, stop() * 1000)
            after = group_cpu(subject.pid)
            if before is not None and after is not None:
                self.note(SAVE_CPU, (after - before).total_s)
        asking.leave_safe_mode()


SAVES = 3
MEMORY = "resident memory a file"
LIVE = "live heap a file"
RESTART = "restart, until the first answer"
SAVE = "saveNamespace"
SAVE_CPU = "saveNamespace: CPU"
SAVE_WAIT = "saveNamespace: longest answer to others"
DELETE_WAIT = "deletion of the tree: longest answer to others"
RATE_FEW = "create+close with few files"
RATE_MANY = "create+close with all files"

UNITS = {
    MEMORY: ("bytes", "≤ 300"),
    RESTART: ("s", "≤ half"),
    SAVE: ("s", ""),
    SAVE_CPU: ("s", "≤ 1 ×"),
    SAVE_WAIT: ("ms", "≤ 50"),
    DELETE_WAIT: ("ms", "≤ 50"),
    RATE_FEW: ("/s", ""),
    RATE_MANY: ("/s", "≥ 0.9 of few"),
}


def measure(options: Options) -> Results:
    files = int(os.environ.get("HOWDAH_BENCH_FILES", 50_000 if options.quick else 1_000_000))
    few = 10_000
    made = 2000 if options.quick else 16_000
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "scale"))
        progress(f"an image of {files:,} files")
        image, small = image_of(base / "image", files), image_of(base / "small", few)
        subjects: list[Subject] = [Howdah(base / "howdah")]
        try:
            if files > MOST_WITH_PEER:
                raise NoPeer(f"a heap of 3 GB does not hold {files:,} files")
            subjects.append(Apache(base / "apache"))
        except NoPeer as error:
            yield Skipped(APACHE, str(error))
        measured = {subject.name: Measured(subject, files) for subject in subjects}
        for subject in subjects:
            stack.callback(subject.stop)
        for found in measured.values():
            found.create_rate(small, RATE_FEW, made)
        for _ in range(options.repeats(3, 1)):
            for found in measured.values():
                found.restart(image)
        for found in measured.values():
            found.whole(image, found.empty(), made)
    ours = measured[OURS].values
    theirs = measured[APACHE].values if APACHE in measured else {}
    for name, (unit, target) in UNITS.items():
        peers = {APACHE: theirs.get(name, [])}
        if name == MEMORY:
            peers[f"{APACHE}, live heap"] = theirs.get(LIVE, [])
        shown = name.replace("few files", f"{few:,} files").replace("all files", f"{files:,} files")
        yield figure(shown, unit, ours[name], peers, target=target)


if __name__ == "__main__":
    main(measure)
