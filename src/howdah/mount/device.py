"""To mount and to unmount a directory (shell; Linux).

The superuser mounts by mount(2). Other users do so by `fusermount3`, a program of libfuse's that
has the superuser's rights and passes the kernel's descriptor over a socket. Nothing here looks
into the directory: one whose process hangs would hang whoever asks.
"""

from __future__ import annotations

import array
import errno
import os
import shutil
import socket
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from howdah.mount.protocol.negotiation import MAX_READAHEAD_BYTES, MAX_WRITE_BYTES
from howdah.runtime import libc

KIND: Final = "fuse.howdah"
DEVICE: Final = "/dev/fuse"
HELPER: Final = "fusermount3"
_MOUNT_TABLE: Final = Path("/proc/self/mountinfo")
_MS_RDONLY: Final = 1
_MS_NOSUID: Final = 2
_MS_NODEV: Final = 4
_MNT_DETACH: Final = 2
_HELPER_TIMEOUT_S: Final = 60.0


class NotMounted(OSError):
    """A directory could not be mounted or unmounted; the message says why."""


@dataclass(frozen=True, slots=True)
class Mounted:
    """A line of the system's table of mounts."""

    directory: str
    device: str
    """Major and minor number."""
    kind: str
    source: str


def mounts() -> list[Mounted]:
    """What is mounted on this machine, the latest last."""
    found = []
    for line in _MOUNT_TABLE.read_text(errors="surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        fields, behind = before.split(" "), after.split(" ")
        if len(fields) > 4 and len(behind) > 1:
            found.append(Mounted(_plain(fields[4]), fields[2], behind[0], _plain(behind[1])))
    return found


def _plain(text: str) -> str:
    """Blanks and the like are written as octal numbers there."""
    parts = text.split("\\")
    return parts[0] + "".join(
        chr(int(part[:3], 8)) + part[3:] if part[:3].isdigit() else f"\\{part}"
        for part in parts[1:]
    )


def mounted_at(directory: str) -> Mounted | None:
    """What was mounted last at a directory, whose path is absolute and has no links."""
    return next((each for each in reversed(mounts()) if each.directory == directory), None)


def full_path(directory: str) -> str:
    """Absolute and without links, but for a directory itself that may be dead."""
    above, name = os.path.split(os.path.abspath(directory))
    return os.path.join(os.path.realpath(above), name) if name else "/"


def mount(directory: str, source: str, *, read_only: bool, allow_other: bool) -> int:
    """Mount at a directory; the descriptor by which the kernel speaks. Raises NotMounted."""
    try:
        mode = os.stat(directory).st_mode
    except OSError as error:
        if error.errno == errno.ENOTCONN:
            raise NotMounted(
                errno.ENOTCONN,
                f"a process that has ended had mounted something at {directory}: howdah umount "
                f"{directory} first",
            ) from error
        raise NotMounted(error.errno, f"{directory}: {error.strerror}") from error
    if not stat.S_ISDIR(mode):
        raise NotMounted(errno.ENOTDIR, f"{directory} is no directory")
    if os.geteuid() == 0:
        return _mount_directly(directory, source, mode, read_only, allow_other)
    return _mount_by_helper(directory, source, read_only, allow_other)


def _mount_directly(
    directory: str, source: str, mode: int, read_only: bool, allow_other: bool
) -> int:
    try:
        descriptor = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise NotMounted(
            error.errno, f"{DEVICE}: {error.strerror} (is the kernel's module fuse loaded?)"
        ) from error
    options = f"fd={descriptor},rootmode={mode:o},user_id={os.getuid()},group_id={os.getgid()}"
    options += f",max_read={MAX_WRITE_BYTES}{',allow_other' if allow_other else ''}"
    flags = _MS_NOSUID | _MS_NODEV | (_MS_RDONLY if read_only else 0)
    try:
        libc.mount(source, directory, KIND, flags, options)
    except OSError as error:
        os.close(descriptor)
        raise NotMounted(error.errno, str(error.strerror)) from error
    return descriptor


def _mount_by_helper(directory: str, source: str, read_only: bool, allow_other: bool) -> int:
    helper = _helper()
    name = source.replace("\\", "\\\\").replace(",", "\\,")
    options = ["ro" if read_only else "rw", "nosuid", "nodev", f"max_read={MAX_WRITE_BYTES}"]
    options += [f"fsname={name}", "subtype=howdah", *(["allow_other"] if allow_other else [])]
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        process = subprocess.Popen(
            [helper, "-o", ",".join(options), "--", directory],
            env={**os.environ, "_FUSE_COMMFD": str(theirs.fileno()), "LC_ALL": "C"},
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        theirs.close()
        ours.settimeout(_HELPER_TIMEOUT_S)
        try:
            descriptor = _received(ours)
            _, complaint = process.communicate(timeout=_HELPER_TIMEOUT_S)
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            process.kill()
            process.communicate()
            raise NotMounted(errno.ETIMEDOUT, f"{helper} does not answer") from error
    if descriptor is None or process.returncode:
        if descriptor is not None:
            os.close(descriptor)
        said = complaint.decode(errors="replace").strip()
        raise NotMounted(errno.EPERM, said or f"{helper} has ended with {process.returncode}")
    return descriptor


def _received(channel: socket.socket) -> int | None:
    """The descriptor that the helper passes; None if it ends without."""
    fds = array.array("i")
    data, ancillary, _, _ = channel.recvmsg(1, socket.CMSG_SPACE(fds.itemsize))
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
    if not data or not fds:
        return None
    os.set_inheritable(fds[0], False)
    return fds[0]


def _helper() -> str:
    found = shutil.which(HELPER)
    if found is None:
        raise NotMounted(
            errno.ENOENT,
            f"there is no {HELPER} on this machine, by which users mount: install fuse3",
        )
    return found


def unmount(directory: str, *, lazy: bool) -> None:
    """End a mount: now, or with `lazy` when nobody uses it any more. Raises NotMounted."""
    if os.geteuid() == 0:
        try:
            libc.unmount(directory, _MNT_DETACH if lazy else 0)
        except OSError as error:
            raise NotMounted(error.errno, _why_not(error.errno, directory)) from error
        return
    done = subprocess.run(
        [_helper(), "-u", *(["-z"] if lazy else []), "--", directory],
        env={**os.environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=_HELPER_TIMEOUT_S,
    )
    if done.returncode:
        busy = "busy" in done.stderr
        raise NotMounted(
            errno.EBUSY if busy else errno.EPERM,
            _why_not(errno.EBUSY, directory) if busy else done.stderr.strip(),
        )


def _why_not(number: int | None, directory: str) -> str:
    if number == errno.EBUSY:
        return f"{directory} is in use: end what uses it, or say --lazy"
    return f"{directory}: {os.strerror(number or errno.EIO)}"


def read_ahead_more(directory: str) -> bool:
    """Have the kernel read ahead by whole megabytes, where it lets us: it takes 128 KiB otherwise.
    Whether it does."""
    mounted = mounted_at(directory)
    if mounted is None:
        return False
    try:
        path = Path(f"/sys/class/bdi/{mounted.device}/read_ahead_kb")
        path.write_text(str(MAX_READAHEAD_BYTES >> 10))
    except OSError:
        return False
    return True
