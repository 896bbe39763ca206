"""Servers of a cluster that are started once with options of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

TIMEOUT_S = 60.0


@contextmanager
def started(cluster: MiniCluster, name: str, kind: str, *options: str) -> Iterator[None]:
    """A server of the cluster, with options of its own, until it is told to stop."""
    ready = cluster.dir / f"{name}.ready-once"
    conf = cluster._cluster.layout.server_conf_dir(name)
    command = [sys.executable, "-m", "howdah", kind, "--conf", str(conf), *options]
    with subprocess.Popen([*command, "--ready-file", str(ready)]) as process:
        try:
            wait_until(lambda: ready.exists() or process.poll() is not None, TIMEOUT_S)
            assert process.poll() is None, f"{' '.join(command)} has ended"
            yield
        finally:
            process.terminate()
    ready.unlink()


@contextmanager
def gateway(cluster: MiniCluster, *options: str) -> Iterator[str]:
    """`host:port` of `howdah httpfs` for the cluster."""
    ready = cluster.dir / "httpfs.ready"
    command = [sys.executable, "-m", "howdah", "httpfs", "-D", f"fs.defaultFS={cluster.uri}"]
    command += ["-D", "httpfs.http.port=0", *options, "--ready-file", str(ready)]
    with subprocess.Popen(command) as process:
        try:
            wait_until(lambda: ready.exists() or process.poll() is not None, TIMEOUT_S)
            assert process.poll() is None, f"{' '.join(command)} has ended"
            told = json.loads(ready.read_text())
            yield str(told.get("http") or told["https"])
        finally:
            process.terminate()
    ready.unlink()


@contextmanager
def server(kind: str, values: Mapping[str, str], directory: Path) -> Iterator[dict[str, str]]:
    """`howdah KIND` with these settings and no others, until the block ends: where it says that
    it listens, as its file of readiness has it. `directory` gets its log, KIND.log."""
    ready, empty = directory / f"{kind}.ready", directory / "conf"
    empty.mkdir(parents=True, exist_ok=True)
    settings = [word for name, value in values.items() for word in ("-D", f"{name}={value}")]
    command = [sys.executable, "-m", "howdah", kind, "--conf", str(empty), *settings]
    with (directory / f"{kind}.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--ready-file", str(ready)], stdout=log, stderr=subprocess.STDOUT
        )
    try:
        wait_until(lambda: ready.exists() or process.poll() is not None, TIMEOUT_S)
        assert ready.exists(), (directory / f"{kind}.log").read_text(errors="replace")
        found: dict[str, str] = json.loads(ready.read_text())
        yield found
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)
        ready.unlink(missing_ok=True)
