"""HttpFS in secure mode, Hadoop's and this project's, before a secured cluster."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from howdah.testing.waiting import wait_until
from tests.support.hadoop.java import hadoop_java
from tests.support.security.kdc import REALM
from tests.support.security.secured_hadoop import SecuredHadoop
from tests.support.security.servers import START_S, free_port, write_site_files

_MAIN: Final = "org.apache.hadoop.fs.http.server.HttpFSServerWebServer"
_UNAUTHORIZED: Final = 401


class SecuredHttpFs:
    """Runs until it is closed. It acts for users as httpfs/localhost."""

    def __init__(
        self,
        directory: Path,
        jars: str,
        hadoop: SecuredHadoop,
        conf: Mapping[str, str] | None = None,
    ) -> None:
        """`conf` is what httpfs-site.xml has besides."""
        self.port = free_port()
        self._hadoop = hadoop
        self._jars = jars
        self._directory = directory
        self._log = directory / "httpfs.log"
        self._conf_dir = directory / "conf"
        write_site_files(self._conf_dir, hadoop.conf)
        secret = self._conf_dir / "httpfs-signature.secret"
        secret.write_text("a secret of a moment")
        secret.chmod(0o600)
        settings = {**self._settings(), **(conf or {})}
        self._scheme = "https" if settings.get("httpfs.ssl.enabled") == "true" else "http"
        lines = [
            f"<property><name>{name}</name><value>{escape(value)}</value></property>"
            for name, value in settings.items()
        ]
        text = "\n".join(["<configuration>", *lines, "</configuration>", ""])
        (self._conf_dir / "httpfs-site.xml").write_text(text)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=directory,
                env={**os.environ, **hadoop.kdc.environment},
            )
        try:
            wait_until(self._answers, START_S)
        except BaseException:
            self.close()
            raise

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def _settings(self) -> dict[str, str]:
        keytab = str(self._hadoop.kdc.services_keytab)
        return {
            "httpfs.http.hostname": "localhost",
            "httpfs.http.port": str(self.port),
            "httpfs.hadoop.authentication.type": "kerberos",
            "httpfs.hadoop.authentication.kerberos.keytab": keytab,
            "httpfs.hadoop.authentication.kerberos.principal": f"httpfs/localhost@{REALM}",
            "httpfs.proxyuser.oozie.hosts": "*",
            "httpfs.proxyuser.oozie.groups": "*",
            "hadoop.http.authentication.signature.secret.file": str(
                self._conf_dir / "httpfs-signature.secret"
            ),
            **{
                f"{prefix}.authentication.{name}": value
                for prefix in ("httpfs", "hadoop.http")
                for name, value in (
                    ("type", "kerberos"),
                    ("kerberos.principal", f"HTTP/localhost@{REALM}"),
                    ("kerberos.keytab", keytab),
                )
            },
        }

    def _command(self) -> list[str]:
        for pages in ("webhdfs", "static"):
            (self._conf_dir / "webapps" / pages).mkdir(parents=True)
        for name in ("temp", "log"):
            (self._directory / name).mkdir()
        options = [
            "--add-opens=java.base/java.lang=ALL-UNNAMED",  # as Hadoop's own scripts have it
            f"-Djava.security.krb5.conf={self._hadoop.kdc.configuration}",
            f"-Dhttpfs.home.dir={self._directory}",
            f"-Dhttpfs.config.dir={self._conf_dir}",
            f"-Dhttpfs.log.dir={self._directory / 'log'}",
            f"-Dhttpfs.temp.dir={self._directory / 'temp'}",
        ]
        return [*hadoop_java(self._jars, self._conf_dir, options=options), _MAIN]

    def stop(self) -> None:
        """End it as an administrator does."""
        self._process.terminate()
        assert self._process.wait(START_S) == 0, self.log[-4000:]

    def close(self) -> None:
        self._process.kill()
        self._process.wait(20)

    def _answers(self) -> bool:
        assert self._process.poll() is None, self.log[-4000:]
        url = f"{self._scheme}://localhost:{self.port}/webhdfs/v1/?op=LISTSTATUS"
        # Whom it belongs to is not what is asked here.
        context = ssl._create_unverified_context()
        try:
            urllib.request.urlopen(url, timeout=20, context=context).close()
        except urllib.error.HTTPError as error:
            error.close()
            return error.code == _UNAUTHORIZED
        except OSError:
            return False
        return False


class OurSecuredHttpFs(SecuredHttpFs):
    """This project's, with the same configuration."""

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "howdah", "httpfs", "--conf", str(self._conf_dir)]
