"""Makes this process as poor as one on Windows, as far as modules and functions go.

`hide()` takes away what only Unix has; standard modules that were made for either are imported
before, in their Unix form.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import mmap
import multiprocessing
import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import urllib.request
from types import ModuleType
from typing import Final

LOADED: Final = (asyncio, concurrent.futures, multiprocessing, shutil, ssl, subprocess, tempfile,
                 urllib.request)  # fmt: skip
MODULES: Final = (
    *("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"),
    *("uvloop", "curses"),
)
NAMES: Final[dict[ModuleType, tuple[str, ...]]] = {
    os: (
        *("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC", "O_DSYNC", "O_DIRECT"),
        *("chown", "chroot", "fchdir", "fchmod", "fchown", "fdatasync", "fork", "forkpty"),
        *("fpathconf", "getegid", "geteuid", "getgid", "getgroups", "getloadavg", "getpgid"),
        *("getpriority", "getresuid", "getsid", "getuid", "initgroups", "killpg", "lchown"),
        *("lockf", "major", "mkfifo", "mknod", "nice", "openpty", "pathconf", "posix_fadvise"),
        *("posix_fallocate", "posix_spawn", "pread", "preadv", "pwrite", "pwritev", "readv"),
        *("register_at_fork", "sched_getaffinity", "sched_yield", "sendfile", "setegid"),
        *("seteuid", "setgid", "setgroups", "setpgid", "setpriority", "setsid", "setuid"),
        *("statvfs", "fstatvfs", "sync", "sysconf", "uname", "wait", "wait3", "wait4", "waitid"),
        *("writev", "getxattr", "setxattr", "listxattr", "pipe2", "eventfd", "memfd_create"),
        *("copy_file_range", "splice", "ttyname", "tcgetpgrp", "WNOHANG"),
    ),
    socket: (
        *("AF_UNIX", "AF_NETLINK", "MSG_DONTWAIT", "MSG_NOSIGNAL", "MSG_CMSG_CLOEXEC"),
        *("SCM_RIGHTS", "SO_REUSEPORT", "SO_PEERCRED", "TCP_USER_TIMEOUT", "TCP_CORK"),
        *("TCP_QUICKACK", "recv_fds", "send_fds", "CMSG_LEN", "CMSG_SPACE"),
    ),
    select: ("poll", "epoll", "kqueue", "devpoll"),
    signal: (
        *("SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP"),
        *("SIGTSTP", "SIGUSR1", "SIGUSR2", "alarm", "pause", "pthread_kill", "pthread_sigmask"),
        *("setitimer", "siginterrupt", "sigwait", "sigpending", "sigtimedwait"),
    ),
    mmap: (
        *("MAP_ANON", "MAP_ANONYMOUS", "MAP_PRIVATE", "MAP_SHARED", "MAP_POPULATE"),
        *("PROT_READ", "PROT_WRITE", "PROT_EXEC", "MADV_DONTNEED", "MADV_WILLNEED"),
    ),
}


class _Hidden:
    """Finds none of the modules."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r} (hidden)", name=name)


def hide() -> None:
    """Take away what only Unix has, for the rest of the process."""
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, _Hidden())
    for module, names in NAMES.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    socket.socketpair = _socketpair  # type: ignore[assignment]
    for name in ("recvmsg", "recvmsg_into", "sendmsg"):
        setattr(socket.socket, name, property(_no_method))


def _socketpair(
    family: int = socket.AF_INET, type: int = socket.SOCK_STREAM, proto: int = 0
) -> tuple[socket.socket, socket.socket]:
    """Two ends of a connection over loopback, as Python makes them on Windows."""
    with socket.socket(socket.AF_INET, type, proto) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        one = socket.create_connection(listening.getsockname())
        return one, listening.accept()[0]


def _no_method(self: socket.socket) -> None:
    raise AttributeError("this socket passes no messages (hidden)")
