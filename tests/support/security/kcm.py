"""A server of ticket caches (`KCM:`): SSSD's, with a socket and directories of its own.

It has its directories at fixed places, so it runs where others are mounted there, which root alone
may do.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from howdah.errors import HowdahError
from howdah.testing.waiting import wait_until

_PROGRAMS: Final = ("/usr/libexec/sssd/sssd_kcm", "/usr/lib/sssd/sssd/sssd_kcm")
_OWN: Final = ("/etc/sssd", "/var/lib/sss", "/var/log/sssd")
_DIRECTORIES: Final = {
    "/var/lib/sss": ("db", "secrets", "pipes/private", "mc", "pubconf"),
    "/etc/sssd": ("conf.d",),
}
_END_S: Final = 10


class NoKcm(HowdahError):
    """There is no such server here; the message says what is missing."""


@contextmanager
def kcm_server(directory: Path) -> Iterator[Path]:
    """Its socket. Raises NoKcm."""
    program = next(filter(os.path.exists, _PROGRAMS), None)
    if program is None:
        raise NoKcm("sssd_kcm is not installed (sssd-kcm)")
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        raise NoKcm("sssd_kcm needs root, and unshare")
    socket_path = directory / "kcm-socket"
    steps = []
    for number, place in enumerate(path for path in _OWN if os.path.isdir(path)):
        mine = directory / str(number)
        for name in ("", *_DIRECTORIES.get(place, ())):
            (mine / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        if place == "/etc/sssd":
            conf = mine / "sssd.conf"
            conf.write_text(f"[sssd]\nservices =\n[kcm]\nsocket_path = {socket_path}\n")
            conf.chmod(0o600)
        steps.append(f"mount --bind {mine} {place}")
    steps += [
        "/usr/sbin/sssd --genconf-section=kcm",
        f"exec {program} --uid 0 --gid 0 --logger=stderr",
    ]
    log = directory / "kcm.log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            ["unshare", "--mount", "sh", "-ec", "\n".join(steps)], stdout=out, stderr=out
        )

    def is_there() -> bool:
        if server.poll() is not None:
            raise NoKcm(f"sssd_kcm does not run here: {log.read_text(errors='replace')[-500:]}")
        with socket.socket(socket.AF_UNIX) as probe:
            return not probe.connect_ex(str(socket_path))

    try:
        wait_until(is_there)
        yield socket_path
    finally:
        server.kill()
        server.wait(_END_S)
