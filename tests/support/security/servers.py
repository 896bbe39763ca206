"""Servers of Hadoop's on a machine that has a KDC: each a JVM with a log and a configuration."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from tests.support.hadoop.java import hadoop_java

START_S: Final = 120
_SERVERS: Final = "org.apache.hadoop.hdfs.server"
NAMENODE: Final = f"{_SERVERS}.namenode.NameNode"
DATANODE: Final = f"{_SERVERS}.datanode.DataNode"
SECONDARY: Final = f"{_SERVERS}.namenode.SecondaryNameNode"
CONTROLLER: Final = "org.apache.hadoop.hdfs.tools.DFSZKFailoverController"
JOURNALNODE: Final = "org.apache.hadoop.hdfs.qjournal.server.JournalNode"
_END_S: Final = 20
_PORTS: Final = range(20_000, 32_000)
"""Below those of /proc/sys/net/ipv4/ip_local_port_range."""


def free_port() -> int:
    """A port of loopback that was free a moment ago, and that the system gives to nobody who asks
    it for one, as servers do that are started meanwhile."""
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


class HadoopServers:
    """Starts and ends them."""

    def __init__(
        self,
        directory: Path,
        jars: str,
        environment: Mapping[str, str],
        java_options: Sequence[str] = (),
    ) -> None:
        """`java_options` come behind the usual ones."""
        self.directory = directory
        self._jars = jars
        self._environment = environment
        self._java_options = java_options
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        for pages in ("hdfs", "datanode", "journal", "secondary"):
            (directory / "webapps" / pages).mkdir(parents=True)

    def start(self, name: str, main: str, conf_dir: Path) -> None:
        """Start a server, whose log is `NAME.log`."""
        self._processes[name] = self._begin(name, main, conf_dir)

    def run(self, name: str, main: str, conf_dir: Path, *arguments: str) -> None:
        """Run a program to its end. Raises AssertionError where it fails."""
        process = self._begin(name, main, conf_dir, *arguments)
        assert process.wait(START_S) == 0, self.log(name)

    def start_ours(self, name: str, kind: str, conf_dir: Path, *arguments: str) -> None:
        """Start `howdah KIND` in place of a server of Hadoop's."""
        self._processes[name] = self._begin_ours(name, kind, conf_dir, *arguments)

    def run_ours(self, name: str, kind: str, conf_dir: Path, *arguments: str) -> None:
        """Run `howdah KIND` to its end. Raises AssertionError where it fails."""
        process = self._begin_ours(name, kind, conf_dir, *arguments)
        assert process.wait(START_S) == 0, self.log(name)

    def _begin_ours(
        self, name: str, kind: str, conf_dir: Path, *arguments: str
    ) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "howdah", kind, "--conf", str(conf_dir), *arguments]
        with (self.directory / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                env={**os.environ, **self._environment},
                start_new_session=True,
            )

    def pid(self, name: str) -> int:
        """The process of a server that runs."""
        return self._processes[name].pid

    def kill(self, name: str) -> None:
        """With all its processes, as a machine fails: the data process of ours would serve those
        who are there until it notices that it is alone."""
        process = self._processes.pop(name)
        if os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait(_END_S)

    def stop(self, name: str) -> None:
        """As an administrator does, and wait for its end. Raises AssertionError for what does not
        end."""
        process = self._processes.pop(name)
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"{name} does not stop: {self.log(name)[-3000:]}") from None

    def wait(self, name: str) -> None:
        """Wait until a server has ended by itself."""
        self._processes.pop(name).wait(START_S)

    @property
    def running(self) -> list[str]:
        """Those that were started and not killed."""
        return list(self._processes)

    def check(self) -> None:
        """Raises AssertionError where one has ended."""
        for name, process in self._processes.items():
            assert process.poll() is None, self.log(name)[-4000:]

    def log(self, name: str) -> str:
        path = self.directory / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait(_END_S)
        self._processes.clear()

    def _begin(
        self, name: str, main: str, conf_dir: Path, *arguments: str
    ) -> subprocess.Popen[bytes]:
        krb5 = self._environment.get("KRB5_CONFIG")
        options = [f"-Djava.security.krb5.conf={krb5}"] if krb5 else []
        options += self._java_options
        command = hadoop_java(self._jars, conf_dir, self.directory, options=options)
        with (self.directory / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [*command, main, *arguments],
                stdout=log,
                stderr=log,
                cwd=self.directory,
                env={**os.environ, **self._environment},
            )


def write_site_files(directory: Path, conf: Mapping[str, str]) -> None:
    """Write `core-site.xml`, `hdfs-site.xml` and the settings of logs into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("core", "hdfs"):
        lines = [
            f"<property><name>{key}</name><value>{escape(value)}</value></property>"
            for key, value in conf.items()
            if key.startswith("dfs.") == (name == "hdfs")
        ]
        text = "\n".join(["<configuration>", *lines, "</configuration>", ""])
        (directory / f"{name}-site.xml").write_text(text)
    (directory / "log4j.properties").write_text(
        "log4j.rootLogger=INFO,err\n"
        "log4j.appender.err=org.apache.log4j.ConsoleAppender\n"
        "log4j.appender.err.target=System.err\n"
        "log4j.appender.err.layout=org.apache.log4j.PatternLayout\n"
        "log4j.appender.err.layout.ConversionPattern=%d %p %c{1}: %m%n\n"
    )
