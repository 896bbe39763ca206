"""What a kernel hears that asks for names and attributes, and what happens to the filesystem."""

from __future__ import annotations

import errno
import os
import stat
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from howdah import errors
from howdah.fs.memory.filesystem import MemoryFileSystem
from howdah.mount.accounts import NOBODY, Accounts
from howdah.mount.callers import EachCaller, OneCaller
from howdah.mount.calls import Calls
from howdah.mount.mounted_tree import MountedTree, MountSettings
from howdah.mount.protocol.operations import ROOT_ID, Operation, RenameFlag, SetAttribute
from howdah.testing.waiting import wait_until
from tests.support.fake_kernel import Failed, FakeKernel, conversation, request, setattr_body
from tests.unit.mount.conftest import OWN_UID


@contextmanager
def refused(number: int) -> Iterator[None]:
    with pytest.raises(Failed) as info:
        yield
    assert info.value.errno == number, os.strerror(info.value.errno or 0)


# -- looking -----------------------------------------------------------------------------


def test_a_name_is_found_with_its_attributes(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes("/data/f", b"12345")
    fs.set_permission("/data/f", 0o640)
    fs.set_times("/data/f", 1_700_000_000_123, 1_600_000_000_456)
    found = kernel.lookup(b"f")
    assert (found.entry_timeout_s, found.attribute_timeout_s) == (3.0, 2.0)
    assert (found.stat.size, found.stat.mode) == (5, stat.S_IFREG | 0o640)
    assert (found.stat.mtime_s, found.stat.mtime_ns) == (1_700_000_000, 123_000_000)
    assert (found.stat.atime_s, found.stat.atime_ns) == (1_600_000_000, 456_000_000)
    assert found.stat.uid == OWN_UID
    assert kernel.getattr(found.node) == found.stat


def test_names_are_found_below_directories(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes("/data/a/b/f", b"x")
    a = kernel.lookup(b"a")
    assert stat.S_ISDIR(a.stat.mode)
    assert kernel.lookup(b"f", kernel.lookup(b"b", a.node).node).stat.size == 1


def test_the_root_is_the_directory_that_was_mounted(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    fs.set_permission("/data", 0o1777)
    assert kernel.getattr().mode == stat.S_IFDIR | 0o1777


def test_users_without_an_account_are_nobody(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes("/data/f", b"")
    fs.set_owner("/data/f", "no-such-user-here", "no-such-group-here")
    found = kernel.lookup(b"f").stat
    assert (found.uid, found.gid) == (NOBODY, NOBODY)


def test_what_is_missing_is_not_found(kernel: FakeKernel) -> None:
    with refused(errno.ENOENT):
        kernel.lookup(b"missing")


@pytest.mark.parametrize(
    ("name", "number"),
    [
        (b"x" * 256, errno.ENAMETOOLONG),
        (b"\xff\xfe", errno.EILSEQ),
        (b"..", errno.EINVAL),
        (b"a/b", errno.EINVAL),
    ],
)
def test_names_that_cannot_be_are_refused(kernel: FakeKernel, name: bytes, number: int) -> None:
    with refused(number):
        kernel.lookup(name)
    with refused(number):
        kernel.create(name)


def test_a_node_that_nobody_has_looked_up_is_stale(kernel: FakeKernel) -> None:
    with refused(errno.ESTALE):
        kernel.getattr(99)


def test_a_node_is_stale_when_another_file_has_its_name(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    fs.write_bytes("/data/f", b"old")
    old = kernel.lookup(b"f")
    fs.write_bytes("/data/f", b"newer", overwrite=True)
    with refused(errno.ESTALE):
        kernel.getattr(old.node)
    assert kernel.lookup(b"f").node != old.node


def test_a_listing_has_everything_once(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    for number in range(300):
        fs.write_bytes(f"/data/{number:03}", b"x" * number)
    entries = list(kernel.entries())
    assert [each.name for each in entries[:2]] == [b".", b".."]
    assert [each.name for each in entries[2:]] == [f"{number:03}".encode() for number in range(300)]
    for number, entry in enumerate(entries[2:]):
        assert entry.found is not None
        assert entry.found.stat.size == number
        assert entry.kind == stat.S_IFREG >> 12
        assert entry.inode == entry.found.stat.inode
    plain = [each.name for each in kernel.entries(plus=False)]
    assert plain == [each.name for each in entries]


def test_a_listing_may_begin_anywhere(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    for name in "abcde":
        fs.write_bytes(f"/data/{name}", b"")
    handle = struct.unpack("=QLL", kernel.ask(Operation.OPENDIR, struct.pack("=LL", 0, 0)))[0]

    def first_at(offset: int) -> bytes:
        body = struct.pack("=QQLLQLL", handle, offset, 4096, 0, 0, 0, 0)
        data = kernel.ask(Operation.READDIR, body)
        length = struct.unpack("=QQLL", data[:24])[2]
        return data[24 : 24 + length]

    assert [first_at(offset) for offset in (6, 2, 0, 4, 1)] == [b"e", b"a", b".", b"c", b".."]


def test_what_does_not_fit_into_an_answer_is_not_looked_up(
    kernel: FakeKernel, fs: MemoryFileSystem, tree: MountedTree
) -> None:
    for number in range(100):
        fs.write_bytes(f"/data/{number}", b"")
    for entry in list(kernel.entries(size=1024)):
        if entry.found is not None and entry.found.node not in (0, ROOT_ID):
            kernel.forget(entry.found.node)
    # Nothing answers a FORGET, and threads take what comes in any order.
    wait_until(lambda: len(tree.nodes) == 1)


def test_sizes_of_the_whole_are_told(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    data = kernel.ask(Operation.STATFS)
    blocks, free, _, _, _, unit, longest, _, _ = struct.unpack("=QQQQQLLLL", data[:56])
    status = fs.get_status()
    assert (blocks, free) == (status.capacity // unit, status.remaining // unit)
    assert longest == 255


# -- changing names ----------------------------------------------------------------------


def test_directories_are_made_and_removed(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    made = kernel.mkdir(b"d", 0o711)
    assert fs.get_file_status("/data/d").permission == made.stat.mode & 0o777 == 0o711
    with refused(errno.EEXIST):
        kernel.mkdir(b"d")
    kernel.create(b"f", node=made.node)
    with refused(errno.ENOTEMPTY):
        kernel.rmdir(b"d")
    fs.delete("/data/d/f")
    kernel.rmdir(b"d")
    assert not fs.exists("/data/d")
    with refused(errno.ENOENT):
        kernel.rmdir(b"d")


def test_files_are_removed(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes("/data/f", b"")
    kernel.lookup(b"f")
    kernel.unlink(b"f")
    assert not fs.exists("/data/f")
    with refused(errno.ENOENT):
        kernel.unlink(b"f")


def test_a_rename_replaces_what_is_there(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes("/data/new", b"new")
    fs.write_bytes("/data/old", b"old")
    new = kernel.lookup(b"new")
    kernel.rename(b"new", b"old")
    assert fs.read_bytes("/data/old") == b"new"
    assert not fs.exists("/data/new")
    assert kernel.lookup(b"old").node == new.node


def test_a_rename_that_must_not_replace_does_not(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes("/data/new", b"new")
    fs.write_bytes("/data/old", b"old")
    with refused(errno.EEXIST):
        kernel.rename(b"new", b"old", flags=RenameFlag.NOREPLACE)
    assert fs.read_bytes("/data/old") == b"old"
    kernel.rename(b"new", b"other", flags=RenameFlag.NOREPLACE)
    assert fs.read_bytes("/data/other") == b"new"
    with refused(errno.EINVAL):
        kernel.rename(b"other", b"old", flags=RenameFlag.EXCHANGE)


def test_a_file_that_two_mount_points_lead_to_is_not_moved_onto_itself(
    kernel: FakeKernel, fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else `mv` deletes the target, copies and deletes the source, and nothing is left."""
    fs.write_bytes("/data/f", b"one")
    fs.write_bytes("/data/h", b"two")
    asked = fs.get_file_link_status

    def across(*args: object, **more: object) -> None:
        raise errors.AcrossMountPoints("another mount point")

    monkeypatch.setattr(fs, "rename", across)
    monkeypatch.setattr(
        fs, "get_file_link_status", lambda path: asked("/data/f" if path == "/data/g" else path)
    )
    kernel.rename(b"f", b"g")
    with refused(errno.EXDEV):
        kernel.rename(b"f", b"h")
    assert fs.read_bytes("/data/f") == b"one"


def test_nodes_go_along_with_the_directory_above(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes("/data/a/f", b"123")
    fs.mkdirs("/data/b")
    a, b = kernel.lookup(b"a"), kernel.lookup(b"b")
    f = kernel.lookup(b"f", a.node)
    kernel.rename(b"a", b"c", new_node=b.node)
    assert fs.exists("/data/b/c/f")
    assert kernel.getattr(f.node).size == 3


def test_only_files_are_made_by_mknod(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    def mknod(mode: int, name: bytes) -> None:
        kernel.ask(Operation.MKNOD, struct.pack("=LLLL", mode, 0, 0o22, 0) + name + b"\0")

    mknod(stat.S_IFREG | 0o600, b"f")
    assert fs.get_file_status("/data/f").permission == 0o600
    assert fs.is_file_closed("/data/f")
    for kind in (stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFCHR, stat.S_IFBLK):
        with refused(errno.EPERM):
            mknod(kind | 0o600, b"other")


@pytest.mark.parametrize(
    ("words", "number"),
    [
        (
            'Permission denied: user=ann, access=EXECUTE, inode="/data":bob:g:drwx------',
            errno.EACCES,
        ),
        ("Permission denied. user=ann is not the owner of inode=/data/f", errno.EPERM),
    ],
)
def test_only_what_is_for_owners_is_not_permitted(
    kernel: FakeKernel,
    fs: MemoryFileSystem,
    words: str,
    number: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fs.write_bytes("/data/f", b"")
    node = kernel.lookup(b"f").node

    def refuse(*args: object) -> None:
        raise errors.AccessDenied(words)

    monkeypatch.setattr(MemoryFileSystem, "set_permission", refuse)
    with refused(number):
        kernel.setattr(node, SetAttribute.MODE, mode=0o600)


def test_links_are_refused(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes("/data/f", b"")
    node = kernel.lookup(b"f").node
    with refused(errno.EPERM):
        kernel.ask(Operation.LINK, struct.pack("=Q", node) + b"g\0")
    with refused(errno.EPERM):
        kernel.ask(Operation.SYMLINK, b"g\0f\0")


# -- changing attributes -----------------------------------------------------------------


def test_modes_and_times_are_set(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes("/data/f", b"")
    node = kernel.lookup(b"f").node
    changed = kernel.setattr(
        node,
        SetAttribute.MODE | SetAttribute.MTIME | SetAttribute.ATIME,
        mode=0o100604,
        mtime=(1_000_000_000, 5_000_000),
        atime=(1_100_000_000, 0),
    )
    assert changed.mode == stat.S_IFREG | 0o604
    assert (changed.mtime_s, changed.mtime_ns, changed.atime_s) == (
        1_000_000_000,
        5_000_000,
        1_100_000_000,
    )
    status = fs.get_file_status("/data/f")
    assert status.permission == 0o604
    assert status.modification_time_ms == 1_000_000_000_005


def test_the_time_may_be_now(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes("/data/f", b"")
    fs.set_times("/data/f", 1000, 2000)
    node = kernel.lookup(b"f").node
    kernel.setattr(node, SetAttribute.MTIME | SetAttribute.MTIME_NOW)
    status = fs.get_file_status("/data/f")
    assert status.modification_time_ms > 1_700_000_000_000
    assert status.access_time_ms == 2000


def test_bits_that_hdfs_has_not_are_dropped(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.mkdirs("/data/d")
    node = kernel.lookup(b"d").node
    kernel.setattr(node, SetAttribute.MODE, mode=0o42775)
    assert fs.get_file_status("/data/d").permission == 0o775


def test_an_owner_who_has_it_already_changes_nothing(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    fs.write_bytes("/data/f", b"")
    found = kernel.lookup(b"f")
    kernel.setattr(found.node, SetAttribute.UID | SetAttribute.GID, uid=OWN_UID, gid=found.stat.gid)
    assert fs.get_file_status("/data/f").owner == "ann"


def test_an_owner_is_changed_by_name(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes("/data/f", b"")
    node = kernel.lookup(b"f").node
    kernel.setattr(node, SetAttribute.UID, uid=0)
    assert fs.get_file_status("/data/f").owner == "root"
    with refused(errno.EPERM):
        kernel.setattr(node, SetAttribute.UID, uid=3_999_999_999)


def test_owners_of_others_are_not_changed(fs: MemoryFileSystem) -> None:
    fs.set_permission("/data", 0o777)
    bob = MemoryFileSystem("mounted", user="bob")
    bob.write_bytes("/data/f", b"")
    calls = Calls(MountedTree(OneCaller(bob), Accounts(("bob", OWN_UID)), "/data", MountSettings()))
    fs.write_bytes("/data/hers", b"")
    with conversation(calls) as kernel:
        with refused(errno.EPERM):
            kernel.setattr(kernel.lookup(b"f").node, SetAttribute.UID, uid=0)
        with refused(errno.EPERM):
            kernel.setattr(kernel.lookup(b"hers").node, SetAttribute.MODE, mode=0o777)


def test_attributes_of_others_do_not_exist(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes("/data/f", b"")
    node = kernel.lookup(b"f").node
    asked = struct.pack("=LL", 100, 0)
    for name in (b"security.capability", b"system.posix_acl_access"):
        with refused(errno.ENODATA):
            kernel.ask(Operation.GETXATTR, asked + name + b"\0", node=node)
        with refused(errno.EOPNOTSUPP):
            body = struct.pack("=LL", 1, 0) + name + b"\0x"
            kernel.ask(Operation.SETXATTR, body, node=node)
    assert kernel.ask(Operation.LISTXATTR, asked, node=node) == b""


# -- who may -----------------------------------------------------------------------------


def test_nothing_is_changed_by_a_mount_that_is_read_only(fs: MemoryFileSystem) -> None:
    fs.write_bytes("/data/f", b"x")
    calls = Calls(MountedTree(OneCaller(fs), Accounts(), "/data", MountSettings(is_read_only=True)))
    with conversation(calls) as kernel:
        node = kernel.lookup(b"f").node
        for act in (
            lambda: kernel.create(b"g"),
            lambda: kernel.mkdir(b"d"),
            lambda: kernel.unlink(b"f"),
            lambda: kernel.rename(b"f", b"g"),
            lambda: kernel.open(node, os.O_WRONLY),
            lambda: kernel.setattr(node, SetAttribute.MODE, mode=0o777),
            lambda: kernel.ask(Operation.ACCESS, struct.pack("=LL", os.W_OK, 0)),
        ):
            with refused(errno.EROFS):
                act()
        assert kernel.read(node, kernel.open(node), 0, 10) == b"x"
    assert [each.name for each in fs.list_status("/data")] == ["f"]


USERS = {0: "ann", 1: "bob"}


@pytest.fixture
def shared(fs: MemoryFileSystem) -> Iterator[FakeKernel]:
    """A mount for all users of a machine."""
    callers = EachCaller(lambda user: MemoryFileSystem("mounted", user=user), USERS.get)
    with conversation(Calls(MountedTree(callers, Accounts(), "/data", MountSettings()))) as kernel:
        yield kernel
    callers.close()


def test_each_user_has_his_own_permissions(shared: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes("/data/secret", b"x")
    fs.set_permission("/data/secret", 0o600)
    node = shared.lookup(b"secret", uid=1).node
    with refused(errno.EACCES):
        shared.open(node, uid=1)
    assert shared.read(node, shared.open(node), 0, 9) == b"x"
    access = struct.pack("=LL", os.R_OK, 0)
    with refused(errno.EACCES):
        shared.ask(Operation.ACCESS, access, node=node, uid=1)
    with refused(errno.EACCES):
        shared.lookup(b"secret", uid=2)


def test_nobody_changes_a_file_by_the_rights_of_its_writer(
    shared: FakeKernel, fs: MemoryFileSystem
) -> None:
    found, handle = shared.create(b"f", mode=0o644)
    shared.write(found.node, handle, 0, b"hers")
    for valid in (SetAttribute.SIZE, SetAttribute.MTIME):
        body = setattr_body(valid, size=1)
        with refused(errno.EACCES):
            shared.ask(Operation.SETATTR, body, node=found.node, uid=1)
    with refused(errno.EACCES):
        shared.open(found.node, os.O_WRONLY, uid=1)
    shared.close(found.node, handle)
    assert fs.read_bytes("/data/f") == b"hers"
    assert fs.get_file_status("/data/f").modification_time_ms > 1_700_000_000_000


def test_what_one_user_may_see_is_not_remembered_for_others(
    shared: FakeKernel, fs: MemoryFileSystem
) -> None:
    fs.write_bytes("/data/private/f", b"x")
    fs.mkdirs("/data/private/below")
    fs.set_permission("/data/private", 0o700)
    shared.getattr()
    private = shared.lookup(b"private")
    assert private.entry_timeout_s == 1.0
    assert shared.lookup(b"f", private.node).entry_timeout_s == 0
    below = shared.lookup(b"below", private.node)
    assert (below.entry_timeout_s, below.attribute_timeout_s) == (0, 0)
    assert shared.mkdir(b"deeper", node=below.node).entry_timeout_s == 0
    with refused(errno.EACCES):
        shared.lookup(b"f", private.node, uid=1)


# -- what nobody should ask --------------------------------------------------------------


def test_operations_that_are_not_here_are_told_so(kernel: FakeKernel) -> None:
    for operation in (Operation.LSEEK, Operation.FALLOCATE, Operation.IOCTL, Operation.GETLK, 4711):
        with refused(errno.ENOSYS):
            kernel.ask(operation, bytes(64))


def test_the_conversation_goes_on_after_what_is_no_request(kernel: FakeKernel) -> None:
    kernel.send(b"no request")
    with refused(errno.EIO):
        kernel.ask(Operation.READ, b"short")
    with refused(errno.ENOSYS):
        kernel.ask(Operation.INIT, struct.pack("=LLLLL44x", 7, 31, 0, 0, 0))
    for operation in (Operation.READ, Operation.READDIR):
        with refused(errno.EBADF):
            kernel.ask(operation, struct.pack("=QQLLQLL", 99, 0, 10, 0, 0, 0, 0))
    kernel.ask(Operation.RELEASE, struct.pack("=QLLQ", 99, 0, 0, 0))
    kernel.ask(Operation.RELEASEDIR, struct.pack("=QLLQ", 99, 0, 0, 0))
    assert stat.S_ISDIR(kernel.getattr().mode)


def test_an_interrupt_has_no_answer(kernel: FakeKernel) -> None:
    from tests.support.fake_kernel import request

    kernel.send(request(Operation.INTERRUPT, struct.pack("=Q", 2)))
    kernel.getattr()


def test_a_defect_is_answered_with_an_error(
    kernel: FakeKernel, fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(fs, "get_file_link_status", fails)
    with refused(errno.EIO):
        kernel.lookup(b"f")
    monkeypatch.undo()
    with refused(errno.ENOENT):
        kernel.lookup(b"f")


# -- what is given up --------------------------------------------------------------------


class Slow:
    """A call of a filesystem that waits until it may go on."""

    def __init__(self, real: Callable[..., object]) -> None:
        self.real = real
        self.has_begun, self.may_go_on = threading.Event(), threading.Event()
        self.has_ended = threading.Event()

    def __call__(self, *args: object, **more: object) -> object:
        self.has_begun.set()
        assert self.may_go_on.wait(30)
        try:
            return self.real(*args, **more)
        finally:
            self.has_ended.set()


def interrupted(kernel: FakeKernel, operation: int, body: bytes, slow: Slow, node: int = 1) -> None:
    """Ask something that takes long, give it up, and let it end."""
    kernel.send(request(operation, body, unique=5001, node=node))
    assert slow.has_begun.wait(30)
    kernel.send(request(Operation.INTERRUPT, struct.pack("=Q", 5001), unique=5002))
    assert kernel.receive() == (5001, errno.EINTR, b"")
    # Nobody waits: another one is asked, and answered by another thread.
    kernel.ask(Operation.STATFS)
    slow.may_go_on.set()
    assert slow.has_ended.wait(30)


def test_a_lookup_that_is_given_up_is_forgotten(
    kernel: FakeKernel, fs: MemoryFileSystem, tree: MountedTree
) -> None:
    fs.write_bytes("/data/f", b"x")
    before = len(tree.nodes)
    slow = Slow(fs.get_file_link_status)
    fs.get_file_link_status = slow  # type: ignore[method-assign, assignment]
    interrupted(kernel, Operation.LOOKUP, b"f\0", slow)
    wait_until(lambda: len(tree.nodes) == before, 30)
    fs.get_file_link_status = slow.real  # type: ignore[method-assign, assignment]
    assert kernel.lookup(b"f").stat.size == 1


def test_a_file_and_a_directory_that_are_given_up_are_closed(
    kernel: FakeKernel, fs: MemoryFileSystem, tree: MountedTree
) -> None:
    fs.write_bytes("/data/f", b"x")
    node = kernel.lookup(b"f").node
    slow = Slow(fs.open)
    fs.open = slow  # type: ignore[method-assign, assignment]
    interrupted(kernel, Operation.OPEN, struct.pack("=LL", os.O_RDONLY, 0), slow, node)
    wait_until(lambda: len(tree.handles) == 0 and not tree.handles.all_files(), 30)
    slow = Slow(fs.list_status_iter)
    fs.list_status_iter = slow  # type: ignore[method-assign, assignment]
    interrupted(kernel, Operation.OPENDIR, struct.pack("=LL", 0, 0), slow)
    wait_until(lambda: len(tree.handles) == 0, 30)


def test_an_interrupt_is_heard_when_all_threads_wait(fs: MemoryFileSystem, calls: Calls) -> None:
    """Else nobody could end a program while a namenode is away."""
    fs.write_bytes("/data/f", b"x")
    slow = Slow(fs.get_file_link_status)
    with conversation(calls, threads=2) as kernel:
        fs.get_file_link_status = slow  # type: ignore[method-assign, assignment]
        uniques = range(5001, 5021, 2)
        for unique in uniques:
            kernel.send(request(Operation.LOOKUP, b"f\0", unique=unique))
        assert slow.has_begun.wait(30)
        for unique in (5001, 5019):
            kernel.send(request(Operation.INTERRUPT, struct.pack("=Q", unique), unique=6000))
            assert kernel.receive() == (unique, errno.EINTR, b"")
        slow.may_go_on.set()
        answered = [kernel.receive() for _ in range(len(uniques) - 2)]
        assert sorted(unique for unique, _, _ in answered) == list(uniques[1:-1])
        assert not any(error for _, error, _ in answered)
        kernel.ask(Operation.STATFS)


def test_requests_that_stand_in_line_keep_their_bytes(fs: MemoryFileSystem, calls: Calls) -> None:
    with conversation(calls, threads=1) as kernel:
        files = [kernel.create(b"%d" % number) for number in range(5)]
        slow = Slow(fs.get_file_link_status)
        fs.get_file_link_status = slow  # type: ignore[method-assign, assignment]
        kernel.send(request(Operation.LOOKUP, b"f\0", unique=5001))
        assert slow.has_begun.wait(30)
        for number, (found, handle) in enumerate(files):
            data = b"%d" % number * 1000
            body = struct.pack("=QQLLQLL", handle, 0, len(data), 0, 0, 1, 0) + data
            unique = 5003 + 2 * number
            kernel.send(request(Operation.WRITE, body, unique=unique, node=found.node))
        slow.may_go_on.set()
        assert sorted(kernel.receive()[0] for _ in range(6)) == [5001, *range(5003, 5013, 2)]
        for number, (found, handle) in enumerate(files):
            kernel.close(found.node, handle)
            assert fs.read_bytes(f"/data/{number}") == b"%d" % number * 1000


def test_what_changes_something_is_not_given_up(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    slow = Slow(fs.mkdirs)
    fs.mkdirs = slow  # type: ignore[method-assign, assignment]
    body = struct.pack("=LL", 0o755, 0) + b"d\0"
    kernel.send(request(Operation.MKDIR, body, unique=5001))
    assert slow.has_begun.wait(30)
    kernel.send(request(Operation.INTERRUPT, struct.pack("=Q", 5001), unique=5002))
    # Nor is one that has ended, or that never was.
    kernel.send(request(Operation.INTERRUPT, struct.pack("=Q", 4711), unique=5003))
    slow.may_go_on.set()
    unique, error, _ = kernel.receive()
    assert (unique, error) == (5001, 0)
    assert fs.exists("/data/d")


def test_times_are_seen_while_a_file_is_completed(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    """An empty file is completed by RELEASE, for which nobody waits."""
    found, handle = kernel.create(b"f")
    kernel.setattr(found.node, SetAttribute.MTIME, mtime=(1_500_000_000, 0))
    slow = Slow(fs.set_times)
    fs.set_times = slow  # type: ignore[method-assign, assignment]
    body = struct.pack("=QLLQ", handle, 0, 0, 0)
    kernel.send(request(Operation.RELEASE, body, unique=5001, node=found.node))
    assert slow.has_begun.wait(30)
    assert kernel.getattr(found.node).mtime_s == 1_500_000_000
    slow.may_go_on.set()
    assert kernel.receive()[:2] == (5001, 0)
    assert kernel.getattr(found.node).mtime_s == 1_500_000_000


def test_times_that_are_set_again_count(kernel: FakeKernel) -> None:
    found, handle = kernel.create(b"f")
    kernel.write(found.node, handle, 0, b"x")
    kernel.setattr(found.node, SetAttribute.MTIME, mtime=(1_500_000_000, 0))
    kernel.flush(found.node, handle)
    assert kernel.getattr(found.node).mtime_s == 1_500_000_000
    kernel.setattr(found.node, SetAttribute.MTIME, mtime=(1_400_000_000, 0))
    assert kernel.getattr(found.node).mtime_s == 1_400_000_000
    kernel.write(found.node, handle, 1, b"y")
    kernel.close(found.node, handle)
    assert kernel.getattr(found.node).mtime_s > 1_500_000_000
