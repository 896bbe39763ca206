"""A fault at every step of an upgrade, a rollback, a finalization.

Whatever happens, a start on healthy disks finds the namespace as it was: before the
upgrade or behind it, in all directories alike, and from before it can go back as long
as nobody has said that it is final.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.formats.version import NAMENODE_LAYOUT_VERSION, NamenodeVersion
from howdah.namenode.server.process import upgrading
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import load
from howdah.runtime import disk
from howdah.runtime.disk import Operation
from howdah.storage.layout import StorageDirectory
from howdah.storage.segments import SegmentWriter

OLD_LAYOUT = -66
OWNER = edits.Permission("root", "supergroup", 0o755)


class Fault(enum.Enum):
    EIO = "it fails"
    CRASH_BEFORE = "the process ends before it"
    CRASH_AFTER = "the process ends behind it"


class Crash(BaseException):
    """The process has ended; no handler of the product's may be of use."""


@dataclass
class Gate:
    """Takes down all sites; at one of them, by number, a fault happens."""

    fault: Fault | None = None
    at: int = -1
    sites: list[tuple[Operation, Path]] = field(default_factory=list)
    dead: bool = False

    def enter(self, operation: Operation, path: Path) -> None:
        if self.dead:
            raise Crash
        self.sites.append((operation, path))
        if len(self.sites) - 1 == self.at:
            if self.fault is Fault.EIO:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            self._die_if(Fault.CRASH_BEFORE)

    def leave(self, operation: Operation, path: Path) -> None:
        if len(self.sites) - 1 == self.at:
            self._die_if(Fault.CRASH_AFTER)

    def room(self, path: Path, length_bytes: int) -> int:
        return length_bytes

    def _die_if(self, fault: Fault) -> None:
        if self.fault is fault:
            self.dead = True
            raise Crash


@contextlib.contextmanager
def through(gate: Gate) -> Iterator[None]:
    disk.gate = gate
    try:
        yield
    finally:
        disk.gate = None


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power is cut here, so nothing has to reach the disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr(disk, "_fdatasync", lambda descriptor: None)
    defaults = SegmentWriter.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "preallocation_bytes", 4096)


def configuration(where: Path) -> Configuration:
    """Two directories of images and edits, and one of edits alone."""
    both = f"{(where / 'a').as_uri()},{(where / 'b').as_uri()}"
    return Configuration(
        {
            "dfs.namenode.name.dir": both,
            "dfs.namenode.edits.dir": f"{both},{(where / 'edits').as_uri()}",
        }
    )


def roots(where: Path) -> list[Path]:
    return [where / "a", where / "b", where / "edits"]


def old_directories(where: Path) -> Configuration:
    """As an older Hadoop would leave them: /a and /b in the log."""
    conf = configuration(where)
    version = format_namenode(conf)
    for root in roots(where):
        writer = SegmentWriter(root / "current", 1)
        writer.append(encode_record(1, edits.StartLogSegmentOp()))
        for txid, name in enumerate("ab", 2):
            writer.append(encode_record(txid, edits.MkdirOp(16384 + txid, f"/{name}", 1, OWNER)))
        writer.append(encode_record(4, edits.EndLogSegmentOp()))
        writer.finalize(4)
        storage = StorageDirectory(root)
        storage.write_seen_txid(1)
        aged = NamenodeVersion(
            version.namespace_id, version.cluster_id, version.block_pool_id, 0, OLD_LAYOUT
        )
        storage.write_version(aged, 0)
    return conf


def start(where: Path) -> tuple[list[str], NamenodeVersion]:
    loaded = load(roots(where)[:2], roots(where), upgrades=True)
    for lock in loaded.locks:
        lock.release()
    names = loaded.namespace.root.sorted_names()
    versions = {StorageDirectory(root).read_version(NamenodeVersion) for root in roots(where)}
    assert len(versions) == 1, f"the directories differ: {versions}"
    assert not [path for root in roots(where) for path in root.glob("*.tmp")]
    return names, loaded.version


def has_previous(where: Path) -> bool:
    found = {(root / "previous").exists() for root in roots(where)}
    assert len(found) == 1, "all of them or none"
    return found.pop()


def upgraded(where: Path) -> Configuration:
    conf = old_directories(where)
    upgrading.upgrade(conf)
    return conf


def every_fault(
    where: Path,
    prepare: Callable[[Path], Configuration],
    act: Callable[[Configuration], object],
    check: Callable[[Path], None],
    stride: int,
) -> None:
    """Do it once undisturbed, and then with each fault at each site."""
    gate = Gate()
    conf = prepare(where / "whole")
    with through(gate):
        act(conf)
    assert gate.sites
    for number, fault in enumerate(Fault):
        for at in range(number % stride, len(gate.sites), stride):
            here = where / f"{fault.name}{at}"
            conf = prepare(here)
            disturbed = Gate(fault, at)
            with through(disturbed), contextlib.suppress(Crash, OSError, errors.HowdahError):
                act(conf)
            assert len(disturbed.sites) > at, "the fault hit nothing"
            check(here)
            shutil.rmtree(here)


def either_way(where: Path) -> None:
    names, version = start(where)
    assert names == ["a", "b"]
    is_new = version.layout_version == NAMENODE_LAYOUT_VERSION
    assert has_previous(where) is is_new
    if not is_new:
        upgrading.upgrade(configuration(where))
    upgrading.roll_back(configuration(where))
    assert start(where)[1].layout_version == OLD_LAYOUT
    assert not has_previous(where)


@pytest.mark.req("FS-029", "FS-030", "LM-009")
def test_fault_in_an_upgrade_leaves_all_directories_old_or_all_new(tmp_path: Path) -> None:
    every_fault(tmp_path, old_directories, upgrading.upgrade, either_way, stride=3)


@pytest.mark.torture
def test_fault_at_every_single_site_of_an_upgrade(tmp_path: Path) -> None:
    every_fault(tmp_path, old_directories, upgrading.upgrade, either_way, stride=1)


def test_failure_of_one_directory_is_named_and_leaves_all_as_they_were(tmp_path: Path) -> None:
    gate = Gate()
    conf = old_directories(tmp_path / "whole")
    with through(gate):
        upgrading.upgrade(conf)
    moved = [at for at, (_, path) in enumerate(gate.sites) if path.name == "previous.tmp"]
    for at in range(moved[0]):
        operation, path = gate.sites[at]
        if "in_use.lock" in path.name:
            continue
        here = tmp_path / str(at)
        conf = old_directories(here)
        with through(Gate(Fault.EIO, at)), pytest.raises(OSError, match=f"/{at}/") as caught:
            upgrading.upgrade(conf)
        place = path.relative_to(tmp_path / "whole").parts[0]
        assert f"/{at}/{place}" in str(caught.value), (operation, path)
        assert start(here)[1].layout_version == OLD_LAYOUT
        assert not has_previous(here)


def rolled_back_or_not(where: Path) -> None:
    names, version = start(where)
    assert names == ["a", "b"]
    assert has_previous(where) is (version.layout_version == NAMENODE_LAYOUT_VERSION)


def test_fault_in_a_rollback_leaves_all_directories_new_or_all_old(tmp_path: Path) -> None:
    every_fault(tmp_path, upgraded, upgrading.roll_back, rolled_back_or_not, stride=1)


def final_or_not(where: Path) -> None:
    names, version = start(where)
    assert (names, version.layout_version) == (["a", "b"], NAMENODE_LAYOUT_VERSION)
    if any((root / "previous").exists() for root in roots(where)):
        upgrading.finalize_offline(configuration(where))
    assert not has_previous(where)


def test_fault_in_a_finalization_leaves_the_new_directories_whole(tmp_path: Path) -> None:
    every_fault(tmp_path, upgraded, upgrading.finalize_offline, final_or_not, stride=1)


def test_crash_while_a_crash_is_mended_is_mended_as_well(tmp_path: Path) -> None:
    gate = Gate()
    with through(gate):
        upgrading.upgrade(old_directories(tmp_path / "whole"))
    first = next(at for at, (_, path) in enumerate(gate.sites) if path.name == "current")
    for at in range(first, len(gate.sites), 5):
        for again in range(0, 12, 3):
            here = tmp_path / f"{at}-{again}"
            conf = old_directories(here)
            with through(Gate(Fault.CRASH_AFTER, at)), contextlib.suppress(Crash):
                upgrading.upgrade(conf)
            with through(Gate(Fault.CRASH_AFTER, again)), contextlib.suppress(Crash):
                start(here)
            either_way(here)
            shutil.rmtree(here)
