"""Hadoop's own key server, as a process, for tests: without security, or with Kerberos."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from howdah.testing.waiting import wait_until
from tests.support.hadoop.java import hadoop_java
from tests.support.security.servers import START_S, free_port

_MAIN: Final = "org.apache.hadoop.crypto.key.kms.server.KMSWebServer"
_ACCESS: Final = ("hadoop.kms.acl.", "hadoop.kms.blacklist.", "default.key.", "key.", "whitelist.")
"""What begins so stands in `kms-acls.xml`."""
_LOGS: Final = """\
log4j.rootLogger=INFO,err
log4j.appender.err=org.apache.log4j.ConsoleAppender
log4j.appender.err.target=System.err
log4j.appender.err.layout=org.apache.log4j.PatternLayout
log4j.appender.err.layout.ConversionPattern=%d %p %c{1}: %m%n
"""


class HadoopKeyServer:
    """Runs until it is closed. Its keys are in a keystore of Java's."""

    def __init__(
        self,
        directory: Path,
        jars: str,
        settings: Mapping[str, str],
        environment: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        """`environment` is where it finds a KDC, if there is one; `options` are Java's, beside the
        usual ones."""
        self._options = options
        self.port = free_port()
        self._jars = jars
        self._directory = directory
        self._environment = environment or {}
        self._log = directory / "kms.log"
        self._conf_dir = directory / "conf"
        for name in ("conf", "temp", "log"):
            (directory / name).mkdir(parents=True)
        values = {
            "hadoop.kms.http.host": "localhost",
            "hadoop.kms.http.port": str(self.port),
            "hadoop.kms.key.provider.uri": f"jceks://file@{directory}/keystore",
            "hadoop.kms.authentication.type": "simple",
            "hadoop.kms.authentication.signer.secret.provider": "random",
            "hadoop.kms.proxyuser.root.users": "*",
            "hadoop.kms.proxyuser.root.hosts": "*",
            **settings,
        }
        access = {name: value for name, value in values.items() if name.startswith(_ACCESS)}
        of_kms = {name: value for name, value in values.items() if name.startswith("hadoop.kms.")}
        self._write("kms-acls.xml", access)
        self._write("kms-site.xml", {k: v for k, v in of_kms.items() if k not in access})
        self._write(
            "core-site.xml", {k: v for k, v in values.items() if k not in {*access, *of_kms}}
        )
        (self._conf_dir / "log4j.properties").write_text(_LOGS)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def provider(self) -> str:
        """Where it is, as clients are told it."""
        return f"kms://http@localhost:{self.port}/kms"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._directory,
                env={**os.environ, **self._environment},
            )
        try:
            wait_until(self._answers, START_S)
        except BaseException:
            self.close()
            raise

    def kill(self) -> None:
        assert self._process is not None, "it was started"
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(20)

    def close(self) -> None:
        self.kill()

    def _command(self) -> list[str]:
        options = [
            "--add-opens=java.base/java.lang=ALL-UNNAMED",  # as Hadoop's own scripts have it
            f"-Dkms.config.dir={self._conf_dir}",
            f"-Dkms.temp.dir={self._directory / 'temp'}",
            f"-Dkms.log.dir={self._directory / 'log'}",
            f"-Dlog4j.configuration=file:{self._conf_dir}/log4j.properties",
        ]
        options += self._options
        if "KRB5_CONFIG" in self._environment:
            options.append(f"-Djava.security.krb5.conf={self._environment['KRB5_CONFIG']}")
        return [*hadoop_java(self._jars, self._conf_dir, options=options), _MAIN]

    def _write(self, name: str, values: Mapping[str, str]) -> None:
        lines = [
            f"<property><name>{key}</name><value>{escape(value)}</value></property>"
            for key, value in values.items()
        ]
        text = "\n".join(["<configuration>", *lines, "</configuration>", ""])
        (self._conf_dir / name).write_text(text)

    def _answers(self) -> bool:
        assert self._process is not None, "it was started"
        assert self._process.poll() is None, self._log.read_text(errors="replace")[-4000:]
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", self.port)):
                return False
        url = f"http://localhost:{self.port}/kms/v1/keys/names?user.name=root"
        try:
            with urllib.request.urlopen(url, timeout=START_S) as answer:
                return bool(answer.status)
        except urllib.error.HTTPError as error:
            return error.code < 500  # It asks who that is.


@contextmanager
def hadoop_key_server(
    directory: Path,
    jars: str,
    settings: Mapping[str, str],
    environment: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
) -> Iterator[HadoopKeyServer]:
    """A key server of Hadoop's with these settings."""
    server = HadoopKeyServer(directory, jars, settings, environment, options)
    try:
        yield server
    finally:
        server.close()
