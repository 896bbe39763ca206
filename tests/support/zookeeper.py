"""A ZooKeeper server for tests, from the jars that PySpark has."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from howdah.config.value_types import Address
from howdah.local.zookeeper import is_serving, zookeeper_command
from howdah.testing.waiting import wait_until


@contextmanager
def zookeeper_server(directory: Path) -> Iterator[Address]:
    """Where it answers. Raises NoZooKeeper or NoJava."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = ("127.0.0.1", probe.getsockname()[1])
    server = subprocess.Popen(zookeeper_command(directory, address))
    try:
        wait_until(lambda: is_serving(address), 60, "ZooKeeper serves")
        yield address
    finally:
        server.terminate()
        server.wait(20)
