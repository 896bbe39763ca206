"""Key servers of ours, as processes, for tests."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from howdah.testing.waiting import wait_until

KEY_ACCESS: Final = {
    f"default.key.acl.{use}": "*" for use in ("MANAGEMENT", "GENERATE_EEK", "DECRYPT_EEK", "READ")
}
"""Everybody may do everything."""
_PASSPHRASE: Final = "correct horse battery staple"
_START_S: Final = 60.0


class KeyServerProcess:
    """`howdah kms`, which can be killed and frozen, and started again at its port."""

    def __init__(self, directory: Path, settings: Mapping[str, str], host: str, port: int) -> None:
        self._directory = directory
        self._settings = {
            **settings,
            "hadoop.kms.http.host": host,
            "hadoop.kms.http.port": str(port),
        }
        self._ready = directory / f"kms-{host}.ready"
        self._log = directory / f"kms-{host}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def port(self) -> int:
        told = json.loads(self._ready.read_text())
        return int(str(told.get("http") or told["https"]).rpartition(":")[2])

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._ready.unlink(missing_ok=True)
        empty = self._directory / "conf"
        empty.mkdir(exist_ok=True)
        words = [
            word for name, value in self._settings.items() for word in ("-D", f"{name}={value}")
        ]
        command = [sys.executable, "-m", "howdah", "kms", "--conf", str(empty), *words]
        with self._log.open("ab") as log:
            process = self._process = subprocess.Popen(
                [*command, "--ready-file", str(self._ready)], stdout=log, stderr=subprocess.STDOUT
            )
        wait_until(lambda: self._ready.exists() or process.poll() is not None, _START_S)
        assert self._ready.exists(), self._log.read_text(errors="replace")

    def _signal(self, number: int) -> None:
        assert self._process is not None, "it was started"
        self._process.send_signal(number)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        assert self._process is not None, "it was started"
        self._process.wait(_START_S)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def close(self) -> None:
        self.thaw()
        assert self._process is not None, "it was started"
        self._process.terminate()
        self._process.wait(_START_S)


@contextmanager
def key_servers(
    directory: Path, settings: Mapping[str, str], hosts: Sequence[str] = ("127.0.0.1",)
) -> Iterator[tuple[str, list[KeyServerProcess]]]:
    """Key servers over one file of keys, at these names of the loopback: how clients are told of
    them, and their processes."""
    directory.mkdir(parents=True, exist_ok=True)
    passphrase = directory / "passphrase"
    passphrase.write_text(f"{_PASSPHRASE}\n")
    passphrase.chmod(0o600)
    values = {
        "hadoop.kms.proxyuser.root.users": "*",
        "hadoop.kms.proxyuser.root.hosts": "*",
        "howdah.kms.keys.file": str(directory / "keys"),
        "howdah.kms.passphrase.file": str(passphrase),
        **settings,
    }
    port = _free_port(hosts)
    with ExitStack() as stack:
        servers = []
        for host in hosts:
            server = KeyServerProcess(directory, values, host, port)
            stack.callback(server.close)
            servers.append(server)
        scheme = "https" if values.get("hadoop.kms.ssl.enabled") == "true" else "http"
        yield f"kms://{scheme}@{';'.join(hosts)}:{port}/kms", servers


def _free_port(hosts: Sequence[str]) -> int:
    """One that none of the addresses has in use."""
    with socket.socket() as first:
        first.bind((hosts[0], 0))
        port: int = first.getsockname()[1]
        with ExitStack() as stack:
            for host in hosts[1:]:
                stack.enter_context(socket.socket()).bind((host, port))
    return port


@contextmanager
def key_server(directory: Path, settings: Mapping[str, str]) -> Iterator[str]:
    """One key server with these settings: its address, as clients are told it."""
    with key_servers(directory, settings) as (provider, _):
        yield provider
