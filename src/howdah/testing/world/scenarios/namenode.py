"""One namenode that loses its power: what clients were answered is there when it is back."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial
from typing import Final

from howdah.testing.world.cluster import NAMENODE, RPC_PORT, Cluster
from howdah.testing.world.disk import Inode
from howdah.testing.world.processes import Machine, Process
from howdah.testing.world.world import Unexpected, World

_URI: Final = f"hdfs://nn:{RPC_PORT}"
_CLIENTS: Final = 2
_PACES_S: Final = (0.001, 0.01, 0.1)
"""How long a client waits between two calls at most: it draws one of these for a while."""
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


_FORMAT: Final = "howdah.namenode.server.process.format"


def format_namenode(cluster: Cluster, machine: Machine) -> None:
    """Make the directories of a new namespace."""

    def run(process: Process) -> None:
        module = process.modules.load(_FORMAT)
        module.format_namenode(cluster.configuration(process))

    cluster.world.call(machine, "format", run, kind=_FORMAT)


class _Model:
    """Keeps what clients know: paths that are there, and those of which nobody knows."""

    def __init__(self) -> None:
        self.there: set[str] = set()
        self.unknown: set[str] = set()

    def check(self, listed: set[str]) -> None:
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
    dice = world.dice("scenario")
    cluster = Cluster(world, _SETTINGS)
    machine, clients = world.machine("nn"), world.machine("clients")
    machine.disk.is_strict = dice.random() < 0.5
    namenode = cluster.server(NAMENODE, "nn", machine)
    format_namenode(cluster, machine)
    model, done, is_over = _Model(), list[int](), list[bool]()

    calls = [0]

    def work(process: Process, number: int) -> None:
        fs = cluster.connect(process, _URI)
        errors = process.modules.load("howdah.errors")
        sleep = process.modules.load("time").sleep
        own = world.dice(f"client {number}")
        pace_s = _PACES_S[0]
        count = 0
        while not is_over:
            count += 1
            if own.random() < 0.05:
                pace_s = own.choice(_PACES_S)
            path = f"/{number}/{count}"
            touched = {path}
            old = f"/{number}/{own.randrange(count)}"
            kind = own.choice(["mkdir", "mkdir", "mkdir", "rename", "delete"])
            if kind != "mkdir":
                if old not in model.there - model.unknown:
                    continue
                touched.add(old)
            model.unknown |= touched
            try:
                if kind == "mkdir":
                    fs.mkdirs(path)
                    model.there.add(path)
                elif kind == "rename":
                    fs.rename(old, path)
                    model.there.add(path)
                    model.there.discard(old)
                elif fs.delete(old):
                    model.there.discard(old)
            except (errors.HowdahError, OSError) as error:
                world.story.record(process.name, f"{kind} {path}: {type(error).__name__}: {error}")
                sleep(own.random())
                continue  # nobody knows: they stay among these
            model.unknown -= touched
            calls[0] += 1
            sleep(own.random() * pace_s)
        done.append(number)

    def listed(process: Process) -> set[str]:
        fs = cluster.connect(process, _URI)
        paths: set[str] = set()
        for number in range(_CLIENTS):
            try:
                paths |= {f"/{number}/{status.name}" for status in fs.list_status(f"/{number}")}
            except FileNotFoundError:
                continue
        return paths

    def has_answered(count: int) -> bool:
        return calls[0] >= count

    namenode.start()
    cluster.wait_ready("nn")
    for number in range(_CLIENTS):
        world.process(clients, f"client{number}").start(partial(work, number=number))
    images = rotten = 0
    for _ in range(_LOSSES):
        world.run_for(dice.uniform(0.1, 3.0))
        # Just behind an answer, when others may be under way: the worst moment.
        world.run(partial(has_answered, calls[0] + 1))
        for _ in range(dice.randrange(1, _MOST_TURNS)):
            world.scheduler.step()
        images = max(images, len(_images(machine)))
        cluster.power_off(machine)
        world.run_for(dice.random())
        if dice.random() < _ROT_CHANCE and _let_newest_image_rot(machine, dice):
            rotten += 1
        namenode.start()
        cluster.wait_ready("nn")
    is_over.append(True)
    world.run(lambda: len(done) == _CLIENTS)
    model.check(world.call(clients, "reader", listed))
    return {
        "calls": calls[0],
        "directories": len(model.there),
        "unknown": len(model.unknown),
        "images": images,
        "rotten": rotten,
        "lost_bytes": machine.disk.lost_bytes,
        "lost_names": machine.disk.lost_names,
        "is_strict": machine.disk.is_strict,
    }


def _images(machine: Machine) -> list[tuple[str, Inode]]:
    """Return the images with their names, the newest one last."""
    current = machine.mounts.find("/name/current").entries
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
