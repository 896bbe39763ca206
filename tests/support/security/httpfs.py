"""Hadoop's HttpFS in secure mode, before a secured cluster of Hadoop's."""

from __future__ import annotations

import os
import subprocess
import urllib.error
import urllib.request
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

    def __init__(self, directory: Path, jars: str, hadoop: SecuredHadoop) -> None:
        self.port = free_port()
        self._log = directory / "httpfs.log"
        conf_dir = directory / "conf"
        write_site_files(conf_dir, hadoop.conf)
        keytab = str(hadoop.kdc.services_keytab)
        (conf_dir / "httpfs-signature.secret").write_text("of a moment")
        settings = {
            "httpfs.http.hostname": "localhost",
            "httpfs.http.port": str(self.port),
            "httpfs.hadoop.authentication.type": "kerberos",
            "httpfs.hadoop.authentication.kerberos.keytab": keytab,
            "httpfs.hadoop.authentication.kerberos.principal": f"httpfs/localhost@{REALM}",
            "httpfs.proxyuser.oozie.hosts": "*",
            "httpfs.proxyuser.oozie.groups": "*",
            "hadoop.http.authentication.signature.secret.file": str(
                conf_dir / "httpfs-signature.secret"
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
        lines = [
            f"<property><name>{name}</name><value>{escape(value)}</value></property>"
            for name, value in settings.items()
        ]
        text = "\n".join(["<configuration>", *lines, "</configuration>", ""])
        (conf_dir / "httpfs-site.xml").write_text(text)
        for pages in ("webhdfs", "static"):
            (conf_dir / "webapps" / pages).mkdir(parents=True)
        for name in ("temp", "log"):
            (directory / name).mkdir()
        options = [
            "--add-opens=java.base/java.lang=ALL-UNNAMED",  # as Hadoop's own scripts have it
            f"-Djava.security.krb5.conf={hadoop.kdc.configuration}",
            f"-Dhttpfs.home.dir={directory}",
            f"-Dhttpfs.config.dir={conf_dir}",
            f"-Dhttpfs.log.dir={directory / 'log'}",
            f"-Dhttpfs.temp.dir={directory / 'temp'}",
        ]
        command = [*hadoop_java(jars, conf_dir, options=options), _MAIN]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
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

    def close(self) -> None:
        self._process.kill()
        self._process.wait(20)

    def _answers(self) -> bool:
        assert self._process.poll() is None, self._log.read_text(errors="replace")[-4000:]
        url = f"http://localhost:{self.port}/webhdfs/v1/?op=LISTSTATUS"
        try:
            urllib.request.urlopen(url, timeout=20).close()
        except urllib.error.HTTPError as error:
            error.close()
            return error.code == _UNAUTHORIZED
        except OSError:
            return False
        return False
