"""The Unix domain socket by which readers on this machine reach the datanode.

`dfs.domain.socket.path` names it; `_PORT` in there stands for the data port, so that
several datanodes of a machine have one each. Everybody may connect, as to the data
port. Nobody but root and the datanode's user may be able to put another socket there:
readers would take block files from a stranger. So, as Hadoop does it, every directory
above the socket must belong to one of them and be writable by nobody else. A
directory like /tmp, where the sticky bit keeps everybody's hands off what others have
made, will do further up, but the socket itself may not lie in one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import stat

from howdah import errors
from howdah.config import keys
from howdah.datanode.transfer.data_server import BACKLOG

log = logging.getLogger(__name__)

_KEY = keys.DFS_DOMAIN_SOCKET_PATH.name
_LONGEST_PATH_BYTES = 107
"""What the kernel has room for (sun_path), less the closing zero byte."""
_PROBE_TIMEOUT_S = 1.0


def effective_path(path: str, port: int) -> str:
    """`path` as configured, with the data port put in."""
    return path.replace("_PORT", str(port))


def listen_local(path: str) -> socket.socket:
    """A listening socket at `path`; a dead one that is there already makes room.

    `InvalidConfiguration` says what is wrong with the path or a directory above it.
    """
    _check_form(path)
    _check_directories(path)
    _make_room(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(path)
        os.chmod(path, 0o666)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise errors.InvalidConfiguration(f"{_KEY}: cannot listen at {path}: {error}") from error
    return sock


def _check_form(path: str) -> None:
    if not path.startswith("/") or path.endswith("/"):
        raise errors.InvalidConfiguration(f"{_KEY}: {path!r} is not the absolute path of a socket")
    length = len(os.fsencode(path))
    if length > _LONGEST_PATH_BYTES:
        raise errors.InvalidConfiguration(
            f"{_KEY}: {path} has {length} bytes; a Unix domain socket's path has at most "
            f"{_LONGEST_PATH_BYTES}"
        )


def _check_directories(path: str) -> None:
    parent = os.path.dirname(path)
    directory = parent
    while True:
        try:
            status = os.stat(directory)
        except OSError as error:
            raise errors.InvalidConfiguration(
                f"{_KEY}: failed to stat a path component: '{directory}': {error.strerror}"
            ) from error
        trouble = _insecurity_reason(status, is_parent=directory == parent)
        if trouble:
            raise errors.InvalidConfiguration(
                f"{_KEY}: the path component '{directory}' of {path} is {trouble}. Its "
                f"permissions are 0{stat.S_IMODE(status.st_mode):o}. Please fix this or select "
                "a different socket path"
            )
        if directory == "/":
            return
        directory = os.path.dirname(directory)


def _insecurity_reason(status: os.stat_result, *, is_parent: bool) -> str:
    """Return why somebody else could put another socket there, or an empty text."""
    if not stat.S_ISDIR(status.st_mode):
        return "not a directory"
    if status.st_uid not in (0, os.geteuid()):
        return (
            f"owned by user {status.st_uid}, who is neither root nor the datanode's user "
            f"{os.geteuid()}"
        )
    if status.st_mode & stat.S_ISVTX and not is_parent:
        return ""
    if status.st_mode & stat.S_IWOTH:
        return "world-writable"
    if status.st_mode & stat.S_IWGRP and status.st_gid != 0:
        return f"group-writable, and its group {status.st_gid} is not root"
    return ""


def _make_room(path: str) -> None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise errors.InvalidConfiguration(
            f"{_KEY}: {path} exists and is no socket; it is left alone"
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_TIMEOUT_S)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            log.info("the socket %s is a dead datanode's", path)
        except OSError as error:
            raise errors.InvalidConfiguration(
                f"{_KEY}: cannot tell whether somebody listens at {path}: {error}"
            ) from error
        else:
            raise errors.InvalidConfiguration(
                f"{_KEY}: another process listens at {path}; with _PORT in its name each "
                "datanode has a socket of its own"
            )
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
