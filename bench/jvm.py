"""Hadoop's Java client in one warm JVM, driven through py4j.

The bytes stay in the JVM: a copy is one call of Hadoop's own `IOUtils.copyBytes`
between a stream of a filesystem and one of a local file (writing), or one that
throws all away (reading), as `hadoop fs -put` and `-cat >/dev/null` do it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from howdah.config import Configuration
from howdah.java import find_java_home
from howdah.testing.spark import class_path, pyspark_jars

_BUFFER_BYTES = 1 << 20


class Jvm:
    """A Java process with Hadoop's client from PySpark's jars, as a context manager."""

    def __init__(self, directory: Path, jars: str = "", options: Sequence[str] = ()) -> None:
        """`directory` takes the log's configuration. Hadoop's client is that of `jars`, a class
        path, in place of PySpark's; `options` are Java's."""
        directory.mkdir(parents=True, exist_ok=True)
        # Every setting is made by hand below; Hadoop's client wants the file to be there.
        (directory / "core-site.xml").write_text("<configuration/>\n")
        (directory / "log4j.properties").write_text("log4j.rootLogger=OFF\n")
        (directory / "log4j2.properties").write_text("status = error\nrootLogger.level = error\n")
        port, token = launch_gateway(
            jarpath=str(next(pyspark_jars().glob("py4j-*.jar"))),
            classpath=os.pathsep.join([str(directory), jars]) if jars else class_path(directory),
            javaopts=["-Xmx1g", *options],
            java_path=str(find_java_home() / "bin" / "java"),
            die_on_exit=True,
            enable_auth=True,
        )
        parameters = GatewayParameters(port=port, auth_token=token, auto_convert=True)
        self._gateway = JavaGateway(gateway_parameters=parameters)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._gateway.shutdown()

    @property
    def java(self) -> Any:
        """Java's packages by name."""
        return self._gateway.jvm

    def file_system(self, conf: Configuration, values: Mapping[str, str]) -> JavaFileSystem:
        """A `FileSystem` of its own for the default filesystem of `conf`."""
        java = self.java
        settings = self.configuration([*conf.items(), *values.items()])
        return JavaFileSystem(java, java.org.apache.hadoop.fs.FileSystem.newInstance(settings))

    def configuration(self, values: Iterable[tuple[str, str]]) -> Any:
        """Hadoop's defaults, and these values."""
        settings = self.java.org.apache.hadoop.conf.Configuration(False)
        settings.addResource("core-default.xml")
        for name, value in values:
            settings.set(name, value)
        return settings


class JavaFileSystem:
    """Copies to and from one filesystem."""

    def __init__(self, java: Any, file_system: Any) -> None:
        self._java = java
        self._fs = file_system
        self._path = java.org.apache.hadoop.fs.Path
        self._copy = java.org.apache.hadoop.io.IOUtils.copyBytes

    @property
    def unwrapped(self) -> Any:
        """Java's own object."""
        return self._fs

    def write(self, local: Path, path: str) -> None:
        source = self._java.java.io.FileInputStream(str(local))
        self._copy(source, self._fs.create(self._path(path), True), _BUFFER_BYTES, True)

    def read(self, path: str) -> None:
        nowhere = self._java.java.io.OutputStream.nullOutputStream()
        self._copy(self._fs.open(self._path(path)), nowhere, _BUFFER_BYTES, True)

    def delete(self, path: str) -> None:
        self._fs.delete(self._path(path), False)

    def close(self) -> None:
        self._fs.close()
