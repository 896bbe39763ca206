"""What Hadoop's servers have at `/jmx`, recorded from themselves.

    python -m tests.support.hadoop.beans tests/cluster/hadoop_beans.json

Starts one of each on this machine, asks each, and writes what kind of value each attribute has.
Values are not kept: they are those of an empty cluster. Router and HttpFS are those of Hadoop
3.4, since Maven's repository has no later ones.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from howdah.testing.waiting import wait_until
from tests.support.hadoop.jars import (
    FRONTS_VERSION,
    HADOOP_VERSION,
    hadoop_class_path,
    hadoop_fronts_class_path,
)
from tests.support.hadoop.java import hadoop_java
from tests.support.hadoop.mixed import LOGGING

START_TIMEOUT_S: Final = 300.0
_SETTLED_S: Final = 25.0
_CACHE: Final = Path(".cache")
_HDFS: Final = "org.apache.hadoop.hdfs"
_MAIN: Final = {
    "JournalNode": f"{_HDFS}.qjournal.server.JournalNode",
    "NameNode": f"{_HDFS}.server.namenode.NameNode",
    "DataNode": f"{_HDFS}.server.datanode.DataNode",
    "SecondaryNameNode": f"{_HDFS}.server.namenode.SecondaryNameNode",
    "Router": f"{_HDFS}.server.federation.router.DFSRouter",
    "HttpFSServer": "org.apache.hadoop.fs.http.server.HttpFSServerWebServer",
}
"""In the order in which they are started; the names are those that their beans have."""
_FRONTS: Final = frozenset({"Router", "HttpFSServer"})
_WEB_APPS: Final = ("hdfs", "datanode", "journal", "secondary", "router", "webhdfs", "static")
_LEFT_OUT: Final = re.compile(
    r"java\.util\.logging:|java\.nio:|jdk\.|JMImplementation:|com\.sun\.management:|org\.apache\."
    r"logging|java\.lang:name=|java\.lang:type=(ClassLoading|Compilation)"
)
"""Of the Java machine's inside."""
_COLLECTORS: Final = re.compile(r"Gc(Count|TimeMillis)[A-Z]\w+")
"""Attributes that each kind of collector has its own of."""
_VARIES: Final = (
    # What a name has of a port, a host or a directory.
    (re.compile(r"((?:RpcActivity|RpcDetailedActivity)ForPort)\d+$"), r"\1*"),
    (re.compile(r"((?:DataNodeActivity|DataNodeVolume|FSDatasetState|HttpServer2)-).+$"), r"\1*"),
    (re.compile(r"((?:Journal|NameserviceActivity|IPCLoggerChannel)-).+$"), r"\1*"),
)


def kind_of(value: object) -> str:
    """As JSON has it."""
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    kinds = {int: "number", float: "number", str: "text", list: "list", dict: "object"}
    return kinds[type(value)]


def short_name(name: str) -> str:
    """Without the service, which says which server it is, and without what differs from one
    server to the next.

    >>> short_name("Hadoop:service=NameNode,name=RpcActivityForPort8020")
    'RpcActivityForPort*'
    """
    short = name.partition(",name=")[2] if name.startswith("Hadoop:service=") else name
    for pattern, general in _VARIES:
        short = pattern.sub(general, short)
    return short


def recorded(beans: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Kinds of values by bean and attribute. A detailed bean has one for each call that came:
    these are not kept."""
    found: dict[str, dict[str, str]] = {}
    for bean in beans:
        name = short_name(bean["name"])
        if _LEFT_OUT.match(name):
            continue
        kinds = found.setdefault(name, {})
        for attribute, value in bean.items():
            is_own = attribute not in ("name", "modelerType", "ObjectName")
            if is_own and not (name.startswith("RpcDetailed") or _COLLECTORS.fullmatch(attribute)):
                kinds[attribute] = kind_of(value)
    return {name: dict(sorted(found[name].items())) for name in sorted(found)}


class Servers:
    """One of each, with one configuration."""

    def __init__(self, directory: Path, held: ExitStack) -> None:
        self._directory = directory
        self._held = held
        self._jars = hadoop_class_path(_CACHE)
        self._front_jars = hadoop_fronts_class_path(_CACHE)
        self._ports = {name: _free_port() for name in (*_MAIN, "journal", "rpc", "router")}
        self._conf_dir = directory / "conf"
        for pages in _WEB_APPS:
            (self._conf_dir / "webapps" / pages).mkdir(parents=True)
        (self._conf_dir / "log4j.properties").write_text(LOGGING)
        self._write("hdfs-site.xml", self._settings())
        self._write("core-site.xml", {"fs.defaultFS": f"hdfs://{self._at('rpc')}"})
        self._write("httpfs-site.xml", {"httpfs.http.port": self._ports["HttpFSServer"]})
        (self._conf_dir / "httpfs-signature.secret").write_text("of a moment")
        for name in ("temp", "log"):
            (directory / "httpfs" / name).mkdir(parents=True)

    def _at(self, name: str) -> str:
        return f"127.0.0.1:{self._ports[name]}"

    def _write(self, file: str, values: Mapping[str, object]) -> None:
        lines = "".join(
            f"<property><name>{name}</name><value>{value}</value></property>"
            for name, value in values.items()
        )
        (self._conf_dir / file).write_text(f"<configuration>{lines}</configuration>")

    def _settings(self) -> dict[str, object]:
        name_dir = (self._directory / "name").as_uri()
        return {
            "dfs.namenode.name.dir": name_dir,
            "dfs.namenode.edits.dir": f"{name_dir},qjournal://{self._at('journal')}/ns",
            "dfs.namenode.rpc-address": self._at("rpc"),
            "dfs.namenode.http-address": self._at("NameNode"),
            "dfs.namenode.secondary.http-address": self._at("SecondaryNameNode"),
            "dfs.namenode.checkpoint.dir": (self._directory / "secondary").as_uri(),
            "dfs.journalnode.edits.dir": self._directory / "journal",
            "dfs.journalnode.rpc-address": self._at("journal"),
            "dfs.journalnode.http-address": self._at("JournalNode"),
            "dfs.datanode.data.dir": (self._directory / "data").as_uri(),
            "dfs.datanode.address": "127.0.0.1:0",
            "dfs.datanode.ipc.address": "127.0.0.1:0",
            "dfs.datanode.http.address": self._at("DataNode"),
            "dfs.federation.router.rpc-address": self._at("router"),
            "dfs.federation.router.admin-address": "127.0.0.1:0",
            "dfs.federation.router.http-address": self._at("Router"),
            "dfs.federation.router.default.nameserviceId": "default",
            "dfs.federation.router.monitor.localnamenode.enable": "true",
            "dfs.federation.router.store.driver.class": f"{_HDFS}.server.federation.store.driver"
            ".impl.StateStoreFileImpl",
            "dfs.federation.router.store.driver.file.directory": self._directory / "store",
        }

    def _command(self, name: str, *arguments: str) -> list[str]:
        home = self._directory / "httpfs"
        options = [
            "--add-opens=java.base/java.lang=ALL-UNNAMED",  # as Hadoop's own scripts have it
            f"-Dhttpfs.home.dir={home}",
            f"-Dhttpfs.config.dir={self._conf_dir}",
            f"-Dhttpfs.log.dir={home / 'log'}",
            f"-Dhttpfs.temp.dir={home / 'temp'}",
        ]
        jars = self._front_jars if name in _FRONTS else self._jars
        return [*hadoop_java(jars, self._conf_dir, options=options), _MAIN[name], *arguments]

    def format(self) -> None:
        subprocess.run(
            self._command("NameNode", "-format", "-nonInteractive"),
            check=True,
            timeout=START_TIMEOUT_S,
        )

    def start(self, name: str) -> None:
        """Start it, and wait until it has pages."""
        process = self._held.enter_context(
            subprocess.Popen(self._command(name), stdin=subprocess.DEVNULL)
        )
        self._held.callback(process.terminate)

        def is_there() -> bool:
            assert process.poll() is None, f"{name} has ended"
            try:
                return bool(self.beans(name))
            except (urllib.error.URLError, OSError):
                return False

        wait_until(is_there, START_TIMEOUT_S, f"{name} has pages")

    def beans(self, name: str) -> list[dict[str, Any]]:
        # HttpFS answers nothing to those who do not say who they are.
        query = "?user.name=ann" if name == "HttpFSServer" else ""
        with urllib.request.urlopen(f"http://{self._at(name)}/jmx{query}", timeout=60) as answer:
            found: list[dict[str, Any]] = json.load(answer)["beans"]
            return found


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def main() -> None:
    found: dict[str, dict[str, dict[str, str]]] = {}
    with tempfile.TemporaryDirectory() as directory, ExitStack() as held:
        servers = Servers(Path(directory), held)
        for name in _MAIN:
            if name == "NameNode":
                servers.format()
            servers.start(name)
        # Attributes come with what they count, and a bean shows them ten seconds later.
        before = None
        while found != before:
            before = found
            time.sleep(_SETTLED_S)
            found = {name: recorded(servers.beans(name)) for name in _MAIN}
    source = (
        f"/jmx of servers of Hadoop {HADOOP_VERSION}, Router and HttpFS of {FRONTS_VERSION}, just "
        "started; without the beans of the JVM's inside. Made by "
        "tests.support.hadoop.beans."
    )
    text = json.dumps({"source": source, "beans": found}, indent=1)
    Path(sys.argv[1]).write_text(f"{text}\n")


if __name__ == "__main__":
    main()
