"""Simulated files do what real ones do, in random sequences of calls on both."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from howdah.testing.world import Process, World

NAMES = ("a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "missing/a")
FLAGS = (
    os.O_RDONLY,
    os.O_RDWR,
    os.O_RDWR | os.O_CREAT,
    os.O_WRONLY | os.O_CREAT | os.O_EXCL,
    os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    os.O_WRONLY | os.O_CREAT | os.O_APPEND,
    os.O_RDONLY | os.O_DIRECTORY,
)


class Tree:
    """A directory, real or simulated, and the descriptors that are open."""

    def __init__(self, system: Any, root: str) -> None:
        self.system = system
        self.root = root
        self.open: list[int] = []

    def act(self, name: str, arguments: tuple[Any, ...]) -> object:
        try:
            return self._act(name, arguments)
        except OSError as error:
            return type(error).__name__, error.errno

    def _act(self, name: str, arguments: tuple[Any, ...]) -> object:
        system = self.system
        if name == "open":
            path, flags = arguments
            self.open.append(system.open(f"{self.root}/{path}", flags, 0o644))
            return "opened"
        if name in ("mkdir", "rmdir", "unlink"):
            return getattr(system, name)(f"{self.root}/{arguments[0]}")
        if name in ("rename", "link"):
            return getattr(system, name)(*(f"{self.root}/{path}" for path in arguments))
        if name == "listdir":
            return sorted(system.listdir(f"{self.root}/{arguments[0]}"))
        if name == "scandir":
            with system.scandir(f"{self.root}/{arguments[0]}") as found:
                return sorted((entry.name, entry.is_dir(), entry.is_file()) for entry in found)
        if name == "stat":
            status = system.stat(f"{self.root}/{arguments[0]}")
            kind = status.st_mode & 0o170000
            return (
                kind,
                status.st_nlink if kind == 0o100000 else 0,
                (status.st_size if kind == 0o100000 else 0),
            )
        if not self.open:
            return None
        descriptor = self.open[arguments[0] % len(self.open)]
        if name == "close":
            self.open.remove(descriptor)
            return system.close(descriptor)
        if name == "fstat":
            status = system.fstat(descriptor)
            return status.st_mode & 0o170000
        if name == "preadv":
            buffers = [bytearray(size) for size in arguments[1]]
            return system.preadv(descriptor, buffers, arguments[2]), buffers
        return getattr(system, name)(descriptor, *arguments[1:])


def call(dice: random.Random) -> tuple[str, tuple[Any, ...]]:
    descriptor, size = dice.randrange(20), dice.randrange(1, 300)
    path, other = dice.choice(NAMES), dice.choice(NAMES)
    made: list[tuple[str, tuple[Any, ...]]] = [
        *[("open", (path, dice.choice(FLAGS)))] * 4,
        *(("mkdir", (path,)), ("rmdir", (path,)), ("unlink", (path,))),
        *(("rename", (path, other)), ("link", (path, other))),
        *(("listdir", (path,)), ("scandir", (path,)), ("stat", (path,))),
        *(("close", (descriptor,)), ("fstat", (descriptor,)), ("fsync", (descriptor,))),
        *(("read", (descriptor, size)), ("pread", (descriptor, size, dice.randrange(500)))),
        ("preadv", (descriptor, [size, 10], dice.randrange(300))),
        ("write", (descriptor, dice.randbytes(size))),
        ("pwrite", (descriptor, dice.randbytes(size), dice.randrange(500))),
        ("writev", (descriptor, [dice.randbytes(10), dice.randbytes(size)])),
        ("ftruncate", (descriptor, dice.randrange(600))),
        ("lseek", (descriptor, dice.randrange(400), dice.randrange(3))),
    ]
    return dice.choice(made)


def content(system: Any, root: str) -> dict[str, bytes]:
    found = {}
    for directory, _, names in system.walk(root):
        for name in names:
            descriptor = system.open(f"{directory}/{name}", os.O_RDONLY)
            found[f"{directory}/{name}".removeprefix(root)] = system.read(descriptor, 1 << 20)
            system.close(descriptor)
    return found


def simulated(run: Callable[[Process], Any], *, seed: int = 1) -> Any:
    world = World(seed)
    return world.call(world.machine("one"), "caller", run)


def test_files_and_directories(tmp_path: Path) -> None:
    def compare(process: Process) -> None:
        own = process.modules.load("os")
        for seed in range(120):
            dice = random.Random(f"files/{seed}")
            place = f"/tree{seed}"
            own.mkdir(place)
            (tmp_path / place[1:]).mkdir()
            trees = Tree(os, f"{tmp_path}{place}"), Tree(own, place)
            done: list[tuple[str, tuple[Any, ...]]] = []
            for _ in range(60):
                name, arguments = call(dice)
                done.append((name, arguments))
                expected, found = (tree.act(name, arguments) for tree in trees)
                assert found == expected, f"seed {seed}: {done[-8:]}"
            for tree in trees:
                for descriptor in tree.open:
                    tree.system.close(descriptor)
            assert content(own, place) == content(os, f"{tmp_path}{place}"), f"seed {seed}"
            shutil.rmtree(tmp_path / place[1:])

    simulated(compare)


def test_python_reads_and_writes_texts() -> None:
    """Above the calls stands Python's own code."""

    def check(process: Process) -> None:
        path = process.modules.load("pathlib").Path("/some/deep/place")
        path.mkdir(parents=True)
        (path / "text").write_text("one\ntwo\n")
        with (path / "text").open("a") as file:
            file.write("three\n")
        assert (path / "text").read_text().splitlines() == ["one", "two", "three"]
        assert [each.name for each in path.iterdir()] == ["text"]
        with process.modules.load("tempfile").TemporaryDirectory(dir="/some") as made:
            assert process.modules.load("os").path.isdir(made)
        process.modules.load("shutil").rmtree("/some")
        assert not path.exists()

    simulated(check)


@pytest.mark.parametrize("is_strict", [False, True], ids=["ordered names", "strict names"])
def test_what_was_synced_survives_a_power_cut(is_strict: bool) -> None:
    """Of what was not synced some is there and some is not."""
    kept, lost = 0, 0
    for seed in range(20):
        world = World(seed)
        machine = world.machine("one")
        machine.disk.is_strict = is_strict

        def write(process: Process) -> None:
            system = process.modules.load("os")
            descriptor = system.open("/synced", os.O_WRONLY | os.O_CREAT)
            system.write(descriptor, b"x" * 10_000)
            system.fsync(descriptor)
            above = system.open("/", os.O_RDONLY)
            system.fsync(above)
            system.pwrite(descriptor, b"y" * 10_000, 0)
            descriptor = system.open("/unsynced", os.O_WRONLY | os.O_CREAT)
            system.write(descriptor, b"z")

        world.call(machine, "writer", write)
        machine.lose_power()
        machine.start()
        root = machine.disk.root
        data = bytes(root.entries["synced"].data)
        assert len(data) == 10_000
        assert set(data) <= set(b"xy")
        kept += b"y" in data or "unsynced" in root.entries
        lost += b"x" in data or "unsynced" not in root.entries
        if is_strict:
            assert "unsynced" not in root.entries
    assert kept
    assert lost


@pytest.mark.parametrize("is_strict", [False, True], ids=["ordered names", "strict names"])
def test_a_file_whose_name_comes_back_has_what_was_synced(is_strict: bool) -> None:
    """A power cut takes back that it was replaced or deleted, and not what it held."""
    came_back = 0
    for seed in range(20):
        world = World(seed)
        machine = world.machine("one")
        machine.disk.is_strict = is_strict

        def write(process: Process) -> None:
            system = process.modules.load("os")
            for name in ("/replaced", "/deleted", "/new"):
                descriptor = system.open(name, os.O_WRONLY | os.O_CREAT)
                system.write(descriptor, name.encode())
                system.fsync(descriptor)
                system.close(descriptor)
            above = system.open("/", os.O_RDONLY)
            system.fsync(above)
            system.rename("/new", "/replaced")
            system.unlink("/deleted")

        world.call(machine, "writer", write)
        machine.lose_power()
        entries = machine.disk.root.entries
        held = bytes(entries["replaced"].data)
        assert held == (b"/replaced" if "new" in entries else b"/new")
        if "deleted" in entries:
            came_back += 1
            assert bytes(entries["deleted"].data) == b"/deleted"
    assert came_back


def test_a_full_disk_says_so() -> None:
    world = World(1)
    machine = world.machine("one")
    machine.disk.capacity_bytes = 1000

    def write(process: Process) -> None:
        system = process.modules.load("os")
        descriptor = system.open("/file", os.O_RDWR | os.O_CREAT)
        assert system.write(descriptor, bytes(1500)) == 1000
        with pytest.raises(OSError, match="No space left"):
            system.write(descriptor, b"x")
        system.ftruncate(descriptor, 10)
        assert system.pwrite(descriptor, b"x", 10) == 1
        system.unlink("/file")
        system.close(descriptor)
        descriptor = system.open("/file", os.O_RDWR | os.O_CREAT)
        assert system.write(descriptor, bytes(999)) == 999

    world.call(machine, "writer", write)


def test_what_a_sync_has_failed_to_write_is_not_written_by_the_next() -> None:
    """As on Linux, which says so once: readers see it until the power is lost."""
    for seed in range(20):
        world = World(seed)
        machine = world.machine("one")

        def write(process: Process, machine: Any = machine) -> None:
            system = process.modules.load("os")
            descriptor = system.open("/file", os.O_RDWR | os.O_CREAT)
            system.write(descriptor, b"old")
            system.fsync(descriptor)
            system.pwrite(descriptor, b"new, again", 0)
            machine.disk.failing["sync"] = 1.0
            with pytest.raises(OSError, match="Input/output error"):
                system.fsync(descriptor)
            machine.disk.failing.clear()
            system.fsync(descriptor)
            assert system.pread(descriptor, 99, 0) == b"new, again"

        world.call(machine, "writer", write)
        machine.lose_power()
        assert bytes(machine.disk.root.entries["file"].data) in (b"old", b"old" + bytes(7))


def test_what_is_written_anew_behind_a_failed_sync_is_safe() -> None:
    world = World(1)
    machine = world.machine("one")

    def write(process: Process) -> None:
        system = process.modules.load("os")
        descriptor = system.open("/file", os.O_RDWR | os.O_CREAT)
        system.write(descriptor, b"first")
        machine.disk.failing["sync"] = 1.0
        with pytest.raises(OSError, match="Input/output error"):
            system.fsync(descriptor)
        machine.disk.failing.clear()
        system.pwrite(descriptor, b"first", 0)
        system.fsync(descriptor)

    world.call(machine, "writer", write)
    machine.lose_power()
    assert bytes(machine.disk.root.entries["file"].data) == b"first"


def test_memory_is_shared_by_all_who_map_it() -> None:
    """As the kernel's: also by a process that got the descriptor over a socket."""
    world = World(1)
    machine = world.machine("one")

    def give(process: Process) -> bytes:
        system, sockets = process.modules.load("os"), process.modules.load("socket")
        listener = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
        listener.bind("/socket")
        listener.listen()
        memory = system.memfd_create("memory")
        system.ftruncate(memory, 4096)
        mapped = process.modules.load("mmap").mmap(memory, 4096)
        connection, _ = listener.accept()
        sockets.send_fds(connection, [b"x"], [memory])
        system.close(memory)
        mapped[:3] = b"one"
        connection.recv(1)
        return bytes(mapped[:6])

    def take(process: Process) -> bytes:
        sockets, system = process.modules.load("socket"), process.modules.load("os")
        process.modules.load("time").sleep(1.0)
        connection = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
        connection.connect("/socket")
        _, (memory,), _, _ = sockets.recv_fds(connection, 1, 1)
        mapped = process.modules.load("mmap").mmap(memory, 4096)
        system.close(memory)
        process.modules.load("time").sleep(1.0)
        found = bytes(mapped[:3])
        mapped[3:6] = b"two"
        connection.send(b"x")
        return found

    found: list[bytes] = []
    world.process(machine, "giver").start(lambda process: found.append(give(process)))
    assert world.call(machine, "taker", take) == b"one"
    world.run(lambda: found)
    assert found == [b"onetwo"]


def test_a_file_that_is_locked_in_memory_shows_its_bytes() -> None:
    world = World(1)

    def lock(process: Process) -> bytes:
        system, libc = process.modules.load("os"), process.modules.load("howdah.runtime.libc")
        descriptor = system.open("/file", os.O_CREAT | os.O_RDWR)
        system.write(descriptor, b"content")
        address = libc.map_file(descriptor, 7)
        libc.lock_memory(address, 7)
        found = bytes(libc.view_of(address, 7))
        process.faults["memory"] = 1.0
        system.ftruncate(descriptor, 100_000)
        other = libc.map_file(descriptor, 100_000)
        with pytest.raises(OSError, match="mlock"):
            libc.lock_memory(other, 100_000)
        libc.unmap(other, 100_000)
        libc.unmap(address, 7)
        return found

    assert world.call(world.machine("one"), "process", lock) == b"content"
