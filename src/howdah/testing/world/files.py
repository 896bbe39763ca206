"""The modules `posix`, `io`, `fcntl` and `mmap` of a simulated process: files on simulated disks.

All paths lie on the machine's disks, but for what howdah and Python have with them: their own
directories are the real ones, and may be read. `/proc` has what programs look for there.
"""

from __future__ import annotations

import errno
import fcntl as real_fcntl
import io as real_io
import mmap as real_mmap
import os as real_os
import posix as real
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Final

import howdah
from howdah.testing.world.descriptors import Description, system_error, wait_until_ready
from howdah.testing.world.disk import Disk, Inode
from howdah.testing.world.network import Stream
from howdah.testing.world.primitives import NotSimulated, simulated_module
from howdah.testing.world.processes import Process
from howdah.testing.world.sockets import send_now

_REAL_ROOTS: Final = tuple(
    str(Path(each).resolve())
    for each in {str(Path(howdah.__file__).parent), sys.prefix, sys.base_prefix}
)
"""Read, and never written."""
_UMASK: Final = 0o022
_BLOCK_BYTES: Final = 4096
_BUFFER_BYTES: Final = 8192
_BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"


class OpenFile(Description):
    """Is a file that is open."""

    def __init__(self, process: Process, disk: Disk, node: Inode, flags: int, path: str) -> None:
        super().__init__(process.scheduler)
        self.disk = disk
        self.node = node
        self.flags = flags
        self.offset = 0
        self.path = path
        node.open_count += 1

    def closed(self) -> None:
        self.node.open_count -= 1
        self.node.forget_if_unused()

    def vanished(self) -> None:
        """Leave it to the disk, which counts anew."""

    def check_reading(self) -> None:
        if self.flags & real.O_ACCMODE == real.O_WRONLY:
            raise system_error(errno.EBADF)
        if self.node.is_directory:
            raise system_error(errno.EISDIR)

    def check_writing(self) -> None:
        if self.flags & real.O_ACCMODE == real.O_RDONLY:
            raise system_error(errno.EBADF)


class Memory(OpenFile):
    """Is a file in memory (memfd): processes that map it see what the others write there."""

    def __init__(self, process: Process, disk: Disk, node: Inode, flags: int, path: str) -> None:
        super().__init__(process, disk, node, flags, path)
        self._real = -1

    def map(self, length: int) -> tuple[int, int]:
        """Return a descriptor of the real memory that all mappings are of, and its length."""
        if self._real < 0:
            self._real = real_os.memfd_create("simulated")
            real_os.ftruncate(self._real, len(self.node.data))
        return self._real, length or len(self.node.data)

    def closed(self) -> None:
        super().closed()
        self.vanished()

    def vanished(self) -> None:
        if self._real >= 0:
            real_os.close(self._real)
            self._real = -1


class Pipe(Description):
    """Is one end of a pipe."""

    CAPACITY_BYTES: Final = 65536

    def __init__(self, process: Process, *, writes: bool) -> None:
        super().__init__(process.scheduler)
        self.writes = writes
        self.content = bytearray()
        self.other: Pipe | None = None
        self.is_gone = False

    def is_readable(self) -> bool:
        return not self.writes and bool(self.content or self._other_gone())

    def is_writable(self) -> bool:
        other = self.other
        return self.writes and (
            other is None or other.is_gone or len(other.content) < self.CAPACITY_BYTES
        )

    def has_hung_up(self) -> bool:
        return not self.writes and self._other_gone()

    def has_failed(self) -> bool:
        return self.writes and self._other_gone()

    def deliver_byte(self, value: int) -> None:
        if self.other is not None:
            self.other.content.append(value)
            self.other.changed()

    def _other_gone(self) -> bool:
        return self.other is None or self.other.is_gone

    def closed(self) -> None:
        self.is_gone = True
        if self.other is not None:
            self.other.changed()


class Counter(Description):
    """Is an eventfd."""

    def __init__(self, process: Process, value: int, *, is_semaphore: bool) -> None:
        super().__init__(process.scheduler)
        self.value = value
        self.is_semaphore = is_semaphore

    def is_readable(self) -> bool:
        return self.value > 0


class ProcessDescriptor(Description):
    """Is a pidfd: readable when its process is dead."""

    def __init__(self, process: Process, watched: Process) -> None:
        super().__init__(process.scheduler)
        self.watched = watched
        watched.watchers.append(self)

    def is_readable(self) -> bool:
        return self.watched.is_dead


class NullDevice(Description):
    """/dev/null."""


class RealFile(Description):
    """Reads a file of howdah's or Python's own where it is."""

    def __init__(self, process: Process, path: str) -> None:
        super().__init__(process.scheduler)
        self.file = Path(path).open("rb")  # noqa: SIM115 - closed with the description

    def closed(self) -> None:
        self.file.close()

    vanished = closed


class Listing(Description):
    """Is a text that the kernel makes, as those in /proc."""

    def __init__(self, process: Process, content: bytes) -> None:
        super().__init__(process.scheduler)
        self.content = content
        self.offset = 0


class Files:
    """Makes system calls about files for one process. Its methods have the names, the
    parameters and the errors of those in `os`."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._scheduler = process.scheduler
        self._mounts = process.machine.mounts
        self._descriptors = process.descriptors

    def begin(self) -> None:
        """See the disks of the machine on which the process is now."""
        self._mounts = self._process.machine.mounts

    # -- paths

    def _name(self, path: Any) -> str:
        path = real_os.fspath(path)
        name = path.decode("utf-8", "surrogateescape") if isinstance(path, bytes) else str(path)
        if "\0" in name:
            raise ValueError("embedded null byte")
        return name if name.startswith("/") else f"/{name}"

    def _is_real(self, path: str) -> bool:
        return any(path == root or path.startswith(f"{root}/") for root in _REAL_ROOTS)

    def _call(self, operation: str, disk: Disk | None) -> None:
        """Let others go first before a call, and disks hang or fail."""
        self._scheduler.give_way()
        if disk is not None:
            if disk.hangs_until_ns > self._scheduler.now_ns:
                self._scheduler.sleep_until(disk.hangs_until_ns)
            disk.check(operation)

    def _file(self, descriptor: int) -> OpenFile:
        description = self._descriptors.get(descriptor)
        if not isinstance(description, OpenFile):
            raise system_error(errno.EINVAL)
        return description

    # -- opening

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        name = self._name(path)
        if dir_fd is not None and not real_os.fspath(path).startswith("/"):
            name = f"{self._file(dir_fd).path.rstrip('/')}{name}"
        if self._is_real(name):
            if flags & (real.O_WRONLY | real.O_RDWR | real.O_CREAT | real.O_TRUNC):
                raise system_error(errno.EROFS, name)
            return self._descriptors.add(RealFile(self._process, name))
        if name.startswith("/proc/"):
            return self._descriptors.add(Listing(self._process, self._proc_file(name)))
        if name == real_os.devnull:
            return self._descriptors.add(NullDevice(self._scheduler))
        disk = self._mounts.disk_of(name)
        self._call("name", disk)
        self._process.fault("open")
        if flags & getattr(real, "O_DIRECT", 0):
            raise system_error(errno.EINVAL, name)
        if flags & getattr(real, "O_TMPFILE", 0) == getattr(real, "O_TMPFILE", -1):
            raise system_error(errno.EOPNOTSUPP, name)
        try:
            node = self._mounts.find(name)
        except FileNotFoundError:
            if not flags & real.O_CREAT:
                raise
            if name.endswith("/"):
                raise system_error(errno.EISDIR, name) from None
            directory, last = self._mounts.parent(name)
            node = disk.new_file(mode & ~_UMASK)
            disk.change_names((directory, last, node))
        else:
            if flags & real.O_CREAT and flags & real.O_EXCL:
                raise system_error(errno.EEXIST, name)
            if node.is_directory and flags & (real.O_ACCMODE | real.O_CREAT):
                raise system_error(errno.EISDIR, name)
            if flags & real.O_DIRECTORY and not node.is_directory:
                raise system_error(errno.ENOTDIR, name)
            if flags & real.O_TRUNC and node.data and flags & real.O_ACCMODE:
                node.resize(0)
        return self._descriptors.add(OpenFile(self._process, disk, node, flags, name))

    def close(self, descriptor: int) -> None:
        description = self._descriptors.find(descriptor)
        if isinstance(description, OpenFile) and description.node.lock_owner is self._process:
            # As POSIX has it: whichever descriptor of the file is closed.
            description.node.lock_owner = None
        self._descriptors.close(descriptor)
        self._process.send_patience_s.pop(descriptor, None)

    def closerange(self, first: int, behind: int) -> None:
        for number in self._descriptors.numbers():
            if first <= number < behind:
                self._descriptors.close(number)

    def dup(self, descriptor: int) -> int:
        return self._descriptors.add(self._descriptors.share(descriptor))

    # -- reading

    def read(self, descriptor: int, count: int) -> bytes:
        self._process.allocate(count)
        description = self._descriptors.get(descriptor)
        match description:
            case OpenFile():
                self._call("read", description.disk)
                description.check_reading()
                start = description.offset
                data = bytes(description.node.data[start : start + count])
                description.offset += len(data)
                return data
            case Pipe(writes=False):
                return self._read_pipe(description, count)
            case Counter():
                self._wait(description, description.is_readable)
                if description.is_semaphore:
                    description.value -= 1
                    return (1).to_bytes(8, sys.byteorder)
                value, description.value = description.value, 0
                return value.to_bytes(8, sys.byteorder)
            case RealFile():
                return description.file.read(count)
            case Listing():
                start = description.offset
                description.offset = min(start + count, len(description.content))
                return description.content[start : start + count]
            case Stream():
                self._wait(description, description.is_readable)
                return description.take(count)
            case NullDevice():
                return b""
        raise system_error(errno.EBADF)

    def _read_pipe(self, pipe: Pipe, count: int) -> bytes:
        self._scheduler.give_way()
        self._wait(pipe, pipe.is_readable)
        data = bytes(pipe.content[:count])
        del pipe.content[:count]
        if pipe.other is not None:
            pipe.other.changed()
        return data

    def _wait(self, description: Description, is_ready: Callable[[], object]) -> None:
        if not is_ready():
            if not description.is_blocking:
                raise system_error(errno.EAGAIN)
            wait_until_ready(self._scheduler, [description], is_ready)

    def readv(self, descriptor: int, buffers: Any) -> int:
        total = 0
        for buffer in buffers:
            view = memoryview(buffer).cast("B")
            data = self.read(descriptor, len(view))
            view[: len(data)] = data
            total += len(data)
            if len(data) < len(view):
                break
        return total

    def pread(self, descriptor: int, count: int, offset: int) -> bytes:
        self._process.allocate(count)
        file = self._file(descriptor)
        self._call("read", file.disk)
        file.check_reading()
        if offset < 0 or count < 0:
            raise system_error(errno.EINVAL)
        return bytes(file.node.data[offset : offset + count])

    def preadv(self, descriptor: int, buffers: Any, offset: int, flags: int = 0) -> int:
        total = 0
        for buffer in buffers:
            view = memoryview(buffer).cast("B")
            data = self.pread(descriptor, len(view), offset + total)
            view[: len(data)] = data
            total += len(data)
            if len(data) < len(view):
                break
        return total

    # -- writing

    def write(self, descriptor: int, data: Any) -> int:
        content = bytes(memoryview(data).cast("B"))
        description = self._descriptors.get(descriptor)
        match description:
            case OpenFile():
                description.check_writing()
                if description.flags & real.O_APPEND:
                    description.offset = len(description.node.data)
                count = self._write_at(description, content, description.offset)
                description.offset += count
                return count
            case Pipe(writes=True):
                return self._write_pipe(description, content)
            case Counter():
                description.value += int.from_bytes(content, sys.byteorder)
                description.changed()
                return len(content)
            case Stream():
                self._wait(description, description.is_writable)
                return send_now(description, content)
            case NullDevice():
                return len(content)
        raise system_error(errno.EBADF)

    def _write_pipe(self, pipe: Pipe, content: bytes) -> int:
        self._scheduler.give_way()
        other = pipe.other
        if other is None or other.is_gone:
            raise system_error(errno.EPIPE)
        self._wait(pipe, pipe.is_writable)
        if other.is_gone:
            raise system_error(errno.EPIPE)
        content = content[: max(Pipe.CAPACITY_BYTES - len(other.content), 1)]
        other.content += content
        other.changed()
        return len(content)

    def _write_at(self, file: OpenFile, content: bytes, offset: int) -> int:
        self._call("write", file.disk)
        if not content:
            return 0
        count = file.node.write(offset, content)
        if file.flags & (real.O_DSYNC | real.O_SYNC):
            self._sync(file)
        return count

    def writev(self, descriptor: int, buffers: Any) -> int:
        return self.write(descriptor, b"".join(bytes(memoryview(b).cast("B")) for b in buffers))

    def pwrite(self, descriptor: int, data: Any, offset: int) -> int:
        file = self._file(descriptor)
        file.check_writing()
        if offset < 0:
            raise system_error(errno.EINVAL)
        if file.flags & real.O_APPEND:
            offset = len(file.node.data)  # against POSIX, and as Linux does
        return self._write_at(file, bytes(memoryview(data).cast("B")), offset)

    def pwritev(self, descriptor: int, buffers: Any, offset: int, flags: int = 0) -> int:
        whole = b"".join(bytes(memoryview(b).cast("B")) for b in buffers)
        return self.pwrite(descriptor, whole, offset)

    def ftruncate(self, descriptor: int, length: int) -> None:
        file = self._file(descriptor)
        self._call("write", file.disk)
        if file.flags & real.O_ACCMODE == real.O_RDONLY or length < 0:
            raise system_error(errno.EINVAL)
        file.node.resize(length)

    def truncate(self, path: Any, length: int) -> None:
        if isinstance(path, int):
            self.ftruncate(path, length)
            return
        name = self._name(path)
        self._call("write", self._mounts.disk_of(name))
        node = self._mounts.find(name)
        if node.is_directory:
            raise system_error(errno.EISDIR, name)
        node.resize(length)

    def posix_fallocate(self, descriptor: int, offset: int, length: int) -> None:
        file = self._file(descriptor)
        self._call("write", file.disk)
        file.check_writing()
        if offset + length > len(file.node.data):
            file.node.resize(offset + length)

    def sendfile(
        self, out_fd: int, in_fd: int, offset: int | None, count: int, *_: Any, **__: Any
    ) -> int:
        file = self._file(in_fd)
        stream = self._descriptors.get(out_fd)
        if isinstance(stream, OpenFile):
            start = file.offset if offset is None else offset
            written = self.write(out_fd, self.pread(in_fd, count, start))
            if offset is None:
                file.offset += written
            return written
        if not isinstance(stream, Stream) or not stream.is_connected:
            raise system_error(errno.ENOTCONN)
        self._call("read", file.disk)
        start = file.offset if offset is None else offset
        data = bytes(file.node.data[start : start + count])
        if not data:
            return 0
        if not stream.is_writable():
            if not stream.is_blocking:
                raise system_error(errno.EAGAIN)
            patience_s = self._process.send_patience_s.get(out_fd, 0.0)
            deadline_ns = self._scheduler.now_ns + round(patience_s * 1e9) if patience_s else None
            if not wait_until_ready(self._scheduler, [stream], stream.is_writable, deadline_ns):
                raise system_error(errno.EAGAIN)
        sent = send_now(stream, data)
        if offset is None:
            file.offset += sent
        return sent

    # -- syncing

    def fsync(self, descriptor: int) -> None:
        file = self._file(descriptor)
        try:
            self._call("sync", file.disk)
        except OSError:
            file.node.fail_to_sync()
            raise
        self._sync(file)

    fdatasync = fsync

    def _sync(self, file: OpenFile) -> None:
        disk, scheduler = file.disk, self._scheduler
        took_ns = disk.dice.randrange(*disk.sync_range_ns)
        scheduler.sleep_until(scheduler.now_ns + took_ns)
        disk.sync(file.node)
        scheduler.note("sync", self._process.machine.name, file.node.number)

    def sync(self) -> None:
        for disk in self._mounts.disks():
            for node in list(disk.walk()):
                disk.sync(node)

    # -- what is there

    def stat(
        self, path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True
    ) -> real_os.stat_result:
        if isinstance(path, int):
            return self.fstat(path)
        name = self._name(path)
        if self._is_real(name):
            return real.stat(name, follow_symlinks=follow_symlinks)
        if name.startswith("/proc/"):
            return self._status_of_listing(self._proc_file(name))
        self._scheduler.give_way()
        return self._status(self._mounts.find(name))

    def lstat(self, path: Any, *, dir_fd: int | None = None) -> real_os.stat_result:
        return self.stat(path, dir_fd=dir_fd, follow_symlinks=False)

    def fstat(self, descriptor: int) -> real_os.stat_result:
        description = self._descriptors.get(descriptor)
        match description:
            case OpenFile():
                return self._status(description.node)
            case RealFile():
                return real.fstat(description.file.fileno())
            case Listing():
                return self._status_of_listing(description.content)
            case Pipe():
                kind = stat.S_IFIFO
            case _:
                kind = stat.S_IFSOCK
        return real_os.stat_result((kind | 0o600, 1, 1, 1, 0, 0, 0, 0, 0, 0))

    def _status_of_listing(self, content: bytes) -> real_os.stat_result:
        return real_os.stat_result((stat.S_IFREG | 0o444, 1, 2, 1, 0, 0, 0, 0, 0, 0))

    def _status(self, node: Inode) -> real_os.stat_result:
        length, changed_ns = len(node.data), node.mtime_ns
        seconds = changed_ns // 10**9
        links = node.links + sum(child.is_directory for child in node.entries.values())
        fields = (
            node.mode,
            node.number,
            node.disk.device,
            links,
            0,
            0,
            length,
            seconds,
            seconds,
            seconds,
        )
        more = {
            f"st_{kind}time{suffix}": value
            for kind in "amc"
            for suffix, value in (("", changed_ns / 1e9), ("_ns", changed_ns))
        }
        blocks = {"st_blocks": -(-length // 512), "st_blksize": _BLOCK_BYTES}
        return real_os.stat_result(fields, {**more, **blocks})

    def access(self, path: Any, mode: int, **_: Any) -> bool:
        try:
            self.stat(path)
        except OSError:
            return False
        return True

    def listdir(self, path: Any = ".") -> list[str]:
        if isinstance(path, int):
            node, name = self._file(path).node, ""
        else:
            name = self._name(path)
            if self._is_real(name):
                return sorted(real.listdir(name))
            if name == "/proc/self/fd":
                return [str(number) for number in self._descriptors.numbers()]
            node = self._mounts.find(name)
            self._call("read", self._mounts.disk_of(name))
        if not node.is_directory:
            raise system_error(errno.ENOTDIR, name)
        names = list(node.entries)
        node.disk.dice.shuffle(names)
        return names

    def scandir(self, path: Any = ".") -> Any:
        name = self._name(path)
        if self._is_real(name):
            return real.scandir(name)
        names = self.listdir(path)
        node = self._mounts.find(name)
        shown = real_os.fspath(path)
        entries = [Entry(self, str(shown), entry, node.entries[entry]) for entry in names]
        return Scan(entries)

    def readlink(self, path: Any, *, dir_fd: int | None = None) -> str:
        name = self._name(path)
        if name == "/proc/self/ns/pid":
            return f"pid:[{self._process.machine.address}]"
        self._mounts.find(name)
        raise system_error(errno.EINVAL, name)

    def statvfs(self, path: Any) -> real_os.statvfs_result:
        disk = (
            self._file(path).disk
            if isinstance(path, int)
            else self._mounts.disk_of(self._name(path))
        )
        if not isinstance(path, int):
            self._call("read", disk)
            self._mounts.find(self._name(path))
        total, free = disk.capacity_bytes // _BLOCK_BYTES, disk.free_bytes // _BLOCK_BYTES
        inodes = 1 << 20
        return real_os.statvfs_result(
            (_BLOCK_BYTES, _BLOCK_BYTES, total, free, free, inodes, inodes, inodes, 0, 255)
        )

    def fstatvfs(self, descriptor: int) -> real_os.statvfs_result:
        return self.statvfs(descriptor)

    # -- changing names

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        name = self._name(path)
        disk = self._mounts.disk_of(name)
        self._call("name", disk)
        try:
            directory, last = self._mounts.parent(name)
        except OSError as error:
            if error.errno == errno.EBUSY:
                raise system_error(errno.EEXIST, name) from None
            raise
        if last in directory.entries:
            raise system_error(errno.EEXIST, name)
        disk.change_names((directory, last, disk.new_directory(mode & ~_UMASK)))

    def rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        name = self._name(path)
        disk = self._mounts.disk_of(name)
        self._call("name", disk)
        directory, last = self._mounts.parent(name)
        node = self._mounts.find(name)
        if not node.is_directory:
            raise system_error(errno.ENOTDIR, name)
        if node.entries:
            raise system_error(errno.ENOTEMPTY, name)
        disk.change_names((directory, last, None))

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        name = self._name(path)
        disk = self._mounts.disk_of(name)
        self._call("name", disk)
        directory, last = self._mounts.parent(name)
        if self._mounts.find(name).is_directory:
            raise system_error(errno.EISDIR, name)
        disk.change_names((directory, last, None))

    def rename(
        self,
        source: Any,
        target: Any,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
    ) -> None:
        old, new = self._name(source), self._name(target)
        disk = self._mounts.disk_of(old)
        self._call("name", disk)
        try:
            directory, first = self._mounts.parent(old)
            to, last = self._mounts.parent(new)
            node = self._mounts.find(old)
        except OSError as error:
            raise _between(error.errno or errno.ENOENT, old, new) from None
        if self._mounts.disk_of(new) is not disk:
            raise _between(errno.EXDEV, old, new)
        there = to.entries.get(last)
        if there is node:
            return
        if node.is_directory and self._lies_below(to, node):
            raise _between(errno.EINVAL, old, new)
        if there is not None:
            if there.is_directory and not node.is_directory:
                raise _between(errno.EISDIR, old, new)
            if node.is_directory and not there.is_directory:
                raise _between(errno.ENOTDIR, old, new)
            if there.entries:
                raise _between(errno.ENOTEMPTY, old, new)
        disk.change_names((to, last, node), (directory, first, None))

    replace = rename

    def _lies_below(self, directory: Inode, above: Inode) -> bool:
        todo = [above]
        while todo:
            node = todo.pop()
            if node is directory:
                return True
            todo += [child for child in node.entries.values() if child.is_directory]
        return False

    def link(self, source: Any, target: Any, **_: Any) -> None:
        old, new = self._name(source), self._name(target)
        disk = self._mounts.disk_of(old)
        self._call("name", disk)
        try:
            node = self._mounts.find(old)
            to, last = self._mounts.parent(new)
        except OSError as error:
            raise _between(error.errno or errno.ENOENT, old, new) from None
        if last in to.entries:
            raise _between(errno.EEXIST, old, new)
        if self._mounts.disk_of(new) is not disk:
            raise _between(errno.EXDEV, old, new)
        if node.is_directory:
            raise _between(errno.EPERM, old, new)
        disk.change_names((to, last, node))

    def chmod(self, path: Any, mode: int, **_: Any) -> None:
        node = self._file(path).node if isinstance(path, int) else self._find(path)
        node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(mode)

    def fchmod(self, descriptor: int, mode: int) -> None:
        self.chmod(descriptor, mode)

    def chown(self, path: Any, uid: int, gid: int, **_: Any) -> None:
        if not isinstance(path, int):
            self._find(path)

    def utime(
        self,
        path: Any,
        times: tuple[float, float] | None = None,
        *,
        ns: tuple[int, int] | None = None,
        **_: Any,
    ) -> None:
        node = self._file(path).node if isinstance(path, int) else self._find(path)
        if ns is not None:
            node.mtime_ns = ns[1]
        elif times is not None:
            node.mtime_ns = round(times[1] * 1e9)
        else:
            node.touch()

    def _find(self, path: Any) -> Inode:
        return self._mounts.find(self._name(path))

    # -- descriptors

    def lseek(self, descriptor: int, offset: int, how: int) -> int:
        description = self._descriptors.get(descriptor)
        if isinstance(description, RealFile):
            return description.file.seek(offset, how)
        if isinstance(description, Listing):
            size = len(description.content)
            base = {0: 0, 1: description.offset, 2: size}[how]
            description.offset = base + offset
            return description.offset
        if not isinstance(description, OpenFile):
            raise system_error(errno.ESPIPE)
        length = len(description.node.data)
        if how not in (0, 1, 2):
            raise NotSimulated(f"os.lseek from {how}")
        at = {0: 0, 1: description.offset, 2: length}[how] + offset
        if at < 0:
            raise system_error(errno.EINVAL)
        description.offset = at
        return at

    def pipe(self) -> tuple[int, int]:
        reading = Pipe(self._process, writes=False)
        writing = Pipe(self._process, writes=True)
        reading.other, writing.other = writing, reading
        first = self._descriptors.add(reading)
        try:
            return first, self._descriptors.add(writing)
        except OSError:
            self._descriptors.close(first)
            raise

    def pipe2(self, flags: int) -> tuple[int, int]:
        reading, writing = self.pipe()
        if flags & real.O_NONBLOCK:
            self.set_blocking(reading, False)
            self.set_blocking(writing, False)
        return reading, writing

    def eventfd(self, value: int, flags: int = real.EFD_CLOEXEC) -> int:
        counter = Counter(self._process, value, is_semaphore=bool(flags & real.EFD_SEMAPHORE))
        counter.is_blocking = not flags & real.EFD_NONBLOCK
        return self._descriptors.add(counter)

    def pidfd_open(self, pid: int, flags: int = 0) -> int:
        watched = self._process.machine.processes.get(pid)
        if watched is None or watched.is_reaped:
            raise system_error(errno.ESRCH)
        return self._descriptors.add(ProcessDescriptor(self._process, watched))

    def set_blocking(self, descriptor: int, blocking: bool) -> None:
        self._descriptors.get(descriptor).is_blocking = blocking

    def get_blocking(self, descriptor: int) -> bool:
        return self._descriptors.get(descriptor).is_blocking

    def isatty(self, descriptor: int) -> bool:
        return False

    def get_inheritable(self, descriptor: int) -> bool:
        return False

    def set_inheritable(self, descriptor: int, inheritable: bool) -> None:
        self._descriptors.get(descriptor)

    def memfd_create(self, name: str, flags: int = 0) -> int:
        disk = self._mounts.root
        node = disk.new_file(0o777)
        return self._descriptors.add(Memory(self._process, disk, node, real.O_RDWR, name))

    # -- /proc

    def _proc_file(self, name: str) -> bytes:
        process = self._process
        if name == _BOOT_ID:
            return process.machine.boot_id.encode() + b"\n"
        parts = name.split("/")
        pid = process.pid if parts[2] == "self" else int(parts[2]) if parts[2].isdigit() else -1
        shown = process.machine.processes.get(pid)
        if shown is not None and not shown.is_reaped:
            if parts[3:] == ["stat"]:
                state = "Z" if shown.is_dead else "S"
                started = str(shown.started_ns // 10**7)
                numbers = ["0"] * 15 + ["1", "0", started] + ["0"] * 30
                line = f"{pid} ({shown.name}) {state} {shown.parent_pid} {' '.join(numbers)}\n"
                return line.encode()
            if parts[3:] == ["status"]:
                return b"Name:\tpython\nVmRSS:\t 65536 kB\nVmHWM:\t 65536 kB\nThreads:\t1\n"
        raise system_error(errno.ENOENT, name)


def _between(number: int, source: str, target: str) -> OSError:
    return OSError(number, real_os.strerror(number), source, None, target)


class Entry:
    """Shows what `os.scandir` finds."""

    def __init__(self, files: Files, directory: str, name: str, node: Inode) -> None:
        self.name = name
        self.path = f"{directory.rstrip('/')}/{name}" if directory != "." else f"./{name}"
        self._files = files
        self._node = node

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._node.is_directory

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return stat.S_ISREG(self._node.mode)

    def is_symlink(self) -> bool:
        return False

    def is_junction(self) -> bool:
        return False

    def inode(self) -> int:
        return self._node.number

    def stat(self, *, follow_symlinks: bool = True) -> real_os.stat_result:
        return self._files.stat(self.path)


class Scan:
    """Goes over what `os.scandir` finds."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[Entry]:
        return self._entries

    def __next__(self) -> Entry:
        return next(self._entries)

    def __enter__(self) -> Scan:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


def make_posix(process: Process, files: Files) -> Any:
    """Make the module `posix`, for one process."""
    functions: dict[str, Any] = {
        name: getattr(files, name) for name in dir(Files) if not name.startswith("_")
    }
    functions["remove"] = files.unlink
    functions |= process.system_calls()
    real_names = (
        *("fspath", "strerror", "sysconf", "WIFEXITED", "WEXITSTATUS", "WIFSIGNALED", "WTERMSIG"),
        *("WIFSTOPPED", "WSTOPSIG", "WCOREDUMP", "waitstatus_to_exitcode", "major", "minor"),
        *("makedev", "device_encoding"),
    )
    module = simulated_module("posix", real, functions, real_names=real_names)
    for name in ("copy_file_range", "splice", "posix_spawn"):
        if hasattr(module, name):
            delattr(module, name)
    # Names relative to a descriptor are for trees that others change at the same time.
    module._have_functions = []
    module.environ = {key.encode(): value.encode() for key, value in process.environment.items()}
    return module


class _FileIO(real_io.RawIOBase):
    """Is a file of one process without a buffer: `make_io` makes a subclass for each."""

    _process: ClassVar[Process]
    _files: ClassVar[Files]

    def __init__(
        self, file: Any, mode: str = "r", closefd: bool = True, opener: Any = None
    ) -> None:
        kind = mode.replace("b", "")
        flags = {
            "r": real.O_RDONLY,
            "w": real.O_WRONLY | real.O_CREAT | real.O_TRUNC,
            "a": real.O_WRONLY | real.O_CREAT | real.O_APPEND,
            "x": real.O_WRONLY | real.O_CREAT | real.O_EXCL,
        }[kind[0]]
        if "+" in kind:
            flags = flags & ~real.O_ACCMODE | real.O_RDWR
        self._closes = closefd
        self._descriptor = -1
        if isinstance(file, int):
            self._descriptor = file
        elif opener is not None:
            self._descriptor = opener(file, flags)
        else:
            self._descriptor = self._files.open(file, flags, 0o666)
        if not isinstance(file, int) and stat.S_ISDIR(self._files.fstat(self._descriptor).st_mode):
            self._files.close(self._descriptor)
            self._descriptor = -1
            raise system_error(errno.EISDIR, str(file))
        self._reads = kind[0] == "r" or "+" in kind
        self._writes = kind[0] != "r" or "+" in kind
        self.name = file
        self.mode = f"{kind}b"
        if kind[0] == "a":
            self._files.lseek(self._descriptor, 0, 2)

    def fileno(self) -> int:
        self._check_open()
        return self._descriptor

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")

    def readable(self) -> bool:
        return self._reads

    def writable(self) -> bool:
        return self._writes

    def seekable(self) -> bool:
        try:
            self._files.lseek(self._descriptor, 0, 1)
        except OSError:
            return False
        return True

    def isatty(self) -> bool:
        return False

    def readinto(self, buffer: Any) -> int:
        self._check_open()
        if not self._reads:
            raise real_io.UnsupportedOperation("File not open for reading")
        data = self._files.read(self._descriptor, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def write(self, data: Any) -> int:
        self._check_open()
        if not self._writes:
            raise real_io.UnsupportedOperation("File not open for writing")
        return self._files.write(self._descriptor, data)

    def seek(self, offset: int, how: int = 0) -> int:
        self._check_open()
        return self._files.lseek(self._descriptor, offset, how)

    def tell(self) -> int:
        self._check_open()
        return self._files.lseek(self._descriptor, 0, 1)

    def truncate(self, size: int | None = None) -> int:
        length = self.tell() if size is None else size
        self._files.ftruncate(self._descriptor, length)
        return length

    def close(self) -> None:
        if not self.closed:
            super().close()
            if self._closes and self._descriptor >= 0 and not self._process.is_dead:
                self._files.close(self._descriptor)

    def __del__(self) -> None:
        if not self.closed and self._closes and self._descriptor >= 0:
            self._process.close_later(self._descriptor)


def make_io(process: Process, files: Files) -> Any:
    """Make the module `io`, for one process: buffers and texts are Python's own, above simulated
    files."""

    class FileIO(_FileIO):
        _process, _files = process, files

    def open(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        kind = mode.replace("b", "").replace("t", "")
        raw = FileIO(file, kind, closefd, opener)
        if "b" in mode and buffering == 0:
            return raw
        size = buffering if buffering > 1 else _BUFFER_BYTES
        buffered: Any
        if "+" in kind:
            buffered = real_io.BufferedRandom(raw, size)
        elif kind[0] == "r":
            buffered = real_io.BufferedReader(raw, size)
        else:
            buffered = real_io.BufferedWriter(raw, size)
        if "b" in mode:
            return buffered
        return real_io.TextIOWrapper(
            buffered, encoding or "utf-8", errors, newline, line_buffering=buffering == 1
        )

    def open_code(path: str) -> Any:
        return open(path, "rb")

    kept = [name for name in vars(real_io) if name not in ("open", "open_code", "FileIO")]
    functions = {"open": open, "open_code": open_code, "FileIO": FileIO}
    return simulated_module("io", real_io, functions, real_names=kept)


def make_fcntl(process: Process) -> Any:
    """Make the module `fcntl`, for one process: locks of whole files, which belong to processes."""
    descriptors = process.descriptors

    def file_of(descriptor: Any) -> OpenFile:
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        file = descriptors.get(number)
        if not isinstance(file, OpenFile):
            raise system_error(errno.EBADF)
        return file

    def lockf(descriptor: Any, command: int, *_: Any) -> None:
        node = file_of(descriptor).node
        owner = node.lock_owner
        if owner is not None and owner.is_dead:
            owner = node.lock_owner = None
        if command & real_fcntl.LOCK_UN:
            if owner is process:
                node.lock_owner = None
            return
        if owner is not None and owner is not process:
            if command & real_fcntl.LOCK_NB:
                raise system_error(errno.EAGAIN)
            raise NotSimulated("to wait for the lock of a file")
        node.lock_owner = process

    def fcntl(descriptor: Any, command: int, argument: Any = 0) -> Any:
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        description = descriptors.get(number)
        if command in (real_fcntl.F_DUPFD, real_fcntl.F_DUPFD_CLOEXEC):
            return descriptors.add(descriptors.share(number))
        if command == real_fcntl.F_GETFL:
            flags = description.flags if isinstance(description, OpenFile) else real.O_RDWR
            return flags | (0 if description.is_blocking else real.O_NONBLOCK)
        if command == real_fcntl.F_SETFL:
            description.is_blocking = not argument & real.O_NONBLOCK
            return 0
        if command in (real_fcntl.F_GETFD, real_fcntl.F_SETFD, real_fcntl.F_ADD_SEALS):
            return 0
        raise system_error(errno.EINVAL)

    functions = {"lockf": lockf, "flock": lockf, "fcntl": fcntl}
    return simulated_module("fcntl", real_fcntl, functions)


def make_mmap(process: Process) -> Any:
    """Make the module `mmap`, for one process. Memory of no file, and of a file in memory, is real,
    and shared; a file on a disk is mapped to be read only, as it is at that moment."""
    descriptors = process.descriptors

    class mmap(real_mmap.mmap):
        def __new__(cls, fileno: int, length: int, *args: Any, **options: Any) -> mmap:
            if fileno == -1:
                return real_mmap.mmap.__new__(cls, fileno, length, *args, **options)
            file = descriptors.get(fileno)
            if isinstance(file, Memory):
                return real_mmap.mmap.__new__(cls, *file.map(length), *args, **options)
            writes = options.get("access") in (real_mmap.ACCESS_WRITE, None) and (
                options.get("prot", real_mmap.PROT_READ | real_mmap.PROT_WRITE)
                & real_mmap.PROT_WRITE
            )
            if not isinstance(file, OpenFile) or writes:
                raise NotSimulated("to map a file to write it")
            start = options.get("offset", 0)
            data = bytes(file.node.data[start : start + length if length else None])
            if not data or len(data) < length:
                raise ValueError("cannot mmap an empty file, or beyond its end")
            mapped = real_mmap.mmap.__new__(cls, -1, len(data))
            mapped[:] = data
            return mapped

    kept = [name for name in vars(real_mmap) if name not in ("mmap",)]
    return simulated_module("mmap", real_mmap, {"mmap": mmap}, real_names=kept)
