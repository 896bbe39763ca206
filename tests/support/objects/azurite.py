"""Azurite, Microsoft's emulator of Azure's storage: from npm's registry, and as a process.

`fetched` has npm install it once, into a cache; where that cannot be `NoAzurite` says why. As a
program this module runs it: it prints the port, and ends when its standard input does.
"""

from __future__ import annotations

import base64
import fcntl
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from howdah.config import Configuration
from howdah.errors import HowdahError
from howdah.fs.objects.azure.filesystem import AzureFileSystem
from howdah.fs.objects.azure.requests import Signer
from howdah.fs.objects.azure.settings import settings_of
from howdah.fs.objects.http_client import Requests
from howdah.runtime.tls.client import ClientTls
from tests.support.objects.clouds import dotted, tune
from tests.support.objects.serving import started

VERSION: Final = "3.37.0"
ACCOUNT: Final = "howdahtests"
SECRET: Final = base64.b64encode(b"what-nobody-may-read").decode()
_FETCH_TIMEOUT_S: Final = 600
_numbers = itertools.count(1)


class NoAzurite(HowdahError, RuntimeError):
    """Azurite is not here and cannot be fetched; the message says why."""


def fetched(cache: Path) -> Path:
    """The program, for node. `cache` is a directory of ours that keeps what was fetched."""
    into = (cache / f"azurite-{VERSION}").absolute()
    into.parent.mkdir(parents=True, exist_ok=True)
    with into.with_name(into.name + ".lock").open("w") as lock:
        # Processes that test beside each other fetch once, not into each other's way.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not into.is_dir():
            _fetch(into)
    return into / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"


def _fetch(into: Path) -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise NoAzurite("Azurite needs node and npm, and they are not installed")
    partial = into.with_name(into.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=dev"]
    try:
        done = subprocess.run(
            [*command, "--prefix", str(partial), f"azurite@{VERSION}"],
            capture_output=True,
            text=True,
            timeout=_FETCH_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NoAzurite(f"npm did not fetch azurite in {_FETCH_TIMEOUT_S} s") from error
    if done.returncode:
        said = (done.stderr.strip() or "nothing").splitlines()[-1]
        raise NoAzurite(f"npm could not fetch azurite@{VERSION}: {said}")
    partial.rename(into)


@dataclass(frozen=True)
class Azurite:
    """An emulator that runs; `port` is its own or a proxy's."""

    port: int

    def behind(self, port: int) -> Azurite:
        """The same emulator, reached through a proxy."""
        return Azurite(port)

    def keys(self, **more: str) -> dict[str, str]:
        """Hadoop's keys to reach it; `more` are `fs.azure.` keys with `_` for dots."""
        found = {
            "fs.azure.abfs.endpoint": f"http://127.0.0.1:{self.port}",
            f"fs.azure.account.key.{ACCOUNT}.dfs.core.windows.net": SECRET,
            # Tests wait for no pause that nobody needs, and the machine may be busy.
            "fs.azure.io.retry.min.backoff.interval": "10ms",
            "fs.azure.http.connection.timeout": "60s",
            "fs.azure.http.read.timeout": "60s",
        }
        return found | dotted("fs.azure.", more)

    def new_bucket(self) -> str:
        """An empty container that nobody else has, with its account."""
        name = f"container-{os.getpid()}-{next(_numbers)}"
        conf = Configuration(self.keys())
        settings = settings_of("az", f"{name}@{ACCOUNT}", conf, {})
        signer, requests = Signer(settings), Requests(settings, ClientTls(conf))
        request = signer.request("creation", "PUT", None, [("restype", "container")])
        signer.raise_for(requests.send(settings.place, request), None)
        requests.close()
        return f"{name}@{ACCOUNT}"

    def uri(self, bucket: str) -> str:
        return f"az://{bucket}"

    def connect(
        self, bucket: str, *, part_bytes: int | None = None, retries: int | None = None
    ) -> AzureFileSystem:
        """`part_bytes` may be less than the key takes."""
        more = {} if retries is None else {"io_retry_max_retries": str(retries)}
        made = AzureFileSystem(bucket, Configuration(self.keys(**more)))
        if part_bytes is not None:
            tune(made, part_bytes=part_bytes)
        return made


@contextmanager
def azurite_server(cache: Path) -> Iterator[Azurite]:
    """An emulator in a process of its own, for as long as the context lasts. Raises
    `NoAzurite`."""
    with started("azurite", str(fetched(cache))) as (_, port):
        yield Azurite(port)


def main() -> None:
    """Run the program that is named: nothing of it stays on disk, and it tells nobody."""
    flags = ["--blobHost", "127.0.0.1", "--blobPort", "0", "--inMemoryPersistence"]
    node = subprocess.Popen(
        ["node", sys.argv[1], *flags, "--silent", "--disableTelemetry", "--skipApiVersionCheck"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "AZURITE_ACCOUNTS": f"{ACCOUNT}:{SECRET}"},
    )
    assert node.stdout is not None
    try:
        for line in node.stdout:
            if "listens on" in line:
                print(line.strip().rpartition(":")[2], flush=True)
                break
        sys.stdin.read()
    finally:
        node.terminate()
        node.wait()


if __name__ == "__main__":
    main()
