"""Hadoop's MiniKdc, for machines without MIT's KDC: a realm with the principals of its beginning.

It adds none later and gives no key anew, and its tickets are as long as its configuration says.
"""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path
from typing import Final

import pytest

from howdah.protocol.sasl.keytab import MAGIC, principals_in
from howdah.protocol.sasl.principals import Principal
from howdah.security.gssapi import Context, Credential
from howdah.testing.waiting import wait_until
from tests.support.hadoop.java import java
from tests.support.security.kdc import REALM, SERVICES, USERS, Kdc
from tests.support.security.servers import START_S, free_port

_MAIN: Final = "org.apache.hadoop.minikdc.MiniKdc"
_RUNS: Final = "Standalone MiniKdc Running"
_SIZE: Final = struct.Struct(">i")


class MiniKdc(Kdc):
    """Runs until it is closed."""

    def __init__(self, directory: Path, jars: str) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._jars = jars
        self.port = free_port()
        self.configuration = directory / "krb5.conf"
        self.realm = REALM
        self.write_configuration(self.configuration)
        self._process = None
        self.start()
        self._split_keytab()

    def start(self) -> None:
        organisation, domain = REALM.split(".")
        (self.directory / "kdc.properties").write_text(
            f"org.name={organisation}\norg.domain={domain}\nkdc.bind.address=localhost\n"
            f"kdc.port={self.port}\ninstance=DefaultKrbServer\ntransport=TCP\ndebug=false\n"
            "max.ticket.lifetime=86400000\nmax.renewable.lifetime=604800000\n"
        )
        self._all_keys.unlink(missing_ok=True)
        with (self.directory / "kdc.out").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *(java(), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", self._jars, _MAIN),
                    *map(str, (self.directory, self.directory / "kdc.properties", self._all_keys)),
                    *SERVICES,
                    *USERS,
                ],
                stdout=log,
                stderr=log,
            )
        wait_until(self._is_up, timeout_s=START_S)

    def add(self, user: str) -> None:
        pytest.skip(f"Hadoop's MiniKdc adds no principal ({user})")

    def kinit(self, user: str, cache: Path, *options: str) -> None:
        """Get a ticket by the user's keytab into a cache: there may be no program that does."""
        if options:
            pytest.skip(f"without MIT's kinit no ticket is had with {' '.join(options)}")
        store = {"client_keytab": f"FILE:{self.keytab(user)}", "ccache": f"FILE:{cache}"}
        with self.in_environment():
            Context(Credential(store, f"{user}@{REALM}"), Principal("nn", "localhost", REALM)).step(
                b""
            )

    @property
    def _all_keys(self) -> Path:
        return self.directory / "all.keytab"

    def _is_up(self) -> bool:
        assert self._process is not None
        out = (self.directory / "kdc.out").read_text(errors="replace")
        assert self._process.poll() is None, out
        return _RUNS in out

    def _split_keytab(self) -> None:
        """A keytab for the services, and one for each user."""
        data, entries = self._all_keys.read_bytes(), list[bytes]()
        position = len(MAGIC)
        while position < len(data):
            (size,) = _SIZE.unpack_from(data, position)
            end = position + _SIZE.size + abs(size)
            if size > 0:
                entries.append(data[position:end])
            position = end
        for path, names in (
            (self.services_keytab, SERVICES),
            *((self.keytab(user), (user,)) for user in USERS),
        ):
            wanted = {f"{name}@{REALM}" for name in names}
            own = [entry for entry in entries if set(principals_in(MAGIC + entry)) <= wanted]
            assert own, f"{self._all_keys} has no key of {names}"
            path.write_bytes(MAGIC + b"".join(own))
