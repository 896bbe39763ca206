"""A KDC of MIT Kerberos for tests: a realm of its own on loopback, without root.

Where the programs are missing (Debian: krb5-kdc, krb5-admin-server, krb5-user) `NoKdc` says so.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from howdah.errors import HowdahError
from howdah.testing.waiting import wait_until

REALM: Final = "EXAMPLE.COM"
SERVICES: Final = tuple(
    f"{name}/localhost"
    for name in ("nn", "dn", "jn", "sn", "HTTP", "httpfs", "router", "zookeeper")
)
USERS: Final = ("hdfs", "alice", "bob", "oozie")
_PROGRAMS: Final = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
_PATH: Final = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
_TIMEOUT_S: Final = 60


class NoKdc(HowdahError):
    """There is no KDC here; the message says what is missing."""


def program(name: str) -> str:
    """The path of a program. Raises NoKdc."""
    found = shutil.which(name, path=_PATH)
    if found is None:
        raise NoKdc(f"{name} is not installed (krb5-kdc, krb5-admin-server, krb5-user)")
    return found


class Kdc:
    """Runs until it is closed. Keytabs of users are at `keytab(name)`."""

    def __init__(
        self,
        directory: Path,
        realm: str = REALM,
        services: Sequence[str] = SERVICES,
        users: Sequence[str] = USERS,
    ) -> None:
        """Raises NoKdc."""
        self.realm = realm
        for name in _PROGRAMS:
            program(name)
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.configuration = directory / "krb5.conf"
        self.write_configuration(self.configuration)
        self._write_own_files()
        self._run("kdb5_util", "create", "-s", "-r", realm, "-P", "master")
        lines = [f"addprinc -randkey {name}" for name in (*services, *users)]
        if services:
            lines.append(f"ktadd -norandkey -k {self.services_keytab} {' '.join(services)}")
        lines += [f"ktadd -norandkey -k {self.keytab(name)} {name}" for name in users]
        self.administer(*lines)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def environment(self) -> Mapping[str, str]:
        """What programs need to find it."""
        return {
            "KRB5_CONFIG": str(self.configuration),
            "KRB5_KDC_PROFILE": str(self.directory / "kdc.conf"),
        }

    @property
    def services_keytab(self) -> Path:
        return self.directory / "services.keytab"

    def keytab(self, user: str) -> Path:
        return self.directory / f"{user}.keytab"

    @contextmanager
    def in_environment(self) -> Iterator[None]:
        """This process finds the KDC within the block."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.environment.items():
                patch.setenv(name, value)
            yield

    def trust(self, other: Kdc) -> None:
        """Let in who is in the other's realm. Both have the key for that."""
        line = f"addprinc -pw of-both-realms krbtgt/{self.realm}@{other.realm}"
        for kdc in (self, other):
            kdc.administer(line)

    def start(self) -> None:
        with (self.directory / "kdc.out").open("ab") as log:
            self._process = subprocess.Popen(
                [program("krb5kdc"), "-n", "-r", self.realm],
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=log,
            )
        wait_until(self._answers)

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None

    def add(self, user: str) -> None:
        """Add a principal, with a keytab."""
        self.administer(
            f"addprinc -randkey {user}", f"ktadd -norandkey -k {self.keytab(user)} {user}"
        )

    def renew_key(self, user: str) -> None:
        """Give a principal another key, which its keytab has not."""
        self.administer(f"change_password -randkey {user}")

    def kinit(self, user: str, cache: Path, *options: str) -> None:
        """Get a ticket by the user's keytab into a cache."""
        self._run("kinit", "-k", "-t", str(self.keytab(user)), "-c", str(cache), *options, user)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.directory / "kdc.out").read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _run(self, name: str, *arguments: str, stdin: str = "") -> None:
        command: Sequence[str] = [program(name), *arguments]
        done = subprocess.run(
            command,
            env={**os.environ, **self.environment},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{name} failed:\n{done.stdout}\n{done.stderr}"

    def administer(self, *lines: str) -> None:
        """Run lines of kadmin."""
        self._run("kadmin.local", "-r", self.realm, stdin="\n".join(lines) + "\n")

    def write_configuration(self, path: Path, *others: Kdc, **settings: object) -> Path:
        """Write a krb5.conf for programs of this realm, which find the others too. `settings` are
        of its section of defaults."""
        own = "".join(f"  {name} = {value}\n" for name, value in settings.items())
        realms = "".join(
            f"  {kdc.realm} = {{\n    kdc = 127.0.0.1:{kdc.port}\n  }}\n" for kdc in (self, *others)
        )
        path.write_text(
            f"""\
[libdefaults]
{own}  default_realm = {self.realm}
  dns_lookup_realm = false
  dns_lookup_kdc = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
  default_ccache_name = FILE:{self.directory}/ccache
[realms]
{realms}[domain_realm]
  localhost = {REALM}
[logging]
  kdc = FILE:{self.directory}/kdc.log
  admin_server = FILE:{self.directory}/kadmin.log
"""
        )
        return path

    def _write_own_files(self) -> None:
        (self.directory / "kadm5.acl").write_text("")
        (self.directory / "kdc.conf").write_text(
            f"""\
[kdcdefaults]
  kdc_listen = 127.0.0.1:{self.port}
  kdc_tcp_listen = 127.0.0.1:{self.port}
[realms]
  {self.realm} = {{
    database_name = {self.directory}/principal
    acl_file = {self.directory}/kadm5.acl
    key_stash_file = {self.directory}/stash
    max_life = 24h
    max_renewable_life = 7d
    supported_enctypes = aes256-cts:normal aes128-cts:normal
  }}
"""
        )
