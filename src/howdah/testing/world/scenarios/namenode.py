"""One namenode that loses its power: what clients were answered is there when it is back."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from howdah.testing.world.cluster import NAMENODE, RPC_PORT, Cluster
from howdah.testing.world.disk import Disk, Inode
from howdah.testing.world.processes import Machine, Process
from howdah.testing.world.world import Unexpected, World

_URI: Final = f"hdfs://nn:{RPC_PORT}"
_CLIENTS: Final = 2
_PACES_S: Final = (0.001, 0.01, 0.1)
_LOSSES: Final = 3
_MOST_TURNS: Final = 30
"""So many turns of threads may pass between an answer and the power cut."""
_RETAINED: Final = 2
_ROT_CHANCE: Final = 0.3
_SETTINGS: Final = {
    "fs.defaultFS": _URI,
    "dfs.namenode.checkpoint.txns": "30",
    "dfs.namenode.checkpoint.check.period": "1",
    "dfs.namenode.num.checkpoints.retained": f"{_RETAINED}",
}


_SEVERAL: Final = {
    "dfs.namenode.name.dir": "file:///name,file:///copy",
    "dfs.namenode.edits.dir": "file:///name,file:///copy,file:///edits",
    "dfs.namenode.name.dir.restore": "true",
}
"""Several directories, each on a disk of its own."""
_FORMAT: Final = "howdah.namenode.server.process.format"


def format_namenode(cluster: Cluster, machine: Machine) -> None:
    """Make the directories of a new namespace."""

    def run(process: Process) -> None:
        module = process.modules.load(_FORMAT)
        module.format_namenode(cluster.configuration(process))

    cluster.world.call(machine, "format", run, kind=_FORMAT)


class Callers:
    """Are clients that make, rename, delete and list directories, each below one of its own, and
    keep what they know: paths that are there, and those of which nobody knows."""

    def __init__(
        self,
        world: World,
        cluster: Cluster,
        uri: str,
        *,
        paces_s: Sequence[float] = _PACES_S,
        kinds: Sequence[str] = ("mkdir", "mkdir", "mkdir", "rename", "delete"),
    ) -> None:
        """`paces_s` is how long a client waits between two calls at most: it draws one of these for
        a while."""
        self._world = world
        self._paces_s, self._kinds = paces_s, kinds
        self._cluster = cluster
        self._uri = uri
        self.there: set[str] = set()
        self.unknown: set[str] = set()
        self.calls = 0
        self.looks = 0
        self.is_over = False
        self.done = 0
        """How many clients have ended."""
        self._count = 0

    def start(self, machine: Machine, count: int, *, looks_from: Machine | None = None) -> None:
        """Begin so many clients that change something, and one that looks on, perhaps from another
        machine."""
        self._count = count
        for number in range(count):
            process = self._world.process(machine, f"client{number}")
            process.start(partial(self._work, number=number))
        self._world.process(looks_from or machine, "looker").start(self._look)

    @property
    def all_done(self) -> bool:
        return self.done == self._count + 1

    def _work(self, process: Process, number: int) -> None:
        fs = self._cluster.connect(process, self._uri)
        errors = process.modules.load("howdah.errors")
        sleep = process.modules.load("time").sleep
        own = self._world.dice(f"client {number}")
        pace_s = self._paces_s[0]
        count = 0
        while not self.is_over:
            count += 1
            if own.random() < 0.05:
                pace_s = own.choice(self._paces_s)
            path = f"/{number}/{count}"
            touched = {path}
            old = f"/{number}/{own.randrange(count)}"
            kind = own.choice(self._kinds)
            if kind != "mkdir":
                if old not in self.there - self.unknown:
                    continue
                touched.add(old)
            self.unknown |= touched
            starts = self._starts()
            try:
                self._call(fs, kind, old, path)
            except (errors.HowdahError, OSError) as error:
                # Whoever repeats a call is answered as the first time, unless all namenodes have
                # started meanwhile from images: these do not say who had called.
                if isinstance(error, FileNotFoundError) and self._starts() == starts:
                    self._world.fail(f"{kind} of {old}, which is there: {error}")
                self._world.story.record(
                    process.name, f"{kind} {path}: {type(error).__name__}: {error}"
                )
                sleep(own.random())
                continue  # nobody knows: they stay among these
            self.unknown -= touched
            self.calls += 1
            sleep(own.random() * pace_s)
        self.done += 1

    def _starts(self) -> int:
        return self._world.kinds[NAMENODE.module]

    def _call(self, fs: Any, kind: str, old: str, path: str) -> None:
        if kind == "mkdir":
            fs.mkdirs(path)
            self.there.add(path)
        elif kind == "rename":
            fs.rename(old, path)
            self.there.add(path)
            self.there.discard(old)
        elif fs.delete(old):
            self.there.discard(old)
        else:
            raise FileNotFoundError(f"delete says that {old} is not there")

    def _look(self, process: Process) -> None:
        """Look for what others were answered before."""
        fs = self._cluster.connect(process, self._uri)
        errors = process.modules.load("howdah.errors")
        sleep = process.modules.load("time").sleep
        own = self._world.dice("looker")
        while not self.is_over:
            sleep(own.random() * own.choice(self._paces_s))
            directory = f"/{own.randrange(self._count)}"
            before = self.there - self.unknown
            try:
                found = self._list(fs, directory)
            except (errors.HowdahError, OSError):
                continue
            self.looks += 1
            expected = (before & self.there) - self.unknown
            missing = {path for path in expected if path.startswith(f"{directory}/")} - found
            if missing:
                self._world.fail(
                    f"a listing of {directory} lacks {len(missing)} directories of which others "
                    f"were answered before it began: {sorted(missing)[:5]}"
                )
        self.done += 1

    def _list(self, fs: Any, directory: str) -> set[str]:
        try:
            return {f"{directory}/{status.name}" for status in fs.list_status(directory)}
        except FileNotFoundError:
            return set()

    def check(self, process: Process) -> None:
        """Raise Unexpected unless all is there that has to be, and nothing else."""
        fs = self._cluster.connect(process, self._uri)
        listed = set[str]().union(*(self._list(fs, f"/{n}") for n in range(self._count)))
        missing = self.there - listed - self.unknown
        extra = listed - self.there - self.unknown
        if missing or extra:
            raise Unexpected(
                f"{len(missing)} directories are missing and {len(extra)} came back: "
                f"{sorted(missing)[:5]} {sorted(extra)[:5]}"
            )


def power_losses(world: World) -> Mapping[str, object]:
    """Let clients make, rename and delete directories while the namenode makes images and
    now and then loses its power. A bit of its newest image may turn over meanwhile: it keeps two,
    and the log behind the older one."""
    dice, several = world.dice("scenario"), world.dice("directories")
    cluster = Cluster(world, _SETTINGS)
    machine, clients = world.machine("nn"), world.machine("clients")
    machine.disk.is_strict = dice.random() < 0.5
    copies: list[Disk] = []
    if several.random() < 0.5:
        cluster.settings |= _SEVERAL
        for path in ("/copy", "/edits"):
            disk = machine.new_disk()
            disk.is_strict = machine.disk.is_strict
            machine.mounts.mount(path, disk)
            copies.append(disk)
    namenode = cluster.server(NAMENODE, "nn", machine)
    format_namenode(cluster, machine)
    callers = Callers(world, cluster, _URI)

    def has_answered(count: int) -> bool:
        return callers.calls >= count

    namenode.start()
    cluster.wait_ready("nn")
    callers.start(clients, _CLIENTS)
    failing = _Failing(world, several, copies)
    images = rotten = 0
    for _ in range(_LOSSES):
        failing.begin()
        world.run_for(dice.uniform(0.1, 3.0))
        # Just behind an answer, when others may be under way: the worst moment.
        world.run(partial(has_answered, callers.calls + 1))
        for _ in range(dice.randrange(1, _MOST_TURNS)):
            world.scheduler.step()
        images = max(images, len(_images(machine)))
        cluster.power_off(machine)
        world.run_for(dice.random())
        if dice.random() < _ROT_CHANCE and _let_newest_image_rot(machine, dice):
            rotten += 1
        failing.end()
        namenode.start()
        cluster.wait_ready("nn")
    callers.is_over = True
    world.run(lambda: callers.all_done)
    world.call(clients, "reader", callers.check)
    return {
        "calls": callers.calls,
        "looks": callers.looks,
        "directories": len(callers.there),
        "unknown": len(callers.unknown),
        "images": images,
        "rotten": rotten,
        "lost_bytes": machine.disk.lost_bytes,
        "lost_names": machine.disk.lost_names,
        "is_strict": machine.disk.is_strict,
    }


def _images(machine: Machine) -> list[tuple[str, Inode]]:
    """Return the images with their names, the newest one last."""
    try:
        current = machine.mounts.find("/name/current").entries
    except OSError:
        return []  # The start is going to tell.
    names = [name for name in current if name.startswith("fsimage_") and "." not in name]
    return [(name, current[name]) for name in sorted(names)]


def _let_newest_image_rot(machine: Machine, dice: random.Random) -> bool:
    """Turn a bit over where there is an older image; False if there is none."""
    images = _images(machine)
    if len(images) < _RETAINED:
        return False
    name, image = images[-1]
    bit = dice.randrange(len(image.data) * 8)
    image.flip(bit)
    machine.scheduler.note("rot", name, bit)
    return True


class _Failing:
    """Disks of copies, which fail for a while: the log has another one."""

    def __init__(self, world: World, dice: random.Random, disks: list[Disk]) -> None:
        self._world = world
        self._dice = dice
        self._disks = disks
        self._period = 0

    def begin(self) -> None:
        """Let some fail soon."""
        after, dice = self._world.scheduler.after, self._dice
        for disk in self._disks:
            if dice.random() < 0.5:
                begin_s, operation = dice.uniform(0.0, 3.0), dice.choice(("write", "sync", "name"))
                after(begin_s, partial(self._fail, disk, operation, self._period))
                after(begin_s + dice.uniform(0.1, 3.0), disk.failing_ends)

    def end(self) -> None:
        """Have all repaired: with a directory that fails no namenode starts, Hadoop's neither."""
        self._period += 1
        for disk in self._disks:
            disk.failing_ends()

    def _fail(self, disk: Disk, operation: str, period: int) -> None:
        if period == self._period:
            disk.failing = {operation: 1.0}
