"""Ports that only root may listen at, taken before a process gives up root's rights (shell).

SecureDataNodeStarter in Hadoop, with jsvc. A client takes a datanode's port below 1024 for a proof
of who opened it. Who gives a process the capability CAP_NET_BIND_SERVICE needs none of this.
"""

from __future__ import annotations

import os
import pwd
import socket
from typing import Final

from howdah import errors

MOST_PRIVILEGED: Final = 1023
_ROOT: Final = 0


def is_privileged(port: int) -> bool:
    """Whether root alone can have opened it. Port 0 stands for any other."""
    return 0 < port <= MOST_PRIVILEGED


class HeldPorts:
    """Sockets that were bound while this process had the right to. They stay bound until it ends,
    whoever listens at them in between."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], socket.socket] = {}

    def hold(self, host: str, port: int) -> None:
        """Bind a port on every address of `host`; of two families on one at least. Raises
        OSError."""
        infos = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, address in sorted({(info[0], str(info[4][0])) for info in infos}):
            try:
                bound = socket.create_server((address, port), family=family)
            except OSError:
                if (host, port) in self._held:
                    continue
                raise
            self._held[address, port] = bound
            self._held.setdefault((host, port), bound)

    def listening(self, address: str, port: int, backlog: int) -> socket.socket | None:
        """Return the socket of an address, or of the first one of a host, as one's own, which
        listens; None if it is not held."""
        held = self._held.get((address, port))
        if held is None:
            return None
        own = held.dup()
        # Who had it before may have shut it down.
        own.listen(backlog)
        return own

    def filenos(self) -> tuple[int, ...]:
        """For a child that is not to keep them."""
        return tuple({held.fileno() for held in self._held.values()})


def become(user: str, setting: str) -> None:
    """Be `user` from now on, for good. `setting` is what names him.

    Raises InvalidConfiguration where this process is not root's, unless it is his.
    """
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise errors.InvalidConfiguration(f"{setting} = {user}: there is no such user") from None
    if os.geteuid() != _ROOT:
        if os.geteuid() == entry.pw_uid:
            return
        raise errors.InvalidConfiguration(
            f"{setting} = {user}: only root can become another user, and this process was started "
            f"by {pwd.getpwuid(os.geteuid()).pw_name}"
        )
    os.initgroups(user, entry.pw_gid)
    os.setresgid(entry.pw_gid, entry.pw_gid, entry.pw_gid)
    os.setresuid(entry.pw_uid, entry.pw_uid, entry.pw_uid)
    assert os.getresuid() == (entry.pw_uid,) * 3, "no right is left to come back by"
    # `getpass.getuser` and libraries look there for the name.
    os.environ.update(USER=user, LOGNAME=user, HOME=entry.pw_dir)
