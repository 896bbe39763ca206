"""Apache's HDFS in secure mode: a namenode and a datanode of Hadoop's, with Kerberos and tokens.

It offers every protection, for calls and for data; a client's configuration picks (`client_conf`).
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import howdah
from howdah.config import Configuration
from howdah.errors import HowdahError
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing.waiting import wait_until
from tests.support.hadoop.java import hadoop_java
from tests.support.security.kdc import REALM, Kdc

_SERVERS: Final = "org.apache.hadoop.hdfs.server"
_NAMENODE: Final = f"{_SERVERS}.namenode.NameNode"
_DATANODE: Final = f"{_SERVERS}.datanode.DataNode"
_START_S: Final = 120
ALL: Final = "authentication,integrity,privacy"
AES: Final = "AES/CTR/NoPadding"
_RULES: Final = " ".join(
    [
        *(f"RULE:[2:$1@$0]({name}@{REALM})s/.*/hdfs/" for name in ("nn", "dn")),
        "DEFAULT",
    ]
)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


class SecuredHadoop:
    """Runs until it is closed; the KDC is the caller's."""

    def __init__(
        self, directory: Path, jars: str, kdc: Kdc, conf: Mapping[str, str] | None = None
    ) -> None:
        self.directory = directory
        self.kdc = kdc
        self._jars = jars
        self.rpc_port, self.http_port = _free_port(), _free_port()
        self.conf = {**self._defaults(), **(conf or {})}
        self.conf_dir = directory / "conf"
        self.conf_dir.mkdir(parents=True)
        for pages in ("hdfs", "datanode"):
            (directory / "webapps" / pages).mkdir(parents=True)
        self._write(self.conf_dir, self.conf)
        self.secret.write_text("a secret of this test alone\n")
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            done = self._start("format", _NAMENODE, "-format", "-nonInteractive").wait(_START_S)
            assert done == 0, self.log("format")
            self._processes = [self._start("namenode", _NAMENODE)]
            self._processes.append(self._start("datanode", _DATANODE))
            wait_until(self._is_up, timeout_s=_START_S)
        except BaseException:
            self.close()
            raise

    @property
    def uri(self) -> str:
        return f"hdfs://localhost:{self.rpc_port}"

    def log(self, server: str) -> str:
        path = self.directory / f"{server}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def client_conf(self, **protection: str) -> dict[str, str]:
        """What a client is given: `rpc`, `data` and `suites` in place of what the servers have."""
        mine = dict(self.conf)
        mine["hadoop.rpc.protection"] = protection.get("rpc", "authentication")
        mine["dfs.data.transfer.protection"] = protection.get("data", "authentication")
        mine["dfs.encrypt.data.transfer.cipher.suites"] = protection.get("suites", "")
        return {name: value for name, value in mine.items() if value}

    def connect(
        self, user: str = "alice", conf: Mapping[str, str] | None = None, **protection: str
    ) -> HdfsFileSystem:
        """A client that logs in by the user's keytab."""
        values = {**self.client_conf(**protection), **(conf or {})}
        fs = howdah.connect(
            self.uri,
            conf=Configuration(values),
            keytab=str(self.kdc.keytab(user)),
            principal=f"{user}@{REALM}",
        )
        assert isinstance(fs, HdfsFileSystem)
        return fs

    def close(self) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait(20)
        self._processes.clear()

    # -- starting ------------------------------------------------------------------------

    def _is_up(self) -> bool:
        for process, name in zip(self._processes, ("namenode", "datanode"), strict=True):
            assert process.poll() is None, self.log(name)[-4000:]
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", self.rpc_port)):
                return False
        try:
            with self.connect("hdfs", rpc=self.conf["hadoop.rpc.protection"]) as fs:
                if not fs.datanode_report("live") or fs.set_safe_mode("get"):
                    return False
                for user in ("alice", "bob"):
                    fs.mkdirs(f"/user/{user}")
                    fs.set_owner(f"/user/{user}", user, "users")
                return True
        except ConnectionError:
            return False
        except HowdahError as error:
            raise AssertionError(f"{error}\n{self.log('namenode')[-3000:]}") from error

    def _start(self, name: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        options = [f"-Djava.security.krb5.conf={self.kdc.configuration}"]
        command = hadoop_java(self._jars, self.conf_dir, self.directory, options=options)
        with (self.directory / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [*command, main, *arguments],
                stdout=log,
                stderr=log,
                cwd=self.directory,
                env={**os.environ, **self.kdc.environment},
            )

    @property
    def secret(self) -> Path:
        """What cookies are signed by."""
        return self.directory / "secret"

    def _defaults(self) -> dict[str, str]:
        keytab = str(self.kdc.services_keytab)
        return {
            "fs.defaultFS": self.uri,
            "hadoop.security.authentication": "kerberos",
            "hadoop.security.authorization": "true",
            "hadoop.rpc.protection": ALL,
            "hadoop.security.auth_to_local": _RULES,
            "hadoop.proxyuser.oozie.hosts": "*",
            "hadoop.proxyuser.oozie.users": "bob",
            "hadoop.tmp.dir": str(self.directory / "tmp"),
            "hadoop.user.group.static.mapping.overrides": (
                "hdfs=supergroup;alice=users;bob=users;oozie=users"
            ),
            "dfs.namenode.rpc-address": f"localhost:{self.rpc_port}",
            "dfs.namenode.http-address": f"localhost:{self.http_port}",
            "dfs.namenode.name.dir": f"file://{self.directory}/name",
            "dfs.datanode.data.dir": f"file://{self.directory}/data",
            "dfs.replication": "1",
            "dfs.namenode.safemode.extension": "0",
            "dfs.blocksize": str(1 << 20),
            "dfs.block.access.token.enable": "true",
            "dfs.namenode.kerberos.principal": f"nn/_HOST@{REALM}",
            "dfs.namenode.keytab.file": keytab,
            "dfs.datanode.kerberos.principal": f"dn/_HOST@{REALM}",
            "dfs.datanode.keytab.file": keytab,
            "dfs.web.authentication.kerberos.principal": f"HTTP/_HOST@{REALM}",
            "dfs.web.authentication.kerberos.keytab": keytab,
            "hadoop.http.filter.initializers": (
                "org.apache.hadoop.security.AuthenticationFilterInitializer"
            ),
            "hadoop.http.authentication.type": "kerberos",
            "hadoop.http.authentication.kerberos.principal": f"HTTP/_HOST@{REALM}",
            "hadoop.http.authentication.kerberos.keytab": keytab,
            "hadoop.http.authentication.signature.secret.file": str(self.secret),
            "dfs.data.transfer.protection": ALL,
            "dfs.encrypt.data.transfer.cipher.suites": AES,
            "dfs.datanode.address": "localhost:0",
            "dfs.datanode.ipc.address": "localhost:0",
            "dfs.datanode.http.address": "localhost:0",
            "dfs.datanode.hostname": "localhost",
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.heartbeat.interval": "1",
            # Its pages need no TLS then.
            "ignore.secure.ports.for.testing": "true",
        }

    @staticmethod
    def _write(directory: Path, conf: Mapping[str, str]) -> None:
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
