"""A fault at every write, fsync, rename, … of the metadata path.

One run of a history takes down every site at which metadata is changed. Then the
history is run again for each site and each fault. Each time the namenode goes on,
or it stops and names the path; and a start on what is left then finds all that was
acknowledged, and nothing that nobody asked for.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.namenode.journal.directories import DirectorySet, directory_set
from howdah.namenode.journal.directory_restore import Restorations
from howdah.namenode.journal.edit_log import EditLog
from howdah.namenode.server.process.checkpoint_import import import_checkpoint
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import Loaded, load
from howdah.namenode.state.images.image import write_image
from howdah.runtime import disk
from howdah.runtime.disk import Operation
from howdah.storage.image_files import save_image
from howdah.storage.layout import LOCK_NAME
from howdah.storage.retention import Retention, purge
from howdah.storage.segments import SegmentWriter
from tests.support.requirements.sources import tree_of
from tests.support.site_faults import Crash, Fault, Gate, through

WAIT_S = 20.0
STRIDES = {1: 3, 2: 9}
IMAGE_STRIDES = {1: 7, 2: 19}
"""Every so manieth site, by the number of directories; each fault begins at another one.
`./dev torture` has them all."""
OWNER = edits.Permission("root", "supergroup", 0o755)


@dataclass
class Namenode:
    """The real journal and the real start, and a client that makes directories."""

    roots: list[Path]
    gate: Gate
    tried: set[str] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)
    checkpoint_failures: list[str] = field(default_factory=list)
    imported: list[Path] | None = None
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _durable_txid: int = 0
    _failure: str | None = None
    _loaded: Loaded | None = None
    _journal: EditLog | None = None
    _journals: DirectorySet | None = None

    def start(self) -> None:
        self._loaded = loaded = load(self.roots, self.roots)
        names = set(loaded.namespace.root.sorted_names())
        assert self.acknowledged <= names <= self.tried
        self._durable_txid = loaded.last_txid
        self._journals = directory_set(loaded.edits_directories, restores=True)
        self._journal = EditLog(
            self._journals, loaded.last_txid, on_durable=self._durable, on_failure=self._failed
        )

    def mkdirs(self, *names: str) -> None:
        assert self._journal is not None
        assert self._loaded is not None
        for name in names:
            txid = self._journal.last_txid + 1
            inode_id = 16386 + len(self.tried)
            self.tried.add(name)
            edit = edits.MkdirOp(inode_id, f"/{name}", 1, OWNER)
            self._journal.append([encode_record(txid, edit)])
            self._wait(txid)
            self.acknowledged.add(name)
            self._loaded.namespace.apply(edit)

    def all_work(self) -> bool:
        assert self._journals is not None
        return all(found.failure is None for found in self._journals.states())

    def roll(self) -> None:
        assert self._journal is not None
        self._wait(self._journal.roll())
        assert self._journals is not None
        assert isinstance(self._journals._restorer, Restorations)
        assert self._journals._restorer.wait(WAIT_S)

    def checkpoint(self) -> None:
        """What the child does, and then the parent; one that fails ends nothing."""
        assert self._journal is not None
        assert self._loaded is not None
        loaded, last_txid = self._loaded, self._journal.roll() - 1
        self._wait(last_txid + 1)
        namespace_id = loaded.version.namespace_id
        try:
            save_image(
                loaded.name_directories,
                last_txid,
                lambda sink: write_image(loaded.namespace, namespace_id, last_txid, sink),
            )
            purge(loaded.name_directories, loaded.edits_directories, Retention(1, 0))
        except OSError as error:
            self.checkpoint_failures.append(str(error))

    def move_to_a_checkpoint(self) -> None:
        """A secondary has all that the directories have, and then these are lost."""
        copies = [root.with_name(f"secondary of {root.name}") for root in self.roots]
        for root, copy in zip(self.roots, copies, strict=True):
            shutil.copytree(root, copy, ignore=shutil.ignore_patterns(LOCK_NAME))
        self.imported = [root.with_name(f"new {root.name}") for root in self.roots]
        import_checkpoint(configuration(self.imported, copies))
        self.roots = self.imported

    def stop(self) -> None:
        assert self._journal is not None
        self._journal.close()
        self.kill()

    def kill(self) -> None:
        """As after kill -9: descriptors and locks are gone, nothing is finished."""
        journal, self._journal = self._journal, None
        if journal is not None:
            journal.abandon()
        if self._loaded is not None:
            for lock in self._loaded.locks:
                lock.release()
            self._loaded = None

    def wait_for_its_threads(self) -> None:
        """A process that is gone has none. One here that restores a directory has its lock until
        it comes to the next site, and is told of its end."""
        if self._journals is not None and isinstance(self._journals._restorer, Restorations):
            assert self._journals._restorer.wait(WAIT_S)

    def _durable(self, txid: int) -> None:
        with self._changed:
            self._durable_txid = txid
            self._changed.notify_all()

    def _failed(self, why: str) -> None:
        with self._changed:
            self._failure = why
            self._changed.notify_all()

    def _wait(self, txid: int) -> None:
        def settled() -> bool:
            return self._durable_txid >= txid or bool(self._failure) or self.gate.dead.is_set()

        with self._changed:
            while not self._changed.wait_for(settled, 0.002):
                assert self._journal is not None
                alive = self._journal._thread.is_alive()
                assert alive or settled(), "the journal is silent"
        if self._failure:
            raise OSError(None, self._failure)
        if self._durable_txid < txid:
            raise Crash


def configuration(roots: list[Path], checkpoints: list[Path] | None = None) -> Configuration:
    directories = {"name": roots, "checkpoint": checkpoints or roots}
    return Configuration(
        {
            f"dfs.namenode.{kind}.dir": ",".join(root.as_uri() for root in found)
            for kind, found in directories.items()
        }
    )


def history(namenode: Namenode) -> None:
    """All that a namenode does with its directories: formatted, begun, rolled, ended in
    order, killed, torn, lost, filled, restored."""
    roots = namenode.roots
    format_namenode(configuration(roots))
    namenode.start()
    namenode.mkdirs("a", "b")
    namenode.roll()
    namenode.mkdirs("c")
    namenode.stop()
    namenode.start()
    namenode.mkdirs("d")
    has_second = len(roots) > 1 and namenode.all_work()
    namenode.kill()
    tear(roots)
    if has_second:
        roots[1].rename(roots[1].with_name("lost"))
        roots[1].mkdir()
    namenode.start()
    namenode.mkdirs("e")
    if has_second and namenode.all_work():
        # One is lost while the namenode runs, and an empty one takes its place.
        roots[1].rename(roots[1].with_name("lost too"))
        namenode.roll()
        roots[1].mkdir()
        namenode.roll()
        namenode.mkdirs("f")
        namenode.roll()
        namenode.mkdirs("g")
    namenode.stop()


def history_of_images(namenode: Namenode) -> None:
    """Checkpoints, of which each makes the one before superfluous; and one is imported."""
    format_namenode(configuration(namenode.roots))
    namenode.start()
    namenode.mkdirs("a")
    namenode.checkpoint()
    namenode.mkdirs("b")
    namenode.checkpoint()
    namenode.mkdirs("c")
    namenode.stop()
    namenode.move_to_a_checkpoint()
    namenode.start()
    namenode.mkdirs("d")
    namenode.stop()


def tear(roots: list[Path]) -> None:
    """Behind the last whole record, the beginning of one that nobody was told of."""
    for root in roots:
        for path in (root / "current").glob("edits_inprogress_*"):
            data = path.read_bytes()
            path.write_bytes(data.rstrip(b"\xff") + b"\3\0\0" + b"\xff" * 100)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power is cut here, so nothing has to reach the disk; and the thread that ends
    with its process ends without a word."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr(disk, "_fdatasync", lambda descriptor: None)
    defaults = SegmentWriter.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "preallocation_bytes", 4096)
    hook = threading.excepthook

    def quiet(what: threading.ExceptHookArgs) -> None:
        if what.exc_type is not Crash:
            hook(what)

    monkeypatch.setattr(threading, "excepthook", quiet)


History = Callable[[Namenode], None]


def sites(where: Path, directories: int, live: History) -> list[tuple[Operation, Path]]:
    gate = Gate()
    namenode = Namenode([where / f"name{n}" for n in range(directories)], gate)
    where.mkdir()
    with through(gate):
        live(namenode)
    assert not namenode.checkpoint_failures
    return gate.sites


def suffer(where: Path, directories: int, live: History, fault: Fault, at: int) -> str | None:
    """Run the history with one fault; what the namenode said if it stopped."""
    gate = Gate(fault, at)
    where.mkdir()
    namenode = Namenode([where / f"name{n}" for n in range(directories)], gate)
    said = None
    with through(gate):
        try:
            live(namenode)
        except Crash:
            assert gate.dead.is_set()
        except (OSError, errors.HowdahError) as error:
            said = str(error)
        assert gate.hit is not None, "the fault hit nothing"
        namenode.kill()
        namenode.wait_for_its_threads()
    look_again(namenode)
    # Where directories are made, the one above them is synced, too.
    root = where.joinpath(*gate.hit.relative_to(where).parts[:1])
    for told in [said, *namenode.checkpoint_failures]:
        assert told is None or str(root) in told, f"nobody is told where: {told}"
    return said


def look_again(namenode: Namenode) -> None:
    """A start on healthy disks, on all directories."""
    for root in namenode.roots:
        root.mkdir(exist_ok=True)
    if namenode.imported not in (None, namenode.roots):
        # What was imported by half starts with all of it, or not at all.
        for root in namenode.imported:
            root.mkdir(exist_ok=True)
        new = Namenode(namenode.imported, Gate(), set(namenode.tried), namenode.acknowledged)
        if not refusal_of(new):
            new.kill()
    again = Namenode(namenode.roots, Gate(), set(namenode.tried), namenode.acknowledged)
    refusal = refusal_of(again)
    if refusal:
        assert not namenode.acknowledged
        # What a format left by half may be an image of somebody's: it is not to be erased.
        ways = ("howdah namenode -format", "empty it", "move them elsewhere")
        assert any(way in refusal for way in ways), refusal
        return
    again.mkdirs("afterwards")
    again.checkpoint()
    assert not again.checkpoint_failures
    again.stop()
    for root in namenode.roots:
        assert not debris(root / "current")


def refusal_of(namenode: Namenode) -> str:
    """Start it; what it says if it does not."""
    try:
        namenode.start()
    except errors.InconsistentStorage as error:
        return str(error)
    return ""


def debris(current: Path) -> list[str]:
    """Of images: what is neither one nor the sum of one."""
    names = {path.name for path in current.glob("fsimage*")}
    return [
        name
        for name in names
        if not re.fullmatch(r"fsimage_\d+(\.md5)?", name)
        or name.removesuffix(".md5") not in names
        or f"{name.removesuffix('.md5')}.md5" not in names
    ]


def at_every_site(
    where: Path, directories: int, fault: Fault, stride: int = 1, live: History = history
) -> Counter[str]:
    """What came of it, how often."""
    outcomes: Counter[str] = Counter()
    first = list(Fault).index(fault) % stride
    for at, (operation, _) in enumerate(sites(where / "whole", directories, live)):
        if at % stride == first and (fault is not Fault.SHORT or operation is Operation.WRITE):
            said = suffer(where / f"{at}", directories, live, fault, at)
            outcomes["stopped" if said else "went on"] += 1
            shutil.rmtree(where / f"{at}")
    assert outcomes.total()
    return outcomes


@pytest.mark.req("FS-023", "LM-009")
@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name)
def test_fault_at_every_site_of_the_only_directory_loses_nothing_acknowledged(
    tmp_path: Path, fault: Fault
) -> None:
    at_every_site(tmp_path, 1, fault, STRIDES[1])


@pytest.mark.req("FS-023", "FS-030", "LM-009")
@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name)
def test_fault_in_one_of_two_directories_loses_nothing_acknowledged(
    tmp_path: Path, fault: Fault
) -> None:
    outcomes = at_every_site(tmp_path, 2, fault, STRIDES[2])
    if fault in (Fault.EIO, Fault.ENOSPC, Fault.SHORT):
        assert outcomes["went on"] > outcomes["stopped"], "the other directory is enough"


@pytest.mark.req("FS-023", "FS-031", "LM-009")
@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name)
@pytest.mark.parametrize("directories", [1, 2])
def test_fault_in_an_image_or_an_import_loses_nothing_acknowledged(
    tmp_path: Path, directories: int, fault: Fault
) -> None:
    at_every_site(tmp_path, directories, fault, IMAGE_STRIDES[directories], history_of_images)


@pytest.mark.torture
@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name)
@pytest.mark.parametrize("directories", [1, 2])
@pytest.mark.parametrize("live", [history, history_of_images])
def test_fault_at_every_single_site(
    tmp_path: Path, directories: int, fault: Fault, live: History
) -> None:
    at_every_site(tmp_path, directories, fault, live=live)


def test_histories_visit_every_kind_of_change(tmp_path: Path) -> None:
    found = sites(tmp_path / "log", 2, history) + sites(tmp_path / "images", 2, history_of_images)
    assert {operation for operation, _ in found} == set(Operation) - {Operation.LINK}


def test_history_of_images_visits_every_step_of_one(tmp_path: Path) -> None:
    found = {
        (operation, re.sub(r"\d+", "N", path.name))
        for operation, path in sites(tmp_path / "images", 1, history_of_images)
    }
    unfinished, image, md5 = "fsimage.ckpt_N", "fsimage_N", "fsimage_N.mdN"
    assert found >= {
        (Operation.OPEN, unfinished),
        (Operation.WRITE, unfinished),
        (Operation.SYNC, unfinished),
        (Operation.RENAME, unfinished),
        (Operation.OPEN, f"{md5}.tmp"),
        (Operation.WRITE, f"{md5}.tmp"),
        (Operation.SYNC, f"{md5}.tmp"),
        (Operation.RENAME, f"{md5}.tmp"),
        (Operation.SYNC, "current"),
        (Operation.UNLINK, image),
        (Operation.UNLINK, md5),
        (Operation.UNLINK, "edits_N-N"),
        (Operation.MAKE_DIRECTORY, "new nameN"),
        (Operation.RENAME, "VERSION.tmp"),
    }


METADATA_PATH = (
    *("runtime/atomic_files.py", "storage/image_files.py", "storage/layout.py"),
    *("storage/retention.py", "storage/segments.py", "storage/transitions.py"),
    *("namenode/journal/checkpoints/checkpoint.py", "namenode/journal/checkpoints/directories.py"),
    "namenode/journal/checkpoints/image_server.py",
    *("namenode/state/edit_log/segment_selection.py", "namenode/journal/directories.py"),
    *("namenode/journal/directory_journal.py", "namenode/journal/edit_log.py"),
    *("namenode/state/edit_log/journal_set.py", "namenode/journal/manifest.py"),
    *("namenode/journal/log_reader.py", "namenode/journal/recovery.py"),
    *("namenode/journal/directory_restore.py", "namenode/journal/segment_files.py"),
    *("namenode/server/process/format.py", "namenode/server/process/checkpoint_import.py"),
    *("namenode/server/process/loading.py", "namenode/server/process/secondary.py"),
    *("namenode/server/process/rolling_back.py", "namenode/server/process/upgrading.py"),
)
CHANGES = {
    *("rename", "replace", "unlink", "rmdir", "mkdir", "makedirs", "rmtree"),
    *("fsync", "fdatasync", "write_bytes", "write_text", "touch", "truncate", "ftruncate"),
    *("pwrite", "writev", "link", "symlink", "copyfile", "copytree", "move"),
}


@pytest.mark.parametrize("module", METADATA_PATH)
def test_metadata_is_changed_through_the_seam_alone(module: str) -> None:
    tree = tree_of((Path(howdah.__file__).parent / module).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            is_seam = isinstance(owner, ast.Name) and owner.id == "disk"
            assert is_seam or node.func.attr not in CHANGES, f"{module}:{node.lineno}"
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "open"
        ):
            assert ast.unparse(node).count("'rb'") == 1, f"{module}:{node.lineno}"
