"""A ZooKeeper server for tests, from the jars that PySpark has."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from howdah.config.value_types import Address
from howdah.local.zookeeper import is_serving, zookeeper_command
from howdah.testing.waiting import wait_until


def sessions_at(address: Address) -> int:
    """Return how many sessions a server has that may be asked for `mntr`: those that have not been
    ended and are not over."""
    with socket.create_connection(address, 20) as connection:
        connection.sendall(b"mntr")
        said = b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()
    (count,) = re.findall(r"^zk_global_sessions\t(\d+)$", said, re.MULTILINE)
    return int(count)


@contextmanager
def zookeeper_server(
    directory: Path,
    address: Address | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
) -> Iterator[Address]:
    """Where it answers; without `address` at a free port. `settings` are added to its own,
    `options` to those of its JVM. Raises NoZooKeeper or NoJava."""
    if address is None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            address = ("127.0.0.1", probe.getsockname()[1])
    java, *rest = zookeeper_command(directory, address)
    with Path(rest[-1]).open("a") as configuration:
        configuration.writelines(f"{name}={value}\n" for name, value in (settings or {}).items())
    server = subprocess.Popen([java, *options, *rest])
    try:
        wait_until(lambda: is_serving(address), 60, "ZooKeeper serves")
        yield address
    finally:
        server.terminate()
        server.wait(20)
