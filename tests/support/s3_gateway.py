"""Gateways for S3 in tests: in this process, or as a server before a cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from howdah.config import Configuration, keys
from howdah.formats.access_keys import AccessKey
from howdah.gateway.s3.access_keys import change_access_keys
from howdah.gateway.s3.pages import S3Pages
from howdah.gateway.s3.server import hosts_for
from howdah.gateway.s3.service import S3Gateway
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from howdah.web.server import HttpServer

TIMEOUT_S = 60.0
REGION = "us-east-1"


@dataclass(frozen=True)
class Door:
    """Where a gateway is, and a key for it."""

    address: str
    access_key: str
    secret_key: str
    process: subprocess.Popen[bytes] | None = None
    """The gateway, if it is a server."""

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def client(self, **options: Any) -> Any:
        """boto3's client, which tries nothing twice."""
        import boto3
        from botocore.config import Config

        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            config=Config(retries={"max_attempts": 0}, signature_version="s3v4", **options),
        )


def add_key(path: Path, user: str) -> AccessKey:
    """A key of a user, in a file."""
    key = AccessKey(f"AK{user.upper()}", f"secret+/of-{user}", user)
    change_access_keys(path, lambda found: found.update({key.access_key: key}), creates=True)
    return key


@contextmanager
def in_process(directory: Path, uri: str, user: str, **settings: str) -> Iterator[Door]:
    """A gateway before a filesystem that this process can reach."""
    key = add_key(directory / "access-keys", user)
    values = {
        keys.FS_DEFAULTFS.name: uri,
        keys.HOWDAH_S3_KEYS_FILE.name: str(directory / "access-keys"),
        **settings,
    }
    gateway = S3Gateway(Configuration(values))
    server = HttpServer(S3Pages(gateway).answer, timeout_s=60)
    server.hosts = hosts_for(gateway.conf, gateway)
    try:
        port = server.start("127.0.0.1", 0)
        yield Door(f"127.0.0.1:{port}", key.access_key, key.secret_key)
    finally:
        server.stop()
        gateway.close()


@contextmanager
def before(cluster: MiniCluster, user: str, *options: str, name: str = "s3") -> Iterator[Door]:
    """`howdah s3` before a cluster; several have names of their own."""
    key = add_key(cluster.dir / "access-keys", user)
    ready = cluster.dir / f"{name}.ready"
    conf_dir = cluster.dir / "namenode" / "conf"
    if not conf_dir.exists():
        conf_dir = cluster.conf_dir  # There are several namenodes.
    command = [sys.executable, "-m", "howdah", "--conf", str(conf_dir)]
    command += ["s3", "-D", f"fs.defaultFS={cluster.uri}"]
    command += ["-D", f"{keys.HOWDAH_S3_ADDRESS.name}=127.0.0.1:0"]
    command += ["-D", f"{keys.HOWDAH_S3_KEYS_FILE.name}={cluster.dir / 'access-keys'}"]
    command += [*options, "--ready-file", str(ready)]
    with subprocess.Popen(command) as process:
        try:
            wait_until(lambda: ready.exists() or process.poll() is not None, TIMEOUT_S)
            assert process.poll() is None, f"{' '.join(command)} has ended"
            address = json.loads(ready.read_text())["http"]
            yield Door(address, key.access_key, key.secret_key, process)
        finally:
            process.terminate()
    # A test may have killed it.
    ready.unlink(missing_ok=True)
