"""`howdah mount`: the process (shell).

It ends when it gets SIGTERM or SIGINT, and when somebody unmounts the directory. Files that are
being written are completed before.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.registry import connect
from howdah.fs.viewfs.loading import with_mount_points_as_directories
from howdah.mount import device
from howdah.mount.accounts import Accounts
from howdah.mount.callers import Callers, EachCaller, OneCaller
from howdah.mount.calls import Calls
from howdah.mount.mounted_tree import MountedTree, MountSettings
from howdah.mount.protocol.requests import Malformed
from howdah.mount.session import THREADS, Session
from howdah.runtime import serve
from howdah.runtime.process_identity import AskedToEnd
from howdah.runtime.users.current import process_user
from howdah.runtime.users.impersonation import read_rules
from howdah.runtime.users.names import ProxyUser
from howdah.security.identity import user_of
from howdah.security.server_checks import is_secured

log = logging.getLogger(__name__)

ROLE: Final = "mount"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be mounted, and where."""

    uri: str
    """A filesystem, and a directory in it."""
    directory: str
    settings: MountSettings
    allow_other: bool = False
    threads: int = THREADS


def run(conf: Configuration, wanted: Wanted, ready_file: Path | None = None) -> int:
    """Serve until SIGTERM, or until it is unmounted; the exit code. What hinders the start is
    logged and gives 1."""
    stop = AskedToEnd()
    serve.on_signals(stop.set)
    # The terminal of a process in the foreground is closed: nothing may be left half mounted.
    signal.signal(signal.SIGHUP, lambda *_: stop.set())
    # A program's own umask is applied by the kernel, and no other one.
    conf = with_mount_points_as_directories(conf)
    conf = conf.with_values({keys.FS_PERMISSIONS_UMASK_MODE.name: "000"})
    descriptor = mounted = None
    directory = device.full_path(wanted.directory)
    try:
        root = paths.parse(wanted.uri).path or paths.SEPARATOR
        user = user_of(conf)
        fs = connect(wanted.uri, conf=conf, user=user)
        root = fs.resolve(root)
        if not fs.get_file_status(root).is_directory:
            raise errors.PathIsNotDirectory(f"{root} is no directory")
        accounts = Accounts((str(user), os.getuid()))
        callers: Callers = OneCaller(fs)
        if wanted.allow_other:
            reachable = _all_may_reach(fs, root)
            accounts = Accounts()
            callers = _each_caller(conf, wanted.uri, accounts)
            fs.close()
        else:
            reachable = True
        source = f"{fs.uri}{root}"
        tree = MountedTree(callers, accounts, root, wanted.settings, all_may_reach_root=reachable)
        calls = Calls(tree)
        descriptor = device.mount(
            directory,
            source,
            read_only=wanted.settings.is_read_only,
            allow_other=wanted.allow_other,
        )
        mounted = device.mounted_at(directory)
        session = Session(descriptor, calls, stop.set, wanted.threads)
        session.start()
    except (errors.HowdahError, OSError, Malformed) as error:
        log.critical("%s cannot be mounted at %s: %s", wanted.uri, directory, _words(error))
        if descriptor is not None:
            unmount(directory, mounted)
        return 1
    device.read_ahead_more(directory)
    # No directory is kept from being unmounted by this process, least of all its own.
    os.chdir("/")
    log.info(
        "mounted %s at %s, %s, for %s",
        source,
        directory,
        "to be read only" if wanted.settings.is_read_only else "to be read and written",
        "all users" if wanted.allow_other else f"user {os.getuid()}, as {user}",
    )
    serve.write_ready_file(ready_file, ROLE, directory=directory, source=source)
    stop.wait()
    if not session.is_unmounted:
        unmount(directory, mounted)
    session.stop()
    for failure in calls.close():
        log.error("a file that was being written is not complete: %s", failure)
    callers.close()
    log.info("unmounted %s", directory)
    return 0


def _words(error: BaseException) -> str:
    if isinstance(error, device.NotMounted):
        return error.strerror or str(error)
    return str(error)


def unmount(directory: str, own: device.Mounted | None) -> None:
    """End the mount `own`, if it is still there: another process may have mounted there since.
    Whoever still has something open in it gets errors from now on."""
    mounted = device.mounted_at(directory)
    if mounted is None or mounted != own:
        return
    try:
        device.unmount(directory, lazy=False)
    except device.NotMounted as error:
        if error.errno != errno.EBUSY:
            log.error("%s is not unmounted: %s", directory, error.strerror)
            return
        log.warning("%s is unmounted while it is in use", directory)
        try:
            device.unmount(directory, lazy=True)
        except device.NotMounted as again:
            log.error("%s is not unmounted: %s", directory, again.strerror)


def _each_caller(conf: Configuration, uri: str, accounts: Accounts) -> Callers:
    """Everybody as himself. Raises InvalidConfiguration on a secured cluster, where this process
    has nobody's ticket but its own."""
    if is_secured(conf):
        raise errors.InvalidConfiguration(
            "--allow-other is for clusters without Kerberos: elsewhere each user mounts for himself"
        )
    own = process_user()
    acts = own in read_rules(conf).rules

    def as_user(user: str) -> FileSystem:
        name = ProxyUser(user, own) if acts and user != own else user
        return connect(uri, conf=conf, user=name)

    return EachCaller(as_user, accounts.user)


def _all_may_reach(fs: FileSystem, root: str) -> bool:
    """Whether every user may search the directories above the one that is mounted."""
    above = paths.parent_of(root)
    while above is not None:
        status = fs.get_file_status(above)
        if not status.permission & 0o001 or status.has_acl:
            return False
        above = paths.parent_of(above)
    return True
