"""This machine: limits of processes, the clock, disks (pure)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from howdah.config import keys
from howdah.doctor.findings import Finding, error, warning
from howdah.doctor.inputs import DATANODE, Directory, Facts
from howdah.native.loader import SWITCHED_OFF
from howdah.runtime.units import byte_text

FEWEST_DESCRIPTORS: Final = 4096
"""For any server; a datanode needs two for each transfer at a time, socket and block file."""
_DESCRIPTORS_OF_A_TRANSFER: Final = 2
MOST_SKEW_S: Final = 5.0
_ALMOST_FULL: Final = 0.95
_NAME_SPACE_BYTES: Final = 1 << 30
"""Less free space than this under a name or edits directory is worth a word."""


def check(facts: Facts) -> Iterator[Finding]:
    yield from _build(facts)
    yield from _limits(facts)
    yield from _clock(facts)
    for directory in facts.directories:
        yield from _directory(directory)
    yield from _same_device(facts)


def _build(facts: Facts) -> Iterator[Finding]:
    if facts.build is not None and facts.build.why_no_kernel:
        yield warning(
            "kernel",
            f"howdah's kernel does not run here: {facts.build.why_no_kernel}; its twins in Python "
            "take a server about twice the time",
            "take that out of the environment"
            if facts.build.why_no_kernel == SWITCHED_OFF
            else "install a C compiler, and howdah anew",
        )


def _limits(facts: Facts) -> Iterator[Finding]:
    if facts.limits is None or not facts.roles:
        return
    granted = facts.limits.descriptors
    wanted, whose = FEWEST_DESCRIPTORS, "a server"
    if DATANODE in facts.roles:
        transfers = facts.conf.get(keys.DFS_DATANODE_MAX_TRANSFER_THREADS)
        wanted = max(wanted, _DESCRIPTORS_OF_A_TRANSFER * transfers)
        whose = f"{keys.DFS_DATANODE_MAX_TRANSFER_THREADS.name} = {transfers}"
    if granted is not None and granted < wanted:
        yield warning(
            "descriptors",
            f"a server started from here may open {granted} files, and {whose} may need {wanted}",
            f"raise the hard limit to {wanted}, in /etc/security/limits.d, or by LimitNOFILE= of "
            "its systemd unit",
        )
    locked = facts.conf.get(keys.DFS_DATANODE_MAX_LOCKED_MEMORY)
    may_lock = facts.limits.locked_bytes
    if DATANODE in facts.roles and may_lock is not None and may_lock < locked:
        yield error(
            "locked memory",
            f"{keys.DFS_DATANODE_MAX_LOCKED_MEMORY.name} is {locked}, and a process started from "
            f"here may lock {may_lock} bytes, so the datanode does not start",
            "raise the limit (ulimit -l in KiB, or LimitMEMLOCK= of its systemd unit), or lower "
            "the key",
        )


def _clock(facts: Facts) -> Iterator[Finding]:
    for namenode in facts.namenodes:
        if namenode.ahead_s is not None and abs(namenode.ahead_s) - namenode.doubt_s > MOST_SKEW_S:
            way = "ahead of" if namenode.ahead_s > 0 else "behind"
            yield warning(
                "clock",
                f"the clock of namenode {namenode.name} is "
                f"{abs(namenode.ahead_s):.0f} s {way} ours",
                "run NTP (chrony, systemd-timesyncd) on every machine",
            )
    if facts.clock_is_kept is False and facts.spans_machines:
        yield warning(
            "clock",
            "the clock of this machine follows no other",
            "run NTP (chrony, systemd-timesyncd) on every machine",
        )


def _directory(directory: Directory) -> Iterator[Finding]:
    where = f"{directory.path} ({directory.key})"
    if directory.error:
        yield error(
            "directory", f"{where} cannot be looked at: {directory.error}", "mend or remove it"
        )
        return
    if not directory.is_directory:
        yield error("directory", f"{where} is no directory", "name another, or remove the file")
        return
    if directory.is_read_only:
        yield error(
            "directory",
            f"{where} is on a filesystem that is mounted read-only",
            "look into the kernel's log for why (a failing disk?), then mount it for writing",
        )
    elif not directory.is_writable:
        if directory.is_there:
            yield error(
                "directory",
                f"{where} cannot be written by this user",
                "give it to the user that runs the server (chown), or run this as that user",
            )
        else:
            yield error(
                "directory",
                f"{where} does not exist, and this user cannot make it",
                "make it, and give it to the user that runs the server",
            )
    if directory.is_temporary:
        yield warning(
            "temporary directory",
            f"{where} is emptied when the machine restarts",
            "put it on a disk of its own, or set hadoop.tmp.dir",
        )
    yield from _space(directory, where)


def _space(directory: Directory, where: str) -> Iterator[Finding]:
    if directory.total_bytes == 0:
        return
    if directory.role == DATANODE:
        usable = directory.free_bytes - directory.reserved_bytes
        if directory.reserved_bytes >= directory.total_bytes:
            yield error(
                "reserved space",
                f"{where} has {byte_text(directory.total_bytes)}, and "
                f"{byte_text(directory.reserved_bytes)} of them are reserved, so no block is ever "
                "written there",
                f"lower {keys.DFS_DATANODE_DU_RESERVED.name}",
            )
        elif usable <= 0 or directory.free_bytes < (1 - _ALMOST_FULL) * directory.total_bytes:
            yield warning(
                "space",
                f"{where} has {byte_text(max(usable, 0))} left for blocks",
                "delete files, add disks, or move blocks away (howdah diskbalancer, balancer)",
            )
    elif directory.free_bytes < min(_NAME_SPACE_BYTES, directory.total_bytes // 10):
        yield warning(
            "space",
            f"{where} has {byte_text(directory.free_bytes)} left",
            "make room: without any the namenode goes into safe mode",
        )


def _same_device(facts: Facts) -> Iterator[Finding]:
    sound = [
        directory
        for directory in facts.directories
        if directory.is_directory and not directory.error
    ]
    volumes = [directory for directory in sound if directory.role == DATANODE]
    for one, other in combinations(volumes, 2):
        if one.device == other.device and one.kind == other.kind:
            yield warning(
                "same device",
                f"{one.path} and {other.path} are volumes on one device, so their space is counted "
                "twice and they fail together",
                f"name one directory for each disk in {keys.DFS_DATANODE_DATA_DIR.name}",
            )
